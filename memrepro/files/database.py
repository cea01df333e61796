"""Rows by key in one SQLite file: several writers, kills lose nothing, errors are one sentence."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from memrepro.errors import MemreproError

_BUSY_SECONDS = 60
# SQLite's limit on variables in one statement is higher everywhere.
_AT_ONCE = 500
_KINDS = {"BLOB": bytes, "INTEGER": int}


class Database:
    """One table in write-ahead mode (local disks only), its errors as `MemreproError`.

    Attributes:
        path: the file.
    """

    def __init__(
        self, path: Path, table: str, columns: str, *, what: str, if_damaged: str, synchronous: str
    ) -> None:
        """Open the file, or make it.

        Args:
            path: the file.
            table: its name.
            columns: their definitions, the first of them `key BLOB PRIMARY KEY`.
            what: what the file is, for errors.
            if_damaged: what to do when it is damaged.
            synchronous: SQLite's setting: NORMAL, where a power cut may lose what can be made
                again, or FULL.

        Raises:
            MemreproError: if it is damaged or cannot be written.
        """
        self.path, self._table, self._what, self._if_damaged = path, table, what, if_damaged
        defined = [one.split()[:2] for one in columns.split(", ")]
        self._kinds = {name: _KINDS[kind] for name, kind in defined}
        self._marks = ", ".join("?" * len(defined))
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                self._write_ahead()
                self._db.execute(f"PRAGMA synchronous={synchronous}")
                self._db.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            except BaseException:
                self._db.close()
                raise

    def missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """The keys that are not here, in order."""
        here = {key for (key,) in self.rows_of("key", keys)}
        return [key for key in keys if key not in here]

    def rows_of(self, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        """Columns of the rows of these keys, the key first, in no order; of those that are here.

        Raises:
            MemreproError: if a key leads to the row of another one, or to one of other types.
        """
        kinds = [self._kinds[name] for name in columns.split(", ")]
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            found = f"FROM {self._table} WHERE key IN ({','.join('?' * len(some))})"
            if columns != "key":
                # By its number, so that the key is the row's own and not what the index says.
                found = f"FROM {self._table} NOT INDEXED WHERE rowid IN (SELECT rowid {found})"
            asked = set(some)
            for row in self.rows(f"SELECT {columns} {found}", some):
                if row[0] not in asked or not all(map(isinstance, row, kinds)):
                    raise self.damaged(f"the row {str(row[0])[:40]!r} is not what its key asks for")
                asked.remove(row[0])
                yield row

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, read as they are asked for."""
        with self._explained():
            yield from self._db.execute(query, values)

    def insert(self, rows: Sequence[Sequence[Any]]) -> int:
        """Insert rows in one transaction, and say how many were new; others stay as they are."""
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                statement = f"INSERT OR IGNORE INTO {self._table} VALUES ({self._marks})"
                new = self._db.executemany(statement, rows).rowcount
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled the transaction back already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        return new

    def __len__(self) -> int:
        return int(next(self.rows(f"SELECT count(*) FROM {self._table}"))[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def damaged(self, what: str) -> MemreproError:
        """The error for a file that holds what it must not."""
        return MemreproError(
            f"the {self._what} {self.path} is damaged ({what}): {self._if_damaged}"
        )

    def _write_ahead(self) -> None:
        """Change the mode; SQLite itself does not wait here for another process that writes."""
        until = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MemreproError(
                f"the {self._what} {self.path} cannot be opened ({error.strerror}): name a folder "
                "that can be written in MEMREPRO_CACHE"
            ) from error
        except sqlite3.OperationalError as error:
            why = str(error)
            remedy = "name a local folder that can be written in MEMREPRO_CACHE"
            signs = ("malformed", "no such column", "has no column", "columns but")
            if "full" in why:
                remedy = "free some space and run again; what was committed is kept"
            elif "locked" in why:
                remedy = "another process has held it for a minute; end that one or wait"
            elif any(sign in why for sign in signs):
                raise self.damaged(why) from error
            raise MemreproError(
                f"the {self._what} {self.path} was not written or read ({why}): {remedy}"
            ) from error
        except sqlite3.DatabaseError as error:
            # Its subclasses are mistakes in this package, not in the file.
            if type(error) is not sqlite3.DatabaseError:
                raise
            raise self.damaged(str(error)) from error
