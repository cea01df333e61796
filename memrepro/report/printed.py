"""A document's printed numbers, read from `printed.yaml` and `printed_text.yaml` of its folder."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml

Printed = Mapping[str, Mapping[str, str]]
_FILES = ("printed.yaml", "printed_text.yaml")


@cache
def _tables(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _FILES:
        if (folder / name).is_file():
            found |= read_yaml(folder / name)
    return found


def _table(folder: Path, name: str) -> Mapping[str, Any]:
    tables = _tables(folder)
    if name not in tables:
        raise MemreproError(
            f"{folder.name}: no printed table {name!r}; there are {', '.join(sorted(tables))}"
        )
    return dict(tables[name])


def printed_table(folder: Path, name: str) -> Printed:
    """A table as printed: row → column → string.

    Raises:
        MemreproError: if the document has no such table.
    """
    entry = _table(folder, name)
    columns = [str(column) for column in entry["columns"]]
    return {str(row): dict(zip(columns, c, strict=True)) for row, c in entry["rows"].items()}


def printed_notes(folder: Path, name: str) -> list[str]:
    """What a reader must know of a table's printed numbers."""
    return list(_table(folder, name).get("notes", ()))


def printed_prose(folder: Path, name: str, row: str) -> str:
    """What the prose prints in a row of a table that has a column `printed`."""
    return printed_table(folder, name)[row]["printed"]
