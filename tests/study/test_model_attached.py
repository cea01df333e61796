"""retrieve and extract: what names a language model is answered by it, live or replayed."""

import json
from dataclasses import replace

import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.llm.records import AnswerStore
from memrepro.papers.associa.llm.extractor import to_file
from memrepro.pipeline.stages.data.extract import extract
from memrepro.study.search import retrieval
from tests.papers.associa.llm.scripted import IDENTITY, live
from tests.study.test_encoder_attached import EXPERIMENTS, experiment, model
from tests.study.toy import plan, prepare

__all__ = ["model"]  # the fixture

ASKED = EXPERIMENTS | {"asked": experiment("deliberated", model="small")}


def run(monkeypatch, models):
    monkeypatch.setattr(
        "memrepro.study.search.retrieval.load_plan", lambda: replace(plan(ASKED), models=models)
    )
    retrieval.run("all")
    return {name: read_table(paths.run("sample", name)) for name in ASKED}


def test_a_model_without_an_entry_is_refused_by_name(model, monkeypatch):
    with pytest.raises(MemreproError, match=r"unknown language model 'small'.* has none"):
        run(monkeypatch, {})


def test_answers_that_are_not_recorded_stop_the_run(model, monkeypatch):
    with pytest.raises(MemreproError, match=r"answers of 'Small'.* are not recorded"):
        run(monkeypatch, {"small": {"model": "Small", "revision": "1"}})


def test_events_of_a_model_are_a_source_of_extractions(model, monkeypatch, tmp_path):
    monkeypatch.setattr("memrepro.pipeline.stages.data.extract.root", lambda: tmp_path)
    models = {"one": {"model": IDENTITY.model, "revision": IDENTITY.revision}}
    monkeypatch.setattr(
        "memrepro.pipeline.stages.data.extract.load_plan", lambda: replace(plan({}), models=models)
    )
    dataset = prepare(n_memories=1)  # a session of several memories is of none
    options = {"model": "one", "paper": "associa"}
    with pytest.raises(MemreproError, match=r"events of toy.* are not recorded"):
        extract("one", options, dataset, "personamem")
    said = json.dumps({"events": [{"round": 1, "text": "Ann drinks tea.", "entities": []}]})
    with AnswerStore() as store:
        written = to_file(dataset, live(store, lambda _: said), tmp_path / "events.jsonl")
    found = extract("one", options, dataset, "personamem")
    assert {text.source for text in found.texts} == {"one"}
    assert len(found.texts) == written.counts["texts"] > 0
    with pytest.raises(MemreproError, match="unknown language model 'two'"):
        extract("one", {"model": "two", "paper": "associa"}, dataset, "personamem")
