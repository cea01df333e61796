"""LoCoMo: golden facts of the real file, and each rule on a tiny conversation of our own."""

import copy
import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.memory import GRANULARITIES, Dataset, Memory
from memrepro.data import locomo
from memrepro.data.fetch import check_before_use
from memrepro.data.locomo import Conversation, Evidence, evidence_faults, read_evidence, readable
from memrepro.data.locomo_extractions import Recorded, extractions
from memrepro.data.registry import registration
from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from tests.data.round_trip import check_round_trip

ROOT = Path(__file__).parents[2]
MIRROR = Path(os.environ.get("MEMREPRO_MIRROR") or ROOT.parent / "shared" / "mirror")


def by_round(memory: Memory) -> list[tuple[str, str, str]]:
    """Each round's id, its session's, and its time."""
    dated = zip(memory.sessions, memory.times, strict=True)
    return [(r.round_id, s.session_id, at) for s, at in dated for r in s.rounds]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def mirror() -> Path:
    if not (MIRROR / locomo.FILE).is_file():
        pytest.skip(f"no mirror with LoCoMo: {MIRROR / locomo.FILE} is missing")
    check_before_use(registration("locomo"), MIRROR)
    return MIRROR


@pytest.fixture(scope="module")
def real(mirror: Path) -> Dataset:
    return locomo.load(mirror, "locomo")


@pytest.fixture(scope="module")
def conversations(mirror: Path) -> list[Conversation]:
    return locomo.read(mirror)


def test_the_counts(real: Dataset, conversations: list[Conversation]) -> None:
    assert {m: len(memory.rounds) for m, memory in real.memories.items()} == {
        "conv-26": 214,
        "conv-30": 188,
        "conv-41": 340,
        "conv-42": 323,
        "conv-43": 349,
        "conv-44": 343,
        "conv-47": 355,
        "conv-48": 347,
        "conv-49": 260,
        "conv-50": 292,
    }
    sessions = [len(memory.sessions) for memory in real.memories.values()]
    assert sessions == [19, 19, 32, 29, 29, 28, 31, 30, 25, 30]
    assert sum(sessions) == 272
    assert sum(len(one.places) for one in conversations) == 5882
    assert [len(one.without_turns) for one in conversations] == [16] + [0] * 9
    assert [len(one.undated) + len(one.unasked) for one in conversations] == [0] * 10
    assert real.skipped[0] == ("session 20 of conv-26", "has no turns")
    assert real.skipped == conversations[0].without_turns
    rounds = [r for memory in real.memories.values() for r in memory.rounds]
    assert Counter(tuple(r.fields) for r in rounds) == {
        ("speaker_a", "speaker_b"): 1538,
        ("speaker_b", "speaker_a"): 1333,
        ("speaker_a",): 80,
        ("speaker_b",): 60,
    }
    # 1,226 turns share an image; one more has such a line in its own text.
    assert sum(t.count("\n[shares ") for r in rounds for t in r.fields.values()) == 1227


def test_the_questions(real: Dataset) -> None:
    assert len(real.queries) == 1986
    assert Counter(query.kind for query in real.queries) == {
        "multi-hop": 282,
        "temporal": 321,
        "open-domain": 96,
        "single-hop": 841,
        "adversarial": 446,
    }


def test_the_first_tenth_and_last_records(real: Dataset) -> None:
    rounds = [r for memory in real.memories.values() for r in memory.rounds]
    placed = [found for memory in real.memories.values() for found in by_round(memory)]
    assert [placed[i] for i in (0, 9, -1)] == [
        ("D1:1", "D1", "2023-05-08T13:56"),
        ("D2:1", "D2", "2023-05-25T13:14"),
        ("D30:23", "D30", "2023-11-17T10:54"),
    ]
    assert [digest(text) for i in (0, -1) for text in rounds[i].fields.values()] == [
        "6c1b58a978dceea2",
        "ec05770efa25dbcf",
        "a7049ac013bc5da2",
        "b1112e12756742bd",
    ]
    queries = [real.queries[i] for i in (0, 9, -1)]
    assert [(q.query_id, q.memory_id, q.at, q.kind, digest(q.text)) for q in queries] == [
        ("conv-26-q0", "conv-26", "2023-10-22T09:55", "temporal", "db23cff112433bc3"),
        ("conv-26-q9", "conv-26", "2023-10-22T09:55", "temporal", "d90ae240d0711e98"),
        ("conv-50-q203", "conv-50", "2023-11-17T10:54", "adversarial", "3db3762fe69c6584"),
    ]


