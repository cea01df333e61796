"""The ledger's format: a printed table as data, checked when it is read.

A file holds tables by name, each a mapping:

    table1:
      source: Our paper, Table 1
      columns: [Easy, Hard, Overall]
      rows:
        BM25: ['0.412', '0.275', '0.366']
      n: {Easy: 80, Hard: 40, Overall: 120}

`columns` and `rows` must be there; cells are strings, so that 0.50 stays 0.50. What else a table
may say of itself is in `KEYS`.
"""

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from memrepro.audit.schema import checked
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml

KEYS: Mapping[str, str] = {
    "source": "document and table",
    "file": "where a reader found it",
    "line": "of that file, from 1",
    "label": "by which the text refers to it",
    "section": "where it stands",
    "caption": "as printed",
    "bold": "row → the columns whose cells are set in bold",
    "underlined": "row → the columns whose cells are underlined",
    "grey": "row → the columns whose cells are set in grey: no competitors",
    "starred": "row → the columns whose cells have a mark of significance",
    "stars": "row → column → how many stars it has",
    "wide": "row → the columns that a number left of them reaches into",
    "note": "what stands below it, such as what its stars mean",
    "columns": "the heads, nested ones spelled out",
    "rows": "row → its cells, as printed",
    "notes": "findings of whoever copied it",
    "n": "how many questions: a number, or row or column → number, nested if it depends on both",
    "n_source": "where these numbers are from",
    "total": "how many questions its columns add up to, where n of each is not known",
    "partial": "true where a question may count in part, so that a cell need be no share of n",
    "runs": "row → over how many runs its cells are means",
    "whole": "column → the columns that it is the whole of; [] for none",
    "whole_rows": "row → [sum or mean, the rows that it is of]; [] for none",
    "formulas": "row → [formula, references a, b, …], see `formulas`",
    "set": "true where it prints what was set, and nothing that was measured",
    "beside": "true where the data say it and the document does not print it",
    "metric": "of all cells whose head names none",
    "dataset": "the same",
    "encoder": "the same",
    "setting": "the same",
    "to_the_digit": "true where a round number, too, is meant to its last digit",
    "without_run": "why no run computes its cells: {verdict, why}; where they differ, "
    "columns: {column: verdict} and rows: {row: why}; here: {column: {row: what is set here}}",
    "names": "row or column, or a part of its name → what it is called elsewhere",
}
NO_TABLES = ("document", "checks")  # keys of a file that are of no table, see `documents`
PROSE = "printed"  # the column of a table of what prose says
AND = " & "  # between the names of printed cells from which a number follows
_NEEDED = ("columns", "rows")
# Columns of a table of claims that say of what or where, and print no number of their own.
_BESIDE = {"section", "unit", "table", "row", "less row", "column"}
# The columns of a table of claims that say which cell a number is, or which cell less which.
_CLAIM = ("table", "row", "less row", "column")


@dataclass(frozen=True)
class Table:
    """A printed table.

    Attributes:
        document: stem of the paper.
        name: of the table in its file.
        rows: row → column → string as printed.
        reading: what the table says of itself beside its cells, by `KEYS`.
    """

    document: str
    name: str
    rows: Mapping[str, Mapping[str, str]]
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns that print something."""
        return list(next(iter(self.rows.values()), {}))

    @property
    def source(self) -> str:
        """Document and table, for people."""
        return str(self.reading.get("source", self.name))

    @property
    def place(self) -> str:
        """Where to find it, for people: file, line, label and caption, as far as they are known."""
        known = self.reading
        if not (file := known.get("file")):
            return self.source
        line = f":{known['line']}" if known.get("line") else ""
        named = ", ".join(str(known[key]) for key in ("label", "caption") if known.get(key))
        return f"{file}{line}" + (f" ({named})" if named else "")

    def cells(self) -> Iterator[tuple[str, str, str]]:
        """Row, column and string of every cell, row by row."""
        for row, cells in self.rows.items():
            for column, shown in cells.items():
                yield row, column, shown

    def size(self, row: str, column: str) -> int | None:
        """How many questions stand behind a cell, or None where the table does not say."""
        return self._sizes.get((row, column))

    def unit_in(self, column: str, heads: str) -> str:
        """A cell's heads, without the '(%)' of a column whose numbers were made shares."""
        return heads.replace("(%)", "") if column in self.reading.get("as_shares", ()) else heads

    def runs(self, row: str) -> int:
        """Over how many runs a row's cells are means."""
        return int(self.reading.get("runs", {}).get(row, 1))

    def once(self) -> "Table":
        """The table with each number that is as wide as several columns in the first alone."""
        wide = self.reading.get("wide", {})
        rows = {
            row: {c: "" if c in wide[row] else shown for c, shown in cells.items()}
            if row in wide else cells
            for row, cells in self.rows.items()
        }  # fmt: skip
        return Table(self.document, self.name, rows, self.reading)

    @cached_property
    def _sizes(self) -> dict[tuple[str, str], int]:
        n, found = self.reading.get("n"), {}
        for row, column, _ in self.cells():
            if (size := _look_up(n, row, column)) is not None:
                found[row, column] = size
        return found


