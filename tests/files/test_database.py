"""What the stores of vectors and of answers have in common."""

import sqlite3
import threading
import time

from memrepro.files.database import Database

COLUMNS = "key BLOB PRIMARY KEY, number INTEGER NOT NULL"


def opened(path):
    return Database(
        path, "numbers", COLUMNS, what="store", if_damaged="delete it", synchronous="NORMAL"
    )


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