def test_seven_questions_have_no_qrels(real: Dataset, conversations: list[Conversation]) -> None:
    faults = evidence_faults(conversations)
    assert faults == {
        "conv-26-q30": locomo.NO_EVIDENCE,
        "conv-26-q46": locomo.NO_EVIDENCE,
        "conv-42-q58": locomo.MISSING,
        "conv-42-q88": locomo.UNREADABLE,
        "conv-47-q38": locomo.MISSING,
        "conv-50-q39": locomo.NO_EVIDENCE,
        "conv-50-q42": locomo.NO_EVIDENCE,
    }
    every = [query.query_id for query in real.queries]
    for level, parts in (("turn", 2810), ("round", 2782), ("session", 2551)):
        gold = real.qrels[level]
        assert list(gold) == [query_id for query_id in every if query_id not in faults]
        assert sum(map(len, gold.values())) == parts
        assert all(real.faults[query_id].startswith(why) for query_id, why in faults.items())


def test_three_of_the_seven_have_gold_at_the_lenient_levels(real: Dataset) -> None:
    for level, parts in (("turn", 2820), ("round", 2792), ("session", 2558)):
        gold, lenient = real.qrels[level], real.qrels[f"{level}_lenient"]
        assert lenient.keys() - gold.keys() == {"conv-42-q58", "conv-42-q88", "conv-47-q38"}
        assert gold.items() <= lenient.items()
        assert sum(map(len, lenient.values())) == parts
    assert real.qrels["turn_lenient"]["conv-42-q88"] == (("D1:18",), ("D1:20",))
    assert real.qrels["round_lenient"]["conv-42-q88"] == (("D1:17",), ("D1:19",))


def test_the_audit_faults_what_its_report_counts(real: Dataset, mirror: Path) -> None:
    answers, citations = locomo.audited(mirror)
    kinds = {query.query_id: query.kind for query in real.queries}
    assert len(answers) == 99
    assert len(citations) == 57
    assert answers.keys() | citations.keys() <= kinds.keys()
    # The report's table of kinds of error by category, the categories in its order.
    table: dict[str, Counter[str]] = {}
    for query_id, why in (answers | citations).items():
        table.setdefault(why.removeprefix(f"{locomo.AUDITED}: "), Counter())[kinds[query_id]] += 1
    columns = ("multi-hop", "temporal", "open-domain", "single-hop")
    assert {kind: [row[c] for c in columns] for kind, row in table.items()} == {
        "hallucination": [20, 3, 6, 4],
        "temporal error": [1, 18, 1, 6],
        "attribution error": [0, 2, 0, 22],
        "ambiguous": [5, 3, 2, 3],
        "incomplete": [2, 0, 0, 1],
        "wrong citation": [25, 10, 1, 21],
    }
    both = Counter(query_id.split("-q")[0] for query_id in answers | citations)
    assert [both[m] for m in real.memories] == [27, 7, 12, 22, 17, 10, 15, 13, 16, 17]


def test_the_audit_levels_leave_those_questions_out(real: Dataset, mirror: Path) -> None:
    answers, citations = locomo.audited(mirror)
    for level in ("turn", "round", "session"):
        gold = real.qrels[level]
        assert real.qrels[f"{level}_audit"] == {q: gold[q] for q in gold if q not in answers}
        assert real.qrels[f"{level}_audit_citations"] == {
            q: gold[q] for q in gold if q not in answers and q not in citations
        }
        assert len(real.qrels[f"{level}_audit"]) == 1881
        assert len(real.qrels[f"{level}_audit_citations"]) == 1826
    assert len(real.faults) == 160
    assert real.faults["conv-26-q2"] == f"{locomo.AUDITED}: hallucination"
    said = f"{locomo.MISSING}; {locomo.AUDITED}: wrong citation"
    assert real.faults["conv-47-q38"] == said


