"""Stages: what each refuses, and the rules of evaluation."""

import pandas as pd
import pytest

from memrepro.core.memory import Dataset
from memrepro.core.prepared import save_extracted
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.pipeline.stages import download, prepare, report
from memrepro.provenance import verify
from memrepro.study import embedding, evaluation, retrieval
from memrepro.study.evaluation import Gold, evaluate_run, levels_of, read_gold
from memrepro.study.params import Protocol, load_plan
from memrepro.study.requests import make_requests, read_vectors


@pytest.mark.parametrize(
    ("stage", "names", "sentence"),
    [
        (download, ["nonesuch"], "unknown data set 'nonesuch'"),
        (prepare, ["nonesuch"], "unknown data set 'nonesuch'"),
        (embedding, ["open", "x"], "no run of the profile 'open' searches vectors of 'x'"),
        (retrieval, ["nonesuch"], "unknown study 'nonesuch'"),
        (evaluation, ["huge"], "unknown profile 'huge': known are sample, open, full"),
        (verify, ["huge"], "unknown profile 'huge': known are sample, open, full"),
        (report, ["rfmem", "sample"], "no report 'rfmem' on the profile 'sample'"),
    ],
)
def test_unknown_names(stage, names, sentence):
    with pytest.raises(MemreproError, match=sentence):
        stage.run(*names)


def test_a_data_set_out_of_reach_ends_in_one_sentence(tmp_path, monkeypatch):
    """No mirror, and an address that no machine answers on."""
    import socket

    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    monkeypatch.setattr(paths, "raw", lambda dataset: tmp_path / dataset)

    def refuse(*_, **__):
        raise OSError("network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("memrepro.data.fetch.time.sleep", lambda seconds: None)
    with pytest.raises(MemreproError) as error:
        download.run("personabench-n07")
    sentence = str(error.value)
    assert "\n" not in sentence
    for part in ("https://", "MEMREPRO_MIRROR", "CC BY-NC-SA"):
        assert part in sentence
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_each_excluded_question_has_its_reason():
    kinds = {"a": "Basic", "b": "Subjective", "c": "Basic", "e": "Basic"}
    levels = {"session": {"a": (("d",),), "b": (("d",),)}, "session_lenient": {"e": (("d",),)}}
    gold = Gold(kinds, {"e": "its evidence cannot be read", "a": "beside the point"}, levels, {})
    stated = Protocol("stated", {"Subjective": "not evaluated"})
    assert gold.left_out("session", stated) == {
        "b": "not evaluated",
        "c": "no session is marked as its evidence",
        "e": "its evidence cannot be read",
    }
    assert set(gold.wanted("session", stated)) == {"a"}
    assert set(gold.wanted("session", Protocol("lenient", {}))) == {"e"}


def evaluated(profile, name, run, plan):
    """The stated protocol's per-question table at the experiment's own level."""
    experiment = plan.experiment(name)
    gold = read_gold(profile, experiment.dataset, plan.evaluation.protocols)
    level = experiment.granularity
    tables = [
        values.frame().assign(setting=setting)
        for setting, at, key, values in evaluate_run(name, experiment, run, plan, gold)
        if at == level and key == "stated"
    ]
    return pd.concat(tables)


def test_a_ranking_is_evaluated_at_its_own_level_and_above():
    assert levels_of("turn") == ("turn", "session")
    assert levels_of("session") == ("session",)
    assert levels_of("nlp-fact") == ("round", "session")


def test_a_sweep_is_evaluated_setting_by_setting():
    plan = load_plan()
    name = "rfmem-mpnet-recollection-k5-by-alpha"
    run = pd.read_parquet(paths.run("open", name))
    metrics = evaluated("open", name, run, plan)
    at = metrics[(metrics["setting"] == "0.9") & (metrics["metric"] == "recall")]
    alone = "rfmem-mpnet-recollection-k5"
    fixed = pd.read_parquet(paths.run("open", alone))
    expected = evaluated("open", alone, fixed, plan)
    assert set(expected["k"]) == {1, 3, 5}  # beyond the retriever's k is none
    expected = expected[(expected["metric"] == "recall") & (expected["k"] == 5)]
    assert at["value"].tolist() == expected["value"].tolist()
    assert set(metrics["k"]) == {5}


def test_a_sweep_over_k_is_evaluated_at_each_settings_own_k():
    plan = load_plan()
    sweep = plan.experiment("rfmem-mpnet-familiarity-by-k")
    whole = pd.read_parquet(paths.run("open", "rfmem-mpnet-familiarity"))
    run = pd.concat([whole.assign(setting=str(k)) for k in sweep.values])
    metrics = evaluated("open", "rfmem-mpnet-familiarity-by-k", run, plan)
    pairs = metrics[["setting", "k"]].drop_duplicates()
    assert dict(pairs.itertuples(index=False)) == {str(k): k for k in sweep.values}


def test_a_run_that_is_cut_short_is_refused():
    plan = load_plan()
    name = "rfmem-mpnet-familiarity"
    run = pd.read_parquet(paths.run("open", name))
    short = run[run["query_id"].isin(run["query_id"].unique()[:-1])]
    with pytest.raises(MemreproError, match="ranks docs for 262 questions, and .* has 263"):
        evaluated("open", name, short, plan)


def vectors_file(tmp_path, monkeypatch, **changed):
    table = pd.DataFrame(
        {"role": ["document", "query"], "text_id": ["a", "b"], "vector": [[1.0], [0.5]]}
    )
    table.assign(**changed).to_parquet(tmp_path / "v.parquet")
    monkeypatch.setattr(paths, "vectors", lambda *_: tmp_path / "v.parquet")
    return load_plan().experiment("rfmem-mpnet-familiarity")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"vector": [[1.0], [float("nan")]]},
            "1 vectors with NaN or infinity, the first of text b",
        ),
        ({"vector": [[1.0], [0.5, 0.5]]}, r"vectors of the dimensions \[1, 2\]"),
        ({"extra": [1, 2]}, "has the columns"),
        ({}, "has no vector of text"),
    ],
)
def test_damaged_vectors_are_named(tmp_path, monkeypatch, changed, sentence):
    from memrepro.core.memory import Memory, Query, Round

    experiment = vectors_file(tmp_path, monkeypatch, **changed)
    memory = Memory.of("m", ("d", Round.of("d", document="text")))
    dataset = Dataset("toy", {"m": memory}, (Query("q", "m", "who?", "", "kind"),))
    monkeypatch.setattr(paths, "extracted", lambda dataset: tmp_path)
    save_extracted([], tmp_path)
    with pytest.raises(MemreproError, match=sentence) as error:
        make_requests(dataset, experiment, read_vectors(experiment))
    assert "v.parquet" in str(error.value)
