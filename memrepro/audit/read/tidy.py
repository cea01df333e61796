"""Tables from tidy cells, one a line: `row, column, reported`, or `table, metric, n` besides."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.audit.read.sheets import delimiter
from memrepro.audit.read.text import text_of_file
from memrepro.audit.tables import Table, table_of
from memrepro.errors import MemreproError
from memrepro.files.atomic import csv_texts

_NEEDED = ("row", "column", "reported")
_KNOWN = (*_NEEDED, "table", "metric", "n")


def is_tidy(path: Path) -> bool:
    """Whether a csv file holds tidy cells."""
    text = text_of_file(path).lstrip("\n")
    heads = next(csv.reader([text.partition("\n")[0]], delimiter=delimiter(text)), [])
    return {"row", "column"} <= set(heads)


def tables_of_cells(path: Path) -> list[Table]:
    """Tables from tidy cells; an empty cell of `reported` prints nothing."""
    text = text_of_file(path)
    frame = csv_texts(StringIO(text), delimiter(text))
    if missing := [column for column in _NEEDED if column not in frame]:
        raise MemreproError(
            f"{path} has no column {missing[0]!r}: it must have {', '.join(_NEEDED)}, and may have "
            "table, metric and n"
        )
    if strange := [column for column in frame if column not in _KNOWN]:
        raise MemreproError(
            f"{path} has the unknown column {strange[0]!r}: known are {', '.join(_KNOWN)}"
        )
    if "table" not in frame:
        frame["table"] = path.stem
    groups = frame.groupby("table", sort=False)
    return [_table(path, str(name), group) for name, group in groups]


def _table(path: Path, name: str, cells: pd.DataFrame) -> Table:
    if (twice := cells[cells.duplicated(["row", "column"])]).size:
        first = twice.iloc[0]
        raise MemreproError(
            f"{path}, table {name!r} has row {first['row']!r}, column {first['column']!r} twice"
        )
    columns = list(dict.fromkeys(cells["column"]))
    shown = {(r, c): s for r, c, s in cells[["row", "column", "reported"]].to_numpy()}
    rows = {row: [shown.get((row, c), "") for c in columns] for row in dict.fromkeys(cells["row"])}
    entry: dict[str, Any] = {"source": name, "columns": columns, "rows": rows}
    if "n" in cells:
        entry["n"] = _sizes(path, name, cells)
    if "metric" in cells and len(metrics := set(cells["metric"]) - {""}) == 1:
        entry["metric"] = metrics.pop()
    return table_of(path.stem, name, entry, str(path))


def _sizes(path: Path, name: str, cells: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Row → column → n, where it is given."""
    found: dict[str, dict[str, int]] = {}
    for row, column, n in cells[["row", "column", "n"]].to_numpy():
        if n in ("", "0"):
            continue
        if not str(n).isdigit():
            raise MemreproError(
                f"{path}, table {name!r}, row {row!r}, column {column!r}: n is {n!r}; it must be a "
                "whole number, or empty where it is not known"
            )
        found.setdefault(row, {})[column] = int(n)
    return found
