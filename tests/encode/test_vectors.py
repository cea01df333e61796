import os
import random
import sqlite3
import time
from collections import Counter
from dataclasses import asdict, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.encode.encoder import EncoderIdentity, HashEncoder
from memrepro.encode.vectors import VectorStore, embed, vector_key
from memrepro.errors import MemreproError
from tests.forked import forked

BATCH = 8


def texts_to_embed(n=400):
    draw = random.Random(1)
    return [f"text {i} " + "word " * draw.randrange(60) for i in range(n)]


class Logged(HashEncoder):
    """A hash encoder that writes each text down, on the disk, before it encodes it."""

    def __init__(self, log=None, seconds=0.0, poison=None, last=None):
        super().__init__(32)
        self.log, self.seconds, self.poison, self.last = log, seconds, poison, last
        self.batches = []

    def encode(self, texts, role):
        self.batches.append(list(texts))
        if self.log:
            with self.log.open("a") as file:
                file.writelines(text.split(" word")[0].strip() + "\n" for text in texts)
                file.flush()
                os.fsync(file.fileno())
        # After the last batch it only waits to be killed.
        time.sleep(600 if self.last and len(self.batches) > self.last else self.seconds)
        vectors = super().encode(texts, role)
        if self.poison in texts:
            vectors[list(texts).index(self.poison)] = np.nan
        return vectors


@pytest.fixture
def store(tmp_path):
    with VectorStore(tmp_path / "e.sqlite") as store:
        yield store


IDENTITY = HashEncoder(8).identity
tricky = st.one_of(
    st.text(max_size=6),
    st.sampled_from(['", "', '"]', "a|b", "a\x00b", "\\", '\\"', "", " ", "null", "é", "e\u0301"]),
)
identities = st.builds(
    EncoderIdentity, tricky, tricky, st.integers(0, 2), tricky, st.booleans(), tricky, tricky
)
inputs = st.tuples(identities, st.sampled_from(["query", "document"]), tricky, tricky)


@given(inputs, inputs)
def test_keys_are_equal_only_for_equal_inputs(one, two):
    assert (vector_key(*one) == vector_key(*two)) == (one == two)


@pytest.mark.parametrize("field", [f.name for f in fields(EncoderIdentity)])
def test_every_field_of_the_identity_changes_the_key(field):
    old = asdict(IDENTITY)[field]
    new = not old if isinstance(old, bool) else old + 1 if isinstance(old, int) else old + "x"
    changed = replace(IDENTITY, **{field: new})
    assert vector_key(changed, "query", "", "t") != vector_key(IDENTITY, "query", "", "t")


def test_role_changes_the_key_and_the_key_is_pinned():
    assert vector_key(IDENTITY, "query", "", "t") != vector_key(IDENTITY, "document", "", "t")
    assert vector_key(IDENTITY, "query", "p", "t").hex()[:16] == "e2212a0f4bbdb5fb"


def test_unique_texts_once_in_the_order_asked(store):
    encoder = Logged()
    texts = ["b", "a", "b", "cc", "a"]
    got = embed(texts, encoder, "document", store)
    np.testing.assert_array_equal(got, HashEncoder(32).encode(texts, "document"))
    assert got.dtype == np.float32
    assert Counter(t for batch in encoder.batches for t in batch) == {"a": 1, "b": 1, "cc": 1}
    assert (store.found, store.encoded, len(store)) == (0, 3, 3)
    embed(["a", "d", "d"], encoder, "document", store)
    assert encoder.batches[-1] == ["d"]
    assert (store.found, store.encoded) == (1, 4)
    embed(["a"], encoder, "query", store)
    assert encoder.batches[-1] == ["a"]
    assert embed([], encoder, "query", store).shape == (0, 32)


def test_batches_go_from_long_to_short_with_ties_by_text(store):
    encoder = Logged()
    texts = ["bb", "a", "ccc", "aa", "dddd", "b"]
    embed(texts, encoder, "document", store, batch_size=2)
    assert encoder.batches == [["dddd", "ccc"], ["aa", "bb"], ["a", "b"]]


def test_nan_never_enters_and_batches_before_it_stay(store):
    encoder = Logged(poison="bad")
    with pytest.raises(MemreproError, match=r"NaN.*3 characters"):
        embed(["long text", "text", "bad", "x"], encoder, "document", store, batch_size=2)
    assert len(store) == 2  # the batch before
    with pytest.raises(MemreproError, match="NaN"):
        store.add([b"k"], np.array([[np.inf]], np.float32))
    assert len(store) == 2


def test_a_flipped_bit_in_a_vector_is_seen(store):
    embed(["a"], HashEncoder(8), "query", store)
    value = bytearray(store._db.execute("SELECT value FROM vectors").fetchone()[0])
    value[5] ^= 1
    store._db.execute("UPDATE vectors SET value = ?", (bytes(value),))
    with pytest.raises(MemreproError, match="does not fit its check"):
        embed(["a"], HashEncoder(8), "query", store)


def work(path, log, seconds=0.0, step=1, last=None):
    encoder = Logged(log, seconds, last=last)
    with VectorStore(path) as store:
        embed(texts_to_embed()[::step], encoder, "document", store, batch_size=BATCH)


def committed(path):
    if not path.exists():
        return 0
    with sqlite3.connect(path, timeout=30) as db:
        try:
            return db.execute("SELECT count(*) FROM vectors").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def logged(log):
    return log.read_text().count("\n") if log.exists() else 0


def test_kills_lose_at_most_the_batch_in_flight(tmp_path):
    path, log, draw = tmp_path / "e.sqlite", tmp_path / "log", random.Random(7)
    kills, sizes = 5, [0]
    for _ in range(kills):
        batches = draw.randint(2, 5)
        target = logged(log) + BATCH * batches
        run = forked(work, path, log, 0.01, 1, batches + 3)
        while logged(log) < target:
            assert run.is_alive(), "the worker failed"
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.02))
        run.kill()
        run.join()
        sizes.append(committed(path))
    assert sizes == sorted(sizes), "something committed was lost"
    assert 0 < sizes[-1] < 400
    work(path, log)

    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    texts = texts_to_embed()
    with VectorStore(path) as killed, VectorStore(tmp_path / "whole.sqlite") as whole:
        want = embed(texts, HashEncoder(32), "document", whole, batch_size=BATCH)
        got = embed(texts, HashEncoder(32), "document", killed)
        assert killed.encoded == 0
    assert got.tobytes() == want.tobytes()
    # Each kill can cost the one batch in flight, and nothing else is encoded twice.
    times = Counter(log.read_text().splitlines())
    assert len(times) == 400
    assert sum(times.values()) - 400 <= kills * BATCH
    print(f"committed after each kill: {sizes[1:]}; encoded twice: {sum(times.values()) - 400}")


def test_two_processes_at_once(tmp_path):
    path = tmp_path / "e.sqlite"
    runs = [forked(work, path, tmp_path / f"log{i}", 0.002, i) for i in (1, 2)]
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0]
    texts = texts_to_embed()
    with VectorStore(path) as store:
        got = embed(texts, Logged(), "document", store)
        assert (store.encoded, len(store)) == (0, 400)
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    np.testing.assert_array_equal(got, HashEncoder(32).encode(texts, "document"))
