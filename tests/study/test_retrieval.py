"""retrieve: a study's runs, the traces that some leave, and what a sweep keeps of a ranking."""

import random
from dataclasses import replace

import pandas as pd
import pytest

from memrepro.core.memory import Dataset, Memory, Query, Round
from memrepro.core.ranking import COLUMNS, to_frame
from memrepro.evaluate.rollup import roll_up
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.retrieve import make_retriever
from memrepro.study.search import retrieval
from memrepro.study.search.requests import make_requests, read_vectors
from tests.study.toy import DEEP, GATE, experiment, plan, prepare

EXPERIMENTS = {
    "recollection": experiment("recollection", True, **DEEP),
    "gated": experiment("gated", True, **DEEP, **GATE),
    "recollection-printed": experiment("recollection_printed", True, **DEEP),
    "gated-printed": experiment(
        "gated_printed", True, **DEEP, **GATE | {"entropy_threshold": 1.16}
    ),
    "nothing-found": experiment("recollection", True, **DEEP, floor=2.0),
    "familiarity": experiment("familiarity", k=4),
}
TRACED = [name for name in EXPERIMENTS if name != "familiarity"]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setattr("memrepro.study.search.retrieval.load_plan", lambda: plan(EXPERIMENTS))
    return prepare()


def requests_of(dataset, name):
    one = EXPERIMENTS[name]
    return make_requests(dataset, one, read_vectors(one))


def trace(name):
    folder = paths.trace("sample", name)
    return {part: read_table(folder / f"{part}.parquet") for part in paths.TRACE_TABLES}


def test_a_study_writes_its_runs_and_traces_and_nothing_else(toy):
    stray = paths.run("sample", "forgotten", "all")
    stray.parent.mkdir(parents=True)
    stray.write_text("of an experiment that is no more")
    done = retrieval.run("all")
    written = {paths.run("sample", name) for name in EXPERIMENTS}
    written.add(stray.with_name("key_sizes.csv"))
    written |= {
        paths.trace("sample", n) / f"{p}.parquet" for n in TRACED for p in paths.TRACE_TABLES
    }
    assert set(done.outputs) == written
    assert {p for p in stray.parent.rglob("*") if p.is_file()} == written
    assert done.summary["experiment"].tolist() == list(EXPERIMENTS)


def test_a_traced_run_is_its_hits_and_what_search_finds(toy):
    retrieval.run("all")
    for name, one in EXPERIMENTS.items():
        run = read_table(paths.run("sample", name))
        if name in TRACED:
            pd.testing.assert_frame_equal(run, trace(name)["hits"][COLUMNS])
        found = make_retriever("rfmem", one.retriever, dict(one.parameters)).search(
            requests_of(toy, name)
        )
        # A table without a row has no type of its own.
        pd.testing.assert_frame_equal(run, to_frame(found), check_dtype=len(run) > 0)


def test_one_changed_run_leaves_the_bytes_of_the_others(toy, monkeypatch):
    first = {p: p.read_bytes() for p in retrieval.run("all").outputs}
    assert {p: p.read_bytes() for p in retrieval.run("all").outputs} == first
    changed = {**EXPERIMENTS, "familiarity": experiment("familiarity", k=3)}
    monkeypatch.setattr("memrepro.study.search.retrieval.load_plan", lambda: plan(changed))
    second = {p: p.read_bytes() for p in retrieval.run("all").outputs}
    assert {p.stem for p in first if first[p] != second[p]} == {"familiarity"}


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({}, True),
        ({"score": [0.5000004, float("nan"), 0.0999996]}, True),
        ({"score": [0.5001, float("nan"), 0.1]}, False),
        ({"score": [0.5, 0.2, 0.1]}, False),
        ({"doc_id": ["b", "a", "c"]}, False),
        ({"rank": [1, 2, 4]}, False),
        ({"setting": "0.1"}, False),
    ],
)
def test_float_noise_alone_changes_no_file(tmp_path, changed, kept):
    path, scores = tmp_path / "run.parquet", [0.5, float("nan"), 0.1]
    table = pd.DataFrame({"doc_id": ["a", "b", "c"], "rank": [1, 2, 3], "score": scores})
    path.write_bytes(b"damaged")
    retrieval.write_small(path, table)
    before, again = path.read_bytes(), table.assign(**changed)
    retrieval.write_small(path, again)
    assert (path.read_bytes() == before) is kept
    pd.testing.assert_frame_equal(read_table(path), table if kept else again)
    retrieval.write_small(path, table[:2])
    assert len(read_table(path)) == 2
    retrieval.write_small(path, table[:2].assign(score=None))
    retrieval.write_small(path, table[:2])
    pd.testing.assert_frame_equal(read_table(path), table[:2])


def test_a_sweep_over_keys_is_shortened_and_one_over_a_parameter_is_not(toy, monkeypatch):
    swept = {
        "by-keys": sweep("key_scheme", ("concat",)),
        "by-floor": sweep("floor", (0.1,)),
    }
    monkeypatch.setattr("memrepro.study.search.retrieval.load_plan", lambda: plan({}, sweeps=swept))
    retrieval.run("all")
    by_keys, by_floor = (read_table(paths.run("sample", name)) for name in swept)
    assert list(by_keys.columns) == ["setting", *COLUMNS]
    assert set(by_floor["setting"]) == {"0.1"}
    # The toy has five sessions a memory and `protocol_ks` of 2: two sessions are soon named.
    assert len(by_keys) < len(by_floor)


def sweep(vary, values):
    return replace(experiment("familiarity", k=30), vary=vary, values=values)


@pytest.mark.parametrize("seed", range(3))
def test_a_shortened_ranking_has_the_same_top_at_every_level(seed):
    rng = random.Random(seed)
    names = [f"s{n}" for n in range(12)]
    memory = Memory.from_rounds(
        "m", *((s, Round.from_texts(f"{s}_r{r}", user="x")) for s in names for r in range(4))
    )
    dataset = Dataset("toy", {"m": memory}, (Query("q0", "m", "?", "", "kind"),))
    docs = [f"{s}_r{r}" for s in names for r in range(4)]
    rows = []
    for q in range(6):
        order = rng.sample(docs, rng.randint(1, len(docs)))
        rows += [(f"q{q}", doc, rank, 1 / rank) for rank, doc in enumerate(order, start=1)]
    run = pd.DataFrame(rows, columns=COLUMNS)
    depth = 10
    short = retrieval.shortened(run, dataset, depth)
    assert len(short) < len(run)
    places = {doc: doc.partition("_")[0] for doc in docs}
    for level in ("round", "session"):
        whole, cut = (
            table if level == "round" else roll_up(table, level, places) for table in (run, short)
        )
        columns = ["query_id", "doc_id", "rank"]
        pd.testing.assert_frame_equal(
            whole[whole["rank"] <= depth][columns].reset_index(drop=True),
            cut[cut["rank"] <= depth][columns].reset_index(drop=True),
        )
