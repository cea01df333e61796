"""The journal: segments are a function of messages, rules and clock, whatever the order."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.memory.journal import Journal
from memrepro.memory.stretches import recut
from memrepro.retrieve.tiered.keys.segments import Segmentation
from tests.memory.store_made import MINUTE, START, ids, said

RULES = Segmentation()


@pytest.fixture
def journal(tmp_path):
    with_file = Journal(tmp_path / "memory.sqlite", write=True)
    yield with_file
    with_file.close()


def take_in(journal, messages):
    with journal.transaction():
        new = journal.insert(messages)
        recut(journal, RULES, [message.at for message in new])
    return new


def state(journal):
    """What the segments are, apart from the order in which rows were made."""
    return {
        (s.segment_id, s.start, s.end, s.text, s.message_ids) for s in journal.segments()
    } | set(journal.connection.execute("SELECT * FROM events"))


minutes = st.integers(0, 600)


@settings(max_examples=20)
@given(
    st.lists(st.lists(minutes, max_size=12), max_size=5),
    st.sets(st.integers(0, 30)),
    st.one_of(st.none(), minutes),
)
def test_any_order_of_adding_and_deleting_ends_in_the_same_segments(
    tmp_path_factory, batches, deleted, clock
):
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder / "one.sqlite", write=True)
    number, left = 0, {}
    for batch in batches:
        messages = []
        for minute in batch:
            text = f"n{number} word{number % 7}" + " on 3 May" * (number % 6 == 0)
            messages.append(said(number, text, minute))
            number += 1
        take_in(journal, messages)
        left |= {m.message_id: m for m in messages}
    with journal.transaction() as db:
        gone = [left.pop(f"m{i}") for i in sorted(deleted) if f"m{i}" in left]
        for message in gone:
            db.execute("DELETE FROM messages WHERE message_id = ?", (message.message_id,))
        recut(journal, RULES, [message.at for message in gone])
    if clock is not None:
        with journal.transaction():
            journal.put("clock", START + clock * MINUTE)
            recut(journal, RULES, [])
    other = Journal(folder / "other.sqlite", write=True)
    with other.transaction():
        if clock is not None:
            other.put("clock", START + clock * MINUTE)
        other.insert(sorted(left.values(), key=lambda m: (m.at, int(m.message_id[1:]))))
        recut(other, RULES, [m.at for m in left.values()])
    assert ids(journal.messages()) == ids(other.messages())
    assert state(journal) == state(other)
    # No message is in no tier: what is in no segment is among the last.
    in_segments = {key for s in journal.segments() for key in s.message_ids}
    assert set(left) - in_segments <= set(ids(journal.last(8)))
    journal.close()
    other.close()


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "memory.sqlite"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(MemreproError, match=r"memory\.sqlite failed .*restore the file"):
        Journal(path, write=True)


def test_no_copy_of_a_deleted_row_is_left_where_rows_were_moved(tmp_path, journal):
    """`secure_delete` alone leaves some, in a file that is not written anew for a few rows."""
    notes = {f"{n:04}": f"{n:04} plum " * (5 + n % 40) for n in range(3000)}
    some = [*notes]
    random.Random(1).shuffle(some)

    def insert(rows):
        with journal.transaction() as db:
            db.executemany("INSERT INTO metadata VALUES (?, ?)", rows)

    def left():
        held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        return [name for name in gone if f"{name} plum".encode() in held]

    insert([(name, notes[name]) for name in some])
    gone = some[::7]
    with journal.transaction() as db:
        db.executemany("DELETE FROM metadata WHERE message_id = ?", [(name,) for name in gone])
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert left()
    size = (tmp_path / "memory.sqlite").stat().st_size
    journal.scrub()
    assert not left()
    assert (tmp_path / "memory.sqlite").stat().st_size == size
    # A page that was read before is not written back.
    insert([(f"{name}b", "") for name in some])
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not left()
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    kept = dict(db.execute("SELECT * FROM metadata WHERE content <> ''"))
    assert kept == {name: notes[name] for name in some if name not in gone}
