"""PersonaBench: golden facts of the real files, and the rules on a tiny community of our own."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memrepro.datasets import personabench
from memrepro.datasets.registry import registration
from memrepro.errors import MemreproError
from memrepro.fetch import check_before_use
from memrepro.memory import Dataset

ROOT = Path(__file__).parents[2]
MIRROR = Path(os.environ.get("MEMREPRO_MIRROR") or ROOT.parent / "shared" / "mirror")


def real(name: str) -> Dataset:
    if missing := [f.path for f in registration(name).files if not (MIRROR / f.path).is_file()]:
        pytest.skip(f"no mirror with {name}: {MIRROR / missing[0]} is missing")
    check_before_use(registration(name), MIRROR)
    return personabench.load(MIRROR, name)


@pytest.fixture(scope="module")
def clean() -> Dataset:
    return real("personabench-n00")


def test_the_counts_of_table_9(clean: Dataset) -> None:
    docs = {m: len(memory.rounds) for m, memory in clean.memories.items()}
    assert docs == {"c0-p0": 110, "c0-p1": 90, "c0-p2": 64, "c1-p0": 85, "c1-p1": 84, "c1-p2": 94}
    asked = Counter(query.memory_id for query in clean.queries)
    assert [asked[m] for m in docs] == [48, 43, 42, 46, 44, 40]
    assert Counter(query.kind for query in clean.queries) == {
        "Basic information": 110,
        "Social": 53,
        "Preference easy": 26,
        "Preference hard": 41,
        "Subjective": 33,
    }


def test_the_first_tenth_and_last_records(clean: Dataset) -> None:
    rounds = [r for memory in clean.memories.values() for r in memory.rounds]
    assert len({r.round_id for r in rounds}) == len(rounds) == 527
    assert [(rounds[i].round_id, rounds[i].at) for i in (0, 9, -1)] == [
        ("000000000000", "2024-10-14T09:14"),
        ("000000000031", "2024-10-23T11:35"),
        ("001002000064", "2024-11-06T18:17"),
    ]
    assert [clean.queries[i].query_id for i in (0, 9, -1)] == [
        "000000000",
        "000000009",
        "001002039",
    ]
    texts = [rounds[i].fields["document"].encode() for i in (0, -1)]
    assert [hashlib.sha256(text).hexdigest() for text in texts] == [
        "8ea30c1031b9c6b2bb02de790aba791dc5514d09aace36159d4a195b6d083b39",
        "c71be7da13b1b9e55b571b844105b343764390a7a692af92523a6efcb310faef",
    ]


def test_every_question_has_gold(clean: Dataset) -> None:
    gold = clean.qrels["session"]
    assert list(gold) == [query.query_id for query in clean.queries]
    assert sum(len(parts) for parts in gold.values()) == 610
    assert sum(len(part) for parts in gold.values() for part in parts) == 655


def test_a_noisier_edition_has_more_docs_and_the_same_questions(clean: Dataset) -> None:
    noisy = real("personabench-n03")
    assert sum(len(memory.rounds) for memory in noisy.memories.values()) == 751
    assert noisy.queries == clean.queries
    gold = noisy.qrels["session"]
    assert sum(len(part) for parts in gold.values() for part in parts) == 655


# A tiny release: two communities with three persons each, who all own the same kinds of docs.

File = list[dict[str, Any]]
Files = dict[str, File]


def community(c: int) -> Files:
    def ids(p: int, d: int) -> dict[str, str]:
        return {"session": f"s{d}", "segment_id": f"{c}{p}-{d}"}

    def said(p: int, d: int, day: int) -> dict[str, Any]:
        turns = [{"role": "me", "content": "Olá", "session": "inner"}]
        return ids(p, d) | {"time": f"2024/Oct/{day:02}/12:05 PM", "conversation": turns}

    def asked(p: int, q: int, kind: str, difficulty: str = "easy") -> dict[str, Any]:
        question = {"q_id": f"{c}{p}-q{q}", "question": f"What of {q}?", "answer": "a"}
        return question | {"type": kind, "difficulty": difficulty}

    people = range(3)
    names = [f"Person {c}{p}" for p in people]
    at = {"time": "2024/Jan/02/12:30 AM"}

    def private(data: Callable[[int], list[dict[str, Any]]]) -> File:
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
def tiny() -> list[Files]:
    return [community(0), community(1)]


def load(folder: Path, release: list[Files]) -> Dataset:
    for c, files in enumerate(release):
        for name, value in files.items():
            path = folder / personabench.ROOT / f"community_{c}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value), encoding="utf-8")
    return personabench.load(folder, "personabench-n00")


def refusal(folder: Path, release: list[Files]) -> str:
    with pytest.raises(MemreproError) as error:
        load(folder, release)
    assert "\n" not in str(error.value)
    return str(error.value)


GOLD = "eval_info/qa_gt_context_all_noise_0.0.json"
ASKED = "eval_info/eval_info_all.json"
TALKS = "private_data/noise_0.0/conversation_data_all.json"


def test_docs_are_conversations_then_ai_sessions_then_purchases(
    tmp_path: Path, tiny: list[Files]
) -> None:
    data = load(tmp_path, tiny)
    assert data.name == "personabench-n00"
    assert list(data.memories) == ["c0-p0", "c0-p1", "c0-p2", "c1-p0", "c1-p1", "c1-p2"]
    ids = [r.round_id for r in data.memories["c1-p1"].rounds]
    assert ids == ["11-3", "11-1", "11-0", "11-5", "11-2"]
    assert len(data.memories["c1-p0"].rounds) == 4
    assert all(r.session_id == r.round_id for r in data.memories["c1-p1"].rounds)


def test_a_doc_is_compact_json_without_ids(tmp_path: Path, tiny: list[Files]) -> None:
    first, *_, last = load(tmp_path, tiny).memories["c0-p1"].rounds
    assert first.fields == {
        "document": '{"time":"2024/Oct/09/12:05 PM","conversation":'
        '[{"role":"me","content":"Ol\\u00e1"}]}'
    }
    assert first.at == "2024-10-09T12:05"
    assert last.at == "2024-01-02T00:30"


def test_only_preference_is_split_by_difficulty(tmp_path: Path, tiny: list[Files]) -> None:
    data = load(tmp_path, tiny)
    assert [q.kind for q in data.queries[:3]] == ["Preference hard", "Subjective", "Social"]
    assert data.queries[3].query_id == "01-q0"
    assert data.queries[3].memory_id == "c0-p1"
    assert data.queries[3].at == ""
    assert len(data.queries) == 18


def test_gold_is_parts_of_alternatives_in_file_order(tmp_path: Path, tiny: list[Files]) -> None:
    data = load(tmp_path, tiny)
    assert set(data.qrels) == {"session"}
    assert data.qrels["session"]["12-q1"] == (("12-5", "12-1"), ("12-0",))


def test_a_question_without_gold_has_no_entry(tmp_path: Path, tiny: list[Files]) -> None:
    gold = tiny[0][GOLD]
    del gold[0]
    gold[0]["segment_id"] = {}
    gold[1]["segment_id"]["jam"] = []
    data = load(tmp_path, tiny)
    assert len(data.queries) == 18
    assert {"00-q0", "00-q1", "00-q2"}.isdisjoint(data.qrels["session"])
    assert len(data.qrels["session"]) == 15


def test_gold_that_is_no_doc_of_the_person(tmp_path: Path, tiny: list[Files]) -> None:
    tiny[0][GOLD][0]["segment_id"]["jam"] = ["01-0"]
    said = refusal(tmp_path, tiny)
    assert GOLD in said
    assert "'00-q0' names '01-0', which is not a document of c0-p0" in said


def test_gold_twice(tmp_path: Path, tiny: list[Files]) -> None:
    tiny[1][GOLD].append(tiny[1][GOLD][0])
    assert "'10-q0' stands twice" in refusal(tmp_path, tiny)


def test_a_person_without_private_data(tmp_path: Path, tiny: list[Files]) -> None:
    del tiny[0][TALKS][0]
    said = refusal(tmp_path, tiny)
    assert "no private data of 'Person 02'" in said
    assert TALKS in said


def test_too_few_persons(tmp_path: Path, tiny: list[Files]) -> None:
    del tiny[0][ASKED][2:]
    assert "has 2 persons" in refusal(tmp_path, tiny)


@pytest.mark.parametrize(
    ("name", "path", "key"),
    [
        (ASKED, [0], "Name"),
        (ASKED, [0, "Eval_Info"], "qa"),
        (ASKED, [0, "Eval_Info", "qa", 0], "difficulty"),
        (ASKED, [0, "Eval_Info", "qa", 0], "question"),
        (GOLD, [0], "segment_id"),
        (TALKS, [0], "Data"),
        (TALKS, [0, "Data", 0], "Conversations"),
        (TALKS, [0, "Data", 0, "Conversations", 0], "segment_id"),
        (TALKS, [0, "Data", 0, "Conversations", 0], "time"),
    ],
)
@pytest.mark.parametrize("value", [None, 7])
def test_a_missing_key_or_wrong_value(
    tmp_path: Path, tiny: list[Files], name: str, path: list[Any], key: str, value: int | None
) -> None:
    entry: Any = tiny[0][name]
    for step in path:
        entry = entry[step]
    if value is None:
        del entry[key]
    else:
        entry[key] = value
    said = refusal(tmp_path, tiny)
    assert name in said
    assert repr(key) in said
    assert "fetch it anew" in said


def test_a_time_or_kind_that_is_none(tmp_path: Path, tiny: list[Files]) -> None:
    tiny[0][ASKED][0]["Eval_Info"]["qa"][2]["type"] = "Weather"
    assert "'00-q2' is of kind 'Weather'" in refusal(tmp_path, tiny)
    tiny[0][TALKS][2]["Data"][0]["Conversations"][0]["time"] = "yesterday"
    assert "'00-3' has time 'yesterday'" in refusal(tmp_path, tiny)


def test_a_file_that_is_missing_or_no_list(tmp_path: Path, tiny: list[Files]) -> None:
    wrong: Any = {}
    tiny[1][GOLD] = wrong
    assert "is a dict and not a list" in refusal(tmp_path, tiny)
    with pytest.raises(MemreproError, match="is missing"):
        personabench.load(tmp_path, "personabench-n03")
