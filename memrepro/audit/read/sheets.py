"""Tables of a spreadsheet and of csv: one a sheet, from the first cell that prints something."""

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memrepro.audit.read.grid import (
    MOST_CELLS,
    Cell,
    Grid,
    NoNumbers,
    Place,
    Unread,
    cell_of,
    filled,
    unread,
)
from memrepro.audit.read.text import check_unpacked, text_of_file
from memrepro.errors import MemreproError

_MERGED = re.compile(rb'<(?:\w+:)?mergeCell[^>]*ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')


def of_csv(path: Path) -> Iterator[Grid | Unread]:
    """The one table of a csv or tsv file."""
    text = text_of_file(path)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text))
    yield _grid([[cell_of(text) for text in row] for row in rows], Place(path.name))


def delimiter(text: str) -> str:
    """What stands between a file's cells: the mark that gives most lines the same many cells."""
    lines = [line for line in text[:20_000].split("\n")[:20] if line.strip()]
    best, most = ",", (0, 0)
    for mark in (",", ";", "\t", "|"):
        widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
        width = max(set(widths), key=widths.count, default=1)
        if width > 1 and (widths.count(width), width) > most:
            best, most = mark, (widths.count(width), width)
    return best


def of_xlsx(path: Path) -> Iterator[Grid | Unread]:
    """A table a sheet, as shown: with the digits of each cell's format."""
    from openpyxl import load_workbook

    check_unpacked(path)
    _check_merged(path)
    for sheet in load_workbook(path, data_only=True).worksheets:
        place = Place(path.name, 0, f"sheet {sheet.title}", "", sheet.title)
        if (sheet.max_row or 1) * (sheet.max_column or 1) > MOST_CELLS:
            yield unread(
                place,
                f"its cells reach row {sheet.max_row:,} and column {sheet.max_column:,}; at most "
                f"{MOST_CELLS:,} cells of a sheet are read",
            )
            continue
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
        yield _grid(rows, place)


def _check_merged(path: Path) -> None:
    """Refuse a sheet whose merged cells fill more places than a table has: each would be made.

    Raises:
        MemreproError: naming the range.
    """
    with zipfile.ZipFile(path) as parts:
        for name in parts.namelist():
            if not re.fullmatch(r"xl/worksheets/[^/]+\.xml", name):
                continue
            for found in _MERGED.finditer(parts.read(name)):
                left, top, right, bottom = (part.decode() for part in found.groups())
                wide = _column(right) - _column(left) + 1
                if wide * (int(bottom) - int(top) + 1) > MOST_CELLS:
                    raise MemreproError(
                        f"{path} merges the cells {left}{top}:{right}{bottom}; at most "
                        f"{MOST_CELLS:,} cells of a sheet are read: undo the merge"
                    )


def _column(letters: str) -> int:
    value = 0
    for letter in letters:
        value = value * 26 + ord(letter) - 64
    return value


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


def _grid(rows: list[list[Cell]], place: Place) -> Grid | Unread:
    try:
        return Grid(place, [row for row in filled(rows) if any(cell.text for cell in row)])
    except MemreproError as error:
        return unread(place, error, counts=not isinstance(error, NoNumbers))
