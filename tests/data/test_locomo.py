"""LoCoMo: its public audit on the real file, and each rule on a tiny conversation of our own."""

import copy
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core import prepared
from memrepro.data import locomo
from memrepro.data.locomo import read_evidence
from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from tests.data.gathered import change, gather, in_mirror


@pytest.fixture(scope="module")
def mirror():
    return in_mirror("locomo")


@pytest.fixture(scope="module")
def real(mirror):
    return gather(locomo.stream(mirror, "locomo"))


def test_the_audit_faults_what_its_report_counts(real, mirror):
    answers, citations = locomo.audited(mirror)
    kinds = {query.query_id: query.kind for query in real.queries}
    assert len(answers) == 99
    assert len(citations) == 57
    assert answers.keys() | citations.keys() <= kinds.keys()
    # The report's table of kinds of error by category, the categories in its order.
    table = {}
    for query_id, why in (answers | citations).items():
        table.setdefault(why.removeprefix(f"{locomo.AUDITED}: "), Counter())[kinds[query_id]] += 1
    columns = ("multi-hop", "temporal", "open-domain", "single-hop")
    assert {kind: [row[c] for c in columns] for kind, row in table.items()} == {
        "hallucination": [20, 3, 6, 4], "temporal error": [1, 18, 1, 6],
        "attribution error": [0, 2, 0, 22], "ambiguous": [5, 3, 2, 3],
        "incomplete": [2, 0, 0, 1], "wrong citation": [25, 10, 1, 21],
    }  # fmt: skip
    both = Counter(query_id.split("-q")[0] for query_id in answers | citations)
    assert [both[m] for m in real.memories] == [27, 7, 12, 22, 17, 10, 15, 13, 16, 17]


# A tiny file: one conversation with two sessions, and one session that has a date only.


def turn(turn_id, speaker, text, **more):
    return {"dia_id": turn_id, "speaker": speaker, "text": text, **more}


def asked(*evidence, category=4):
    return {"question": "Who?", "answer": 7, "evidence": list(evidence), "category": category}


SAMPLE = {
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
        asked("D10:1", category=1), asked("D2:1", "D2:4", "D10:03", category=5), asked(),
        asked("D2:1", "D"), asked("D2:1", "D2:9"),
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
}  # fmt: skip


@pytest.fixture
def tiny():
    return copy.deepcopy(SAMPLE)


def write(folder, *samples):
    path = folder / locomo.FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(list(samples)), encoding="utf-8")
    return folder


def load(folder, sample):
    return gather(locomo.stream(write(folder, sample), "tiny"))


def refusal(folder, *samples):
    with pytest.raises(MemreproError) as error:
        gather(prepared.save(locomo.stream(write(folder, *samples), "tiny"), folder / "tiny"))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_audit_of_the_file_that_was_audited(tmp_path, tiny, monkeypatch):
    write(tmp_path, tiny)
    errata = {
        "sha256": sha256(tmp_path / locomo.FILE),
        "answers": {"hallucination": {"c": [0, 4]}},
        "citations": {"wrong citation": {"c": [1]}},
    }
    monkeypatch.setattr(locomo, "ERRATA", tmp_path / "errata.yaml")
    (tmp_path / "errata.yaml").write_text(json.dumps(errata), encoding="utf-8")
    data = load(tmp_path, tiny)
    assert set(data.qrels["turn"]) == {"c-q0", "c-q1"}
    assert set(data.qrels["turn_audit"]) == {"c-q1"}
    assert not data.qrels["turn_audit_citations"]
    assert data.faults["c-q0"] == f"{locomo.AUDITED}: hallucination"
    assert data.faults["c-q1"] == f"{locomo.AUDITED}: wrong citation"
    assert data.faults["c-q4"] == f"{locomo.MISSING}; {locomo.AUDITED}: hallucination"
    # Another file may have other questions under these ids: it gets no such level.
    other = load(tmp_path, tiny | {"more": 1})
    assert not any(gold for level, gold in other.qrels.items() if "audit" in level)


