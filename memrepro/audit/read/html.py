"""Tables of a web page: `<table>`, and what LaTeXML (arXiv) makes of other elements by classes."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lxml import html

from memrepro.audit.read.grid import (
    Cell,
    Grid,
    NoNumbers,
    Place,
    Unread,
    cell_of,
    check_cells,
    filled,
    raised,
    unread,
)
from memrepro.audit.read.tex_text import plain, printed
from memrepro.audit.read.text import text_of_file
from memrepro.errors import MemreproError

_MATHS = re.compile(r"\\\((.+?)\\\)")  # which a script of the page would set
_UNSEEN = (
    ".//del|.//s|.//strike|.//script|.//style|.//*[contains(@class, 'ltx_note')]"
    "|.//*[contains(translate(@style, ' ', ''), 'display:none')]"
)
_CELLS, _GROUPS = ("td", "th"), ("thead", "tbody", "tfoot")


def of_file(path: Path) -> Iterator[Grid | Unread]:
    """The same of a file's text as `grids`."""
    return grids(text_of_file(path), path.name)


def grids(text: str, file: str) -> Iterator[Grid | Unread]:
    """The tables of a page, and those that could not be read with the reason."""
    if not text.strip():
        return
    page = html.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    number = 0
    for table in page.iter():
        if not _is(table, "table", "tabular") or re.search(r"ltx_eqn|ltx_equation", _class(table)):
            continue
        if _within_cell(table) and len(_rows(table)) < 2:
            continue  # one that breaks a cell's lines, which the cell has
        number += 1
        line = int(table.get("data-line") or table.sourceline or 0)
        place = Place(file, line, f"table {number}", _label(table), _caption(table))
        try:
            yield _grid(table, place)
        except MemreproError as error:
            yield unread(place, error, counts=not isinstance(error, NoNumbers))


def _class(node: Any) -> str:
    return str(node.get("class") or "") if isinstance(node.tag, str) else ""


def _is(node: Any, tag: str, name: str) -> bool:
    """Whether an element has a tag, or the class that LaTeXML gives in its place."""
    return node.tag == tag or f"ltx_{name}" in _class(node).split()


def _within_cell(table: Any) -> bool:
    return any(_is(one, "table", "tabular") for one in table.iterancestors())


def _rows(table: Any) -> list[tuple[Any, list[Any]]]:
    """Rows of a table's own, each with the group that it stands in; cells without a row are one."""
    made: list[tuple[Any, list[Any]]] = []
    loose: list[Any] = []
    stack = [(child, table) for child in reversed(table)]
    while stack:
        node, parent = stack.pop()
        if not isinstance(node.tag, str) or _is(node, "table", "tabular"):
            continue
        if node.tag in _CELLS or _is(node, "td", "td") or _is(node, "th", "th"):
            if not loose or loose[-1].getparent() is not parent:
                loose = []
                made.append((parent, loose))
            loose.append(node)
        elif _is(node, "tr", "tr"):
            loose = []
            cells = [c for c in node if c.tag in _CELLS or _is(c, "td", "td") or _is(c, "th", "th")]
            made.append((parent, cells))
        else:
            loose = []
            stack += [(child, node) for child in reversed(node)]
    return [(group, cells) for group, cells in made if cells]


def _grid(table: Any, place: Place) -> Grid:
    rows: list[list[Cell]] = []
    ruled = set()
    before = None
    found = _rows(table)
    check_cells(sum(len(cells) for _, cells in found))
    for group, cells in found:
        if _is_head(before) and group is not before:
            ruled.add(len(rows))
        before = group
        rows.append([_cell(cell) for cell in cells])
    if not ruled and rows and len(rows) > 1:
        # Heads are often rows of <th> alone, in no group of their own.
        heads = [all(c.tag == "th" or "ltx_th" in _class(c).split() for c in cells)
                 for _, cells in found]  # fmt: skip
        first = heads.index(False) if False in heads else 0
        ruled = {first} if first else set()
    whole = filled(rows)
    return Grid(place, whole, frozenset(ruled) or None)


def _is_head(group: Any) -> bool:
    return group is not None and (group.tag == "thead" or "ltx_thead" in _class(group).split())


def _cell(node: Any) -> Cell:
    for maths in list(node.iter("math", "{*}math")):
        if said := maths.get("alttext"):
            tail = maths.tail
            shown = printed(f"${said}$".replace("\\displaystyle", ""))
            maths.clear()
            maths.text, maths.tail = shown.text, tail
            if shown.bold:
                maths.set("class", "ltx_font_bold")
    for unseen in node.xpath(_UNSEEN):
        unseen.drop_tree()
    for script in node.xpath(".//sup|.//msup/*[2]"):
        other = script.getprevious()
        before = script.getparent().text if other is None else other.tail or other.text_content()
        tail, text = script.tail, raised(script.text_content(), before or "")
        script.clear()
        script.text, script.tail = text, tail
    for line in node.iter("br", "p", "div", "td"):
        line.tail = f" {line.tail or ''}"
    marks = [(n.tag, f"{n.get('class', '')} {n.get('style', '')}") for n in node.iter("*")]
    classes = " ".join(said for _, said in marks)
    tags = {tag for tag, _ in marks}
    bold = bool(tags & {"b", "strong"}) or bool(
        re.search(r"ltx_font_bold|font-weight:\s*(?:bold|[6-9]00)", classes)
    )
    under = "u" in tags or bool(re.search("ltx_framed_underline|underline", classes))
    columns, rows = (_span(node, key) for key in ("colspan", "rowspan"))
    text = _MATHS.sub(lambda one: plain(f"${one[1]}$"), node.text_content())
    return cell_of(text, bold, under, columns=columns, rows=rows)


def _span(node: Any, key: str) -> int:
    """How many columns or rows a cell takes, by its attribute or, without one, its class."""
    by_class = re.search(rf"\bltx_{key}_(\d+)", node.get("class", ""))
    said = re.match(r"\s*(\d{1,9})", node.get(key) or (by_class[1] if by_class else ""))
    return max(1, int(said[1])) if said else 1


def _caption(table: Any) -> str:
    near: Sequence[Any] = [
        *table.iter("caption"),
        *(c for figure in table.iterancestors("figure") for c in figure.iter("figcaption")),
    ]
    return " ".join(near[0].text_content().split()) if near else ""


def _label(table: Any) -> str:
    return next((str(f.get("id")) for f in table.iterancestors("figure") if f.get("id")), "")
