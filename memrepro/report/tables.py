"""Tables: tidy csv, and the same wide as Markdown and LaTeX."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

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
    `sources` what the number was computed from (`report.sources`).
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


def number(value: float) -> str:
    """A value at the digits that tables show."""
    return f"{value:.{DIGITS}f}"


def verdict_cells(verdict: Cell, texts: Mapping[str, str]) -> Iterator[Cell]:
    """A verdict, and what it rests on in further columns: of one row, metric, n and note."""
    yield verdict
    for column, text in texts.items():
        yield verdict._replace(column=column, reported="", reproduced=text, verdict="", term="")


def write_cells(cells: Iterable[Cell], folder: Path, name: str) -> list[Path]:
    """Write a table as `<name>.csv` (tidy), `.md` and `.tex` (wide); return the paths."""
    frame = pd.DataFrame(cells, columns=list(Cell._fields)).astype(str)
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
    write_text(folder / f"{name}.tex", shown.to_latex(escape=True))
    return [folder / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]


def wide(cells: pd.DataFrame) -> pd.DataFrame:
    """Rows by columns; a cell reads `reproduced (printed reported, verdict)`, or what it has."""
    frame = cells.copy()
    if _shared_verdict(frame):
        frame["verdict"] = ""
    frame["cell"] = [_text(*row) for row in frame[["reproduced", "reported", "verdict"]].values]
    table = frame.pivot(index="row", columns="column", values="cell").fillna("")
    return table.loc[frame["row"].unique(), frame["column"].unique()].rename_axis(
        index=None, columns=None
    )


def _shared_verdict(cells: pd.DataFrame) -> str:
    """The verdict of a table that has only one and nothing printed; said once, not in each cell."""
    verdicts = set(cells["verdict"])
    return verdicts.pop() if len(verdicts) == 1 and not cells["reported"].any() else ""


def _text(reproduced: str, reported: str, verdict: str) -> str:
    printed = f"printed {reported}" if reported else ""
    remark = ", ".join(part for part in (printed, verdict) if part)
    return f"{reproduced} ({remark})" if reproduced and remark else reproduced or remark


def show(folder: Path, name: str) -> pd.DataFrame:
    """A written table, wide, for a notebook."""
    return wide(read_table(folder / f"{name}.csv"))
