"""An executed notebook as the thread of a page: what it says, and what it shows, in order."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mistune

from memrepro.files.atomic import read_json

_render = mistune.create_markdown(escape=True, plugins=["table"])
_NOT_SHOWN = ("Provenance", "Everything else")  # a page has a footer and lists of its own
# The sentence on a table or figure of an earlier notebook ends with its file.
_SENTENCE = re.compile(r"(.*) \(`results/[^/`]+/[^/`]+/([^/`]+)\.csv`\)", re.DOTALL)


class Step(NamedTuple):
    """A piece of a page.

    Attributes:
        heading: of a section that begins here; '' where none does.
        prose: HTML, with everything but Markdown's own marks escaped.
        shown: the items that it shows.
    """

    heading: str = ""
    prose: str = ""
    shown: tuple[Any, ...] = ()

    @property
    def identity(self) -> str:
        """The heading as the end of an address."""
        return re.sub(r"\W+", "-", self.heading.lower()).strip("-")


def steps(notebook: Path, items: Mapping[str, Any]) -> list[Step]:
    """The thread of an executed notebook, and at its end a step with what it does not show.

    Args:
        notebook: the file; where it is not there, only the last step is left.
        items: those that are there, by name.
    """
    found: list[Step] = []
    shown: set[str] = set()
    hidden = False
    for text in _texts(notebook):
        if sentence := _SENTENCE.fullmatch(text):
            name = sentence[2]
            if name in items and name not in shown:
                shown.add(name)
                found += [] if hidden else [Step(shown=(items[name],))]
            found += [] if hidden else [Step(prose=html(sentence[1]))]
            continue
        for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
            if part.startswith(("# ", "## ")):
                hidden = _parted(part)[0] in _NOT_SHOWN
            if part.strip() and not hidden:
                found.append(Step(*_parted(part)))
    if rest := tuple(item for name, item in items.items() if name not in shown):
        found.append(Step("Further tables and figures" if shown else "Tables and figures"))
        found.append(Step(shown=rest))
    return found


def _texts(notebook: Path) -> Iterator[str]:
    """The Markdown of an executed notebook, its outputs' too; a table stands in its file."""
    for cell in read_json(notebook)["cells"] if notebook.is_file() else ():
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])
        for output in cell.get("outputs", ()):
            text = "".join(output.get("data", {}).get("text/markdown", ""))
            if text and not text.startswith("|"):
                yield text


def footer(notebook: Path) -> str:
    """What the notebook printed at its end: the digests of what it read and wrote."""
    if not notebook.is_file():
        return ""
    for cell in reversed(read_json(notebook)["cells"]):
        for output in cell.get("outputs", ()):
            if output.get("output_type") == "stream":
                return "".join(output["text"])
    return ""


def _parted(source: str) -> tuple[str, str]:
    """The second-level heading with which a cell begins, and the rest as HTML."""
    first, _, rest = source.partition("\n")
    if first.startswith("## "):
        return first[3:].strip(), html(rest)
    return "", html(rest if first.startswith("# ") else source)


def html(text: str) -> str:
    """Markdown as HTML, with everything else escaped."""
    rendered = _render(text)
    assert isinstance(rendered, str)
    return rendered