def test_the_real_data_round_trips(real: Dataset, tmp_path: Path) -> None:
    check_round_trip(real, tmp_path)


def test_nine_questions_name_an_id_that_does_not_exist_as_written(
    conversations: list[Conversation],
) -> None:
    # docs/protocols.md counts the ids as they are written; six of the nine can be read.
    written = {
        f"{one.memory.memory_id}-q{index}"
        for one in conversations
        for index, entry in enumerate(one.raw["qa"])
        if any(turn not in one.places for turn in entry["evidence"])
    }
    assert len(written) == 9
    rest = {"conv-42-q58", "conv-42-q88", "conv-47-q38"}
    assert written & set(evidence_faults(conversations)) == rest
    assert written - rest == {
        "conv-26-q37",
        "conv-43-q18",
        "conv-49-q31",
        "conv-49-q38",
        "conv-49-q46",
        "conv-50-q69",
    }


def test_the_recorded_extractions(mirror: Path) -> None:
    items, skipped = extractions(mirror)
    assert Counter(item.kind for item in items) == {
        "observation": 2541,
        "session_summary": 272,
        "event_summary": 668,
    }
    assert skipped == {"event_summary: without text": 1}
    # Of the facts, 15 name several turns, ten in a list and five in one text.
    turns = Counter(len(item.turn_ids) for item in items)
    assert turns == {0: 940, 1: 2526, 2: 11, 3: 3, 4: 1}
    first, last = items[0], items[-1]
    assert (first.memory_id, first.turn_ids, first.speaker) == ("conv-26", ("D1:3",), "speaker_a")
    assert (first.at, digest(first.text)) == ("2023-05-08T13:56", "8513d178b80d0b7c")
    assert (last.memory_id, last.session_id, last.speaker) == ("conv-50", "D30", "speaker_b")
    assert (last.at, digest(last.text)) == ("2023-11-17", "96330e0f339bebe4")


# A tiny file: one conversation with two sessions, and one session that has a date only.


def turn(turn_id: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"dia_id": turn_id, "speaker": speaker, "text": text, **more}


def asked(*evidence: Any, category: int = 4) -> dict[str, Any]:
    return {"question": "Who?", "answer": 7, "evidence": list(evidence), "category": category}


SAMPLE: dict[str, Any] = {
    "sample_id": "c",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_10_date_time": "12:05 am on 1 March, 2024",
        "session_10": [
            turn("D10:1", "Bob", "five"),
            turn("D10:2", "Ann", "six"),
            turn("D10:3", "Bob", "seven"),
        ],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            turn("D2:1", "Ann", "one"),
            turn("D2:2", "Ann", "two", blip_caption="a photo of a cat", query="cat"),
            turn("D2:3", "Bob", "three"),
            turn("D2:4", "Bob", "four"),
        ],
        "session_11_date_time": "1:56 pm on 9 May, 2024",
        "session_12_date_time": "1:56 pm on 9 May, 2024",
        "session_12": [],
    },
    "qa": [
        asked("D10:1", category=1),
        asked("D2:1", "D2:4", "D10:03", category=5),
        asked(),
        asked("D2:1", "D"),
        asked("D2:1", "D2:9"),
    ],
    "observation": {
        "session_2_observation": {
            "Ann": [["Ann did", "D2:2"], ["Ann was", ["D2:1", "D2:3"]], ["Ann had", "D2:1, D2:2"]],
            "Bob": [["no such turn", "D2:7"], ["none", "D"], [None, "D2:1"], "no pair"],
        },
        "session_12_observation": {"Ann": [["Ann went", "D2:2"]], "Bob": []},
    },
    "session_summary": {"session_2_summary": "They spoke", "session_10_summary": " "},
    "event_summary": {
        "events_session_2": {"Ann": ["Ann left", ""], "Bob": [], "date": "7 May, 2023"}
    },
}


