"""An executed notebook as the thread of a page: its prose, and what its cells show, in order."""

import ast
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mistune

from memrepro.files.atomic import read_json

_render = mistune.create_markdown(escape=True, plugins=["table"])
_NOT_SHOWN = ("Provenance",)  # the page has a footer of its own


@dataclass(frozen=True)
class Step:
    """A piece of a page.

    Attributes:
        heading: of a section that begins here; '' where none does.
        prose: HTML, with everything but Markdown's own marks escaped.
        items: the names of the items shown.
    """

    heading: str = ""
    prose: str = ""
    items: tuple[str, ...] = ()


def steps(notebook: Path, names: Collection[str]) -> list[Step]:
    """The thread of an executed notebook, and at its end a step with what it does not show.

    Args:
        notebook: the file; where it is not there, only the last step is left.
        names: of the items that are there.
    """
    found: list[Step] = []
    shown: dict[str, None] = {}
    hidden = False
    for cell in read_json(notebook)["cells"] if notebook.is_file() else ():
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading, prose = _parted(source)
            if heading or source.startswith("# "):
                hidden = heading in _NOT_SHOWN
            if not hidden:
                found.append(Step(heading, prose))
        elif cell["cell_type"] == "code" and not hidden:
            fresh = tuple(n for n in _shown(source, names) if n not in shown)
            shown.update(dict.fromkeys(fresh))
            if fresh:
                found.append(Step(items=fresh))
    if rest := tuple(name for name in names if name not in shown):
        found.append(Step("Further tables and figures" if shown else "Tables and figures"))
        found.append(Step(items=rest))
    return found


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
        return first[3:].strip(), _html(rest)
    return "", _html(rest if first.startswith("# ") else source)


def _html(text: str) -> str:
    rendered = _render(text)
    assert isinstance(rendered, str)
    return rendered


def _shown(source: str, names: Collection[str]) -> list[str]:
    """The items that the calls of a cell show.

    `show_table(profile, "x")` shows x, or where there is none all that end in `_x`: one a data set;
    `show_x(profile)` likewise.
    """
    found = []
    for call in _calls(source):
        given = [a.value for a in call.args if isinstance(a, ast.Constant)]
        assert isinstance(call.func, ast.Attribute)
        wanted = [str(v) for v in given] or [call.func.attr.removeprefix("show_")]
        for name in wanted:
            found += [name] if name in names else [n for n in names if n.endswith(f"_{name}")]
    return found


def _calls(source: str) -> list[Any]:
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.startswith("show_")
    ]