TURNS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 999)), max_size=6)


@given(TURNS, st.data())
def test_evidence_is_read_however_it_is_written(turns, data):
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
    assert read_evidence(texts) == read_evidence(list(wanted)) == (wanted, True)
    assert read_evidence([*texts, "D"]) == (wanted, False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text(alphabet="D:0123; ,"),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_evidence_of_any_form_is_read_or_not_and_never_crashes(evidence):
    turns, _ = read_evidence(evidence)
    assert read_evidence(list(turns)) == (turns, True)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ([], "sample_id"),
        (["conversation"], "speaker_b"),
        (["conversation", "session_2", 1], "dia_id"),
    ],
)
@pytest.mark.parametrize("value", [None, 0.5])
def test_a_missing_key_or_wrong_value(tmp_path, tiny, path, key, value):
    change(tiny, path, key, value)
    said = refusal(tmp_path, tiny)
    assert repr(key) in said
    assert "fetch it anew" in said


@pytest.mark.parametrize(
    ("path", "key", "value", "said"),
    [
        (["conversation"], "speaker_b", "Ann", "both speakers of c have one name"),
        (["conversation"], "session_02", [], "'session_02', which is not written as session_2"),
        (["conversation", "session_10", 1], "dia_id", "D2:3", "repeats the turn 'D2:3'"),
        (["conversation", "session_10", 1], "dia_id", "D2:8", "names another session"),
        (["conversation", "session_2", 1], "dia_id", "D2:02", "not one as D1:3"),
        (["conversation", "session_2", 1], "speaker", "Eve", "session 2 of c: D2:2 is by 'Eve'"),
    ],
)
def test_a_mistake_is_named(tmp_path, tiny, path, key, value, said):
    change(tiny, path, key, value)
    assert said in refusal(tmp_path, tiny)


@pytest.mark.parametrize("said", ["8 May", None, 7, ""])
def test_a_date_that_cannot_be_read(tmp_path, tiny, said):
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
        ({"question": " ", "category": 4}, "has the 'question' ' ' and no text"),
        ({"question": "Who?"}, "has the 'category' None, not one from 1 to 5"),
        ({"question": "Who?", "category": 6}, "has the 'category' 6, not one from 1 to 5"),
    ],
)
def test_a_broken_question_is_skipped(tmp_path, tiny, entry, said):
    tiny["qa"][1] = entry
    data = load(tmp_path, tiny)
    # The ids of the others stay.
    assert [q.query_id for q in data.queries] == ["c-q0", "c-q2", "c-q3", "c-q4"]
    assert data.skipped[-1] == ("c-q1", said)


def test_many_broken_questions_are_a_broken_file(tmp_path, tiny):
    tiny["qa"][1:1] = ["hm"] * 5
    assert len(load(tmp_path, tiny).queries) == 5
    tiny["qa"].append("hm")
    said = refusal(tmp_path, tiny)
    assert "6 of 11 questions cannot be used, the first is 'c-q1'" in said


def test_a_file_that_is_wrong_as_a_whole(tmp_path, tiny):
    assert "'sample_id'" in refusal(tmp_path, 7)
    assert "memory 'c' stands twice" in refusal(tmp_path, tiny, tiny)
    bare = {"speaker_a": "Ann", "speaker_b": "Bob", "session_1_date_time": "1:56 pm on 8 May, 2023"}
    assert "memory 'c' is empty" in refusal(tmp_path, tiny | {"conversation": bare})
    (tmp_path / locomo.FILE).write_text("{}", encoding="utf-8")
    with pytest.raises(MemreproError, match="is a dict, no list"):
        locomo.read(tmp_path)
    (tmp_path / locomo.FILE).unlink()
    with pytest.raises(MemreproError, match="is missing"):
        locomo.read(tmp_path)
