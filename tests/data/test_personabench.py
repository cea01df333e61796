"""PersonaBench: the rules on a tiny community of our own, and the real data read back."""

import json

import pytest

from memrepro.core import prepared
from memrepro.data import personabench
from memrepro.errors import MemreproError
from tests.data.gathered import change, gather

# A tiny release: two communities with three persons each, who all own the same kinds of docs.


def community(c):
    def ids(p, d):
        return {"session": f"s{d}", "segment_id": f"{c}{p}-{d}"}

    def said(p, d, day):
        turns = [{"role": "me", "content": "Olá", "session": "inner"}]
        return ids(p, d) | {"time": f"2024/Oct/{day:02}/12:05 PM", "conversation": turns}

    def asked(p, q, kind, difficulty="easy"):
        question = {"q_id": f"{c}{p}-q{q}", "question": f"What of {q}?", "answer": "a"}
        return question | {"type": kind, "difficulty": difficulty}

    people = range(3)
    names = [f"Person {c}{p}" for p in people]
    at = {"time": "2024/Jan/02/12:30 AM"}

    def private(data):
        # In another order than the questions' file: persons are found by name.
        return [{"Name": names[p], "Data": data(p)} for p in reversed(people)]

    return {
        "eval_info/eval_info_all.json": [
            {
                "Name": names[p],
                "Eval_Info": {
                    "qa": [
                        asked(p, 0, "Preference", "hard"),
                        asked(p, 1, "Subjective", "hard"),
                        asked(p, 2, "Social"),
                    ]
                },
            }
            for p in people
        ]
        + [{"Name": "has no documents", "Eval_Info": {"qa": [asked(3, 0, "Social")]}}],
        "eval_info/qa_gt_context_all_noise_0.0.json": [
            {
                "q_id": f"{c}{p}-q{q}",
                "segment_id": {"tea": [f"{c}{p}-5", f"{c}{p}-1"], "jam": [f"{c}{p}-0"]},
            }
            for p in people
            for q in (0, 1, 2)
        ],
        "private_data/noise_0.0/conversation_data_all.json": private(
            lambda p: [
                {"Target_name": "A", "Conversations": [said(p, 3, 9), said(p, 1, 1)]},
                {"Target_name": "B", "Conversations": [said(p, 0, 5)]},
            ]
        ),
        "private_data/noise_0.0/user_ai_interaction_data_all.json": private(
            lambda p: [ids(p, 5) | at | {"user_ai_interaction": []}]
        ),
        "private_data/noise_0.0/purchase_history_data_all.json": private(
            lambda p: [ids(p, 2) | at | {"purchase_history": []}] if p else []
        ),
    }


@pytest.fixture
def tiny():
    return [community(0), community(1)]


def load(folder, release, fields=False):
    for c, files in enumerate(release):
        for name, value in files.items():
            path = folder / personabench.ROOT / f"community_{c}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value), encoding="utf-8")
    pieces = personabench.stream(folder, "personabench-n00", fields=fields)
    return gather(prepared.save(pieces, folder / "tables"))


def refusal(folder, release):
    with pytest.raises(MemreproError) as error:
        load(folder, release)
    assert "\n" not in str(error.value)
    return str(error.value)


GOLD = "eval_info/qa_gt_context_all_noise_0.0.json"
ASKED = "eval_info/eval_info_all.json"
TALKS = "private_data/noise_0.0/conversation_data_all.json"


def test_a_question_without_gold_has_no_entry(tmp_path, tiny):
    gold = tiny[0][GOLD]
    del gold[0]
    gold[0]["segment_id"] = {}
    gold[1]["segment_id"]["jam"] = []
    data = load(tmp_path, tiny)
    assert len(data.queries) == 18
    assert {"00-q0", "00-q1", "00-q2"}.isdisjoint(data.qrels["session"])
    assert len(data.qrels["session"]) == 15
    assert data.faults == {
        "00-q0": "has no ground truth",
        "00-q1": "has no ground truth",
        "00-q2": "has a part of its answer that no document answers",
    }


