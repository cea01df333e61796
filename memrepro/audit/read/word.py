"""Tables of a Word document; a merged cell is one cell in all its places."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docx import Document
from docx.table import _Cell as DocxCell
from docx.text.paragraph import Paragraph
from docx.text.run import Run

from memrepro.audit.read.grid import (
    Cell,
    Grid,
    NoNumbers,
    Place,
    Sentences,
    Unread,
    cell_of,
    filled,
    raised,
    unread,
)
from memrepro.audit.read.text import check_unpacked
from memrepro.errors import MemreproError

_CAPTION = re.compile(r"\s*(?:Table|Tab\.)\s*[\dA-Z]", re.I)


def grids(path: Path) -> Iterator[Grid | Unread | Sentences]:
    """A document's tables, those that could not be read with the reason, and its paragraphs."""
    check_unpacked(path)
    document = Document(str(path))
    around = [
        _sentence(Paragraph(node, document)) if node.tag.endswith("}p") else node
        for node in _blocks(document.element.body)
    ]
    yield Sentences(path.name, "\n".join(one for one in around if isinstance(one, str)))
    number = 0
    for at, node in enumerate(around):
        if isinstance(node, str):
            continue
        near = [one for one in (*around[max(0, at - 2) : at][::-1], *around[at + 1 : at + 2])
                if isinstance(one, str) and _CAPTION.match(one)]  # fmt: skip
        for table in node.iter("{*}tbl"):
            number += 1
            place = Place(path.name, 0, f"table {number}", "", near[0].strip() if near else "")
            try:
                yield Grid(place, filled(_rows(table, document)))
            except MemreproError as error:
                yield unread(place, error, counts=not isinstance(error, NoNumbers))


def _rows(table: Any, document: Any) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    open_cells: dict[int, tuple[int, int]] = {}  # column → row and place of a cell that goes down
    for row in table.tr_lst:
        line: list[Cell] = []
        at = 0
        for node in row.tc_lst:
            wide = node.grid_span
            begun = open_cells.get(at)
            if node.vMerge == "continue" and begun:
                cell = rows[begun[0]][begun[1]]
                rows[begun[0]][begun[1]] = cell._replace(rows=cell.rows + 1)
            else:
                if node.vMerge:
                    open_cells[at] = (len(rows), len(line))
                else:
                    open_cells.pop(at, None)
                line.append(_cell(DocxCell(node, document), wide))
            at += wide
        rows.append(line)
    return rows


class _Part(NamedTuple):
    """A part of a paragraph in one style; `script` is 'above' or 'below' the line, or ''."""

    text: str
    bold: bool
    underlined: bool
    script: str


def _blocks(node: Any) -> Iterator[Any]:
    """Paragraphs and tables, those of controls and of tracked insertions too."""
    for child in node:
        if child.tag.endswith(("}p", "}tbl")):
            yield child
        elif child.tag.endswith(("}sdt", "}sdtContent", "}customXml", "}ins")):
            yield from _blocks(child)


def _parts(paragraph: Any) -> Iterator[_Part]:
    """What a paragraph prints: links, tracked insertions and formulas too, and no deletions."""
    for node in paragraph._p.iter("{*}r"):
        around = {one.tag.rpartition("}")[2] for one in node.iterancestors()}
        if around & {"del", "moveFrom", "txbxContent"}:
            continue
        if "oMath" in around:
            text = "".join(one.text or "" for one in node.iter("{*}t"))
            script = "above" if "sup" in around else "below" if "sub" in around else ""
            yield _Part(text, False, False, script)
            continue
        run = Run(node, paragraph)
        script = "above" if run.font.superscript else "below" if run.font.subscript else ""
        yield _Part(run.text, bool(run.bold), bool(run.underline), script)


def _sentence(paragraph: Any) -> str:
    """A paragraph's text; degrees of freedom below a statistic stand in brackets."""
    made = ""
    for part in _parts(paragraph):
        degrees = part.script == "below" and re.search(r"(?<![A-Za-z])(?:[tFQ]|χ[2²]?)$", made)
        made += f"({part.text})" if degrees and part.text.strip()[:1].isdigit() else part.text
    return made


def _cell(cell: Any, wide: int) -> Cell:
    lines, bold, under = [], False, False
    for paragraph in cell.paragraphs:
        line = ""
        for part in _parts(paragraph):
            line += raised(part.text, line) if part.script == "above" else part.text
            bold |= part.bold and bool(part.text.strip())
            under |= part.underlined and bool(part.text.strip())
        lines.append(line)
    return cell_of(" ".join(lines), bold, under, columns=wide)
