"""The journal: segments are a function of messages, rules and clock, whatever the order."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.memory.journal import Journal, day
from memrepro.memory.stretches import recut
from memrepro.retrieve.tiered.lexical import Lexical
from memrepro.retrieve.tiered.segments import Message, Segmentation, cut, segment_text
from memrepro.text.dates import TimeRange
from tests.memory.store_made import MINUTE, START, chat, ids, said

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


def test_segments_are_those_of_cut_and_an_open_tail_waits(journal):
    messages = chat(12)
    take_in(journal, messages)
    cuts = [(start, end) for start, end in cut(messages) if end + 4 <= 12]
    assert [s.message_ids for s in journal.segments()] == [
        tuple(ids(messages[start:end])) for start, end in cuts
    ]
    assert [s.text for s in journal.segments()] == [segment_text(messages[a:b]) for a, b in cuts]
    assert all(s.last_access == s.end and s.tier == "warm" for s in journal.segments())


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


def test_a_copy_from_another_channel_is_dropped_and_a_taken_id_refused(journal):
    take_in(journal, [said(1, "Hello  there", 0, "telegram")])
    copy = Message("x", "User", START + 30, "hello there", "cli")
    assert take_in(journal, [copy, copy]) == []
    assert take_in(journal, [said(1, "Hello there", 0)]) == []
    with pytest.raises(MemreproError, match="'m1' is already that of another"):
        take_in(journal, [said(2, "new", 5), said(1, "something else", 7)])
    assert ids(journal.messages()) == ["m1"]


def test_bm25_is_that_of_the_measured_retriever(journal):
    texts = ["the cat sat", "a dog sat, Café!", "under_score 42", "the the cat", "x y z", "éa b"]
    with journal.transaction() as db:
        db.executemany(
            "INSERT INTO segments (number, segment_id, tier, start, end, text, last_access)"
            " VALUES (?, ?, 'warm', 0, 0, ?, 0)",
            [(i + 1, str(i), text) for i, text in enumerate(texts)],
        )
    for query in ("the cat", 'CAFE "dog" OR NOT (', "score 42 42", "ea", "none of it", "?!"):
        expected = Lexical(texts).scores(query)
        found = journal.lexical(query)
        assert set(found) == {str(i) for i in range(len(texts)) if expected[i] > 0}
        for key, score in found.items():
            assert score == pytest.approx(expected[int(key)], rel=1e-9)
        assert journal.lexical(query, ["1", "3", "none"]) == {
            key: score for key, score in found.items() if key in ("1", "3")
        }
        best = sorted(found.values())[-2:]
        assert journal.lexical(query, best=2) == {
            key: score for key, score in found.items() if score in best
        }


def test_a_time_is_compared_with_event_or_dialogue_time(journal):
    take_in(
        journal,
        [
            said(0, "On 3 March 2023 we flew to Oslo", 0), said(1, "It was cold", 1),
            said(2, "The hotel was fine", 2), said(3, "We eat fish", 600, "cli"),
            said(4, "and potatoes", 601), said(5, "and bread", 602), said(6, "later", 1200),
        ],
    )  # fmt: skip
    oslo, fish = [s.segment_id for s in journal.segments()]
    may, march = day(START), date(2023, 3, 3)
    in_may = TimeRange(may, may)
    in_march = TimeRange(march, march)
    assert journal.within("warm", in_march, "event", None) == {oslo}
    assert journal.within("warm", in_may, "event", None) == {fish}
    assert journal.within("warm", in_march, "dialogue", None) == set()
    assert journal.within("warm", in_may, "dialogue", None) == {oslo, fish}
    assert journal.within("warm", None, "event", "cli") == {fish}
    assert journal.within("warm", in_may, "dialogue", "telegram") == {oslo, fish}
    assert journal.within("cold", None, "event", None) == set()


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "memory.sqlite"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(MemreproError, match=r"memory\.sqlite failed .*restore the file"):
        Journal(path, write=True)
