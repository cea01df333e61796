"""Each step of the chain is taken on a real failure of what it stands on."""

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.memory.settings import UNCERTAIN
from tests.memory.store_made import MINUTE, SETTINGS, START, chat, check_whole, opened

NOW = START + 3 * 60 * MINUTE
IMPATIENT = replace(SETTINGS, dense_ms=200, index_seconds=0.2)


class Moody(HashEncoder):
    """Hangs or raises when told to."""

    def __init__(self):
        super().__init__()
        self.go_on, self.reached = threading.Event(), threading.Event()
        self.broken, self.calls = False, 0
        self.go_on.set()

    def encode(self, texts, role):
        self.calls += 1
        self.reached.set()
        if self.broken:
            raise RuntimeError("out of memory")
        self.go_on.wait()
        return super().encode(texts, role)


def asked(memory, query="own item7"):
    return memory.search(query, NOW)


def test_a_deleted_folder_of_vectors_leaves_words_and_is_made_anew(tmp_path):
    with opened(tmp_path) as memory:
        memory.add(chat(30))
        best = asked(memory)
        assert (best.step, best.failures, best.says) == ("dense", (), "")
        shutil.rmtree(memory.folder / "vectors.lance")
        answer = asked(memory)
        assert answer.step == "lexical"
        assert answer.items[0].message_ids == best.items[0].message_ids
        assert answer.failures[0].startswith("dense: ")
        memory.add(chat(1, first=30))
        assert asked(memory).step == "dense"
        check_whole(memory)
        counts = memory.metrics()
        assert (counts["searches"], counts["answered_dense"]) == (3, 2)
        assert (counts["answered_lexical"], counts["dense_failed"]) == (1, 1)


def test_an_encoder_that_raises_leaves_words_and_what_came_meanwhile_is_encoded_later(tmp_path):
    encoder = Moody()
    with opened(tmp_path, encoder=encoder) as memory:
        memory.add(chat(30))
        encoder.broken = True
        answer = asked(memory)
        assert (answer.step, answer.failures) == (
            "lexical",
            ("dense: RuntimeError: out of memory",),
        )
        memory.add(chat(30, first=30))
        assert asked(memory, "own item40").items[0].text.count("item40") == 1
        encoder.broken = False
        assert asked(memory).failures == (
            "dense: the vectors of some segments or facts are not there yet",
        )
        memory.maintain(NOW)
        assert asked(memory).step == "dense"
        check_whole(memory)
        assert memory.metrics()["index_failed"] >= 1


def test_an_encoder_that_hangs_hangs_no_search_and_no_message(tmp_path):
    encoder = Moody()
    with opened(tmp_path, encoder=encoder) as memory:
        memory.add(chat(30))
        assert asked(memory).step == "dense"
    with opened(tmp_path, encoder=encoder, settings=IMPATIENT) as memory:
        encoder.go_on.clear()
        encoder.reached.clear()
        calls, threads = encoder.calls, threading.active_count()
        for failure in ("dense: it took longer than 200 ms", "dense: an earlier call"):
            answer = asked(memory)
            assert answer.step == "lexical"
            assert answer.failures[0].startswith(failure)
        assert encoder.reached.wait(60)
        assert encoder.calls == calls + 1
        assert threading.active_count() <= threads + 1
        assert memory.add(chat(30, first=30)).stored == 30
        encoder.go_on.set()
    with opened(tmp_path, encoder=encoder) as memory:
        memory.maintain(NOW)
        assert asked(memory).step == "dense"
        check_whole(memory)


def test_words_that_are_nowhere_leave_the_last_messages(tmp_path):
    encoder = Moody()
    with opened(tmp_path, encoder=encoder) as memory:
        memory.add(chat(30))
        encoder.broken = True
        answer = memory.search("zebra", NOW)
        assert answer.step == "recent"
        assert [item.item_id for item in answer.items] == [f"m{i}" for i in range(20, 30)]
        assert {item.tier for item in answer.items} == {"hot"}
        assert answer.failures[1] == "lexical: no segment or fact has a word of the query"


def test_a_damaged_journal_leaves_the_messages_in_memory(tmp_path):
    memory = opened(tmp_path)
    memory.add(chat(30))
    for name in ("memory.sqlite", "memory.sqlite-wal"):
        with (memory.folder / name).open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            file.write(b"\xff" * size)
    # What SQLite still holds in memory would hide it.
    memory.journal.connection.execute("PRAGMA shrink_memory")
    answer = asked(memory)
    assert answer.step == "recent"
    assert [item.text for item in answer.items] == [f"I own item{i}" for i in range(20, 30)]
    assert "the memory" in answer.failures[0]
    memory.close()


def test_a_journal_that_another_process_writes_still_answers(tmp_path):
    with opened(tmp_path) as memory:
        memory.add(chat(30))
        program = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
            "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); input()"
        )
        command = [sys.executable, "-c", program, str(memory.folder / "memory.sqlite")]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout.readline() == "held\n"
            answer = asked(memory)
            assert answer.step == "dense"
            with pytest.raises(MemreproError, match="locked.*another process holds it"):
                memory.add(chat(1, first=30))
            other.stdin.write("\n")
        assert asked(memory).step == "dense"
        counts = memory.metrics()
        assert (counts["note_failed"], counts["searches"], counts["stored"]) == (1, 2, 30)


def test_nothing_is_said_of_an_empty_memory(tmp_path):
    with opened(tmp_path) as memory:
        answer = asked(memory)
        assert (answer.items, answer.says) == ((), UNCERTAIN)
        shutil.rmtree(memory.folder / "vectors.lance")
        answer = asked(memory)
        assert (answer.step, answer.items, answer.says) == ("nothing", (), UNCERTAIN)
        assert [failure.partition(":")[0] for failure in answer.failures] == [
            "dense", "lexical", "recent"
        ]  # fmt: skip
        assert memory.metrics()["abstained"] == 2
