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

DIGEST = "80c4afbdce812e31b8d64944c2274f502d589a147680117f4eb71a94cca91723"
PRINTED = """
import hashlib, json
from memrepro.data.sample import compile_benchmark
text = json.dumps(compile_benchmark(seed=5, questions=20, sessions=20))
print(hashlib.sha256(text.encode()).hexdigest())
"""


def when(date):
    return datetime.strptime(date, "%Y/%m/%d (%a) %H:%M")


@pytest.fixture(scope="module")
def benchmark():
    return sample.compile_benchmark(seed=13, questions=120, sessions=40)


@pytest.fixture(scope="module")
def texts():
    return atomic.read_yaml(Path(sample.__file__).with_name("sample_texts.yaml"))


def test_the_texts_are_those_of_this_release_on_every_machine():
    instances = sample.compile_benchmark(seed=5, questions=20, sessions=20)
    # The digest is of the rarest form too, that of a named month.
    assert "in the month of June" in " ".join(i["question"] for i in instances)
    assert hashlib.sha256(json.dumps(instances).encode()).hexdigest() == DIGEST
    command, environment = [sys.executable, "-c", PRINTED], {**os.environ, "PYTHONHASHSEED": "7"}
    assert subprocess.check_output(command, env=environment, text=True).strip() == DIGEST
    other = sample.compile_benchmark(seed=6, questions=20, sessions=20)
    assert json.dumps(other) != json.dumps(instances)


@settings(max_examples=6)
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
