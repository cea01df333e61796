"""Extractions of a whole data set: what belongs to which session, round, time and query."""

import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.extractions import DatedEvent, Extraction, QueryRange
from memrepro.core.memory import Dataset, Memory, Query, Round, Session
from memrepro.core.prepared import load_extractions, save_extracted
from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from memrepro.text.sources import from_file, said_dates, words


def day(text):
    return date.fromisoformat(text).toordinal()


KAYAK = "I bought a red kayak yesterday. Which lake is calm?"
TEA = "My sister Ines is allergic to green tea."
S1 = Session(
    "s1",
    (
        Round.from_texts("s1_1", user=KAYAK, assistant="I visited Lake Orta on 3 March 2021."),
        Round.from_texts("s1_3", user=TEA),
    ),
)
S2 = Session(
    "s2", (Round.from_texts("s2_1", speaker_a="I sold my boat last week.", speaker_b="Why?"),)
)
QUERIES = (
    Query("ranged", "m1", "What did I buy in April 2023?", "2023-05-20T10:00", "a"),
    Query("plain", "m1", "What did I buy?", "2023-05-20T10:00", "a"),
    Query("now", "m2", "What did I say today?", "2023-05-20T10:00", "a"),
    Query("timeless", "m2", "What did I buy in April 2023?", "", "a"),
)
DATASET = Dataset(
    "toy",
    {
        "m1": Memory("m1", (S1, S2), ("2023-05-02T10:00", "")),
        # An equal session, not the same object, as a stream makes it.
        "m2": Memory("m2", (Session("s1", S1.rounds),), ("2023-05-10T10:00",)),
    },
    QUERIES,
)


def texts(found, kind):
    return [(t.session_key, t.round_id, t.text) for t in found.texts if t.kind == kind]


def test_the_users_words_are_read_or_all_where_there_is_no_user():
    assert words(S1.rounds[0], S1) == KAYAK
    assert words(S2.rounds[0], S2) == "I sold my boat last week. Why?"
    opened = Session("s3", (Round.from_texts("s3_1", assistant="I sold a boat."), *S1.rounds))
    assert words(opened.rounds[0], opened) == ""


def test_the_time_that_was_said():
    assert said_dates(DATASET) == [
        DatedEvent("m1", "s1", "said", day("2023-05-02"), day("2023-05-02")),
        DatedEvent("m2", "s1", "said", day("2023-05-10"), day("2023-05-10")),
    ]


# A recorded file.


def write(folder, *lines):
    path = folder / "recorded.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(folder, *values, dataset=DATASET):
    path = write(folder, *(json.dumps(value) for value in values))
    return from_file(dataset, "llm", path, sha256(path))


def test_every_kind_of_line_is_read(tmp_path):
    found = read(
        tmp_path,
        {"session_id": "s1", "round_id": "s1_3", "kind": "fact", "text": "f"},
        {"session_id": "s2", "kind": "summary", "text": "sum"},
        {"session_id": "s1", "round_id": None, "kind": "event", "text": "e"},
        {"session_id": "s1", "round_id": "", "kind": "keyphrase", "text": "k"},
        {"memory_id": "m1", "session_id": "s2", "start": "2023-05-01", "end": "2023-05-03"},
        {"query_id": "now", "start": "2023-05-01", "end": "2023-05-01"},
    )
    assert found.texts == [
        Extraction(S1.key, "s1_3", "llm", "fact", "f"),
        Extraction(S2.key, "", "llm", "summary", "sum"),
        Extraction(S1.key, "", "llm", "event", "e"),
        Extraction(S1.key, "", "llm", "keyphrase", "k"),
    ]
    assert found.dates == [DatedEvent("m1", "s2", "llm", day("2023-05-01"), day("2023-05-03"))]
    assert found.ranges == [QueryRange("now", "m2", "llm", day("2023-05-01"), day("2023-05-01"))]
    assert found.skipped == []
    assert found.version == f"recorded.jsonl {sha256(tmp_path / 'recorded.jsonl')[:16]}"


FACT = {"session_id": "s1", "round_id": "s1_1", "kind": "fact", "text": "f"}
DATE = {"memory_id": "m1", "session_id": "s1", "start": "2023-05-01", "end": "2023-05-03"}
RANGE = {"query_id": "plain", "start": "2023-05-01", "end": "2023-05-03"}


def without(line, key):
    return {k: v for k, v in line.items() if k != key}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (FACT | {"session_id": "s9"}, "no session 's9' with round 's1_1'"),
        (FACT | {"kind": "mood"}, "kind 'mood' is none of fact, keyphrase, summary, event"),
        (FACT | {"text": " "}, "has no text"),
        (without(FACT, "kind"), "lacks 'kind'"),
        (DATE | {"session_id": "s9"}, "no session 's9' in memory 'm1'"),
        (DATE | {"end": "2023-04-30"}, "ends on 2023-04-30, before it starts on 2023-05-01"),
        (DATE | {"start": "in May"}, "Invalid isoformat string: 'in May'"),
        (RANGE | {"query_id": "none"}, "no query 'none'"),
        ([1, 2], "is a list, not a JSON object"),
    ],
)
def test_a_line_that_cannot_be_used_is_skipped_with_its_number(tmp_path, line, reason):
    found = read(tmp_path, FACT, line, RANGE)
    assert (len(found.texts), len(found.dates), len(found.ranges)) == (1, 0, 1)
    ((item, why),) = found.skipped
    assert item == "line 2 of recorded.jsonl"
    assert reason in why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["s1", "m1", "2023-05-01", "fact"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FACT, *DATE, *RANGE]), inner, max_size=6)
    ),
    max_leaves=6,
)


# A file that begins with a list is read as one list, not line by line.
@given(st.lists(JSON, max_size=6).filter(lambda some: not some or not isinstance(some[0], list)))
@settings(max_examples=40)
def test_no_line_is_lost_and_none_crashes(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("lines")
    found = read(folder, *values)
    assert len(found.texts) + len(found.dates) + len(found.ranges) + len(found.skipped) == len(
        values
    )
    save_extracted(found.texts, folder)
    assert load_extractions(folder).texts.keys() == {t.name for t in found.texts}


def test_another_file_or_none_is_refused(tmp_path):
    path = write(tmp_path, json.dumps(FACT))
    with pytest.raises(MemreproError, match=r"recorded.jsonl has the sha256 [0-9a-f]{64}, and par"):
        from_file(DATASET, "llm", path, "0" * 64)
    with pytest.raises(MemreproError, match="none.jsonl is missing"):
        from_file(DATASET, "llm", tmp_path / "none.jsonl", "0" * 64)
