"""What LoCoMo's authors recorded, hung on rounds and sessions: the real file, and a tiny one."""

import json
import os
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from memrepro.core.extractions import DatedEvent, Extraction, Extractions
from memrepro.core.prepared import load, save
from memrepro.data import locomo
from memrepro.data.locomo_extractions import extract, extractions
from tests.data.test_locomo import SAMPLE

ROOT = Path(__file__).parents[2]
MIRROR = Path(os.environ.get("MEMREPRO_MIRROR") or ROOT.parent / "shared" / "mirror")


@pytest.fixture(scope="module")
def real():
    if not (MIRROR / locomo.FILE).is_file():
        pytest.skip(f"no mirror with LoCoMo: {MIRROR / locomo.FILE} is missing")
    return locomo.load(MIRROR, "locomo")


@pytest.fixture(scope="module")
def found(real):
    return extract(MIRROR, real)


def test_the_counts(found):
    # 2,541 observations, of which some name turns of several rounds.
    assert Counter((t.kind, bool(t.round_id)) for t in found.texts) == {
        ("fact", True): 2561,
        ("summary", False): 272,
        ("event", False): 668,
    }
    assert {t.source for t in found.texts} == {"recorded"}
    assert len(found.dates) == len(set(found.dates)) == 270
    assert found.ranges == []
    assert found.skipped == [("1 recorded entries", "event_summary: without text")]


def test_a_fact_stands_once_for_each_round_of_its_turns(found, real):
    items, _ = extractions(MIRROR)
    round_of = {
        (memory_id, turn.turn_id): r.round_id
        for memory_id, memory in real.memories.items()
        for r in memory.rounds
        for turn in r.turns
    }
    rounds = [{round_of[i.memory_id, t] for t in i.turn_ids} for i in items if i.turn_ids]
    assert len(rounds) == 2541
    assert sum(map(len, rounds)) == 2561


def test_every_place_is_one_of_the_data_sets(found, real):
    held = {
        (session.key, round_id)
        for memory in real.memories.values()
        for session in memory.sessions
        for round_id in ("", *(r.round_id for r in session.rounds))
    }
    assert {(t.session_key, t.round_id) for t in found.texts} <= held
    places = {(m, s.session_id) for m, memory in real.memories.items() for s in memory.sessions}
    assert {(d.memory_id, d.session_id) for d in found.dates} <= places


def test_every_session_has_one_summary(found, real):
    summaries = Counter(t.session_key for t in found.texts if t.kind == "summary")
    assert summaries == {s.key: 1 for m in real.memories.values() for s in m.sessions}


def test_every_event_is_dated(found, real):
    keys = {
        (m, s.session_id): s.key for m, memory in real.memories.items() for s in memory.sessions
    }
    dated = {keys[d.memory_id, d.session_id] for d in found.dates}
    assert {t.session_key for t in found.texts if t.kind == "event"} == dated
    assert all(d.start == d.end for d in found.dates)


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / locomo.FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    return tmp_path


def test_on_a_tiny_conversation(tiny):
    dataset = locomo.load(tiny, "tiny")
    found = extract(tiny, dataset)
    second, _ = dataset.memories["c"].sessions
    rounds = [
        (second.key, "D2:1", "recorded", "fact", t) for t in ("Ann did", "Ann was", "Ann had")
    ]
    assert found.texts == [
        *(Extraction(*r) for r in rounds),
        Extraction(second.key, "", "recorded", "summary", "They spoke"),
        Extraction(second.key, "", "recorded", "event", "Ann left"),
    ]
    may_7 = date(2023, 5, 7).toordinal()
    assert found.dates == [DatedEvent("c", "D2", "recorded", may_7, may_7)]
    assert {why: n for n, why in found.skipped} == {
        "observation: without turns that exist": "2 recorded entries",
        "observation: without text": "2 recorded entries",
        "observation: of a session without turns": "1 recorded entries",
        "session_summary: without text": "1 recorded entries",
        "event_summary: without text": "1 recorded entries",
    }


def test_a_fact_that_names_a_turn_of_another_session_is_found_there(tiny):
    sample = json.loads(json.dumps(SAMPLE))
    sample["observation"]["session_2_observation"]["Ann"] = [["Ann met", ["D2:1", "D10:1"]]]
    (tiny / locomo.FILE).write_text(json.dumps([sample]), encoding="utf-8")
    dataset = locomo.load(tiny, "tiny")
    texts = Extractions.of(extract(tiny, dataset).texts)
    for session, doc in ((s, s.rounds[0]) for s in dataset.memories["c"].sessions):
        assert texts.of_doc("recorded-fact", session, doc) == ("Ann met",)


def test_the_prepared_data_set_gives_the_same(tiny, tmp_path):
    dataset = locomo.load(tiny, "tiny")
    list(save(dataset.pieces(), tmp_path / "prepared"))
    assert extract(tiny, load(tmp_path / "prepared", "tiny")) == extract(tiny, dataset)
