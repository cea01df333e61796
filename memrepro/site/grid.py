"""A table of cells laid out as rows and columns, each number with what was printed and its mark."""

from typing import NamedTuple

import pandas as pd

from memrepro.site.marks import Mark, mark


class Shown(NamedTuple):
    """One number of a grid.

    Attributes:
        anchor: names the number within its table.
        reproduced: what came out here; '' where nothing did.
        reported: as printed; '' where nothing was.
        mark: its verdict; None where the whole table has the same.
        n: how many questions it is of; '' where the head of its row or column says so.
    """

    anchor: str
    reproduced: str
    reported: str
    mark: Mark | None
    n: str


class Head(NamedTuple):
    """The head of a row or a column, and the number of questions that all its numbers share."""

    name: str
    n: str


class Line(NamedTuple):
    """A row: its head, and a number or None for each column."""

    head: Head
    cells: list[Shown | None]


class Grid(NamedTuple):
    """A table as it is shown.

    Attributes:
        columns: the heads.
        lines: the rows.
        shared: the verdict that every number has, where they have one and nothing is printed.
        notes: what a reader must know besides, each once.
    """

    columns: list[Head]
    lines: list[Line]
    shared: Mark | None
    notes: list[str]


def grid(cells: pd.DataFrame) -> Grid:
    """The grid of a table's cells, in the order of its csv; every cell of it stands in it."""
    rows, columns = list(dict.fromkeys(cells["row"])), list(dict.fromkeys(cells["column"]))
    verdicts = set(cells["verdict"])
    alone = len(verdicts) == 1 and not cells["reported"].any()
    shared = mark(verdicts.pop()) if alone else None
    by_column, by_row = (_shared_n(cells, columns, "column"), _shared_n(cells, rows, "row"))
    said = all(by_column.values()) or all(by_row.values())
    if not all(by_column.values()):
        by_column = dict.fromkeys(columns, "")
    placed: dict[tuple[str, str], Shown] = {}
    fields = ["row", "column", "reported", "reproduced", "n", "verdict"]
    for row, column, reported, reproduced, n, verdict in cells[fields].to_numpy().tolist():
        placed[row, column] = Shown(
            f"r{rows.index(row)}c{columns.index(column)}",
            reproduced,
            reported,
            None if alone else mark(verdict),
            "" if said or n == "0" or not reproduced else n,
        )
    in_rows = not all(by_column.values()) and all(by_row.values())
    return Grid(
        [Head(name, by_column[name]) for name in columns],
        [
            Line(Head(r, by_row[r] if in_rows else ""), [placed.get((r, c)) for c in columns])
            for r in rows
        ],
        shared,
        sorted({note for note in cells["note"] if note}),
    )


def _shared_n(cells: pd.DataFrame, names: list[str], by: str) -> dict[str, str]:
    """The one n of the computed numbers of each row or column; '' where they differ."""
    computed = cells[(cells["reproduced"] != "") & (cells["n"] != "0")]
    found = {name: set(part["n"]) for name, part in computed.groupby(by, sort=False)}
    one = {str(name): ns.pop() for name, ns in found.items() if len(ns) == 1}
    return {name: one.get(name, "") for name in names}