@pytest.fixture
def tiny() -> dict[str, Any]:
    return copy.deepcopy(SAMPLE)


def write(folder: Path, *samples: Any) -> Path:
    path = folder / locomo.FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(list(samples)), encoding="utf-8")
    return folder


def load(folder: Path, sample: dict[str, Any]) -> Dataset:
    return locomo.load(write(folder, sample), "tiny")


def refusal(folder: Path, *samples: Any) -> str:
    with pytest.raises(MemreproError) as error:
        locomo.load(write(folder, *samples), "tiny")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_round_is_an_exchange(tmp_path: Path, tiny: dict[str, Any]) -> None:
    memory = load(tmp_path, tiny).memories["c"]
    assert by_round(memory) == [
        ("D2:1", "D2", "2023-05-08T13:56"),
        ("D10:1", "D10", "2024-03-01T00:05"),
        ("D10:3", "D10", "2024-03-01T00:05"),
    ]
    assert [list(r.fields.items()) for r in memory.rounds] == [
        [
            ("speaker_a", "one\n\ntwo\n[shares a photo of a cat]"),
            ("speaker_b", "three\n\nfour"),
        ],
        [("speaker_b", "five"), ("speaker_a", "six")],
        [("speaker_b", "seven")],
    ]


def test_a_session_without_turns_is_skipped(tmp_path: Path, tiny: dict[str, Any]) -> None:
    (one,) = locomo.read(write(tmp_path, tiny))
    assert one.without_turns == (
        ("session 11 of c", "has no turns"),
        ("session 12 of c", "has no turns"),
    )
    data = load(tmp_path, tiny)
    assert data.skipped == one.without_turns
    assert [s.session_id for s in data.memories["c"].sessions] == ["D2", "D10"]


def test_every_turn_is_a_doc(tmp_path: Path, tiny: dict[str, Any]) -> None:
    sessions = load(tmp_path, tiny).memories["c"].sessions
    docs = [doc for session in sessions for doc in GRANULARITIES["turn"](session)]
    assert [(doc.round_id, dict(doc.fields)) for doc in docs] == [
        ("D2:1", {"speaker_a": "one"}),
        ("D2:2", {"speaker_a": "two\n[shares a photo of a cat]"}),
        ("D2:3", {"speaker_b": "three"}),
        ("D2:4", {"speaker_b": "four"}),
        ("D10:1", {"speaker_b": "five"}),
        ("D10:2", {"speaker_a": "six"}),
        ("D10:3", {"speaker_b": "seven"}),
    ]


def test_queries_and_their_gold(tmp_path: Path, tiny: dict[str, Any]) -> None:
    data = load(tmp_path, tiny)
    assert [(q.query_id, q.kind, q.at) for q in data.queries[:2]] == [
        ("c-q0", "multi-hop", "2024-03-01T00:05"),
        ("c-q1", "adversarial", "2024-03-01T00:05"),
    ]
    assert len(data.queries) == 5
    strict: dict[str, Any] = {
        "turn": {"c-q0": (("D10:1",),), "c-q1": (("D2:1",), ("D2:4",), ("D10:3",))},
        "round": {"c-q0": (("D10:1",),), "c-q1": (("D2:1",), ("D10:3",))},
        "session": {"c-q0": (("D10",),), "c-q1": (("D2",), ("D10",))},
    }
    # What can be read and exists of the fourth and the fifth question's evidence.
    more = {"turn": (("D2:1",),), "round": (("D2:1",),), "session": (("D2",),)}
    lenient = {
        f"{level}_lenient": gold | {"c-q3": more[level], "c-q4": more[level]}
        for level, gold in strict.items()
    }
    assert data.qrels == strict | lenient
    assert data.faults == {
        "c-q2": locomo.NO_EVIDENCE,
        "c-q3": locomo.UNREADABLE,
        "c-q4": locomo.MISSING,
    }


