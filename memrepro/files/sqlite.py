"""The SQLite under a memory: one whose FTS5 erases words in place, where there is one (3.42)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        from pysqlite3 import dbapi2 as sqlite3
    except ImportError:  # only on Linux does Python take the system's, which may be older
        import sqlite3

__all__ = ["sqlite3"]
