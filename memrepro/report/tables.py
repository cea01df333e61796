"""Tables: tidy csv, and the same wide as Markdown and LaTeX.

A cell that is a comparison holds one `Comparison`; its text is made where the table is written, and
the csv of a table with such cells has its numbers in further columns, so that no text is parsed.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import isnan, nan
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import Interval
from memrepro.evaluate.comparison import Comparison
from memrepro.files.atomic import read_table, write_table, write_text

DIGITS = 4
# A report shows whole tables: a cell that is cut says less than it seems to.
pd.set_option("display.max_colwidth", None)
pd.set_option("display.max_rows", 500)
pd.set_option("display.max_columns", 100)


class Cell(NamedTuple):
    """One number of a table: what was printed, what came out here, and the verdict on it.

    `reported` is the string as printed and `reproduced` has four digits; each is '' where there
    is none, never 0. `term` is what decided the verdict, `note` what a reader must know besides,
    `sources` what the number was computed from (`report.sources`), `printed` where the document
    prints `reported` (`audit.tables.reference`): several cells where it follows from them. A cell
    with a `comparison` is made without `reproduced`, which is its text once the table is written.
    """

    row: str
    column: str
    metric: str
    reported: str
    reproduced: str
    n: int
    verdict: str
    term: str = ""
    note: str = ""
    sources: str = ""
    printed: str = ""
    comparison: Comparison | None = None

    @property
    def text(self) -> str:
        """What the table shows, as `reproduced` of its csv."""
        return self.reproduced if self.comparison is None else str(self.comparison)

    def filled(self, found: str | Comparison) -> "Cell":
        """The same cell with a text or a comparison."""
        if isinstance(found, Comparison):
            return self._replace(reproduced="", comparison=found)
        return self._replace(reproduced=found, comparison=None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        compared = self.comparison and self.comparison.as_dict()
        return {**self._asdict(), "comparison": compared}


# Of a csv: those of every table, one of a table with printed numbers, and of one with comparisons.
COLUMNS = Cell._fields[:-2]
PRINTED = "printed"
_COUNTS = ("won", "lost", "tied", "groups")
COMPARED = ("difference", "low", "high", "p", *_COUNTS, "unit")


def number(value: float) -> str:
    """A value at the digits that tables show."""
    return f"{value:.{DIGITS}f}"


def with_ends(found: Interval) -> str:
    """A mean with its interval, in brackets; one group has none."""
    ends = "no interval" if isnan(found.low) else f"{number(found.low)}, {number(found.high)}"
    return f"{number(found.mean)} [{ends}]"


def verdict_cells(verdict: Cell, found: Mapping[str, str | Comparison]) -> Iterator[Cell]:
    """A verdict, and what it rests on in further columns: of one row, metric, n and note."""
    yield verdict
    further = verdict._replace(reported="", verdict="", term="", printed="")
    for column, one in found.items():
        yield further._replace(column=column).filled(one)


def write_cells(cells: Iterable[Cell], folder: Path, name: str) -> list[Path]:
    """Write a table as `<name>.csv` (tidy), `.md` (wide); return the paths."""
    frame = cell_frame(cells)
    shown = wide(frame)
    write_table(folder / f"{name}.csv", frame)
    notes = sorted({n for n in frame["note"] if n})
    if shared := _shared_verdict(frame):
        notes.append(f"every number: {shared}")
    text = (
        shown.to_markdown(disable_numparse=True)
        + "\n"
        + "".join(f"\n- {note}" for note in notes)
        + "\n" * bool(notes)
    )
    write_text(folder / f"{name}.md", text)
    return [folder / f"{name}.{suffix}" for suffix in ("csv", "md")]


def cell_frame(cells: Iterable[Cell]) -> pd.DataFrame:
    """Cells as a csv has them, all texts.

    `COLUMNS`, then `PRINTED` if one has a place there, then `COMPARED` if one is a comparison.
    """
    made = list(cells)
    texts = [[*map(str, cell._replace(reproduced=cell.text)[:-1])] for cell in made]
    frame = pd.DataFrame(texts, columns=[*COLUMNS, PRINTED], dtype="str")
    if not any(cell.printed for cell in made):
        frame = frame[[*COLUMNS]]
    if not any(cell.comparison for cell in made):
        return frame
    numbers = [cell.comparison.as_dict() if cell.comparison else {} for cell in made]
    texts = [
        ["" if (v := one.get(name)) is None else str(v) for name in COMPARED] for one in numbers
    ]
    return frame.join(pd.DataFrame(texts, columns=list(COMPARED), dtype="str"))


def has_cells(columns: Iterable[str]) -> bool:
    """Whether a csv with these columns is a table of cells."""
    return {*COLUMNS} <= {*columns}


def read_cells(path: Path) -> list[Cell]:
    """The cells of a written table, `reproduced` their text.

    Raises:
        MemreproError: if a count or a comparison in it is none.
    """
    try:
        return [cell_of(line) for line in read_table(path).to_dict("records")]
    except (ValueError, KeyError, TypeError) as error:
        raise MemreproError(f"{path} cannot be read as cells ({error}): it was edited") from error


def cell_of(line: Mapping[Any, Any]) -> Cell:
    """A line of a table's csv as a cell; columns that it lacks are ''."""
    texts: dict[str, Any] = {name: str(line.get(name, "")) for name in (*COLUMNS, PRINTED)}
    n, compared = int(texts.pop("n") or 0), None
    if line.get("unit"):
        found = {name: line[name] for name in COMPARED}
        found |= {name: float(found[name] or nan) for name in ("difference", "low", "high", "p")}
        found |= {name: int(found[name]) for name in _COUNTS}
        compared = Comparison(n=n, **found)
    return Cell(**texts, n=n, comparison=compared)


