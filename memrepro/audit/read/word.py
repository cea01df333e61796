"""Tables of a Word document; a merged cell is one cell in all its places."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docx import Document
from docx.table import _Cell as DocxCell
from docx.text.paragraph import Paragraph

from memrepro.audit.read.grid import (
    Cell,
    Grid,
    NoNumbers,
    Place,
    Sentences,
    Unread,
    cell_of,
    filled,
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
        Paragraph(node, document).text if node.tag.endswith("}p") else node
        for node in document.element.body
        if node.tag.endswith(("}p", "}tbl"))
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


def _cell(cell: Any, wide: int) -> Cell:
    runs = [run for p in cell.paragraphs for run in p.runs if run.text.strip()]
    text = " ".join("".join(map(_text, p.runs)) if p.runs else p.text for p in cell.paragraphs)
    bold = any(run.bold for run in runs)
    return cell_of(text, bold, any(run.underline for run in runs), columns=wide)


def _text(run: Any) -> str:
    """What a run prints; the letter or digit of a footnote, raised, is none of the cell's text."""
    raised = run.font.superscript and not re.search(r"[*†‡±+\-()]", run.text)
    return "" if raised and re.fullmatch(r"\s*[a-z\d](?:,\s*[a-z\d])*\s*", run.text) else run.text
