"""A data set as tables: nothing is lost or stored twice, and the qrels stay apart."""

import pandas as pd
import pytest

from memrepro.core.extractions import DatedEvent, Extraction, Extractions, QueryRange
from memrepro.core.memory import Memory, Piece, Query, Round, Session, Turn
from memrepro.core.prepared import (
    load,
    load_dates,
    load_evidence_fields,
    load_extractions,
    load_faults,
    load_places,
    load_qrels,
    load_ranges,
    save,
    save_dates,
    save_extracted,
    save_places,
    save_qrels,
    save_ranges,
)
from memrepro.errors import MemreproError
from tests.data.gathered import gather

TURNS = (
    Turn("s1_1", "user", "same text"),
    Turn("s1_2", "assistant", "yes"),
    Turn("s1_3", "assistant", "ünïcode\nline"),
)
S1 = Session("s1", (Round("s1_1", TURNS), Round("s1_4", (Turn("s1_4", "user", "same text"),))))
S2 = Session("s2", (Round("s2_1", (Turn("s2_1", "assistant", ""),)),))
PIECES = (
    Piece(
        Memory("m1", (S1, S2), ("2023-05-01T10:00", "")),
        (Query("q1", "m1", "who?", "2023-05-02T10:00", "a kind"), Query("q3", "m1", "", "", "b")),
        {"session": {"q1": (("s1", "s2"), ("s2",))}, "round": {"q1": (("s1_4",),)}},
        {"q3": "it names nothing"},
        (("a session", "a reason"),),
    ),
    # The same sessions at other times, as a stream makes them: equal, and not the same objects.
    Piece(
        Memory(
            "m2", (Session("s2", S2.rounds), Session("s1", S1.rounds)), ("", "2023-06-01T10:00")
        ),
        (Query("q2", "m2", "what?", "", "abstention"),),
        {"session": {}, "turn": {"q2": (("s1_2",),)}},
        {"q2": "it names a session that is not there"},
    ),
)


def run(pieces, folder):
    """All the tables, the qrels and the places apart from the others."""
    chain = save_qrels(save(pieces, folder / "toy"), folder / "qrels.parquet")
    return list(save_places(chain, folder / "places.parquet"))


def left(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def rows(folder, name):
    return len(pd.read_parquet(folder / "toy" / f"{name}.parquet"))


def check_round_trip(data, folder):
    """Save the data set piece by piece, and compare what is read with it."""
    tables, qrels, places = folder / "data", folder / "qrels.parquet", folder / "places.parquet"
    saved = save_qrels(save(data.pieces, tables), qrels)
    for _ in save_places(saved, places):
        pass
    again = load(tables, "x")
    assert list(again.memories.items()) == list(data.memories.items())
    assert list(again.queries) == data.queries
    for level in (*data.qrels, "no such level"):
        kinds, gold = load_qrels(qrels, level)
        assert kinds == {q.query_id: q.kind for q in data.queries}
        assert gold == data.qrels.get(level, {})
    assert load_faults(qrels) == data.faults
    assert load_places(places) == {
        doc_id: session.session_id
        for memory in data.memories.values()
        for session in memory.sessions
        for r in session.rounds
        for doc_id in (r.round_id, *(turn.turn_id for turn in r.turns))
        if doc_id != session.session_id
    }


def test_round_trip(tmp_path):
    check_round_trip(gather(PIECES), tmp_path)
    first, second = load(tmp_path / "data", "toy").memories.values()
    assert first.sessions[0] is second.sessions[1]


def test_sessions_with_one_id_and_other_texts_are_two(tmp_path):
    other = Session("s2", (Round("s2_1", (Turn("s2_1", "assistant", "changed"),)),))
    pieces = (PIECES[0], Piece(Memory("m2", (other,), ("",)), PIECES[1].queries))
    run(pieces, tmp_path)
    assert rows(tmp_path, "turns") == 6
    memories = load(tmp_path / "toy", "toy").memories
    assert memories["m1"].sessions[1] == S2
    assert memories["m2"].sessions[0] == other
    assert load_places(tmp_path / "places.parquet")["s2_1"] == "s2"


def test_no_gold_is_written_with_the_texts(tmp_path):
    run(PIECES, tmp_path)
    assert left(tmp_path) == [
        "places.parquet",
        "qrels.parquet",
        *(f"toy/{name}.parquet" for name in ("haystacks", "queries", "texts", "turns")),
    ]


def test_whose_words_the_gold_is(tmp_path):
    """By turns where they are marked; by sessions, if each holds one person's words, where not."""
    run(PIECES, tmp_path)
    assert load_evidence_fields(tmp_path / "qrels.parquet") == {"q2": "assistant"}
    gold = {"turn": {"q1": (("s1_1", "s1_2"), ("s2_1",))}}  # s1_1 is a round's id too
    run((Piece(PIECES[0].memory, PIECES[0].queries, gold),), tmp_path)
    assert load_evidence_fields(tmp_path / "qrels.parquet") == {"q1": "assistant and user"}
    gold = {"session": {"q1": (("s1",), ("s2",)), "q3": (("s2",),)}}
    run((Piece(PIECES[0].memory, PIECES[0].queries, gold),), tmp_path)
    assert load_evidence_fields(tmp_path / "qrels.parquet") == {"q3": "assistant"}
    sources = {"s1": "chat", "s2": "diary"}
    run((Piece(PIECES[0].memory, PIECES[0].queries, gold, sources=sources),), tmp_path)
    assert load_evidence_fields(tmp_path / "qrels.parquet") == {
        "q1": "chat and diary",
        "q3": "diary",
    }


def test_a_doc_id_in_two_sessions_is_refused(tmp_path):
    stray = Session("s3", S2.rounds)
    pieces = (PIECES[0], Piece(Memory("m2", (stray,), ("",)), PIECES[1].queries))
    with pytest.raises(MemreproError, match="'s2_1' lies in the sessions 's2' and 's3'"):
        run(pieces, tmp_path)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ((), "toy is empty: found 0 memories and 0 queries"),
        ((Piece(PIECES[0].memory, ()),), "toy is empty: found 1 memories and 0 queries"),
        ((PIECES[0], PIECES[0]), "memory 'm1' stands twice"),
        ((PIECES[0], Piece(PIECES[1].memory, PIECES[0].queries)), "query 'q1' stands twice"),
    ],
)
def test_what_is_refused(tmp_path, pieces, said):
    with pytest.raises(MemreproError, match=said):
        run(pieces, tmp_path)
    assert left(tmp_path) == []


