"""The memory as its user sees it: what comes in, what is found and why, what time does to it."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.memory import control
from memrepro.memory.folders import user_folder
from memrepro.memory.journal import Journal
from memrepro.retrieve.tiered.keys.lexical import Lexical
from memrepro.retrieve.tiered.keys.segments import Message, Segmentation
from tests.memory.store_made import (
    DAY,
    HOUR,
    MINUTE,
    OLD,
    SETTINGS,
    START,
    chat,
    check_whole,
    ids,
    opened,
    said,
)

TOPICS = {
    0: ("my cat sleeps", "the cat eats", "cats purr at night"),
    300: ("the train was late", "trains stop here", "a train ticket is dear"),
    600: ("we bake bread", "bread needs salt", "salt and bread and the cat"),
}
NOW = START + 20 * HOUR


def talk(channel="telegram"):
    return [
        said(minute + i, text, minute + i, channel)
        for minute, texts in TOPICS.items()
        for i, text in enumerate(texts)
    ]


def scores_by_hand(memory, query, now, settings):
    """Every warm segment's cosine and score, from the document's formulas alone."""
    segments = [s for s in control.segments(memory) if s.tier == "warm"]
    encoder = HashEncoder()
    (asked,) = encoder.encode([query], "query").astype(float)
    vectors = encoder.encode([s.text for s in segments], "document").astype(float)
    cosines = vectors @ asked
    bm25 = Lexical([s.text for s in segments]).scores(query)
    hybrid = 0.7 * cosines + 0.3 * bm25 / max(bm25.max(), 1e-12)
    hours = np.array([(now - s.last_access) / 3600 for s in segments])
    if settings.recency == "buckets":
        recency = np.array(
            [next(w for e, w in ((1, 1), (24, 0.9), (168, 0.75), (720, 0.5)) if h <= e)
             for h in hours]
        )  # fmt: skip
    else:
        recency = (1 - settings.decay_rate) ** hours
    weights = {"telegram": 1.0, "ide": 0.9, "cli": 0.9}
    if settings.formula == "memory_bank":
        scores = hybrid * recency
    else:
        scores = (
            hybrid * [max(weights.get(c, 0.8) for c in s.channels) for s in segments]
            + recency
            + [0.2 * s.importance + min(0.02 * s.accesses, 0.1) for s in segments]
        )
    return {s.segment_id: (c, v) for s, c, v in zip(segments, cosines, scores, strict=True)}


@pytest.mark.parametrize(
    ("changed", "channel"),
    [
        ({}, "telegram"), ({"recency": "buckets"}, "ide"), ({"formula": "memory_bank"}, "telegram"),
        ({"decay_rate": 0.1}, "email"),
    ],
)  # fmt: skip
def test_scores_are_the_documents_formulas(tmp_path, changed, channel):
    settings = replace(SETTINGS, threshold=0.0, **changed)
    with opened(tmp_path, settings=settings) as memory:
        memory.add([*talk(channel), said(999, "an end", 1100, channel)])
        control.mark(memory, "m301", 0.5)
        for query in ("the cat", "train ticket", "bread and salt"):
            expected = scores_by_hand(memory, query, NOW, settings)
            answer = memory.search(query, NOW)
            assert answer.step == "dense"
            found = [item for item in answer.items if item.tier == "warm"]
            assert found
            for item in found:
                assert item.score == pytest.approx(expected[item.item_id][1], abs=1e-6)
            # MMR begins with the best.
            best = max((v, k) for k, (c, v) in expected.items() if c >= 0)
            if answer.items[0].tier == "warm":
                assert answer.items[0].item_id == best[1]


def test_a_search_refreshes_what_it_gives_for_good(tmp_path):
    with opened(tmp_path, settings=replace(SETTINGS, threshold=0.2)) as memory:
        memory.add([*talk(), said(999, "an end", 1100)])
        for i in range(7):
            assert len(memory.search("train ticket", NOW + i).items) == 1
        one = control.segments(memory)[1]
        assert (one.last_access, one.accesses) == (NOW + 6, 7)
        assert control.segments(memory)[0].accesses == 0
        # A clock that goes back does not make it older.
        memory.search("train ticket", NOW - HOUR)
        assert control.segments(memory)[1].last_access == NOW + 6
    with opened(tmp_path, settings=replace(SETTINGS, threshold=0.2), mode="read") as memory:
        assert control.segments(memory)[1].accesses == 8
        memory.search("train ticket", NOW)
        assert control.segments(memory)[1].accesses == 8
    with opened(tmp_path, settings=replace(SETTINGS, threshold=0.2)) as memory:
        (item,) = memory.search("train ticket", NOW + 6 + 10 * HOUR).items
        expected = scores_by_hand(memory, "train ticket", NOW, SETTINGS)[item.item_id]
        hybrid = 0.7 * expected[0] + 0.3
        assert item.score == pytest.approx(hybrid + 0.99**10 + 0.1, abs=1e-6)


def test_messages_of_all_channels_are_merged_by_time_and_copies_dropped(tmp_path):
    with opened(tmp_path) as memory:
        late = [said(i, f"text {i}", i, "cli") for i in (8, 2, 4)]
        assert memory.add(late).stored == 3
        early = [said(i, f"text {i}", i, "ide") for i in (9, 1, 3)]
        copy = Message("other", "user", START + 2 * MINUTE + 20, "Text  2", "ide")
        added = memory.add([*early, copy, *early])
        assert (added.stored, added.duplicates, added.refused) == (3, 4, 0)
        assert ids(memory.recent()) == ["m1", "m2", "m3", "m4", "m8", "m9"]
        assert ids(memory.recent(2)) == ["m8", "m9"]
        memory.add(chat(40, first=10))
        assert ids(memory.recent()) == [f"m{i}" for i in range(30, 50)]
        assert memory.metrics()["duplicates"] == 4


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (Message("a", "user", START, "  "), "its id or text is empty"),
        (Message("a", "user", float("nan"), "x"), "its time nan is not"),
        (Message("a", "user", 1e12, "x"), "years 1900 to 2099"),
        (Message("a", "user", START, "\ud800"), "its text is not valid"),
        (Message("a", "user", START, "x" * 10**7), "its text has 10,000,000 characters; at most"),
        (Message("a", "user", START, "x", "c" * 100_001), "its channel has 100,001 characters"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name_and_nothing_kept(tmp_path, message, error):
    with opened(tmp_path) as memory:
        with pytest.raises(MemreproError, match=error):
            memory.add([*chat(3), message])
        assert memory.recent() == []
        for query in ("", " ", "\udfff"):
            with pytest.raises(MemreproError, match="has no words"):
                memory.search(query, NOW)
        with pytest.raises(MemreproError, match="finite"):
            memory.search("x", float("nan"))


def test_what_was_just_said_is_found_before_it_is_in_a_segment(tmp_path):
    with opened(tmp_path) as memory:
        memory.add([said(1, "my parrot is called Polly", 0)])
        (item,) = memory.search("parrot called", START + HOUR).items
        assert (item.tier, item.message_ids) == ("hot", ("m1",))
        memory.add([said(2, "another thing", 500)])
        (item,) = memory.search("parrot called", START + HOUR).items
        assert item.tier == "warm"


def test_seven_days_on_facts_answer_with_their_messages(tmp_path):
    with opened(tmp_path) as memory:
        memory.add([said(0, "I like jazz", 0), said(1, "I live in Oslo", 1), said(2, "ok", 2)])
        memory.add([said(3, "the sea is cold", 600), said(4, "the sky is blue", 601)])
        end = START + 2 * MINUTE + 7 * DAY
        assert memory.maintain(end).migrated == 0
        assert memory.maintain(end + 1).migrated == 1
        assert memory.maintain(end + 1).migrated == 0
        assert {fact.text for fact in control.facts(memory)} >= {"I like jazz", "I live in Oslo"}
        answer = memory.search("I live in which city", end + 1)
        assert (answer.step, answer.items[0].tier) == ("dense", "cold")
        assert answer.items[0].text == "I live in Oslo"
        assert answer.items[0].message_ids == ("m0", "m1", "m2")
        assert len(control.messages(memory)) == 5
        check_whole(memory)
        # WARM answers by itself where it is sure.
        asked = memory.metrics()["cold_consulted"]
        assert memory.search("the sea is cold, the sky", end + 1).items[0].tier == "warm"
        assert memory.metrics()["cold_consulted"] == asked


def test_migration_goes_on_where_it_was_interrupted(tmp_path):
    calls = []

    def breaks(segments):
        calls.append([key for key, *_ in segments])
        if len(calls) == 2:
            raise MemreproError("no answer")
        return []

    with opened(tmp_path, extract=breaks) as memory:
        memory.add(chat(150))
        with pytest.raises(MemreproError, match="no answer"):
            memory.maintain(OLD)
        check_whole(memory)
        assert memory.maintain(OLD).migrated == len({k for c in calls for k in c}) - 16
        assert calls[1] == calls[2]
        assert sorted({k for c in calls for k in c}) == sorted(memory.journal.keys("cold"))
        check_whole(memory)


def test_a_time_in_the_query_limits_the_answer(tmp_path):
    settings = replace(SETTINGS, threshold=0.9)
    with opened(tmp_path, settings=settings) as memory:
        memory.add(
            [
                said(0, "we spoke of jam", 0),
                said(1, "On 3 March 2023 I flew to Oslo", 3 * 24 * 60),
                said(2, "we spoke of tea", 8 * 24 * 60),
                said(3, "the end", 9 * 24 * 60),
            ]
        )
        # The jam was on Monday 8 May, the flight told on the 11th, the tea on the 16th.
        now = START + 9 * DAY
        assert [i.message_ids for i in memory.search("what did we do last week?", now).items] == [
            ("m2",)
        ]
        assert [i.message_ids for i in memory.search("where was I in March?", now).items] == [
            ("m1",)
        ]
        assert memory.search("where was I in January?", now).items == ()
        said_then = replace(settings, time_by="dialogue")
    with opened(tmp_path, settings=said_then) as memory:
        found = memory.search("what did we do last week?", now).items
        assert {i.message_ids for i in found} == {("m1",), ("m2",)}
        memory.maintain(OLD)
        found = memory.search("what did I do on 11 May 2023?", now).items
        assert {(i.tier, i.message_ids) for i in found} == {("cold", ("m1",))}


def test_a_channel_limits_the_answer(tmp_path):
    with opened(tmp_path, settings=replace(SETTINGS, threshold=0.1)) as memory:
        memory.add([said(0, "tea one", 0, "cli"), said(1, "tea two", 600, "ide")])
        memory.add([said(2, "tea three", 1200, "cli")])
        assert {i.message_ids for i in memory.search("tea", NOW).items} == {
            ("m0",), ("m1",), ("m2",)
        }  # fmt: skip
        found = memory.search("tea", NOW, channel="cli").items
        assert {i.message_ids for i in found} == {("m0",), ("m2",)}
        assert memory.search("tea", NOW, channel="sms").items == ()


def test_other_rules_make_the_index_anew(tmp_path):
    with opened(tmp_path) as memory:
        memory.add(chat(30))
        memory.maintain(NOW)
    with pytest.raises(MemreproError, match="not of 'hash-32'"):
        opened(tmp_path, mode="read", encoder=HashEncoder(32))
    pairs = replace(SETTINGS, segmentation=Segmentation(least=2, most=2))
    with opened(tmp_path, settings=pairs) as memory:
        assert {len(s.message_ids) for s in control.segments(memory)} == {2}
        check_whole(memory)


def test_acknowledgments_alone_are_kept_and_found_by_no_search(tmp_path):
    settings = replace(SETTINGS, threshold=-1.0)
    with opened(tmp_path, settings=settings) as memory:
        memory.add([said(0, "thanks", 0), said(1, "ok great", 1)])
        answer = memory.search("thanks", START + HOUR)
        assert (answer.step, answer.items) == ("dense", ())
        memory.add([said(2, "we bake bread", 300), said(3, "Ok", 301), said(4, "yes", 900)])
        silent, warm = control.segments(memory)
        assert (silent.tier, silent.message_ids) == ("silent", ("m0", "m1"))
        assert (warm.tier, warm.message_ids) == ("warm", ("m2", "m3"))
        check_whole(memory)
        for query in ("thanks", "bread"):
            assert [i.message_ids for i in memory.search(query, NOW).items] == [("m2", "m3")]
        memory.index.clear()
        assert memory.search("thanks", NOW).step == "recent"
        # Nothing is made of it, and it is not looked at again.
        memory.maintain(OLD)
        assert [s.tier for s in control.segments(memory)] == ["silent", "cold", "silent"]
        check_whole(memory)
        # What it stands on changes it.
        control.edit_message(memory, "m1", "I own a parrot", OLD)
        assert control.segments(memory)[0].tier == "cold"
        assert any("parrot" in fact.text for fact in control.facts(memory))
        control.delete_messages(memory, ["m1"])
        assert control.segments(memory)[0].tier == "silent"
        assert not any("parrot" in fact.text for fact in control.facts(memory))
        check_whole(memory)


def test_a_memory_that_is_only_being_made_is_no_other_encoders(tmp_path):
    folder = user_folder(tmp_path, "ann")
    folder.mkdir()
    # As a writer leaves it for a moment: before its first transaction, and after it.
    (folder / "memory.sqlite").touch()
    for _ in range(2):
        with pytest.raises(MemreproError, match="is only being made: read it a moment later"):
            opened(tmp_path, mode="read")
        Journal(folder / "memory.sqlite", write=True).close()


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize("spoil", [Path.unlink, partial(Path.write_bytes, data=b"")])
def test_a_journal_that_is_gone_or_emptied_is_no_new_memory(tmp_path, mode, spoil):
    with opened(tmp_path) as memory:
        memory.add(chat(12))
        memory.maintain(memory.recent()[-1].at + 3e6)
    spoil(memory.folder / "memory.sqlite")
    with pytest.raises(MemreproError, match=r"memory\.sqlite is gone or empty.*restore the file"):
        opened(tmp_path, mode=mode)
