"""Tables of a web page: `<table>`, and what LaTeXML (arXiv) makes of other elements by classes."""

import re
from collections.abc import Iterator
from typing import Any

from lxml import html

from memrepro.audit.read.grid import Cell, Grid, Unread, cell_of, filled
from memrepro.errors import MemreproError


def _has(name: str) -> str:
    """XPath: the element is of this class of LaTeXML's."""
    return f"contains(concat(' ', normalize-space(@class), ' '), ' ltx_{name} ')"


# LaTeXML writes a tabular within a line or a box as spans or divs of these classes.
_TABLE = f"descendant-or-self::*[self::table or {_has('tabular')}]"
_ROW = f"descendant::*[self::tr or {_has('tr')}]"
_CELL = f"child::*[self::td or self::th or {_has('td')} or {_has('th')}]"
_OUTER = f"ancestor::*[self::table or {_has('tabular')}]"


def grids(text: str, source: str) -> Iterator[Grid | Unread]:
    """The tables of a page, and those that could not be read with the reason."""
    if not text.strip():
        return
    page = html.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    for number, table in enumerate(page.xpath(_TABLE), 1):
        name = f"{source}, table {number}"
        if table.xpath(_OUTER):
            yield Unread(name, "it stands within another table")
            continue
        if re.search("ltx_equation|ltx_eqn", table.get("class", "")):
            continue
        try:
            rows = [[_cell(c) for c in row.xpath(_CELL)] for row in table.xpath(_ROW)]
            yield Grid(name, _caption(table), filled([row for row in rows if row], name))
        except MemreproError as error:
            yield Unread(name, str(error))


def _cell(node: Any) -> Cell:
    for maths in node.iter("math"):
        if said := maths.get("alttext"):
            tail = maths.tail
            shown = re.sub(r"\\(?:mathbf|bm|boldsymbol|underline|text)\b|[{}$_^]", "", said)
            maths.clear()
            maths.text, maths.tail = shown.replace(r"\pm", "±").replace(r"\%", "%"), tail
            if "mathbf" in said:
                maths.set("class", "ltx_font_bold")
    for mark in node.xpath(".//sup|.//*[contains(@class, 'ltx_note')]"):
        if not re.search("[±+*∗†‡-]", mark.text_content()):
            mark.drop_tree()
    classes = " ".join(n.get("class", "") + " " + n.get("style", "") for n in node.iter("*"))
    tags = {n.tag for n in node.iter("*")}
    bold = bool(tags & {"b", "strong"}) or bool(re.search(r"ltx_font_bold|weight:\s*bold", classes))
    under = "u" in tags or bool(re.search("ltx_framed_underline|underline", classes))
    columns, rows = (_span(node, key) for key in ("colspan", "rowspan"))
    return cell_of(node.text_content(), bold, under, columns=columns, rows=rows)


def _span(node: Any, key: str) -> int:
    """How many columns or rows a cell takes, by its attribute or, without one, its class."""
    by_class = re.search(rf"\bltx_{key}_(\d+)", node.get("class", ""))
    return int(node.get(key) or (by_class[1] if by_class else 1))


def _caption(table: Any) -> str:
    near = [*table.iter("caption"), *table.xpath("ancestor::figure//figcaption")]
    return " ".join(near[0].text_content().split()) if near else ""
