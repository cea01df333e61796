"""A document's printed numbers by its folder, see `audit.documents`."""

from collections.abc import Mapping
from pathlib import Path

from memrepro.audit import documents

Printed = Mapping[str, Mapping[str, str]]


def printed_table(folder: Path, name: str) -> Printed:
    """A table as printed: row → column → string.

    Raises:
        MemreproError: if the document has no such table.
    """
    return documents.printed_rows(folder.name, name, folder.parent)


def printed_notes(folder: Path, name: str) -> list[str]:
    """What a reader must know of a table's printed numbers."""
    return documents.printed_notes(folder.name, name, folder.parent)


def printed_prose(folder: Path, name: str, row: str) -> str:
    """What the prose prints in a row of a table that has a column `printed`."""
    return printed_table(folder, name)[row]["printed"]
