"""What erasing leaves of deleted words in an SQLite file: nothing, under the system's and ours."""

import sqlite3 as systems

import pytest

from memrepro.files import erasure
from memrepro.files.sqlite import sqlite3 as ours


@pytest.mark.parametrize("library", [systems, ours], ids=["the system's", "ours"])
def test_no_word_stays_even_of_a_row_that_was_replaced(library, tmp_path, monkeypatch):
    monkeypatch.setattr(erasure, "sqlite3", library)
    path = tmp_path / "words.sqlite"
    db = library.connect(path, isolation_level=None)
    for pragma in ("journal_mode=WAL", "secure_delete=ON"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    insert = "INSERT INTO words (rowid, text) VALUES (?, ?)"
    db.executemany(insert, enumerate(["sushi", "bread", "apples"]))
    # As a fact that is stated again.
    db.execute("BEGIN")
    db.execute("DELETE FROM words WHERE rowid = 0")
    db.execute(insert, (0, "sushi"))
    db.execute("COMMIT")
    left = {0: b"sushi", 1: b"bread", 2: b"apples"}
    # FTS5 erases in place from the first time on.
    for row in (1, 0, 2):
        db.execute("DELETE FROM words WHERE rowid = ?", (row,))
        del left[row]
        assert erasure.erase(db, path, ["words"])
        found = path.read_bytes()
        assert [word for word in (b"sushi", b"bread", b"apples") if word in found] == [
            *left.values()
        ]
    db.close()
