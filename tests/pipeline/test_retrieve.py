"""retrieve: a traced experiment's run is its trace's hits, and any other's what `search` finds."""

import numpy as np
import pandas as pd
import pytest

from memrepro.core.ranking import COLUMNS, to_frame
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.retrieve import make_retriever
from memrepro.study import retrieval
from tests.pipeline.toy import DEEP, GATE, experiment, plan, prepare

EXPERIMENTS = {
    "recollection": experiment("recollection", **DEEP),
    "gated": experiment("gated", **DEEP, **GATE),
    "recollection-printed": experiment("recollection_printed", **DEEP),
    "gated-printed": experiment("gated_printed", **DEEP, **GATE | {"entropy_threshold": 1.16}),
    "nothing-found": experiment("recollection", **DEEP, floor=2.0),
    "familiarity": experiment("familiarity", k=4),
}
TRACED = [name for name in EXPERIMENTS if name != "familiarity"]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setattr("memrepro.study.retrieval.load_plan", lambda: plan(EXPERIMENTS, TRACED))
    return prepare()


def requests_of(dataset, name):
    one = EXPERIMENTS[name]
    return retrieval.make_requests(dataset, one, retrieval.read_vectors(one))


def trace(name):
    folder = paths.trace("sample", name)
    return {
        part: read_table(folder / f"{part}.parquet") for part in ("queries", "branches", "hits")
    }


@pytest.mark.parametrize("name", TRACED)
def test_the_run_of_a_traced_experiment_is_its_hits_and_what_search_finds(toy, name):
    done = retrieval.run(name)
    run = read_table(paths.run("sample", name))
    hits = trace(name)["hits"]
    pd.testing.assert_frame_equal(run, hits[COLUMNS])
    one = EXPERIMENTS[name]
    searched = make_retriever("rfmem", one.retriever, dict(one.parameters)).search(
        requests_of(toy, name)
    )
    # A table without a row has no type of its own.
    pd.testing.assert_frame_equal(run, to_frame(searched), check_dtype=len(run) > 0)
    written = [paths.run("sample", name)]
    written += [
        paths.trace("sample", name) / f"{p}.parquet" for p in ("queries", "branches", "hits")
    ]
    assert list(done.outputs) == written


@pytest.mark.parametrize("name", TRACED)
def test_the_tables_of_a_trace_have_one_form_whatever_is_in_them(toy, name):
    retrieval.run(name)
    tables = trace(name)
    types = {
        "queries": ["str", "str", "float64", "float64", "int32"],
        "branches": ["str", *["int32"] * 4, "float32", "float32", "int32", "int32"],
        "hits": ["str", "str", "int32", "float32", "int32", "int32", "int32"],
    }
    assert {part: [str(t) for t in table.dtypes] for part, table in tables.items()} == types
    asked = [query.query_id for query in toy.queries]
    assert tables["queries"]["query_id"].tolist() == asked
    path = tables["queries"].set_index("query_id")["path"]
    assert set(tables["branches"]["query_id"]) == set(path.index[path == "recollection"])


def test_what_is_rounded_is_rounded_to_float32_and_no_further(toy):
    retrieval.run("gated")
    one = EXPERIMENTS["gated"]
    whole = make_retriever("rfmem", "gated", dict(one.parameters)).trace(requests_of(toy, "gated"))
    tables = trace("gated")
    assert set(tables["queries"]["path"]) == {"familiarity", "recollection"}
    for column in ("mean", "entropy"):
        assert tables["queries"][column].tolist() == whole.queries[column].tolist()
    for column in ("score", "drift"):
        kept = whole.branches[column].astype(np.float32)
        assert tables["branches"][column].tolist() == kept.tolist()


def test_an_experiment_of_another_group_leaves_no_trace(toy):
    done = retrieval.run("familiarity")
    assert list(done.outputs) == [paths.run("sample", "familiarity")]
    assert not paths.trace("sample", "familiarity").exists()


def test_a_second_run_writes_the_same_bytes(toy):
    first = {p: p.read_bytes() for p in retrieval.run("gated").outputs}
    assert {p: p.read_bytes() for p in retrieval.run("gated").outputs} == first