def test_a_question_without_a_turn_that_can_be_used_has_no_lenient_gold(
    tmp_path: Path, tiny: dict[str, Any]
) -> None:
    tiny["qa"] = [asked("D2:9"), asked("D"), asked(), asked(None, "D2:1")]
    data = load(tmp_path, tiny)
    assert data.qrels == {
        "turn_lenient": {"c-q3": (("D2:1",),)},
        "round_lenient": {"c-q3": (("D2:1",),)},
        "session_lenient": {"c-q3": (("D2",),)},
    }
    assert len(data.faults) == 4


def test_the_audit_of_the_file_that_was_audited(
    tmp_path: Path, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, tiny)
    errata = {
        "sha256": sha256(tmp_path / locomo.FILE),
        "answers": {"hallucination": {"c": [0, 4]}},
        "citations": {"wrong citation": {"c": [1]}},
    }
    monkeypatch.setattr(locomo, "ERRATA", tmp_path / "errata.yaml")
    (tmp_path / "errata.yaml").write_text(json.dumps(errata), encoding="utf-8")
    data = locomo.load(tmp_path, "tiny")
    assert set(data.qrels["turn"]) == {"c-q0", "c-q1"}
    assert set(data.qrels["turn_audit"]) == {"c-q1"}
    assert "turn_audit_citations" not in data.qrels
    assert data.faults["c-q0"] == f"{locomo.AUDITED}: hallucination"
    assert data.faults["c-q1"] == f"{locomo.AUDITED}: wrong citation"
    assert data.faults["c-q4"] == f"{locomo.MISSING}; {locomo.AUDITED}: hallucination"
    # Another file may have other questions under these ids: it gets no such level.
    assert not any("audit" in level for level in load(tmp_path, tiny | {"more": 1}).qrels)


def test_why_a_question_has_no_qrels(tmp_path: Path, tiny: dict[str, Any]) -> None:
    tiny["qa"] += [{"question": "Who?", "category": 4}, asked(7), asked(None)]
    assert evidence_faults(locomo.read(write(tmp_path, tiny))) == {
        "c-q2": "names no evidence",
        "c-q3": "names evidence that cannot be read",
        "c-q4": "names an evidence turn that does not exist",
        "c-q5": "names no evidence",
        "c-q6": "names evidence that cannot be read",
        "c-q7": "names evidence that cannot be read",
    }


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        ([], ()),
        ([""], ()),
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D9:1 D4:4 D4:6"], ("D9:1", "D4:4", "D4:6")),
        (["D9:1,D4:4", "D9:1"], ("D9:1", "D4:4")),
        (["D30:05"], ("D30:5",)),
        (["D:11:26"], ("D11:26",)),
        ("D1:2", ("D1:2",)),
        (["D1:2", "D"], None),
        (["D1:2-4"], None),
        (["D 1:2"], None),
        (["d1:2"], None),
        (["D1:2D3:4"], None),
        (["D१:2"], None),
        ([["D1:2"]], None),
        (7, None),
    ],
)
def test_evidence(evidence: Any, ids: tuple[str, ...] | None) -> None:
    assert read_evidence(evidence) == ids


def test_what_can_be_read_of_evidence() -> None:
    assert readable(["D1:2", 7, "D; D01:3 D1:2"]) == Evidence(("D1:2", "D1:3"), False)
    assert readable(["D1:2"]) == Evidence(("D1:2",), True)
    assert readable({}) == Evidence((), False)


TURNS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 999)), max_size=6)


@given(TURNS, st.data())
def test_evidence_is_read_however_it_is_written(
    turns: list[tuple[int, int]], data: st.DataObject
) -> None:
    texts = [""]
    for session, number in turns:
        zeros = ["0" * data.draw(st.integers(0, 2)) for _ in range(2)]
        colon = data.draw(st.sampled_from(["", ":"]))
        written = f"D{colon}{zeros[0]}{session}:{zeros[1]}{number}"
        separator = data.draw(st.sampled_from([None, " ", ";", "; ", ", ", "\t", "\n"]))
        if separator is None:
            texts.append(written)
        else:
            texts[-1] += separator + written
    wanted = tuple(dict.fromkeys(f"D{session}:{number}" for session, number in turns))
    assert read_evidence(texts) == wanted
    assert read_evidence(list(wanted)) == wanted
    assert read_evidence([*texts, "D"]) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text(alphabet="D:0123; ,"),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_evidence_of_any_form_is_read_or_not_and_never_crashes(evidence: Any) -> None:
    ids = read_evidence(evidence)
    assert ids is None or read_evidence(list(ids)) == ids


