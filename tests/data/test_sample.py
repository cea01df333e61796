import hashlib
import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.data import sample
from memrepro.errors import MemreproError
from memrepro.files import atomic
from tests.data.gathered import gather

DIGEST = "80c4afbdce812e31b8d64944c2274f502d589a147680117f4eb71a94cca91723"
PRINTED = """
import hashlib, json
from memrepro.data.sample import compile_benchmark
text = json.dumps(compile_benchmark(seed=5, questions=20, sessions=20))
print(hashlib.sha256(text.encode()).hexdigest())
"""


def when(date):
    return datetime.strptime(date, "%Y/%m/%d (%a) %H:%M")


def sessions_of(instance):
    return dict(zip(instance["haystack_session_ids"], instance["haystack_sessions"], strict=True))


@pytest.fixture(scope="module")
def benchmark():
    return sample.compile_benchmark(seed=13, questions=120, sessions=40)


@pytest.fixture(scope="module")
def texts():
    return atomic.read_yaml(Path(sample.__file__).with_name("sample_texts.yaml"))


def test_every_topic_can_make_every_question_that_it_has_a_block_for(texts):
    for topic in texts["topics"]:
        assert len(topic["asks"] + topic["more"]) >= 4
        if "many" in topic:
            assert len(set(topic["many"]["values"])) >= 6
        assert "absent" in topic or not {"fact", "many", "update"} & set(topic)


def test_the_texts_are_those_of_this_release_on_every_machine():
    instances = sample.compile_benchmark(seed=5, questions=20, sessions=20)
    # The digest is of the rarest form too, that of a named month.
    assert "in the month of June" in " ".join(i["question"] for i in instances)
    assert hashlib.sha256(json.dumps(instances).encode()).hexdigest() == DIGEST
    command, environment = [sys.executable, "-c", PRINTED], {**os.environ, "PYTHONHASHSEED": "7"}
    assert subprocess.check_output(command, env=environment, text=True).strip() == DIGEST
    other = sample.compile_benchmark(seed=6, questions=20, sessions=20)
    assert json.dumps(other) != json.dumps(instances)


def test_a_session_is_the_same_in_each_haystack_and_no_copy_of_another(benchmark):
    texts, slots = {}, 0
    for instance in benchmark:
        for session_id, turns in sessions_of(instance).items():
            slots += 1
            assert texts.setdefault(session_id, turns) == turns
    assert slots == 120 * 40
    assert len(texts) <= 900
    said = {" ".join(turn["content"] for turn in turns) for turns in texts.values()}
    assert len(said) == len(texts)
    assert not any("{" in text for text in said)


def test_knowledge_update_tells_the_old_value_first(benchmark):
    for instance in benchmark:
        if instance["question_type"] != "knowledge-update":
            continue
        ids = instance["haystack_session_ids"]
        old, new = instance["answer_session_ids"]
        assert ids.index(old) < ids.index(new)
        if "_abs" not in instance["question_id"]:
            (said,) = [t["content"] for t in sessions_of(instance)[new] if t["has_answer"]]
            assert instance["answer"] in said


def test_days_between_are_those_of_the_time_stamps(benchmark):
    seen = 0
    for instance in benchmark:
        if instance["question_type"] == "temporal-reasoning":
            ids = instance["haystack_session_ids"]
            places = [ids.index(i) for i in instance["answer_session_ids"]]
            assert places == sorted(places)
            if instance["answer"].endswith(" days"):
                first, last = (when(instance["haystack_dates"][p]).date() for p in places)
                assert instance["answer"] == f"{(last - first).days} days"
                seen += 1
    assert seen


def test_the_user_tells_no_other_fact_of_the_attribute_in_question(benchmark, texts):
    facts = {t["attribute"]: t["fact"]["ask"] for t in texts["topics"]}
    says = {t["attribute"]: [s.split("{v}") for s in t["fact"]["say"]] for t in texts["topics"]}
    for instance in benchmark:
        if instance["question_type"] != "single-session-user" or "_abs" in instance["question_id"]:
            continue
        question = instance["question"]
        attribute = next(a for a, asks in facts.items() if any(map(question.startswith, asks)))
        for session_id, turns in sessions_of(instance).items():
            if session_id in instance["answer_session_ids"]:
                continue
            text = " ".join(turn["content"] for turn in turns)
            for parts in says[attribute]:
                longest = max(parts, key=len)
                if "{" not in longest:
                    assert longest not in text


@settings(max_examples=15)
@given(seed=st.integers(0, 10**9), questions=st.integers(1, 30), sessions=st.integers(6, 60))
def test_any_size_is_well_formed(seed, questions, sessions):
    instances = sample.compile_benchmark(seed=seed, questions=questions, sessions=sessions)
    assert len(instances) == questions
    for instance in instances:
        ids = instance["haystack_session_ids"]
        assert len(ids) == len(set(ids)) == sessions
        assert len(instance["haystack_sessions"]) == len(instance["haystack_dates"]) == sessions
        dates = [when(date) for date in instance["haystack_dates"]]
        assert dates == sorted(dates)
        assert dates[-1] < when(instance["question_date"])
        assert set(instance["answer_session_ids"]) <= set(ids)
        for turns in instance["haystack_sessions"]:
            assert [t["role"] for t in turns] == ["user", "assistant"] * (len(turns) // 2)
            assert all(turn["content"].strip() for turn in turns)


@pytest.mark.parametrize(
    ("changed", "fragment"),
    [
        ({"questions": 0}, "'questions' is 0"),
        ({"sessions": None}, "'sessions' is missing"),
        ({"speed": 3}, "'speed' is unknown"),
    ],
)
def test_wrong_parameters(tmp_path, changed, fragment):
    parameters = {"seed": 1, "questions": 2, "sessions": 6} | changed
    with pytest.raises(MemreproError, match=fragment):
        sample.compile_files(tmp_path, {k: v for k, v in parameters.items() if v is not None})
    assert not list(tmp_path.iterdir())


def test_what_is_compiled_can_be_loaded(tmp_path):
    sample.compile_files(tmp_path, {"seed": 3, "questions": 40, "sessions": 8})
    dataset = gather(sample.stream(tmp_path, "sample"))
    assert len(dataset.memories) == 40
    asked = {query.query_id for query in dataset.queries}
    assert set(dataset.qrels["round"]) == set(dataset.qrels["session"]) == asked
    by_assistant = {
        instance["question_id"]
        for instance in sample.compile_benchmark(seed=3, questions=40, sessions=8)
        if instance["question_type"] == "single-session-assistant"
    }
    for level in ("session_official", "round_official", "turn_official"):
        assert asked - set(dataset.qrels[level]) == by_assistant
    assert dataset.faults == {}
    assert not dataset.skipped