def wide(cells: pd.DataFrame) -> pd.DataFrame:
    """Rows by columns; a cell reads `reproduced (printed reported, verdict)`, or what it has."""
    rows: dict[str, dict[str, str]] = {name: {} for name in cells["row"]}
    columns = list(dict.fromkeys(cells["column"]))
    said = [cells[name].tolist() for name in ("row", "column", "reproduced", "reported", "verdict")]
    shared = _shared_verdict(cells)
    for row, column, reproduced, reported, verdict in zip(*said, strict=True):
        if column in rows[row]:
            raise MemreproError(f"two cells of a table stand at {row!r}, {column!r}")
        rows[row][column] = _text(reproduced, reported, "" if shared else verdict)
    texts = [[row.get(column, "") for column in columns] for row in rows.values()]
    return pd.DataFrame(texts, index=list(rows), columns=columns, dtype="str")


def _shared_verdict(cells: pd.DataFrame) -> str:
    """The verdict of a table that has only one and nothing printed; said once, not in each cell."""
    verdicts = set(cells["verdict"])
    return verdicts.pop() if len(verdicts) == 1 and not cells["reported"].any() else ""


def _text(reproduced: str, reported: str, verdict: str) -> str:
    printed = f"printed {reported}" if reported else ""
    remark = ", ".join(part for part in (printed, verdict) if part)
    return f"{reproduced} ({remark})" if reproduced and remark else reproduced or remark


def by_place(frame: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Row → column → what stands there, of a written table, or of a figure's data.

    A row of data is named by its first columns, as many as tell rows apart.
    """
    if {"row", "column", "reproduced"} <= set(frame.columns):
        rows: dict[str, dict[str, str]] = {name: {} for name in frame["row"]}
        for row, column, value in frame[["row", "column", "reproduced"]].to_numpy():
            rows[row][column] = value
        return rows
    columns = list(frame.columns)
    keys = next(k for k in range(1, len(columns) + 1) if not frame.duplicated(columns[:k]).any())
    values = columns[keys:]
    return {
        ", ".join(line[:keys]): dict(zip(values, line[keys:], strict=True))
        for line in frame.to_numpy().tolist()
    }


def show(folder: Path, name: str) -> pd.DataFrame:
    """A written table, wide, for a notebook."""
    return wide(read_table(folder / f"{name}.csv"))
