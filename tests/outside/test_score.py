"""Rankings made elsewhere: every format reads the same, problems are counted, values are peers'."""

import json
import os
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest

from memrepro.core.prepared import load_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.outside import page
from memrepro.outside.runs import docs_of, read_run
from memrepro.outside.score import EVERY, score, values_of
from memrepro.pipeline.cli import main
from memrepro.study.evaluation import read_gold
from memrepro.study.params import load_plan

OURS = "sample-dense-user"


@pytest.fixture(scope="module")
def plan():
    return load_plan()


@pytest.fixture(scope="module")
def ours(plan):
    """A committed ranking of the sample's sessions, ten docs a question."""
    frame = pd.read_parquet(paths.run("sample", OURS, plan.experiment(OURS).study))
    frame = frame[frame["rank"] <= 10].astype({"query_id": str, "doc_id": str})
    return frame[["query_id", "doc_id", "rank", "score"]].reset_index(drop=True)


def as_trec(frame, path):
    lines = [f"{q} Q0 {d} {r} {s} elsewhere" for q, d, r, s in frame.itertuples(index=False)]
    path.write_text("\n".join(lines))
    return path


def as_lists(frame, path):
    lists = frame.groupby("query_id", sort=False)["doc_id"].agg(list)
    path.write_text("\n".join(json.dumps({"query_id": q, "ranked": d}) for q, d in lists.items()))
    return path


def as_rows(frame, path):
    path.write_text("\n".join(map(json.dumps, frame.to_dict("records"))))
    return path


def as_parquet(frame, path):
    frame.drop(columns="rank").to_parquet(path)
    return path


@pytest.mark.parametrize(
    ("write", "name"),
    [(as_trec, "a.run"), (as_lists, "a.jsonl"), (as_rows, "a.jsonl"), (as_parquet, "a.parquet")],
)
def test_every_format_reads_the_same(plan, ours, tmp_path, write, name):
    """In any order of lines, as the rank decides, and the score where there is no rank."""
    mixed = ours if write is as_lists else ours.sample(frac=1, random_state=0)
    run = read_run(write(mixed, tmp_path / name), "sample", plan)
    assert (run.level, run.problems, run.depth) == ("session", {}, 10)
    key = ["query_id", "rank"]
    read, wrote = (f.sort_values(key)[[*key, "doc_id"]].values.tolist() for f in (run.frame, ours))
    assert read == wrote


def test_values_are_those_of_ir_measures_and_of_the_committed_run(plan, ours, tmp_path):
    scored = score([as_trec(ours, tmp_path / "mine")], "sample", plan)
    _, gold = load_qrels(paths.qrels("sample", "sample"), "session")
    gold = {q: parts for q, parts in gold.items() if not q.endswith("_abs")}
    qrels = [ir_measures.Qrel(q, d, 1) for q, parts in gold.items() for part in parts for d in part]
    run = [ir_measures.ScoredDoc(q, d, -r) for q, d, r, _ in ours.itertuples(index=False)]
    run = [row for row in run if row.query_id in gold]
    measures = {"recall": ir_measures.R @ 10, "ndcg": ir_measures.nDCG @ 10}
    peer = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    stated = scored.values[(scored.values["protocol"] == "stated") & (scored.values["k"] == 10)]
    for metric, measure in measures.items():
        row = stated[stated["metric"] == metric].iloc[0]
        assert row["value"] == pytest.approx(peer[measure])
        assert row["low"] <= row["value"] <= row["high"]
    itself = scored.beside[scored.beside["beside"] == OURS].iloc[0]
    assert (itself["won"], itself["lost"], itself["difference"]) == (0, 0, 0)
    every = scored.values[(scored.values["protocol"] == EVERY) & (scored.values["k"] == 10)]
    of_all = every.set_index("metric").loc["recall_all"]
    n, mean = len(gold), stated.set_index("metric").loc["recall_all", "value"]
    assert of_all["n"] == 120
    assert of_all["value"] == pytest.approx((mean * n + 120 - n) / 120)


def test_what_is_wrong_is_named_and_counted(plan, ours, tmp_path, capsys):
    first, second, third = ours["query_id"].unique()[:3]
    bad = ours.drop(columns="rank")[ours["query_id"] != first]
    top = bad[bad["query_id"] == second].iloc[0]
    unsure = bad.index[bad["query_id"] == third][0]
    bad.loc[unsure, "score"] = np.nan
    more = [(second, top["doc_id"], -9.0), (second, "nowhere", 9.0), ("stranger", "x", 1.0)]
    bad = pd.concat([bad, pd.DataFrame(more, columns=bad.columns)])
    path = tmp_path / "bad.parquet"
    bad.to_parquet(path)
    run = read_run(path, "sample", plan)
    assert run.problems == {
        "unknown question": ("stranger",),
        "question without a ranking": (first,),
        "doc named twice": (f"{second}: {top['doc_id']}",),
        "unknown doc": (f"{second}: nowhere",),
        "score that is no number": (f"{third}: {ours.loc[unsure, 'doc_id']}",),
    }
    told = dict(iter(run.frame.groupby("query_id")))
    assert told[second]["doc_id"].tolist()[:2] == ["nowhere", top["doc_id"]]
    assert told[third]["doc_id"].tolist()[-1] == ours.loc[unsure, "doc_id"]
    assert main(["score", str(path), "--dataset", "sample", "--output", str(tmp_path / "o")]) == 1
    assert "unknown doc, 1 times, first" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "o" / "problems.csv")) == 5


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.run", "q1 Q0 d1 1\n", "line 1: .* is no row of a run"),
        ("a.jsonl", '{"query_id": "q"}\n', "line 1: .*neither rank nor score"),
        ("a.jsonl", '{"query_id": "q", "ranked": "d"}\n', "'ranked' is no list"),
        ("a.jsonl", "no JSON\n", "line 1"),
        ("a.parquet", "no parquet", "is no parquet file"),
        ("a.run", "q1 Q0 d1 1 0.5 tag\n", "names no question of sample: its ids are such as 'q1'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(plan, tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(MemreproError, match=sentence):
        read_run(tmp_path / name, "sample", plan)


def test_the_page_loads_nothing_and_escapes_ids(plan, ours, tmp_path):
    evil = "<script>alert(1)</script>"
    bad = ours.replace({"doc_id": {ours.loc[0, "doc_id"]: evil}})
    scored = score([as_lists(bad, tmp_path / "evil.jsonl")], "sample", plan)
    text = page.write(scored, tmp_path / "out").read_text()
    assert evil not in text
    assert "&lt;script&gt;" in text
    assert "src=" not in text


@pytest.mark.parametrize(("name", "reported"), [("raw", 0.603), ("hybrid", 0.889)])
def test_published_runs_of_another_system_get_their_authors_recall(plan, name, reported):
    """All of LoCoMo's questions counted, those without gold as found: as its authors count."""
    mirror = Path(os.environ.get("MEMREPRO_MIRROR", "nowhere"))
    path = mirror.parent / "outside" / f"locomo-session-{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"{path.name} is not beside the mirror")
    run = read_run(path, "locomo", plan)
    assert (run.level, run.problems) == ("session", {})
    assert len(docs_of("locomo", "open").memory_of) == run.frame["query_id"].nunique() == 1986
    gold = read_gold("open", "locomo", plan.evaluation.protocols)
    values, _ = values_of([run], gold, plan, "recall", 10)
    found = values.set_index(["protocol", "metric", "k"])["value"]
    assert round(found[EVERY, "recall", 10], 3) == reported
