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
