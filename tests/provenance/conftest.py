"""A toy repository with three runs, evaluated, and a report whose tables are known by hand."""

import pandas as pd
import pytest
import yaml

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN, judge
from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.core.prepared import save, save_places, save_qrels
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.provenance import environment, places
from memrepro.report.profile import Metrics, compare_values
from memrepro.report.sources import FileSource, RunSource, write_sources
from memrepro.report.tables import Cell, number, write_cells
from memrepro.study import evaluation
from memrepro.study.params import DatasetEntry, Evaluation, Experiment, Plan, Protocol

DOCS = ("d1", "d2", "d3", "d4")
# Query → kind, gold doc, and the rank of it in each run (9: not in the list).
ASKED = {
    "q1": ("easy", "d1", {"toy-a": 1, "toy-b": 1, "0.5": 2}),
    "q2": ("easy", "d2", {"toy-a": 1, "toy-b": 3, "0.5": 1}),
    "q3": ("hard", "d3", {"toy-a": 3, "toy-b": 1, "0.5": 1}),
    "q4": ("hard", "d4", {"toy-a": 3, "toy-b": 1, "0.5": 9}),
    "q5": ("hard", "d1", {"toy-a": 2, "toy-b": 2, "0.5": 3}),
    "no": ("absent", "d1", {"toy-a": 1, "toy-b": 1, "0.5": 1}),
}
PROTOCOLS = {
    "stated": Protocol("stated", {"absent": "was never said"}),
    "with-absent": Protocol("stated", {}),
}


def _experiment(**more):
    return Experiment("sample", "all", "toy", "session", "concat", "bm25", "bm25", {"k": 3}, **more)


PLAN = Plan(
    {"toy": DatasetEntry("sample", "toy", "question", {})},
    {"toy-a": _experiment(), "toy-b": _experiment(ranges="")},
    {"toy-swept": _experiment(vary="b", values=(0.5, 0.9))},
    {},
    Evaluation((1, 2, 3), ("recall_all", "ndcg"), (1, 3), ("recall_all",), PROTOCOLS),
)  # fmt: skip


def ranking(name, **more):
    """Each query's list of three: its gold doc at the run's rank, others around it."""
    rows = []
    for query_id, (_, gold, ranks) in ASKED.items():
        others = [doc for doc in DOCS if doc != gold]
        at = ranks[name]
        docs = [*others[: at - 1], gold, *others[at - 1 :]][:3] if at <= 3 else others
        rows += [(query_id, doc, rank, 1 - rank / 10) for rank, doc in enumerate(docs, start=1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"]).assign(**more)


def source(run, kind=""):
    return RunSource(run, "", "session", "recall_all", 1, kind)


def write_report(profile, folder):
    """Means and a difference of two runs; then cells of every other relation to their sources."""
    metrics = Metrics(profile)

    def cells():
        before = metrics.values("toy-a", "session", "recall_all", 1)
        for run in ("toy-a", "toy-b"):
            found = metrics.values(run, "session", "recall_all", 1)
            for kind, part in [("", found), *found.groupby("kind")]:
                value = float(part["value"].mean())
                verdict = (NOT_COMPARABLE, "") if kind else judge("0.600", value)
                yield Cell(f"row {run}", kind or "all", "recall_all@1", "" if kind else "0.600",
                           number(value), len(part), *verdict,
                           sources=write_sources([source(run, kind)]))  # fmt: skip
        dataset = places.entry("toy-a").dataset
        yield Cell("row toy-b", "gain", "difference", "", "", len(found), NOT_COMPARABLE,
                   sources=write_sources([source("toy-a"), source("toy-b")]),
                   comparison=compare_values(before, found, dataset, places.plan()))  # fmt: skip

    def others():
        both = write_sources([source("toy-a"), source("toy-b")])
        yield Cell("mixed", "all", "recall_all@1", "", "0.5000", 5, NOT_COMPARABLE, sources=both)
        yield Cell("wrong", "all", "recall_all@1", "", "0.5000", 5, NOT_COMPARABLE,
                   sources=write_sources([source("toy-a")]))  # fmt: skip
        yield Cell("hub", "all", "recall_all@1", "0.9", "", 0, NOT_RUN, note="needs a hub")
        yield Cell("a: b", "size", "count", "4", "4", 1, "exact")
        yield Cell("left out", "n", "count", "", "1", 1, NOT_COMPARABLE,
                   sources=write_sources([FileSource("evaluation/exclusions.csv")]))  # fmt: skip

    return [*write_cells(cells(), folder, "main"), *write_cells(others(), folder, "other")]


LOCK = {
    "schema": "2.0",
    "stages": {
        "prepare@toy": {
            "cmd": "python -m memrepro notebook prepare",
            "outs": [{"path": "data/prepared/toy", "md5": "1.dir"}],
        },
        "retrieve@toy-a": {
            "cmd": "python -m memrepro\n  notebook retrieve",
            "deps": [
                {"path": "data/prepared/toy", "md5": "1.dir"},
                {"path": "memrepro/core", "md5": "2.dir"},
            ],
            "params": {"params.yaml": {"studies.all": {"k": 3}}},
            "outs": [{"path": "results/sample/runs/all", "md5": "3.dir"}],
        },
        "evaluate@sample": {
            "cmd": "python -m memrepro notebook evaluate",
            "deps": [{"path": "results/sample/runs", "md5": "4.dir"}],
            "outs": [
                {"path": "results/sample/evaluation/exclusions.csv", "md5": "5"},
                {"path": "results/sample/evaluation/protocols.parquet", "md5": "6"},
            ],
        },
        "report@toy": {
            "cmd": "python -m memrepro notebook toy",
            "outs": [{"path": "results/sample/toyreport", "md5": "6.dir"}],
        },
    },
}


def forget():
    """Drop what is remembered of a repository."""
    for kept in (
        places.plan, places.means, places._evaluated, places.metrics_of, environment.here,
    ):  # fmt: skip
        kept.cache_clear()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The repository; the report is called `toyreport`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(places, "load_plan", lambda: PLAN)
    monkeypatch.setattr(evaluation, "load_plan", lambda: PLAN)
    (tmp_path / "dvc.yaml").write_text("")
    (tmp_path / "params.yaml").write_text("studies: {all: {k: 3}}")
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(LOCK))
    forget()
    memory = Memory.from_rounds(
        "m", *((doc, Round.from_texts(f"{doc}-1", user=f"<b>{doc}</b>")) for doc in DOCS)
    )
    queries = tuple(Query(q, "m", f"where is {q}?", "", kind) for q, (kind, _, _) in ASKED.items())
    gold = {"session": {q: ((doc,),) for q, (_, doc, _) in ASKED.items()}}
    chain = save_qrels([Piece(memory, queries, gold, {})], paths.qrels("sample", "toy"))
    chain = save_places(chain, paths.places("sample", "toy"))
    list(save(chain, paths.prepared("toy")))
    for name in ("toy-a", "toy-b"):
        write_table(paths.run("sample", name, "all"), ranking(name))
    swept = [ranking("0.5", setting=setting) for setting in ("0.5", "0.9")]
    write_table(paths.run("sample", "toy-swept", "all"), pd.concat(swept))
    evaluation.run("sample")
    write_report("sample", paths.results("sample") / "toyreport")
    yield tmp_path
    forget()
