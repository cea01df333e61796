"""Entries of `reading`: grids become conditions, runs say what a doc is, a slip names its entry."""

import pytest

from memrepro.errors import MemreproError
from memrepro.study.params import load_plan
from memrepro.study.plan import DatasetEntry, Experiment
from memrepro.study.readings import reading_studies

DATASETS = {
    "d": DatasetEntry("sample", "sample", "question", {}),
    "e": DatasetEntry("open", "locomo", "question", {}),
}
RUNS = {
    "one": Experiment("open", "s", "d", "session", "concat", "dense", "dense", {}),
    "sweep": Experiment(
        "sample", "s", "d", "round", "concat", "bm25", "hybrid", {}, vary="alpha", values=(0.3, 0.7)
    ),
}


NONE = {"memory": "none"}
BASE = {"dataset": "d", "model": "m", "answer": "open"}


def made(conditions, **more):
    entry = {"profile": "open", "base": BASE, "conditions": conditions, **more}
    return reading_studies({"s": entry}, DATASETS, RUNS, {"m": {}})["s"]


def test_a_condition_takes_what_a_doc_is_and_where_the_run_lies_from_its_run():
    study = made(
        {"none": NONE, "{run}-{form}": {"k": 5}},
        axes={"run": {"a": {"run": "one"}, "b": {"run": "sweep", "setting": 0.7}},
              "form": {"json": {}, "text": {"history": "text"}}},
    )  # fmt: skip
    assert list(study.conditions) == ["none", "a-json", "a-text", "b-json", "b-text"]
    assert (study.profile, study.data_profile) == ("open", "sample")
    found = study.conditions["b-text"]
    assert (found.granularity, found.run_profile) == ("round", "sample")
    assert (found.setting, found.k, found.history) == ("0.7", 5, "text")
    assert study.conditions["a-json"].granularity == "session"


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"x": {"run": "none"}}, "unknown experiment 'none'"),
        ({"x": {"memory": "all"}}, r"reading.s.conditions.x.memory is 'all'"),
        ({"x": {**NONE, "shown": 2}}, r"reading.s.conditions.x has the unknown key 'shown'"),
        ({"x": {**NONE, "judge": "j"}}, r"reading.s.conditions.x names the language model 'j'"),
        ({"x": {"run": "one", "granularity": "round"}},
         "sets the granularity, which follows from its run"),
        ({"x": {**NONE, "run_profile": "open"}}, "sets 'run_profile', which follows from its run"),
        ({"x": {"run": "sweep"}}, "on d: that run is on d and has the settings 0.3, 0.7"),
        ({"x": {"run": "one", "dataset": "e"}},
         "reads 'one' at the setting '' on e: that run is on d"),
        ({"x": {**NONE, "k": 3}}, r"reading.s.conditions.x has k 3: only a run's docs"),
        ({"x": NONE, "y": {**NONE, "dataset": "e"}}, "conditions with the dataset"),
        ({}, r"reading.s has no conditions"),
    ],
)  # fmt: skip
def test_a_slip_names_its_entry(conditions, said):
    with pytest.raises(MemreproError, match=said):
        made(conditions)


def test_an_entry_without_conditions_is_refused():
    with pytest.raises(MemreproError, match=r"reading.s must be a mapping with conditions"):
        reading_studies({"s": {"profile": "open"}}, DATASETS, RUNS, {})


def test_the_real_studies_have_a_floor_and_enough_questions():
    plan = load_plan()
    for study in plan.readings("open").values():
        assert study.conditions["none"].memory == "none"
        assert study.any.questions >= 120
    assert {study.any.dataset for study in plan.readings("open").values()} == {
        "personamem-32k", "locomo", "longmemeval-oracle",
    }  # fmt: skip
    with pytest.raises(MemreproError, match="unknown reading study of open 'locom'"):
        plan.readings("open", "locom")