def test_a_failing_reader_leaves_what_was_there(tmp_path):
    def failing():
        yield PIECES[1]
        raise MemreproError("the file ends too early")

    run(PIECES, tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in left(tmp_path)}
    with pytest.raises(MemreproError, match="ends too early"):
        run(failing(), tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in left(tmp_path)} == before


FOUND = [
    Extraction(S1.key, "s1_1", "nlp", "fact", "same text"),
    Extraction(S1.key, "s1_1", "nlp", "fact", "same text"),
    Extraction(S1.key, "", "nlp", "summary", "ünïcode\nline"),
    Extraction(S2.key, "s2_1", "an-llm", "fact", "nan"),
    Extraction(S2.key, "s2_1", "an-llm", "fact", "None"),
]
DATES = [
    DatedEvent("m1", "s1", "nlp", 1, 738_000),
    DatedEvent("m1", "s1", "said", 738_001, 738_001),
    DatedEvent("m2", "s1", "nlp", 738_002, 738_003),
    DatedEvent("m1", "s2", "nlp", 738_004, 738_004),
    DatedEvent("m1", "s1", "nlp", 738_005, 738_005),
]


@pytest.mark.parametrize("found", [FOUND, []])
def test_extractions_round_trip(tmp_path, found):
    path = save_extracted(iter(found), tmp_path)
    assert path == tmp_path / "texts.parquet"
    assert load_extractions(tmp_path) == Extractions.grouped(found)
    assert list(pd.read_parquet(path).columns) == list(Extraction._fields)


def test_dates_are_read_by_source_memory_and_session(tmp_path):
    save_dates(iter(DATES), tmp_path / "dates.parquet")
    assert load_dates(tmp_path / "dates.parquet", ["nlp"]) == {
        ("m1", "s1"): [(1, 738_000), (738_005, 738_005)],
        ("m2", "s1"): [(738_002, 738_003)],
        ("m1", "s2"): [(738_004, 738_004)],
    }
    both = load_dates(tmp_path / "dates.parquet", ("said", "nlp"))
    assert both["m1", "s1"] == [(1, 738_000), (738_001, 738_001), (738_005, 738_005)]
    assert load_dates(tmp_path / "dates.parquet", ["recorded"]) == {}


RANGES = [
    QueryRange("q1", "m1", "nlp", 738_000, 738_010),
    QueryRange("q1", "m1", "an-llm", 738_000, 738_001),
    QueryRange("q2", "m2", "nlp", 738_000, 738_000),
]


def test_ranges_are_read_by_source(tmp_path):
    save_ranges(iter(RANGES), tmp_path / "ranges.parquet")
    assert load_ranges(tmp_path / "ranges.parquet", "nlp") == [RANGES[0], RANGES[2]]
    assert load_ranges(tmp_path / "ranges.parquet", "an-llm") == [RANGES[1]]
    assert load_ranges(tmp_path / "ranges.parquet", "recorded") == []
