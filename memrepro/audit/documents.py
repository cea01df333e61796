"""The documents: a folder each with a `printed.yaml`, which has all that the document prints.

A file maps each printed table's name to a table (`tables.KEYS`). Further keys, of no table, are

    document   {order: its place among the documents}
    checks     what its numbers and words say of each other, see `report.checks`
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.audit.tables import NO_TABLES, Table, table_of
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml

PAPERS = Path(__file__).parents[1] / "papers"
_FILE = "printed.yaml"


def documents(papers: Path = PAPERS) -> tuple[str, ...]:
    """The documents' names, in their order: the folders that have a `printed.yaml`."""
    found = [path.parent.name for path in papers.glob(f"*/{_FILE}")]
    return tuple(sorted(found, key=lambda one: (_order(papers, one), one)))


def _order(papers: Path, document: str) -> int:
    return int(_whole_file(papers, document).get("document", {}).get("order", 0))


@cache
def _whole_file(papers: Path, document: str) -> Mapping[str, Any]:
    path = papers / document / _FILE
    if not isinstance(whole := read_yaml(path), dict):
        raise MemreproError(f"{path} maps no names to tables: it is empty, or cut short")
    return whole


@cache
def tables(document: str, papers: Path = PAPERS) -> tuple[Table, ...]:
    """A document's tables, in the order of its file.

    Raises:
        MemreproError: if the file is missing or not in the format.
    """
    path = str(papers / document / _FILE)
    entries = _whole_file(papers, document).items()
    return tuple(table_of(document, t, e, path) for t, e in entries if t not in NO_TABLES)


def checks(document: str, papers: Path = PAPERS) -> Mapping[str, Any]:
    """What a document's file has under `checks`; nothing where it has none.

    Raises:
        MemreproError: if it maps no names there.
    """
    found = _whole_file(papers, document).get("checks") or {}
    if not isinstance(found, dict):
        raise MemreproError(f"{papers / document / _FILE}: checks maps no names: it is cut short")
    return found


def _entry(document: str, table: str, papers: Path) -> Mapping[str, Any]:
    known = _whole_file(papers, document)
    if table not in known or table in NO_TABLES:
        tables_known = ", ".join(name for name in known if name not in NO_TABLES)
        raise MemreproError(f"{document} prints no table {table!r}: known are {tables_known}")
    return dict(known[table])


def printed_rows(document: str, table: str, papers: Path = PAPERS) -> dict[str, dict[str, str]]:
    """A printed table: row → column → string.

    Raises:
        MemreproError: if the document has no such table, or a row is not whole.
    """
    entry = _entry(document, table, papers)
    columns = [str(column) for column in entry["columns"]]
    wrong = [row for row, cells in entry["rows"].items() if len(cells) != len(columns)]
    if wrong:
        raise MemreproError(f"{document}, {table}, row {wrong[0]!r} has not {len(columns)} cells")
    return {str(r): dict(zip(columns, c, strict=True)) for r, c in entry["rows"].items()}


def printed_notes(document: str, table: str, papers: Path = PAPERS) -> list[str]:
    """What a reader must know of a table's printed numbers."""
    return list(_entry(document, table, papers).get("notes", ()))


def without_run(document: str) -> dict[str, Mapping[str, Any]]:
    """Tables that no run computes: their `without_run`, see `tables.KEYS`."""
    return {
        table.name: table.reading["without_run"]
        for table in tables(document)
        if "without_run" in table.reading
    }


@cache
def patterns(what: str, papers: Path = PAPERS) -> dict[str, str]:
    """What names 'datasets' or 'encoders' go by in printed heads: name → pattern."""
    return dict(read_yaml(papers / "names.yaml")[what])
