"""Tables of a Markdown file, through the page that it makes."""

from collections.abc import Iterator

import mistune

from memrepro.audit.read import html
from memrepro.audit.read.grid import Grid, Unread


def grids(text: str, source: str) -> Iterator[Grid | Unread]:
    """The tables of a file."""
    page = mistune.create_markdown(plugins=["table"], escape=False)(text)
    yield from html.grids(f"<div>{page}</div>", source)
