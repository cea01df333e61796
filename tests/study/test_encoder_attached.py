"""retrieve: a retriever that deliberates gets its encoder, from the cache; others none."""

import pandas as pd
import pytest

from memrepro.core.extractions import Extraction
from memrepro.core.prepared import load_extractions, save_extracted
from memrepro.core.ranking import COLUMNS
from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.retrieve.associa.keys.key_builder import GraphKeyBuilder
from memrepro.study.params import Experiment
from memrepro.study.search import retrieval
from tests.study.toy import plan, prepare, write_vectors

KEY_SCHEME = "concat+graph:recorded-fact"


def experiment(retriever, **parameters):
    parameters = {"k": 6, "top_nodes": 3, "top_edges": 3, **parameters}
    return Experiment(
        "sample", "all", "toy", "round", KEY_SCHEME, "associa", retriever, parameters, "hash-64"
    )


EXPERIMENTS = {
    "plain": experiment("associa"),
    "once": experiment("deliberated", max_iter=1),
    "deliberated": experiment("deliberated"),
}


class Model:
    """The test encoder in the registry's place; counts loads and what it encodes."""

    def __init__(self):
        self.loads, self.roles, self.texts = 0, set(), []

    def load(self, name):
        assert name == "hash-64"
        self.loads += 1
        encoder = HashEncoder()
        encode = encoder.encode

        def counted(texts, role):
            self.roles.add(role)
            self.texts += texts
            return encode(texts, role)

        encoder.encode = counted
        return encoder


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("memrepro.study.search.retrieval.load_plan", lambda: plan(EXPERIMENTS))
    model = Model()
    monkeypatch.setattr("memrepro.study.search.retrieval.load_encoder", model.load)
    prepare_graphs()
    return model


def prepare_graphs():
    dataset = prepare()
    sessions = {s.key: s for m in dataset.memories.values() for s in m.sessions}
    found = [
        Extraction(key, r.round_id, "recorded", "fact", f"Ann told of {r.fields['user']}.")
        for key, session in sessions.items()
        for r in session.rounds[::2]
    ]
    save_extracted(found, paths.extracted("toy"))
    extractions = load_extractions(paths.extracted("toy"))
    write_vectors(dataset, GraphKeyBuilder("round", KEY_SCHEME, extractions))


def run(monkeypatch, *names):
    some = {name: EXPERIMENTS[name] for name in names}
    monkeypatch.setattr("memrepro.study.search.retrieval.load_plan", lambda: plan(some))
    retrieval.run("all")
    monkeypatch.setattr("memrepro.study.search.retrieval.load_plan", lambda: plan(EXPERIMENTS))
    return [read_table(paths.run("sample", name)) for name in names]


class Never:
    """A deliberator that finds all evidence sufficient."""

    def missing(self, asked):
        return [()] * len(asked)


class Always:
    """A deliberator that wants one thing more, whatever there is."""

    def missing(self, asked):
        return [("told of lake bread train",)] * len(asked)


def test_no_encoder_is_loaded_where_nothing_is_embedded(model, monkeypatch):
    plain, once = run(monkeypatch, "plain", "once")
    assert list(plain.columns) == COLUMNS
    pd.testing.assert_frame_equal(once, plain)
    pd.testing.assert_frame_equal(retrieval.search("deliberated", Never()), plain)
    assert model.loads == 0


def test_queries_with_clues_are_embedded_once_for_ever(model, monkeypatch):
    more = retrieval.search("deliberated", Always())
    assert (model.loads, model.roles) == (1, {"query"})
    assert all(text.endswith("told of lake bread train") for text in model.texts)
    asked = len(model.texts)
    assert asked == len(set(model.texts)) > 0
    pd.testing.assert_frame_equal(retrieval.search("deliberated", Always()), more)
    assert len(model.texts) == asked
    assert not more.equals(*run(monkeypatch, "plain"))


def test_an_experiment_that_deliberates_on_nothing_is_refused(model):
    with pytest.raises(MemreproError, match=r"plain runs associa.associa, which deliberates on"):
        retrieval.search("plain", Never())
