"""What the stores of vectors and of answers have in common: many writers, damage, a full disk."""

import random
import sqlite3
import threading
import time

import pytest

from memrepro.encode.vectors import VectorStore
from memrepro.errors import MemreproError
from memrepro.files.database import Database
from memrepro.llm.records import AnswerStore

COLUMNS = "key BLOB PRIMARY KEY, number INTEGER NOT NULL"


def opened(path):
    return Database(
        path, "numbers", COLUMNS, what="store", if_damaged="delete it", synchronous="NORMAL"
    )


def rows(first, last):
    return [(number.to_bytes(500, "big"), number) for number in range(first, last)]


def test_opening_waits_for_a_process_that_is_making_the_file(tmp_path):
    path = tmp_path / "a.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE something (x)")

    def let_go():
        other.execute("COMMIT")
        other.close()

    wait = threading.Timer(0.3, let_go)
    began = time.monotonic()
    wait.start()
    with opened(path) as store:
        assert time.monotonic() - began >= 0.3
        assert store.insert([(b"a", 1)]) == 1
    wait.join()


def test_many_may_make_a_file_at_once(tmp_path):
    for attempt in range(20):
        path, start, failures = tmp_path / f"{attempt}.sqlite", threading.Barrier(6), []

        def work(number, path=path, start=start, failures=failures):
            start.wait()
            try:
                with opened(path) as store:
                    store.insert([(bytes([number]), number)])
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        with opened(path) as store:
            assert len(store) == 6


@pytest.mark.parametrize(
    "junk", [b"not a database at all " * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
@pytest.mark.parametrize(
    ("store", "remedy"),
    [(opened, "delete it"), (VectorStore, "delete it"), (AnswerStore, "move it away")],
)
def test_a_file_that_is_no_database_is_one_sentence(tmp_path, store, remedy, junk):
    path = tmp_path / "a.sqlite"
    path.write_bytes(junk)
    with pytest.raises(MemreproError, match=rf"a\.sqlite is damaged.*{remedy}"):
        store(path)
    path.unlink()
    store(path).close()


def test_damaged_pages_are_one_sentence(tmp_path):
    path = tmp_path / "a.sqlite"
    with opened(path) as store:
        store.insert(rows(0, 400))
    data = bytearray(path.read_bytes())
    data[4096:-4096] = random.Random(0).randbytes(len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(MemreproError, match=r"is damaged.*delete it"), opened(path) as store:
        list(store.rows("SELECT * FROM numbers"))


def test_a_key_that_leads_to_another_row_is_named(tmp_path):
    path = tmp_path / "a.sqlite"
    keys = [b"the first", b"the second", b"the third"]
    with opened(path) as store:
        store.insert([(key, number) for number, key in enumerate(keys)])
    data = bytearray(path.read_bytes())
    at = data.rindex(keys[1]) + len(keys[1])  # the index has a key and the number of its row
    assert data[at] == 2
    data[at] = 3
    path.write_bytes(data)
    with opened(path) as store, pytest.raises(MemreproError, match="is not what its key asks for"):
        list(store.rows_of("key, number", keys[1:2]))


def test_a_full_disk_is_one_sentence_and_keeps_what_was_committed(tmp_path):
    with opened(tmp_path / "a.sqlite") as store:
        store.insert(rows(0, 5))
        pages = next(store.rows("PRAGMA page_count"))[0]
        list(store.rows(f"PRAGMA max_page_count = {pages + 3}"))
        with pytest.raises(MemreproError, match=r"full.*free some space"):
            store.insert(rows(5, 400))
        assert len(store) == 5
        assert list(store.rows("PRAGMA integrity_check")) == [("ok",)]
