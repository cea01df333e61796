"""Tables of a PDF by their ruled lines; a page that speaks of a table and yields none is listed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pdfplumber

from memrepro.audit.read.grid import Grid, Unread, cell_of, filled
from memrepro.errors import MemreproError

_CAPTION = re.compile(r"^Table\s+\d+[.:].*", re.M)


def grids(path: Path) -> Iterator[Grid | Unread]:
    """The ruled tables of a file; captions of pages where none was found as unread."""
    with pdfplumber.open(path) as pages:
        for number, page in enumerate(pages.pages, 1):
            captions = _CAPTION.findall(page.extract_text() or "")
            found = page.extract_tables()
            for i, rows in enumerate(found):
                name = f"{path.name}, page {number}, table {i + 1}"
                cells = [[cell_of(text or "") for text in row] for row in rows]
                # Which caption is of which table is clear only where there are as many.
                caption = captions[i] if len(captions) == len(found) else ""
                try:
                    yield Grid(name, caption, filled(cells, name))
                except MemreproError as error:
                    yield Unread(name, str(error))
            for caption in captions[len(found) :]:
                yield Unread(
                    f"{path.name}, page {number}, '{caption[:60]}'",
                    "no ruled lines: the cells of a table without them are not told apart; give "
                    "its LaTeX or HTML, or type it",
                )