def test_extractions(tmp_path: Path, tiny: dict[str, Any]) -> None:
    items, skipped = extractions(write(tmp_path, tiny))
    at = "2023-05-08T13:56"
    assert items == [
        Recorded("c", "observation", "D2", ("D2:2",), "speaker_a", "Ann did", at),
        Recorded("c", "observation", "D2", ("D2:1", "D2:3"), "speaker_a", "Ann was", at),
        Recorded("c", "observation", "D2", ("D2:1", "D2:2"), "speaker_a", "Ann had", at),
        Recorded("c", "session_summary", "D2", (), None, "They spoke", at),
        Recorded("c", "event_summary", "D2", (), "speaker_a", "Ann left", "2023-05-07"),
    ]
    assert skipped == {
        "observation: without turns that exist": 2,
        "observation: without text": 2,
        "observation: of a session without turns": 1,
        "session_summary: without text": 1,
        "event_summary: without text": 1,
    }


@pytest.mark.parametrize("date", ["May", None, 7])
def test_an_event_without_a_date_is_skipped(
    tmp_path: Path, tiny: dict[str, Any], date: Any
) -> None:
    tiny["event_summary"]["events_session_2"]["date"] = date
    items, skipped = extractions(write(tmp_path, tiny))
    assert not [item for item in items if item.kind == "event_summary"]
    assert skipped["event_summary: without a date that can be read"] == 1


@pytest.mark.parametrize(
    ("path", "key", "value", "said"),
    [
        (["observation"], "session_x", {}, "'session_x' of c names no session"),
        (["observation", "session_2_observation"], "Ann", None, "NoneType as 'Ann'"),
        ([], "session_summary", [], "a list as 'session_summary'"),
    ],
)
def test_broken_extractions(
    tmp_path: Path, tiny: dict[str, Any], path: list[str], key: str, value: Any, said: str
) -> None:
    entry = tiny
    for step in path:
        entry = entry[step]
    entry[key] = value
    with pytest.raises(MemreproError, match=said):
        extractions(write(tmp_path, tiny))


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ([], "sample_id"),
        ([], "conversation"),
        ([], "qa"),
        (["conversation"], "speaker_b"),
        (["conversation", "session_2", 1], "dia_id"),
        (["conversation", "session_2", 1], "speaker"),
        (["conversation", "session_2", 1], "text"),
    ],
)
@pytest.mark.parametrize("value", [None, 0.5])
def test_a_missing_key_or_wrong_value(
    tmp_path: Path, tiny: dict[str, Any], path: list[Any], key: str, value: float | None
) -> None:
    entry: Any = tiny
    for step in path:
        entry = entry[step]
    if value is None:
        del entry[key]
    else:
        entry[key] = value
    said = refusal(tmp_path, tiny)
    assert repr(key) in said
    assert "fetch it anew" in said


@pytest.mark.parametrize(
    ("path", "key", "value", "said"),
    [
        (["conversation"], "speaker_b", "Ann", "both speakers of c have one name"),
        (["conversation"], "session_02", [], "'session_02', which is not written as session_2"),
        (["conversation"], "session_2", {"a": 1}, "a dict as 'session_2'"),
        (["conversation", "session_2", 1], "dia_id", "D2:1", "repeats the turn 'D2:1'"),
        (["conversation", "session_10", 1], "dia_id", "D2:3", "repeats the turn 'D2:3'"),
        (["conversation", "session_10", 1], "dia_id", "D2:8", "names another session"),
        (["conversation", "session_2", 1], "dia_id", "D2:02", "not one as D1:3"),
        (["conversation", "session_2", 1], "speaker", "Eve", "D2:2 of session 2 of c is by 'Eve'"),
        (["conversation", "session_2", 1], "blip_caption", 7, "'blip_caption'"),
        (["conversation", "session_2"], 1, "hm", "'dia_id'"),
    ],
)
def test_a_mistake_is_named(
    tmp_path: Path, tiny: dict[str, Any], path: list[Any], key: Any, value: Any, said: str
) -> None:
    entry: Any = tiny
    for step in path:
        entry = entry[step]
    entry[key] = value
    assert said in refusal(tmp_path, tiny)


