"""Published answers to LongMemEval: the counts give their authors' numbers, and nothing else."""

import json
import lzma

import pytest

from memrepro.data import fetch
from memrepro.data import labelled_answers as source
from memrepro.papers.reading import labelled
from tests.data.gathered import MIRROR

FOLDER = MIRROR.parent / "outside" / "longmemeval_answers"
OVERALL = {source.LLAMA: [0.606, 0.708, 0.528, 0.506], source.GPT: [0.700, 0.726, 0.728]}


def packed(name):
    return json.loads(lzma.open(FOLDER / f"{name}.xz").read())


@pytest.fixture(scope="module")
def types():
    name = source.CONDITIONS[source.GPT]["S, plain retrieval"]
    if not (FOLDER / f"{name}.xz").is_file():
        pytest.skip(f"no published answers in {FOLDER}")
    return {one["question_id"]: one["question_type"] for one in packed(name)["per_question"]}


@pytest.fixture
def counted(types, tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.MIRROR, str(MIRROR))
    return source.counts(tmp_path, types)


def test_the_counts_give_what_the_authors_report(counted):
    assert list(counted) == source.COLUMNS
    for reader, conditions in source.CONDITIONS.items():
        found = labelled.answers_of(counted, reader)
        assert len(found) == 500
        assert found["abstention"].sum() == 30
        assert found[list(conditions)].mean().round(4).tolist() == OVERALL[reader]
    for shown, name in source.CONDITIONS[source.GPT].items():
        theirs = packed(name)["aggregate"]
        mean = labelled.task_averaged(found[shown], found["type"])
        assert mean.mean == pytest.approx(theirs["task_averaged_accuracy"])
        assert mean.low < mean.mean < mean.high
        abstained = found[shown][found["abstention"]].mean()
        assert abstained == pytest.approx(theirs["abstention_accuracy"])
        of_types = found[shown].groupby(found["type"]).mean()
        told = {kind: one["accuracy"] for kind, one in theirs["by_type"].items()}
        assert of_types.to_dict() == pytest.approx(told)


def test_without_the_files_nothing_is_counted(tmp_path, monkeypatch):
    monkeypatch.delenv(fetch.MIRROR, raising=False)
    assert source.counts(tmp_path, {}) is None
    assert {c.verdict for of in labelled.tables(None).values() for c in of} == {"not run"}