def _look_up(n: Any, row: str, column: str) -> int | None:
    """The number for a cell: a key counts where it is a name, or its first or last words."""
    if not isinstance(n, Mapping):
        return None if n is None else int(n)
    fits = [key for key in n if names(str(key), row) or names(str(key), column)]
    # 'Pref Easy' is more to the point than 'Easy'.
    for key in sorted(fits, key=lambda one: -len(str(one))):
        if (found := _look_up(n[key], row, column)) is not None:
            return found
    return None


def names(key: str, name: str) -> bool:
    """Whether a key is a name, or its first or last words."""
    return (
        name == key
        or name.startswith((f"{key}, ", f"{key} "))
        or name.endswith((f" {key}", f", {key}"))
    )


def reference(table: str, row: str, column: str = PROSE) -> str:
    """A printed cell's name, as formulas and reports have it: 'table | row | column'."""
    return f"{table} | {row} | {column}"


def join_references(cells: Iterable[str]) -> str:
    """The names of the printed cells that a number follows from, as one text."""
    return AND.join(cells)


def matches(pattern: str, name: str) -> bool:
    """Whether a name is a pattern's, in which '*' stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def read_tables(path: Path, document: str = "") -> list[Table]:
    """The tables of a YAML file in the ledger's format.

    Args:
        path: of the file.
        document: its stem, or '' for the file's name.

    Raises:
        MemreproError: if it is missing, malformed or not in the format; it names table and row.
    """
    entries = read_yaml(path)
    if not isinstance(entries, Mapping) or not entries:
        raise MemreproError(f"{path} holds no tables: it must map each table's name to a mapping")
    return [
        table_of(document or path.stem, str(name), entry, str(path))
        for name, entry in entries.items()
        if name not in NO_TABLES
    ]


def table_of(document: str, name: str, entry: Any, path: str = "") -> Table:
    """A table from its mapping, checked.

    Raises:
        MemreproError: naming the table, the row and the rule.
    """
    where = f"table {name!r}" + (f" of {path}" if path else "")
    if not isinstance(entry, Mapping):
        raise MemreproError(f"{where} is a {type(entry).__name__}: it must be a mapping")
    if strange := sorted(set(map(str, entry)) - set(KEYS)):
        raise MemreproError(
            f"{where} has the unknown key {strange[0]!r}: known are {', '.join(KEYS)}"
        )
    for key in _NEEDED:
        if not entry.get(key):
            raise MemreproError(f"{where} has no {key!r}: it must have {' and '.join(_NEEDED)}")
    if not isinstance(entry["columns"], list):
        raise MemreproError(f"{where}: columns must be a list of heads, not {entry['columns']!r}")
    columns = [str(column) for column in entry["columns"]]
    if len(set(columns)) < len(columns):
        raise MemreproError(f"{where} names a column twice: spell nested heads out")
    kept = _printing(columns)
    if not isinstance(entry["rows"], Mapping):
        raise MemreproError(f"{where}: rows must map each row's name to its list of cells")
    rows = {
        str(r): _checked_row(where, str(r), cells, columns, kept)
        for r, cells in entry["rows"].items()
    }
    beside = {key: value for key, value in entry.items() if key not in _NEEDED}
    reading = checked(where, beside, columns, KEYS)
    if set(_CLAIM) <= {*columns}:
        reading["formulas"] = {**_claimed(entry["rows"], columns), **reading.get("formulas", {})}
    _check_n(where, reading.get("n"))
    return Table(document, name, rows, reading)


def _printing(columns: list[str]) -> list[str]:
    """The columns with numbers of their own: 'printed' alone where there is one."""
    if PROSE in columns:
        return [PROSE]
    return [column for column in columns if column not in _BESIDE]


def _claimed(rows: Mapping[Any, list[str]], columns: list[str]) -> dict[str, list[str]]:
    """The formulas of a table of claims, from the columns that say of which cell each is."""
    found = {}
    for name, cells in rows.items():
        table, row, less, column = (cells[columns.index(part)] for part in _CLAIM)
        others = [reference(table, one, column) for one in (row, less) if one]
        found[str(name)] = ["a - b" if less else "a", *others]
    return found


def _checked_row(
    where: str, row: str, cells: Any, columns: list[str], kept: list[str]
) -> dict[str, str]:
    if not isinstance(cells, list) or len(cells) != len(columns):
        found = f"{len(cells)} cells" if isinstance(cells, list) else f"a {type(cells).__name__}"
        raise MemreproError(f"{where}, row {row!r} has {found}: it must have {len(columns)}")
    for column, cell in zip(columns, cells, strict=True):
        if not isinstance(cell, str):
            raise MemreproError(
                f"{where}, row {row!r}, column {column!r}: {reprlib.repr(cell)} is no "
                "string; quote it, "
                "since 0.50 would else become 0.5"
            )
    return {c: cell for c, cell in zip(columns, cells, strict=True) if c in kept}


def _check_n(where: str, n: Any) -> None:
    for size in n.values() if isinstance(n, Mapping) else [n]:
        if isinstance(size, Mapping):
            _check_n(where, size)
        elif size is not None and (type(size) is not int or size < 1):
            raise MemreproError(
                f"{where}: n is {reprlib.repr(size)}; it must be a whole number of at least 1"
            )
