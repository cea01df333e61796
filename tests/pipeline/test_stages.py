"""Stages: what each refuses, and the rules of evaluation."""

import pandas as pd
import pytest

from memrepro.core.memory import Dataset
from memrepro.core.prepared import save_extracted
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.pipeline.stages import report
from memrepro.pipeline.stages.data import download
from memrepro.study import embedding, evaluation
from memrepro.study.evaluation import evaluate_run, read_gold
from memrepro.study.params import load_plan
from memrepro.study.search import retrieval
from memrepro.study.search.requests import make_requests, read_vectors


@pytest.mark.parametrize(
    ("stage", "names", "sentence"),
    [
        (download, ["nonesuch"], "unknown data set 'nonesuch'"),
        (embedding, ["open", "x"], "no run of the profile 'open' searches vectors of 'x'"),
        (retrieval, ["nonesuch"], "unknown study 'nonesuch'"),
        (evaluation, ["huge"], "unknown profile 'huge': known are sample, open, full"),
        (report, ["rfmem", "sample"], "no report 'rfmem' on the profile 'sample'"),
    ],
)
def test_unknown_names(stage, names, sentence):
    with pytest.raises(MemreproError, match=sentence):
        stage.run(*names)


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
    expected = expected[expected["metric"] == "recall"]
    assert at["value"].tolist() == expected["value"].tolist()
    assert set(metrics["k"]) == {1, 3, 5}
    by_k = "rfmem-minilm-familiarity-by-k"  # there a setting's own k is a cut-off too
    deep = evaluated("open", by_k, pd.read_parquet(paths.run("open", by_k)), plan)
    assert set(deep.loc[deep["setting"] == "20", "k"]) == {1, 3, 5, 10, 20}


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
            "NaN or infinity in the vector of b",
        ),
        ({"vector": [[1.0], [0.5, 0.5]]}, r"vectors of the dimensions \[1, 2\]"),
        ({"extra": [1, 2]}, "has the columns"),
        ({}, "has no vector of text"),
    ],
)
def test_damaged_vectors_are_named(tmp_path, monkeypatch, changed, sentence):
    from memrepro.core.memory import Memory, Query, Round

    experiment = vectors_file(tmp_path, monkeypatch, **changed)
    memory = Memory.from_rounds("m", ("d", Round.from_texts("d", document="text")))
    dataset = Dataset("toy", {"m": memory}, (Query("q", "m", "who?", "", "kind"),))
    monkeypatch.setattr(paths, "extracted", lambda dataset: tmp_path)
    save_extracted([], tmp_path)
    with pytest.raises(MemreproError, match=sentence) as error:
        make_requests(dataset, experiment, read_vectors(experiment))
    assert "v.parquet" in str(error.value)
