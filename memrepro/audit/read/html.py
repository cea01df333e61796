"""Tables of a web page, arXiv's among them: `<table>`, spans, bold by tag or class."""

import re
from collections.abc import Iterator
from typing import Any

from lxml import html

from memrepro.audit.read.grid import Cell, Grid, Unread, cleaned, filled
from memrepro.errors import MemreproError


def grids(text: str, source: str) -> Iterator[Grid | Unread]:
    """The tables of a page, and those that could not be read with the reason."""
    if not text.strip():
        return
    page = html.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    for number, table in enumerate(page.iter("table"), 1):
        name = f"{source}, table {number}"
        if table.xpath("ancestor::table"):
            yield Unread(name, "it stands within another table")
            continue
        if re.search("ltx_equation|ltx_eqn", table.get("class", "")):
            continue
        try:
            rows = [[_cell(c) for c in row if c.tag in ("td", "th")] for row in table.iter("tr")]
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
        if not re.search("[±+-]", mark.text_content()):
            mark.drop_tree()
    classes = " ".join(n.get("class", "") + " " + n.get("style", "") for n in node.iter("*"))
    tags = {n.tag for n in node.iter("*")}
    bold = bool(tags & {"b", "strong"}) or bool(re.search(r"ltx_font_bold|weight:\s*bold", classes))
    under = "u" in tags or bool(re.search("ltx_framed_underline|underline", classes))
    columns, rows = (int(node.get(key) or 1) for key in ("colspan", "rowspan"))
    return Cell(cleaned(node.text_content()), bold, under, columns, rows)


def _caption(table: Any) -> str:
    near = [*table.iter("caption"), *table.xpath("ancestor::figure//figcaption")]
    return " ".join(near[0].text_content().split()) if near else ""
