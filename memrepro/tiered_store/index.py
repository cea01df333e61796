"""The vectors of segments and facts in LanceDB; they follow from the journal, and can be made anew.

Vectors are searched without an approximate index, which a week of conversation does not need.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from memrepro.core.similarity import normalise
from memrepro.encode import Vectors

# LanceDB's warning at the first row of each table.
os.environ.setdefault("LANCE_LOG", "error")

Table = Literal["segments", "facts"]
TABLES: tuple[Table, ...] = ("segments", "facts")
_BATCH = 64
# Each write makes a fragment, and reading a fragment takes a millisecond.
_FRAGMENTS = 20
# Readers beside the writer may still look at versions of this age.
_OLD = timedelta(minutes=10)


class VectorIndex:
    """A folder with two tables of ids and vectors."""

    def __init__(self, folder: Path, dimension: int) -> None:
        """Name the folder; nothing is read or made yet."""
        self._folder, self._dimension = folder, dimension
        self._schema = pa.schema(
            [("id", pa.string()), ("vector", pa.list_(pa.float32(), dimension))]
        )

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
        if not (self._folder / f"{table}.lance").is_dir():
            self._connect().create_table(table, schema=self._schema)
        here = self.ids(table)
        rows = self._open(table)
        stale, missing = sorted(here - set(wanted)), sorted(set(wanted) - here)
        for start in range(0, len(stale), _BATCH):
            some = ", ".join(f"'{key}'" for key in stale[start : start + _BATCH])
            rows.delete(f"id IN ({some})")
        for start in range(0, len(missing), _BATCH):
            some_ids = missing[start : start + _BATCH]
            rows.add(self._rows(some_ids, vectors_of(some_ids)))
        if missing and rows.stats()["fragment_stats"]["num_fragments"] > _FRAGMENTS:
            self._compact(rows)

    def nearest(
        self, table: Table, vector: Vectors, limit: int | None
    ) -> tuple[list[str], Vectors]:
        """The ids nearest to a vector by cosine, and their vectors of length one.

        Args:
            table: its name.
            vector: shape (dimension,).
            limit: how many at most, or None for all.
        """
        rows = self._open(table)
        n = rows.count_rows() if limit is None else limit
        query = rows.search(vector).distance_type("cosine").limit(max(1, n))
        return self._read(query.select(["id", "vector", "_distance"]).to_arrow())

    def all(self, table: Table) -> tuple[list[str], Vectors]:
        """All ids of a table, and their vectors of length one."""
        return self._read(self._open(table).to_arrow())

    def rewrite(self) -> None:
        """Write the tables anew, so that no byte of a removed vector is left.

        LanceDB marks rows as removed, and optimising leaves them in the file while they are few.
        """
        for table in TABLES:
            rest = self._open(table).to_arrow()
            self._connect().drop_table(table)
            self._connect().create_table(table, data=rest, schema=self._schema)

    def compact(self) -> None:
        """Put fragments together, and remove versions that no reader needs."""
        for table in TABLES:
            self._compact(self._open(table))

    def clear(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _connect(self) -> Any:
        # Imported here because it takes two seconds.
        import lancedb

        return lancedb.connect(self._folder, read_consistency_interval=timedelta(0))

    def _open(self, table: Table) -> Any:
        # Anew each time: another process may have written the table anew.
        return self._connect().open_table(table)

    def _read(self, found: pa.Table) -> tuple[list[str], Vectors]:
        flat = found.column("vector").combine_chunks().flatten().to_numpy()
        return found.column("id").to_pylist(), normalise(flat.reshape(-1, self._dimension))

    def _rows(self, ids: Sequence[str], vectors: Vectors) -> pa.Table:
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self._dimension)
        return pa.table({"id": list(ids), "vector": column}, schema=self._schema)

    @staticmethod
    def _compact(rows: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.optimize(cleanup_older_than=_OLD)
