"""Tables of a spreadsheet and of csv: one a sheet, from the first cell that prints something."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memrepro.audit.read.grid import Cell, Grid, Unread, cell_of, filled
from memrepro.errors import MemreproError


def of_csv(path: Path) -> Iterator[Grid | Unread]:
    """The one table of a csv file."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = [[cell_of(text) for text in row] for row in csv.reader(lines)]
    yield _grid(rows, path.name, "")


def of_xlsx(path: Path) -> Iterator[Grid | Unread]:
    """A table a sheet, as shown: with the digits of each cell's format."""
    from openpyxl import load_workbook

    for sheet in load_workbook(path, data_only=True).worksheets:
        spans = {(r.min_row, r.min_col): (r.size["columns"], r.size["rows"])
                 for r in sheet.merged_cells.ranges}  # fmt: skip
        hidden = {
            place for r in sheet.merged_cells.ranges for row in r.rows for place in row
        } - set(spans)
        rows = [
            [_cell(c, *spans.get((c.row, c.column), (1, 1))) for c in row
             if (c.row, c.column) not in hidden]
            for row in sheet.iter_rows()
        ]  # fmt: skip
        yield _grid(rows, f"{path.name}, sheet {sheet.title}", sheet.title)


def _cell(cell: Any, columns: int, rows: int) -> Cell:
    text = "" if cell.value is None else str(cell.value)
    shown = str(cell.number_format)
    if isinstance(cell.value, float | int) and not isinstance(cell.value, bool):
        digits = len(shown.split(";")[0].partition(".")[2].rstrip("%").rstrip('_) "'))
        if "%" in shown:
            text = f"{cell.value * 100:.{digits}f}%"
        elif shown != "General" and set(shown) <= set("0#,."):
            text = f"{cell.value:.{digits}f}"
    font = cell.font
    return cell_of(text, bool(font and font.b), bool(font and font.u), columns=columns, rows=rows)


def _grid(rows: list[list[Cell]], source: str, caption: str) -> Grid | Unread:
    try:
        return Grid(source, caption, filled(rows, source))
    except MemreproError as error:
        return Unread(source, str(error))