@pytest.mark.parametrize("said", ["8 May", None, 7, ""])
def test_a_date_that_cannot_be_read(tmp_path: Path, tiny: dict[str, Any], said: Any) -> None:
    tiny["conversation"]["session_10_date_time"] = said
    data = load(tmp_path, tiny)
    memory = data.memories["c"]
    assert [s.session_id for s in memory.sessions] == ["D2", "D10"]
    assert memory.times == ("2023-05-08T13:56", "")
    assert data.queries[0].at == ""
    reason = f"stays, without a time: its date {said!r} cannot be read"
    assert ("session 10 of c", reason) in data.skipped


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("hm", "is a str and no object"),
        (None, "is a NoneType and no object"),
        ({"category": 4}, "has the 'question' None and no text"),
        ({"question": " ", "category": 4}, "has the 'question' ' ' and no text"),
        ({"question": 0.5, "category": 4}, "has the 'question' 0.5 and no text"),
        ({"question": "Who?"}, "has the 'category' None, not one from 1 to 5"),
        ({"question": "Who?", "category": 6}, "has the 'category' 6, not one from 1 to 5"),
        ({"question": "Who?", "category": True}, "has the 'category' True, not one from 1 to 5"),
        ({"question": "Who?", "category": [4]}, "has the 'category' [4], not one from 1 to 5"),
    ],
)
def test_a_broken_question_is_skipped(
    tmp_path: Path, tiny: dict[str, Any], entry: Any, said: str
) -> None:
    tiny["qa"][1] = entry
    data = load(tmp_path, tiny)
    # The ids of the others stay.
    assert [q.query_id for q in data.queries] == ["c-q0", "c-q2", "c-q3", "c-q4"]
    assert data.skipped[-1] == ("c-q1", said)


def test_many_broken_questions_are_a_broken_file(tmp_path: Path, tiny: dict[str, Any]) -> None:
    tiny["qa"][1:1] = ["hm"] * 5
    assert len(load(tmp_path, tiny).queries) == 5
    tiny["qa"].append("hm")
    said = refusal(tmp_path, tiny)
    assert "6 of 11 questions cannot be used, the first is 'c-q1'" in said


def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, tiny: dict[str, Any]) -> None:
    assert "'sample_id'" in refusal(tmp_path, 7)
    assert "memory 'c' of 'tiny' stands twice" in refusal(tmp_path, tiny, tiny)
    bare = {"speaker_a": "Ann", "speaker_b": "Bob", "session_1_date_time": "1:56 pm on 8 May, 2023"}
    assert "memory 'c' is empty" in refusal(tmp_path, tiny | {"conversation": bare})
    (tmp_path / locomo.FILE).write_text("{}", encoding="utf-8")
    with pytest.raises(MemreproError, match="is a dict, no list"):
        locomo.load(tmp_path, "tiny")
    (tmp_path / locomo.FILE).unlink()
    with pytest.raises(MemreproError, match="is missing"):
        locomo.load(tmp_path, "tiny")


def test_the_rounds_hold_every_turn_once(tmp_path: Path, tiny: dict[str, Any]) -> None:
    (one,) = locomo.read(write(tmp_path, tiny))
    assert isinstance(one.memory, Memory)
    assert {turn_id: place.round_id for turn_id, place in one.places.items()} == {
        "D2:1": "D2:1",
        "D2:2": "D2:1",
        "D2:3": "D2:1",
        "D2:4": "D2:1",
        "D10:1": "D10:1",
        "D10:2": "D10:1",
        "D10:3": "D10:3",
    }
