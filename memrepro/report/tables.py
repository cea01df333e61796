"""Tables: tidy csv, and the same wide as Markdown and LaTeX."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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
    texts = [[*map(str, cell)] for cell in cells]
    frame = pd.DataFrame(texts, columns=list(Cell._fields), dtype="str")
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
    write_text(folder / f"{name}.tex", _latex(shown))
    return [folder / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]


def wide(cells: pd.DataFrame) -> pd.DataFrame:
    """Rows by columns; a cell reads `reproduced (printed reported, verdict)`, or what it has."""
    rows: dict[str, dict[str, str]] = {name: {} for name in cells["row"]}
    columns = list(dict.fromkeys(cells["column"]))
    said = [cells[name].tolist() for name in ("row", "column", "reproduced", "reported", "verdict")]
    shared = _shared_verdict(cells)
    for row, column, reproduced, reported, verdict in zip(*said, strict=True):
        if column in rows[row]:
            raise ValueError(f"two cells of a table stand at {row!r}, {column!r}")
        rows[row][column] = _text(reproduced, reported, "" if shared else verdict)
    texts = [[row.get(column, "") for column in columns] for row in rows.values()]
    return pd.DataFrame(texts, index=list(rows), columns=columns, dtype="str")


# In this order, after the backslashes: what stands for a sign holds others.
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"~ ": "~\\space ", "~": "\\textasciitilde "},
    **{"^ ": "^\\space ", "^": "\\textasciicircum "},
    "\0": "\\textbackslash ",
}
_NEXT, _END = "\1", "\2"  # between cells, and after each row


def _latex(table: pd.DataFrame) -> str:
    """What pandas' `to_latex(escape=True)` writes of a table of texts, at a tenth of its cost."""
    body: list[Any] = [("", *table.columns), *table.itertuples()] if len(table.columns) else []
    text = "".join(_NEXT.join(row) + _END for row in body)
    text = text.replace("\\", "\0").replace("\0 ", "\0\\space ")
    for sign, written in _LATEX.items():
        text = text.replace(sign, written)
    head, end, rows = text.replace(_NEXT, " & ").partition(_END)
    text = f"\\toprule\n{head}{end}\\midrule\n{rows}\\bottomrule\n".replace(_END, " \\\\\n")
    kinds = "l" * (1 + len(table.columns))
    return f"\\begin{{tabular}}{{{kinds}}}\n{text}\\end{{tabular}}\n"


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
