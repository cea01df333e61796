"""Any file of tables: which reader it wants, and the ledger's mappings that a person can correct.

A YAML file holds tables as a document's `printed.yaml` does (`tables.KEYS`); a csv file holds a
table as printed, or tidy cells, one a line: `row, column, reported`, and where they are known
`table`, `metric` and `n`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

from memrepro.audit.read.grid import Grid, Unread
from memrepro.audit.read.meaning import entry_of_grid
from memrepro.audit.tables import Table, read_tables, table_of
from memrepro.errors import MemreproError, cut
from memrepro.files.atomic import read_table, write_text

_NEEDED = ("row", "column", "reported")
_KNOWN = (*_NEEDED, "table", "metric", "n")
_YAML = (".yaml", ".yml")
_PROSE = (".tex", ".md", ".html", ".htm", ".xhtml")


def _of_text(module: str, path: Path) -> Iterator[Grid | Unread]:
    text = path.read_text(encoding="utf-8", errors="replace")
    yield from _reader(module).grids(text, path.name)


def _of_file(module: str, path: Path, name: str = "grids") -> Iterator[Grid | Unread]:
    yield from getattr(_reader(module), name)(path)


def _reader(module: str) -> Any:
    """A reader's module, loaded when a file wants it, since its library may be large.

    Raises:
        MemreproError: naming the library that is missing.
    """
    try:
        return import_module(f"memrepro.audit.read.{module}")
    except ModuleNotFoundError as error:
        raise MemreproError(
            f"the reader {module!r} needs the library {error.name!r}, which is not installed: "
            "install the project's own dependencies (docs/audit.md)"
        ) from error


# Suffix → what gives the grids of a file.
READERS: Mapping[str, Callable[[Path], Iterator[Grid | Unread]]] = {
    ".tex": partial(_of_text, "latex"),
    ".html": partial(_of_text, "html"),
    ".htm": partial(_of_text, "html"),
    ".xhtml": partial(_of_text, "html"),
    ".md": partial(_of_text, "markdown"),
    ".csv": partial(_of_file, "sheets", name="of_csv"),
    ".xlsx": partial(_of_file, "sheets", name="of_xlsx"),
    ".docx": partial(_of_file, "word"),
    ".pdf": partial(_of_file, "pdf"),
}
SUFFIXES = (*_YAML, *READERS)


class Read(NamedTuple):
    """The tables of files.

    Attributes:
        tables: in their order.
        unread: tables that could not be read, and why.
        entries: name → mapping as it was read, of files that no person has typed.
        texts: file → what stands in it, of files whose sentences can be read.
    """

    tables: tuple[Table, ...]
    unread: tuple[Unread, ...]
    entries: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]


def tables_of(path: Path) -> Read:
    """The tables of a file, or of all files of a folder that have a reader.

    Raises:
        MemreproError: if it is missing, has no reader, is damaged (in a folder such a file is
            listed among what could not be read), or is a typed file that breaks its format.
    """
    if path.is_dir():
        paths = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
        if not paths:
            raise MemreproError(f"{path} holds no file that can be read: {', '.join(SUFFIXES)}")
        return _of_files(path.resolve().name, paths, alone=False)
    if path.suffix.lower() not in SUFFIXES:
        raise MemreproError(f"{path} is neither of {', '.join(SUFFIXES)}: see docs/audit.md")
    if not path.is_file():
        raise MemreproError(
            f"{path} is missing: the audit needs a file of tables, see docs/audit.md"
        )
    return _of_files(path.stem, [path], alone=True)


def _of_files(document: str, paths: Iterable[Path], alone: bool) -> Read:
    tables: list[Table] = []
    unread: list[Unread] = []
    entries: dict[str, Mapping[str, Any]] = {}
    texts: dict[str, str] = {}
    for path in paths:
        if path.suffix.lower() in _PROSE:
            text = path.read_text(encoding="utf-8", errors="replace")
            texts[path.name] = re.sub(r"<[^>]+>", " ", text) if "htm" in path.suffix else text
        if path.suffix.lower() in _YAML:
            tables += read_tables(path, document)
        elif path.suffix.lower() == ".csv" and _is_tidy(path):
            tables += _from_csv(path)
        else:
            for grid in _grids(path, alone):
                try:
                    if isinstance(grid, Unread):
                        unread.append(grid)
                        continue
                    entry, name = entry_of_grid(grid), f"table{len(entries) + 1}"
                    tables.append(table_of(document, name, entry, str(path)))
                    entries[name] = entry
                except MemreproError as error:
                    unread.append(Unread(grid.source, str(error)))
    return Read(tuple(tables), tuple(unread), entries, texts)


def _grids(path: Path, alone: bool) -> Iterator[Grid | Unread]:
    try:
        yield from READERS[path.suffix.lower()](path)
    except MemreproError:
        raise
    # Each library has errors of its own for a file that is broken, and lets others' through.
    except Exception as error:
        why = f"it is damaged, or not what its name says ({type(error).__name__}: {cut(error)})"
        if alone:
            raise MemreproError(f"{path} cannot be read: {why}") from error
        yield Unread(path.name, why)


def write_entries(path: Path, read: Read) -> None:
    """Write what was understood as YAML in the ledger's format, what was not as comments."""
    lines = [f"# not read: {one.source}: {one.why}\n" for one in read.unread]
    said = yaml.safe_dump(dict(read.entries), sort_keys=False, allow_unicode=True, width=100)
    write_text(path, "".join(lines) + said)


def _is_tidy(path: Path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        return {"row", "column"} <= {name.strip() for name in lines.readline().split(",")}


def _from_csv(path: Path) -> list[Table]:
    """Tables from tidy cells; an empty cell of `reported` prints nothing."""
    frame = read_table(path)
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
