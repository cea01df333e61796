"""Which runs a report reads for each cell: seen by watching it build its tables.

No list of cells and runs is kept by hand. The report's own `build` runs into a folder that is
thrown away (as `verify` does), and while it runs, each read of per-question values is noted and
given to the cell that is made next. What is found here is believed only where the values give the
cell's number again (`memrepro.provenance.links`).
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.encode.models import cache_folder
from memrepro.files.atomic import read_json, root, sha256, write_table, write_text
from memrepro.provenance.places import profiles_of
from memrepro.provenance.tables import tables as known_tables
from memrepro.report import tables
from memrepro.report.figures import data_only
from memrepro.report.modules import report_module
from memrepro.report.profile import Metrics
from memrepro.report.tables import Cell
from memrepro.study.evaluation import metrics_file

Read = tuple[str, str, str, str, int]  # experiment, setting, level, metric, k


class Source(NamedTuple):
    """What was read for a cell.

    Attributes:
        reads: for this cell, in order; without reads of its own, those for the cell before it.
        earlier: for cells above it in its table.
        before: for the tables before its own.
        own: whether the reads were made for this table, and not for one before it.
    """

    reads: tuple[Read, ...]
    earlier: tuple[Read, ...]
    before: tuple[Read, ...]
    own: bool


class Span(NamedTuple):
    """A source as places in the list of all reads: where its table's, its own begin and end."""

    table: int
    start: int
    end: int

    def of(self, reads: Sequence[Read]) -> Source:
        """The source."""
        spans = (self.start, self.end), (self.table, self.start), (0, self.table)
        own, earlier, before = (tuple(dict.fromkeys(reads[i:j])) for i, j in spans)
        return Source(own, earlier, before, self.start >= self.table)


Spans = dict[tuple[str, str], Span]


class _Enough(Exception):
    """The table that is wanted has been written."""


class Watch:
    """Notes what a report reads and makes; `tables` grows as it writes them."""

    def __init__(self, wanted: str = "") -> None:
        self.reads: list[Read] = []
        self.tables: dict[str, Spans] = {}
        self._wanted = wanted
        self._table = 0  # reads before this one are of tables that have been written
        self._last = Span(0, 0, 0)
        self._made: dict[tuple[str, str, str], Span] = {}

    def read(self, read: Read) -> None:
        """Per-question values were read."""
        self.reads.append(read)

    def made(self, cell: Cell) -> None:
        """A cell was made."""
        start = self._last.end if self._last.end < len(self.reads) else self._last.start
        self._last = Span(self._table, start, len(self.reads))
        self._made[cell.row, cell.column, cell.reproduced] = self._last

    def written(self, path: Path, frame: pd.DataFrame) -> None:
        """A table was written; it is one of cells or it is none of ours."""
        if list(frame.columns) != list(Cell._fields):
            return
        rows = frame[["row", "column", "reproduced"]].itertuples(index=False, name=None)
        nothing = Span(self._table, self._table, self._table)
        self.tables[path.stem] = {
            (row, column): self._made.get((row, column, text), nothing)
            for row, column, text in rows
        }
        self._table = len(self.reads)
        if path.stem == self._wanted:
            raise _Enough


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Within it, reads of `Metrics`, cells made and tables written are told to the watch.

    It puts its own functions in the place of three of the report's, so that no report need know of
    it; one at a time, and not from several threads.
    """
    values, new, write = Metrics.values, Cell.__new__, write_table

    def watched_values(
        self: Metrics, experiment: str, level: str, metric: str, k: int, setting: str = ""
    ) -> pd.DataFrame:
        found = values(self, experiment, level, metric, k, setting)
        watch.read((experiment, setting, level, metric, k))
        return found

    def watched_new(cls: type[Cell], *arguments: Any, **named: Any) -> Cell:
        cell = new(cls, *arguments, **named)
        watch.made(cell)
        return cell

    def watched_write(path: Path, frame: pd.DataFrame) -> None:
        write(path, frame)
        watch.written(path, frame)

    Metrics.values = watched_values  # type: ignore[method-assign]
    Cell.__new__ = staticmethod(watched_new)  # type: ignore[method-assign, assignment]
    vars(tables)["write_table"] = watched_write
    try:
        yield
    finally:
        Metrics.values = values  # type: ignore[method-assign]
        Cell.__new__ = staticmethod(new)  # type: ignore[method-assign]
        vars(tables)["write_table"] = write


_asked: set[tuple[str, str]] = set()


def source(profile: str, paper: str, table: str, row: str, column: str) -> Source:
    """What was read for a cell; nothing if the report does not make it.

    What was seen is kept in the cache folder, by the hash of the code, the parameters and the
    metrics. The first table asked for stops the report where it is written; a second one that is
    not known yet lets it run to its end.
    """
    path = _cache(profile, paper, _state(profile))
    if not path.is_file() or table not in _load(path).tables:
        first = (profile, paper) not in _asked and not path.is_file()
        _asked.add((profile, paper))
        _save(path, build(profile, paper, table if first else ""))
    seen = _load(path)
    span = seen.tables.get(table, {}).get((row, column), Span(0, 0, 0))
    return span.of(seen.reads)


def build(profile: str, paper: str, wanted: str = "") -> Watch:
    """Watch a report build its tables, all of them or up to the wanted one."""
    print(
        f"memrepro: watching the report on {paper} build {wanted or 'its tables'}, once "
        "(seconds to a minute)",
        file=sys.stderr,
    )
    watch = Watch(wanted)
    module = report_module(paper)
    with (
        tempfile.TemporaryDirectory() as name, data_only(), watching(watch), suppress(_Enough),
    ):  # fmt: skip
        module.build(profile, Path(name))
        # A written table that the report makes no more is known not to come.
        for table in known_tables(profile, paper):
            watch.tables.setdefault(table, {})
    return watch


def _cache(profile: str, paper: str, state: str) -> Path:
    return cache_folder() / "passport" / f"{profile}-{paper}-{state}.json"


@lru_cache(maxsize=8)
def _state(profile: str) -> str:
    """A digest of what decides which runs a report reads; taken once, as metrics are read once."""
    files = [Path(__file__), root() / "params.yaml"]
    files += sorted((root() / "memrepro" / "papers").rglob("*.py"))
    files += [metrics_file(one) for one in profiles_of(profile)]
    return hashlib.sha256("".join(map(sha256, files)).encode()).hexdigest()[:16]


def _save(path: Path, watch: Watch) -> None:
    """Write what was seen; a run that is read often is named once."""
    names = {read: at for at, read in enumerate(dict.fromkeys(watch.reads))}
    written = {
        "names": list(names),
        "reads": [names[read] for read in watch.reads],
        "tables": {
            table: [[*key, *span] for key, span in spans.items()]
            for table, spans in watch.tables.items()
        },
    }
    write_text(path, json.dumps(written, ensure_ascii=False))


def _load(path: Path) -> Watch:
    return _loaded(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loaded(path: Path, changed: int) -> Watch:
    stored, watch = read_json(path), Watch()
    names: list[Read] = [(one[0], one[1], one[2], one[3], one[4]) for one in stored["names"]]
    watch.reads = [names[at] for at in stored["reads"]]
    watch.tables = {
        table: {(row, column): Span(*span) for row, column, *span in rows}
        for table, rows in stored["tables"].items()
    }
    return watch
