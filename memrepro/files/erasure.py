"""Leave no byte in an SQLite file of what was deleted, at a cost that grows with that.

`secure_delete` overwrites what is deleted, but not the copies that stay in the unused middle of a
page when its rows move to another one (SQLite's `rebuildPage`). VACUUM leaves none, and writes the
whole file anew; here they are overwritten in place.
https://www.sqlite.org/fileformat2.html, "B-tree Pages".
"""

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from struct import Struct

from memrepro.files.sqlite import sqlite3

# A page of a tree: its kind, how many cells, where their content begins.
_HEAD = Struct(">B2xHH")
# Its kind → the bytes before the places of its cells.
_HEADS = {0x02: 12, 0x05: 12, 0x0A: 8, 0x0D: 8}
_FILE_HEAD = 100
_AT_ONCE = 64
# FTS5 can erase since; where more than this part of all pages is free, the file is written anew.
_ERASES_WORDS, _MUCH = (3, 42, 0), 0.25


def erase(connection: sqlite3.Connection, path: Path, indexes: Sequence[str]) -> bool:
    """Whether nothing is left of what was deleted; not while another reads an old state.

    `indexes` are the FTS5 tables.
    """
    for table in indexes:
        _erase_words(connection, table)
    pages, free, page, maps = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size", "auto_vacuum")
    )
    if free > _MUCH * pages:
        connection.execute("VACUUM")
    held = _checkpoint(connection)
    # A map of pages, which an SQLite built so keeps, may start like a page of a tree.
    if not held and (maps or not blank(path, page)):
        connection.execute("VACUUM")
        held = _checkpoint(connection)
    # What it has read is as before.
    connection.execute("PRAGMA shrink_memory")
    return not held


def _erase_words(connection: sqlite3.Connection, table: str) -> None:
    """Leave no word of deleted rows in an FTS5 index, from now on at once where SQLite can."""
    config = f"SELECT v FROM {table}_config WHERE k = 'secure-delete'"
    if sqlite3.sqlite_version_info < _ERASES_WORDS:
        # It keeps them until its parts are merged, for which all of it is written anew.
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
    elif connection.execute(config).fetchone() != (1,):
        # Of a row that was replaced before, its words would stay: no merge drops what marks it.
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)")


def _checkpoint(connection: sqlite3.Connection) -> int:
    """Empty the log; whether a reader keeps it."""
    held: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return held


def blank(path: Path, page: int) -> bool:
    """Overwrite with zeros what no cell of a tree's page uses, in a file that nobody else writes.

    Its connection must be open, its log empty, and its cache dropped afterwards.

    Args:
        path: the file.
        page: bytes of a page.

    Returns:
        Whether it could be done.
    """
    if (file := _opened_by_sqlite(path)) is None:
        return False
    zeros = bytes(page)
    for start in range(0, os.fstat(file).st_size, _AT_ONCE * page):
        some = os.pread(file, _AT_ONCE * page, start)
        for at in range(0, len(some), page):
            head = at + (_FILE_HEAD if start + at == 0 else 0)
            kind, cells, content = _HEAD.unpack_from(some, head)
            # Any other page starts with the number of one, whose first byte is 0 below 2²⁴ pages.
            if not (size := _HEADS.get(kind)):
                continue
            first = head + size + 2 * cells
            # Of a page of 65,536 bytes a 0 stands for that.
            end = at + (content or page)
            if first < end and not zeros.startswith(some[first:end]):
                os.pwrite(file, zeros[: end - first], start + first)
    os.fsync(file)
    return True


def _opened_by_sqlite(path: Path) -> int | None:
    """SQLite's own descriptor: to close another one of the file would drop this process's locks."""
    with suppress(OSError):
        sought = path.stat()
        for number in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
            with suppress(OSError):
                writes = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
                if writes and os.path.samestat(os.fstat(number), sought):
                    return number
    return None