def test_gold_that_is_no_doc_of_the_person(tmp_path, tiny):
    tiny[0][GOLD][0]["segment_id"]["jam"] = ["01-0"]
    data = load(tmp_path, tiny)
    assert len(data.queries) == 18
    assert len(data.qrels["session"]) == 17
    said = "has the ground truth '01-0', which is not a document of c0-p0"
    assert data.faults == {"00-q0": said}


@pytest.mark.parametrize("value", [None, 7, [], {"jam": "00-0"}, {"jam": [["00-0"]]}])
def test_gold_that_cannot_be_read(tmp_path, tiny, value):
    tiny[0][GOLD][0]["segment_id"] = value
    data = load(tmp_path, tiny)
    assert len(data.qrels["session"]) == 17
    assert data.faults == {"00-q0": "has a ground truth that cannot be read"}


def test_many_mistakes_are_a_broken_release(tmp_path, tiny):
    for entry in tiny[0][GOLD][:4]:
        entry["segment_id"] = None
    tiny[1][ASKED][0]["Eval_Info"]["qa"][0] = {}
    assert len(load(tmp_path, tiny).queries) == 17
    tiny[1][ASKED][0]["Eval_Info"]["qa"][1] = {}
    said = refusal(tmp_path, tiny)
    assert "6 of 18 questions cannot be used, the first is '00-q0'" in said
    # A question without ground truth is the data's own: any number of them may be there.
    for entry in tiny[0][GOLD]:
        entry["segment_id"] = {}
    assert len(load(tmp_path, tiny).faults) == 9


def test_gold_twice(tmp_path, tiny):
    tiny[1][GOLD].append(tiny[1][GOLD][0])
    assert "'10-q0' stands twice" in refusal(tmp_path, tiny)


def test_a_person_without_private_data(tmp_path, tiny):
    del tiny[0][TALKS][0]
    said = refusal(tmp_path, tiny)
    assert "no private data of 'Person 02'" in said
    assert TALKS in said


@pytest.mark.parametrize(
    ("name", "path", "key"),
    [
        (ASKED, [0], "Name"),
        (GOLD, [0], "q_id"),
        (TALKS, [0, "Data", 0, "Conversations", 0], "segment_id"),
    ],
)
@pytest.mark.parametrize("value", [None, 7])
def test_a_missing_key_or_wrong_value(tmp_path, tiny, name, path, key, value):
    change(tiny[0][name], path, key, value)
    said = refusal(tmp_path, tiny)
    assert name in said
    assert repr(key) in said
    assert "fetch it anew" in said


@pytest.mark.parametrize("said", ["yesterday", None, 7])
def test_a_time_that_cannot_be_read(tmp_path, tiny, said):
    tiny[0][TALKS][2]["Data"][0]["Conversations"][0]["time"] = said
    data = load(tmp_path, tiny)
    assert data.memories["c0-p0"].times[:2] == ("", "2024-10-01T12:05")
    reason = f"stays, without a time: {said!r} cannot be read"
    assert data.skipped == [("document '00-3' of c0-p0", reason)]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("hm", "is a str and no object"),
        ({"q_id": 7}, "has the 'q_id' 7 and no text"),
        ({"type": "Weather"}, f"is of kind 'Weather', not one of {personabench.KINDS}"),
        ({"difficulty": 7}, f"is of kind 'Preference 7', not one of {personabench.KINDS}"),
    ],
)
def test_a_broken_question_is_skipped(tmp_path, tiny, entry, said):
    asked = tiny[0][ASKED][0]["Eval_Info"]["qa"]
    asked[0] = asked[0] | entry if isinstance(entry, dict) else entry
    data = load(tmp_path, tiny)
    assert [q.query_id for q in data.queries[:3]] == ["00-q1", "00-q2", "01-q0"]
    assert data.skipped == [("question 1 of c0-p0", said)]


def test_a_file_that_is_missing_or_no_list(tmp_path, tiny):
    wrong = {}
    tiny[1][GOLD] = wrong
    assert "is a dict, no list" in refusal(tmp_path, tiny)
    with pytest.raises(MemreproError, match="is missing"):
        gather(personabench.stream(tmp_path, "personabench-n03"))
