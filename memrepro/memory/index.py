"""The vectors of segments and facts in LanceDB; they follow from the journal, and can be made anew.

A search reads all vectors, and is exact, until `approximate` has built an index over many of them.
"""

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from memrepro.core.similarity import normalise
from memrepro.encode.encoder import Vectors
from memrepro.errors import MemreproError

# LanceDB's warning at the first row of each table.
os.environ.setdefault("LANCE_LOG", "error")

Table = Literal["segments", "facts"]
TABLES: tuple[Table, ...] = get_args(Table)
# Folders of a table whose files change with its rows.
_PARTS = ("data", "_deletions", "_versions")
# Each write makes a fragment and a version: many rows are written together.
_GROUP = 2048
# Reading a fragment takes a millisecond, and putting them together writes all rows anew: more of
# them are left where there are more rows.
_FRAGMENTS, _ROWS_A_FRAGMENT = 20, 5000
# Of an approximate index: its partitions, and those that a search reads.
_PARTITIONS, _PROBES = 128, 16
# Readers beside the writer may still look at versions of this age.
_OLD = timedelta(minutes=10)


class VectorIndex:
    """A folder with two tables of ids and vectors."""

    def __init__(self, folder: Path, dimension: int) -> None:
        """Name the folder; nothing is read or made yet."""
        self._folder, self._dimension = folder, dimension
        self._connection: Any = None
        self._versions: list[tuple[int, int]] = []
        # As they are, so that `erase` finds them.
        key = pa.field("id", pa.string(), metadata={"lance-encoding:compression": "none"})
        vector = pa.field("vector", pa.list_(pa.float32(), dimension))
        self._schema = pa.schema([key, vector])

    def load(self) -> None:
        """Load LanceDB, which takes two seconds at the first call of a process."""
        import lancedb  # noqa: F401

    def is_there(self) -> bool:
        """Whether both tables are, in any state."""
        return all((self._folder / f"{table}.lance").is_dir() for table in TABLES)

    def state(self) -> str:
        """A digest of the tables' files by name and size, which any write changes: 16 digits."""
        found = sorted(
            (f"{table}/{part}/{entry.name}", entry.stat().st_size)
            for table in TABLES
            for part in _PARTS
            if (folder := self._folder / f"{table}.lance" / part).is_dir()
            for entry in os.scandir(folder)
        )
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]

    def has_had_rows(self, table: Table) -> bool:
        """Whether a table has rows, or had some that are not cleaned away yet."""
        data = self._folder / f"{table}.lance" / "data"
        return data.is_dir() and any(os.scandir(data))

    def ids(self, table: Table) -> set[str]:
        """The ids of a table."""
        found = self._open(table).search().select(["id"]).to_arrow()
        return set(found.column("id").to_pylist())

    def level(
        self,
        table: Table,
        wanted: Collection[str],
        vectors_of: Callable[[Sequence[str]], Vectors],
    ) -> None:
        """Remove what is not wanted, and add what is missing.

        Args:
            table: its name; it is made if it is not there.
            wanted: ids; an id stands for one text for ever.
            vectors_of: ids → (n, dimension) float32.
        """
        here: set[str] = set()
        if (self._folder / f"{table}.lance").is_dir():
            here = self.ids(table)
        else:
            self._connect().create_table(table, schema=self._schema)
        stale, missing = sorted(here - set(wanted)), sorted(set(wanted) - here)
        self.change(table, missing, stale, vectors_of)

    def change(
        self,
        table: Table,
        came: Sequence[str],
        went: Sequence[str],
        vectors_of: Callable[[Sequence[str]], Vectors],
    ) -> None:
        """Add ids that are not there, and remove those that are, without looking at the rest."""
        if not came and not went:
            return
        rows = self._open(table)
        for start in range(0, len(went), _GROUP):
            some = ", ".join(f"'{key}'" for key in went[start : start + _GROUP])
            rows.delete(f"id IN ({some})")
        for start in range(0, len(came), _GROUP):
            group = came[start : start + _GROUP]
            rows.add(self._rows(group, vectors_of(group)))
        # Nobody else writes, and what was read of the approximate index is as it was.
        self._versions = self._now()
        stats = rows.stats()
        many = _FRAGMENTS + stats["num_rows"] // _ROWS_A_FRAGMENT
        if came and stats["fragment_stats"]["num_fragments"] > many:
            self._compact(rows)

    def nearest(
        self, table: Table, vector: Vectors, limit: int | None, *, exact: bool = False
    ) -> tuple[list[str], Vectors]:
        """The ids nearest to a vector (dimension,) by cosine, and their vectors of length one.

        At most `limit`, or all; `exact` reads all vectors even with an approximate index.
        """
        rows = self._open(table)
        n = rows.count_rows() if limit is None else limit
        query = rows.search(vector).distance_type("cosine").limit(max(1, n)).nprobes(_PROBES)
        if exact or limit is None:
            query = query.bypass_vector_index()
        return self._read(query.select(["id", "vector", "_distance"]).to_arrow())

    def all(self, table: Table) -> tuple[list[str], Vectors]:
        """All ids of a table, and their vectors of length one."""
        return self._read(self._open(table).to_arrow())

    def some(self, table: Table, ids: Sequence[str]) -> tuple[list[str], Vectors]:
        """Those of some ids that are there, in any order, and their vectors of length one."""
        return self._read(self._rows_of(table, ids))

    def traces(self, table: Table, ids: Sequence[str]) -> list[bytes]:
        """What the files hold of some ids: these, and their vectors."""
        found = self._rows_of(table, ids)
        vectors = found.column("vector").combine_chunks().flatten().to_numpy()
        keys = [key.encode() for key in found.column("id").to_pylist()]
        return [*keys, *(v.tobytes() for v in vectors.reshape(-1, self._dimension))]

    def erase(self, traces: Sequence[bytes] | None) -> None:
        """Leave no byte of removed rows: LanceDB marks them, and keeps them in the file.

        Args:
            traces: all of such rows of the segments, to be overwritten with zeros; where one cannot
                be, or where this is None, the table is written anew.
        """
        for table in TABLES:
            rows = self._open(table)
            # Nothing has been removed from a table since its first version.
            if rows.version > 1 and not (
                table == "segments" and traces is not None and self._overwrite(rows, table, traces)
            ):
                rest, connection = rows.to_arrow(), self._connect()
                connection.drop_table(table)
                connection.create_table(table, data=rest, schema=self._schema)
                # It holds what it has read of the table before, which had the same versions.
                self._connection = None

    def _overwrite(self, rows: Any, table: Table, traces: Sequence[bytes]) -> bool:
        """Whether each stood in the table's data, and is overwritten in all files.

        But for the vector of a row that stays: it is that one's too.
        """
        # An approximate index has the vectors too, in eight bits an entry.
        if rows.list_indices():
            return False
        places: dict[bytes, list[tuple[Path, int]]] = {trace: [] for trace in traces}
        for path in (self._folder / f"{table}.lance").rglob("*"):
            if not path.is_file() or not path.stat().st_size:
                continue
            with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as held:
                for trace, found in places.items():
                    at = held.find(trace)
                    while at >= 0:
                        found.append((path, at))
                        at = held.find(trace, at + len(trace))
        if not all(any(path.parent.name == "data" for path, _ in of) for of in places.values()):
            return False
        for trace, found in places.items():
            if len(found) == 1 or not self._is_vector(rows, trace):
                for path, at in found:
                    with path.open("r+b") as changed:
                        changed.seek(at)
                        changed.write(bytes(len(trace)))
        return True

    def _is_vector(self, rows: Any, trace: bytes) -> bool:
        """Whether these bytes are the vector of a row."""
        if len(trace) != 4 * self._dimension:
            return False
        search = rows.search(np.frombuffer(trace, np.float32)).limit(1)
        found = search.select(["vector", "_distance"]).to_arrow()
        return bool(found.column("vector").combine_chunks().flatten().to_numpy().tobytes() == trace)

    def compact(self, older_than: timedelta = _OLD) -> None:
        """Put fragments together, and remove versions of that age, which no reader needs."""
        for table in TABLES:
            self._compact(self._open(table), older_than)

    def approximate(self, least: int) -> None:
        """Build an approximate index where a table has `least` rows and none, else remove it.

        Of the nearest that it gives, some are missing; rows that come later are searched as before,
        until `compact` takes them in.
        """
        for table in TABLES:
            rows = self._open(table)
            built = [index.name for index in rows.list_indices()]
            n = rows.count_rows()
            if n < least:
                for name in built:
                    rows.drop_index(name)
            elif not built:
                from lancedb.index import IvfSq

                # Eight bits an entry choose the candidates, which are a quarter to read; a search
                # compares their vectors. Few rounds on few rows: where partitions end exactly
                # matters little.
                config = IvfSq(
                    distance_type="cosine",
                    num_partitions=_PARTITIONS,
                    max_iterations=10,
                    sample_rate=64,
                )
                rows.create_index("vector", config=config)

    def clear(self) -> None:
        """Remove the folder.

        Raises:
            MemreproError: if something of it stays.
        """
        try:
            if self._folder.exists():
                shutil.rmtree(self._folder)
        except OSError as error:
            raise MemreproError(
                f"the vectors in {self._folder} cannot be removed ({error}): see that this process "
                "may do so, and open the memory again"
            ) from error

    def _rows_of(self, table: Table, ids: Sequence[str]) -> pa.Table:
        which = ", ".join(f"'{key}'" for key in ids)
        found = self._open(table).search().where(f"id IN ({which})").limit(len(ids))
        return found.select(["id", "vector"]).to_arrow()

    def _now(self) -> list[tuple[int, int]]:
        """What any write to the tables changes."""
        folders = [self._folder / f"{table}.lance" / "_versions" for table in TABLES]
        return [(s.st_ino, s.st_mtime_ns) for s in (f.stat() for f in folders if f.is_dir())]

    def _connect(self) -> Any:
        """One connection while the tables stay as they are: it holds what a search has read."""
        now = self._now()
        if self._connection is None or now != self._versions:
            import lancedb

            self._connection = lancedb.connect(self._folder, read_consistency_interval=timedelta(0))
            self._versions = now
        return self._connection

    def _open(self, table: Table) -> Any:
        # LanceDB makes the folder that it connects to, also of a user who was just deleted.
        if not self._folder.is_dir():
            raise MemreproError(f"{self._folder} is not there: open the memory again")
        # Anew each time: another process may have written the table anew.
        return self._connect().open_table(table)

    def _read(self, found: pa.Table) -> tuple[list[str], Vectors]:
        flat = found.column("vector").combine_chunks().flatten().to_numpy()
        return found.column("id").to_pylist(), normalise(flat.reshape(-1, self._dimension))

    def _rows(self, ids: Sequence[str], vectors: Vectors) -> pa.Table:
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self._dimension)
        return pa.table({"id": list(ids), "vector": column}, schema=self._schema)

    @staticmethod
    def _compact(rows: Any, older_than: timedelta = _OLD) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.optimize(cleanup_older_than=older_than)
