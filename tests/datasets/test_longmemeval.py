import copy
import os
from pathlib import Path

import pytest

from memrepro import store
from memrepro.datasets import longmemeval
from memrepro.errors import MemreproError
from memrepro.memory import by_session

MIRROR = Path(os.environ.get("MEMREPRO_MIRROR", "../shared/mirror")) / "longmemeval"


def user(content, **flags):
    return {"role": "user", "content": content, **flags}


def assistant(content, **flags):
    return {"role": "assistant", "content": content, **flags}


@pytest.fixture
def instance():
    return {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "How many?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": "2",
        "answer_session_ids": ["answer_1", "answer_2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 3,
        "haystack_session_ids": ["answer_1", "s", "answer_2"],
        "haystack_sessions": [
            [
                user("a", has_answer=False),
                assistant("b", has_answer=False),
                user("c", has_answer=True),
                assistant("d", has_answer=False),
            ],
            [assistant("e"), user("f"), user("g"), assistant("h"), assistant("i")],
            [user("j", has_answer=False), assistant("k", has_answer=True)],
        ],
    }


def read(*instances):
    return longmemeval.load_instances(instances, "x")


def test_rounds(instance):
    rounds = read(instance).memories["q1"].rounds
    assert [(r.round_id, dict(r.fields)) for r in rounds] == [
        ("answer_1_1", {"user": "a", "assistant": "b"}),
        ("answer_1_3", {"user": "c", "assistant": "d"}),
        ("s_1", {"assistant": "e"}),
        ("s_2", {"user": "f"}),
        ("s_3", {"user": "g", "assistant": "h\n\ni"}),
        ("answer_2_1", {"user": "j", "assistant": "k"}),
    ]
    assert {r.at for r in rounds} == {"2023-05-20T02:21"}


def test_queries_and_qrels(instance):
    dataset = read(instance)
    (query,) = dataset.queries
    assert (query.query_id, query.memory_id, query.kind) == ("q1", "q1", "multi-session")
    assert query.at == "2023-05-30T23:40"
    assert dataset.qrels == {
        "session": {"q1": (("answer_1",), ("answer_2",))},
        "session_official": {"q1": (("answer_1",),)},
        "round": {"q1": (("answer_1_3",), ("answer_2_1",))},
    }


def test_an_abstention_has_no_qrels(instance):
    instance["question_id"] = "q1_abs"
    dataset = read(instance)
    assert dataset.queries[0].kind == "abstention"
    assert dataset.qrels == {"session": {}, "session_official": {}, "round": {}}


def test_a_session_that_stands_twice_is_read_once_at_its_first_place(instance):
    instance["haystack_session_ids"][2] = "answer_1"
    instance["answer_session_ids"] = ["answer_1"]
    rounds = read(instance).memories["q1"].rounds
    assert [r.round_id for r in rounds] == ["answer_1_1", "answer_1_3", "s_1", "s_2", "s_3"]


@pytest.mark.parametrize("key", [*longmemeval._TEXTS, *longmemeval._LISTS])
def test_a_missing_key_is_named(instance, key):
    del instance[key]
    with pytest.raises(MemreproError, match=f"has no '{key}'"):
        read(instance)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda i: i["haystack_dates"].pop(), "'q1' has 2 haystack_dates, 3 haystack_session_ids"),
        (lambda i: i["haystack_sessions"][0][1].update(role="bot"), "'q1' has the role 'bot'"),
        (lambda i: i["haystack_sessions"][0][1].pop("content"), "no text as 'content' of turn 2"),
        (lambda i: i.update(question=3), "'q1' has a int as 'question'"),
        (lambda i: i.update(question_date="30 May"), "'q1' has the date '30 May'"),
        (lambda i: i["answer_session_ids"].append("answer_9"), "answer session 'answer_9'"),
        (
            lambda i: i["haystack_sessions"].__setitem__(0, "text"),
            "'q1' has 'text' among its haystack_sessions",
        ),
    ],
)
def test_a_malformed_instance_is_named(instance, change, fragment):
    change(instance)
    with pytest.raises(MemreproError, match=fragment):
        read(instance)


def test_a_question_that_stands_twice(instance):
    with pytest.raises(MemreproError, match="'q1' of 'x' stands twice"):
        read(instance, copy.deepcopy(instance))


def test_an_instance_that_is_no_object():
    with pytest.raises(MemreproError, match="instance 1 is a str"):
        read("text")


def test_the_folder_must_hold_one_file(tmp_path, instance):
    with pytest.raises(MemreproError, match="found none"):
        longmemeval.load(tmp_path, "x")
    store.write_json(tmp_path / "a.json", [instance])
    assert len(longmemeval.load(tmp_path, "x").queries) == 1
    store.write_json(tmp_path / "b.json", {})
    with pytest.raises(MemreproError, match=r"found a\.json, b\.json"):
        longmemeval.load(tmp_path, "x")
    (tmp_path / "a.json").unlink()
    with pytest.raises(MemreproError, match="holds a dict"):
        longmemeval.load(tmp_path, "x")


@pytest.mark.skipif(
    not list(MIRROR.glob("*.json")), reason=f"{MIRROR} holds no instance; set MEMREPRO_MIRROR"
)
def test_the_real_instance():
    dataset = longmemeval.load(MIRROR, "longmemeval-one")
    memory = dataset.memories["e47becba"]
    assert len({r.session_id for r in memory.rounds}) == 53
    assert sum(len(r.fields) for r in memory.rounds) == 550
    assert len(memory.rounds) == 277
    assert (memory.rounds[0].round_id, memory.rounds[0].at) == (
        "sharegpt_yywfIrx_0_1",
        "2023-05-20T02:21",
    )
    assert (memory.rounds[-1].round_id, memory.rounds[-1].at) == (
        "84503ce4_1_11",
        "2023-05-30T21:40",
    )
    assert len(by_session(memory).rounds) == 53
    assert dataset.queries[0].kind == "single-session-user"
    assert dataset.queries[0].at == "2023-05-30T23:40"
    assert dataset.qrels["session"] == {"e47becba": (("answer_280352e9",),)}
    assert dataset.qrels["session_official"] == dataset.qrels["session"]
    assert dataset.qrels["round"] == {"e47becba": (("answer_280352e9_5",),)}
