"""Rankings made elsewhere: every format reads the same, problems are counted, values are peers'."""

import gzip
import hashlib
import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest

from memrepro.core.prepared import load_qrels, save_qrels
from memrepro.data import locomo, read_pieces
from memrepro.data.fetch import fetch_all, mirror_copies
from memrepro.data.registry import registration
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Groups
from memrepro.files import paths
from memrepro.outside import mteb, page
from memrepro.outside import score as score_module
from memrepro.outside.forms import run_rows
from memrepro.outside.qrels import read_qrels
from memrepro.outside.runs import Docs, read_against, read_run
from memrepro.outside.score import further_protocols, score, score_by, values_of
from memrepro.pipeline.cli import main
from memrepro.retrieve.outside.retrievers import PUBLISHED, read_published
from memrepro.study.evaluation import Gold
from memrepro.study.params import load_plan

OURS, EVERY = "sample-dense-user", "every question"


@pytest.fixture(scope="module")
def plan():
    """The sample profile's; the open one's metrics, of its runs on the sample, take a minute."""
    whole = load_plan()

    def of_sample(runs):
        return {name: one for name, one in runs.items() if one.profile == "sample"}

    return replace(whole, experiments=of_sample(whole.experiments), sweeps=of_sample(whole.sweeps))


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


def as_table(frame, path):
    """As Excel writes it where a comma parts whole numbers from the rest."""
    named = frame.rename(columns={"query_id": "qid", "doc_id": "docid"})
    named.to_csv(
        path, sep=";", decimal=",", index=False, encoding="utf-8-sig", lineterminator="\r\n"
    )
    return path


def as_scores(frame, path):
    """As pytrec_eval and BEIR have a run."""
    docs = frame.groupby("query_id", sort=False)[["doc_id", "score"]]
    path.write_text(json.dumps({q: dict(d.itertuples(index=False)) for q, d in docs}))
    return path


def packed(frame, path):
    path.write_bytes(gzip.compress(as_trec(frame, path).read_bytes()))
    return path


@pytest.mark.parametrize(
    ("write", "name"),
    [(as_trec, "a.run"), (as_lists, "a.jsonl"), (as_rows, "a.jsonl"), (as_parquet, "a.parquet"),
     (as_table, "a.csv"), (as_scores, "a.json"), (packed, "a.trec.gz")],
)  # fmt: skip
def test_every_format_reads_the_same(plan, ours, tmp_path, write, name):
    """In any order of lines, as the rank decides, and the score where there is no rank."""
    mixed = ours if write is as_lists else ours.sample(frac=1, random_state=0)
    run = read_run(write(mixed, tmp_path / name), "sample", plan)
    assert (run.level, run.problems, run.depth) == ("session", {}, 10)
    key = ["query_id", "rank"]
    read, wrote = (f.sort_values(key)[[*key, "doc_id"]].values.tolist() for f in (run.frame, ours))
    assert read == wrote


def last_line_again(path):
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines, lines[-1]]))
    return path


def order(frame):
    return frame.groupby("query_id")["doc_id"].agg(list).to_dict()


def test_a_line_that_stands_twice_moves_no_doc(plan, ours, tmp_path):
    """Of ranks alone, and of ranks beside distances, which trec_eval would sort by."""
    last = ours.iloc[-1]
    twice = {"doc named twice": (f"{last['query_id']}: {last['doc_id']}",)}
    ranks = as_rows(ours.drop(columns="score"), tmp_path / "ranks.jsonl")
    run = read_run(last_line_again(ranks), "sample", plan)
    assert (order(run.frame), run.problems) == (order(ours), twice)
    distances = as_trec(ours.assign(score=10.0 - ours["score"]), tmp_path / "distances.run")
    run = read_run(last_line_again(distances), "sample", plan)
    rising = tuple(q for q, s in ours.groupby("query_id", sort=False)["score"] if s.nunique() > 1)
    assert order(run.frame) == order(ours)
    assert run.problems == {"rank and score disagree": rising} | twice


def test_what_orders_is_decided_question_by_question(tmp_path):
    known = Docs(dict.fromkeys("abcde", ""), {}, ())
    rows = [
        ("a", "x", 2, None), ("a", "y", 1, None),  # ranks
        ("b", "x", None, 1.0), ("b", "y", 1, 2.0), ("b", "z", 2, 3.0),  # one lacks: scores
        ("c", "x", -1, None), ("c", "y", 7, None), ("c", "z", 3, None),  # and there are none
        ("d", "x", 0, None), ("d", "y", 0, None),
        ("e", "x", 0, -0.5), ("e", "y", 0, -0.1), ("e", "z", 0, float("nan")),
    ]  # fmt: skip
    names = ["query_id", "doc_id", "rank", "score"]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows))
    run = read_against(path, known, "five", "session")
    tied = sorted("xy", key=lambda doc: hashlib.sha256(doc.encode()).digest())
    assert order(run.frame) == {
        "a": ["y", "x"], "b": ["z", "y", "x"], "c": ["z", "y", "x"], "d": tied,
        "e": ["y", "x", "z"],
    }  # fmt: skip
    assert run.problems == {
        "rank that is none": ("b: x", "c: x"),
        "rank of two docs": tuple(f"d: {doc}" for doc in tied),
        "score that is no number": ("e: z",),
    }


@pytest.mark.parametrize(
    "frame",
    [
        {"query_id": ["q", None], "doc_id": ["x", "y"], "rank": [1, 2]},
        {"query_id": [1.0, 2.0], "doc_id": ["x", "y"], "rank": [1, 2]},
        {"query_id": ["q"], "doc_id": [["x", "y"]], "score": [0.1]},
        {"query_id": ["q"], "doc_id": [b"\xff"], "score": [0.1]},
        {"query_id": ["q"], "doc_id": ["x"], "rank": ["first"]},
        {"query_id": ["q"], "doc_id": ["x"], "score": [[0.1]]},
    ],
)
def test_a_parquet_file_of_other_types_is_refused_by_its_row(tmp_path, frame):
    pd.DataFrame(frame).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(MemreproError, match=r"a\.parquet, row [12]: "):
        run_rows(tmp_path / "a.parquet")


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
    beside = {plan.runs[name].vary for name in scored.beside["beside"]}
    assert "key_scheme" in beside
    assert "asked" not in beside  # those runs know when the evidence was
    itself = scored.beside[scored.beside["beside"] == OURS].iloc[0]
    assert (itself["won"], itself["lost"], itself["difference"]) == (0, 0, 0)
    others = scored.beside
    less = others["value"] - others["value_beside"]
    assert others["difference"].to_numpy() == pytest.approx(less)
    assert (others["won"] - others["lost"]).to_numpy() == pytest.approx(
        others["difference"] * others["n"], abs=1e-4
    )
    every = scored.values[(scored.values["protocol"] == EVERY) & (scored.values["k"] == 10)]
    of_all = every.set_index("metric").loc["recall_all"]
    n, mean = len(gold), stated.set_index("metric").loc["recall_all", "value"]
    assert of_all["n"] == ours["query_id"].nunique() > n
    assert of_all["value"] == pytest.approx((mean * n + of_all["n"] - n) / of_all["n"])


def test_what_is_wrong_is_named_and_counted(plan, ours, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("memrepro.study.params.load_plan", lambda: plan)
    monkeypatch.setattr(score_module, "_committed", lambda *_: {})  # the test above has them
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
    # What it wrote itself is written anew, and no file of another.
    command = ["score", str(path), "--dataset", "sample", "--output"]
    assert main([*command, str(tmp_path / "o")]) == 1
    # So is what a full disk cut short.
    cut, write = tmp_path / "cut", page.write_table
    with monkeypatch.context() as patched:
        patched.setattr(page, "write_table", lambda *a: 1 / 0 if cut.exists() else write(*a))
        with pytest.raises(ZeroDivisionError):
            main([*command, str(cut)])
    assert main([*command, str(cut)]) == 1
    assert (cut / "index.html").is_file()
    capsys.readouterr()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "values.csv").write_text("mine")
    assert main([*command, str(tmp_path / "own")]) == 1
    assert "own holds other files: name a new folder" in capsys.readouterr().err
    assert (tmp_path / "own" / "values.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.run", "q1 Q0 d1 1\n", "line 1: .* is no row of a run"),
        ("a.jsonl", '{"query_id": "q"}\n', "line 1: .*neither rank nor score"),
        ("a.jsonl", '{"query_id": "q", "ranked": "d"}\n', "'ranked' is no list"),
        ("a.csv", "query_id,doc_id,rank\nq1,d1\n", "line 2: 2 cells under 3 headings"),
        ("a.json", '{"q1": 3}', "question 1: .*a list of docs"),
        ("a.jsonl", "[" * 99_999, "no JSON"),
        ("a.json", "[[[1]]]", r"line 1: '\[1\]' is no row of a run"),
        ("a.run", "q1 Q0 d1 1 0.5 tag\n", "names no question of sample: it has 'q1'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(plan, tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(MemreproError, match=sentence):
        read_run(tmp_path / name, "sample", plan)


def test_intervals_and_p_values_are_by_the_data_sets_unit(plan, ours, tmp_path, monkeypatch):
    """The sample's questions as if they were of four persons: nothing could be found."""
    monkeypatch.setattr(
        score_module, "groups_of_questions",
        lambda dataset, ids, plan: Groups("person", tuple(f"p{n % 4}" for n, _ in enumerate(ids))),
    )  # fmt: skip
    scored = score([as_trec(ours, tmp_path / "mine")], "sample", plan)
    assert set(scored.beside["unit"]) == {"person"}
    assert set(scored.beside["groups"]) == {4}
    assert scored.beside["p"].min() >= 2 / 2**4
    assert set(scored.values["by"]) == {"4 persons"}
    said = " ".join(page.sentences(scored))
    assert "by 4 persons" in said
    assert "With 4 persons none of" in said


def test_a_run_of_another_data_set_is_refused(plan, ours, tmp_path):
    known = ours["query_id"].iloc[0]
    (tmp_path / "a.run").write_text(f"{known} Q0 elsewhere-1 1 0.5 tag\n")
    with pytest.raises(MemreproError, match="ranks no doc of sample: it has .elsewh"):
        read_run(tmp_path / "a.run", "sample", plan)
    with pytest.raises(MemreproError, match=r"is of no question of longmemeval-s: .*'answer_"):
        score_by([tmp_path / "a.run"], "longmemeval-s", plan, None)


def test_the_page_loads_nothing_and_escapes_ids(plan, ours, tmp_path):
    evil = "<script>alert(1)</script>"
    bad = ours.replace({"doc_id": {ours.loc[0, "doc_id"]: evil}})
    scored = score([as_lists(bad, tmp_path / "evil.jsonl")], "sample", plan)
    text = page.write(scored, tmp_path / "out").read_text()
    assert evil not in text
    assert "&lt;script&gt;" in text
    assert "src=" not in text


@pytest.fixture(scope="module")
def conversations():
    """LoCoMo's own file, as its authors published it."""
    path = Path(os.environ.get("MEMREPRO_MIRROR", "nowhere")) / locomo.FILE
    if not path.is_file():
        pytest.skip("LoCoMo is not in the mirror")
    return json.loads(path.read_text())


def as_published(conversations, ranked):
    """The file that MemPalace's locomo_bench.py writes of rankings, with its rule of recall."""
    log = []
    for one in conversations:
        for number, entry in enumerate(one["qa"]):
            evidence = entry.get("evidence", [])
            cited = [re.match(r"D(\d+):", text) for text in evidence]
            gold = {f"session_{match[1]}" for match in cited if match}
            found = [
                doc.replace("D", "session_") for doc in ranked[f"{one['sample_id']}-q{number}"]
            ]
            log.append({
                "sample_id": one["sample_id"], "question": entry["question"],
                "answer": entry.get("answer", entry.get("adversarial_answer", "")),
                "category": entry["category"], "evidence": evidence, "retrieved_ids": found,
                "recall": sum(doc in found for doc in gold) / len(gold) if gold else 1.0,
            })  # fmt: skip
    return log


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name.startswith("mempalace")])
def test_the_published_file_is_rebuilt_from_the_ids(conversations, name):
    """Its bytes, all its recalls, and their mean as reported."""
    known, log = PUBLISHED[name], as_published(conversations, read_published(name))
    whole = json.dumps(log, indent=2).encode()
    assert len(whole) == known["bytes"]
    assert hashlib.sha256(whole).hexdigest() == known["sha256"]
    mean = sum(row["recall"] for row in log) / len(log)
    assert f"{mean:.3f}" == known["reported"]["value"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A data set's docs and its qrels file, from the mirror's own files."""
    mirror = Path(os.environ.get("MEMREPRO_MIRROR", "nowhere"))

    @cache
    def of(dataset):
        folder = tmp_path_factory.mktemp(dataset)
        one = registration(dataset)
        if not any(list(mirror_copies(file, mirror)) for file in one.files):
            pytest.skip(f"{dataset} is not in the mirror")
        fetch_all(one, folder)
        memory_of, held = {}, {}
        pieces = read_pieces(one.module, folder, dataset, {})
        for piece in save_qrels(pieces, folder / "qrels.parquet"):
            memory, turns = piece.memory, [t for r in piece.memory.rounds for t in r.turns]
            memory_of |= {query.query_id: memory.memory_id for query in piece.queries}
            held["turn", memory.memory_id] = frozenset(turn.turn_id for turn in turns)
            held["session", memory.memory_id] = frozenset(s.session_id for s in memory.sessions)
        return Docs(memory_of, held, ()), folder / "qrels.parquet"

    return of


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_rankings_get_their_authors_recall_to_the_last_digit(
    plan, prepared, tmp_path, name
):
    known, ranked = PUBLISHED[name], read_published(name)
    told, level = known["reported"], known["level"]
    docs, qrels = prepared(known["dataset"])
    path = tmp_path / f"{name}.jsonl"
    rows = ({"query_id": query_id, "ranked": docs} for query_id, docs in ranked.items())
    path.write_text("\n".join(map(json.dumps, rows)))
    run = read_against(path, docs, name)
    assert run.level == level
    assert set(run.problems) <= {"question without a ranking"}
    protocols = {**plan.evaluation.protocols, **further_protocols(plan)}
    levels = {p.labelled(at) for p in protocols.values() for at in {level, "session"}}
    loaded = {one: load_qrels(qrels, one) for one in levels}
    kinds, by_level = loaded[level][0], {at: gold for at, (_, gold) in loaded.items()}
    # A turn's id is its session's and its place there.
    turns = (ids for (at, _), ids in docs.held.items() if at == "turn")
    places = {turn: turn.rpartition("_")[0] for ids in turns for turn in ids}
    values, _ = values_of([run], Gold(kinds, {}, by_level, places), plan, "recall", told["k"])
    wanted = ["protocol", "metric", "k"]
    values = values[values["level"] == level]
    row = values.set_index(wanted).loc[told["protocol"], "recall", told["k"]]
    assert row["n"] == told["n"]
    digits = len(told["value"]) - 2
    assert row["value"] == pytest.approx(float(told["value"]), abs=max(0.51 * 10**-digits, 1e-12))


def test_the_task_of_mteb_gives_its_published_scores():
    """Data, encoder and metrics together, against what nobody here made: to the last digit, once
    four pairs of docs change places whose cosines differ by less than another precision does.
    """
    plan = load_plan()
    run = paths.run("open", "mteb-locomo-minilm", "locomo-mteb")
    if not run.is_file():
        pytest.skip("the run of MTEB's task is not there: `memrepro repro open`")
    found = [one for one in mteb.beside(run, plan) if one.task == "LoCoMo"]
    assert len(found) == 11
    for one in found:
        assert (one.subset, one.metric, one.n_here) == (one.subset, one.metric, one.n)
        assert one.here == pytest.approx(one.published, abs=2 / one.n), one
    for subset in ("single_hop", "multi_hop"):
        pairs, values = mteb.exchanges(run, plan, subset)
        assert len(pairs) == 2
        assert max(pair.gap for pair in pairs) < 6e-5
        for one in (one for one in found if one.subset == subset):
            assert round(values[one.metric], 5) == one.published
    assert mteb.exchanges(run, plan, "single_hop", within=1e-5) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [("q.txt", "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"),
     ("q.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tc\t1\n"),
     ("q.txt", "\ufeffquery-id corpus-id score\r\nq1 a 1\r\nq2 c 1\r\n"),
     ("q.csv", "\ufeffqid;docid;relevance\nq1;a;1\nq2;c;1,0\n"), ("q.csv", "q1,0,a,1\nq2,0,c,1\n"),
     ("q.json", '{"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}'),
     ("q.jsonl", '{"query_id": "q1", "relevant": ["a"]}\n{"query_id": "q2", "relevant": ["c"]}\n')],
)  # fmt: skip
def test_gold_of_a_file_decides(plan, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (tmp_path / "mine.run").write_text("q1 Q0 b 1 9 x\nq1 Q0 a 2 8 x\nq2 Q0 b 1 9 x\n")
    scored = score_by([tmp_path / "mine.run"], "anything", plan, tmp_path / name)
    found = scored.values.set_index(["metric", "k"])["value"]
    assert scored.runs[0].problems == {}
    assert found["recall_any", 10] == 0.5
    assert found["ndcg", 10] == pytest.approx(0.5 / np.log2(3))
    assert "(n = 2 questions)" in " ".join(page.sentences(scored))
    assert page.write(scored, tmp_path / "out").is_file()
    grades = "its grades 1 to 2 counted alike"
    assert (grades in " ".join(page.sentences(scored))) == (" 2\n" in text)
    by_round = score_by([tmp_path / "mine.run"], "any", plan, tmp_path / name, level="round")
    assert set(by_round.values["level"]) == {"round"}
    with pytest.raises(MemreproError, match="k is 1000000000000: it must be in 1 to 100,000"):
        score_by([tmp_path / "mine.run"], "anything", plan, tmp_path / name, k=10**12)


def test_gold_of_a_rule_on_ids(plan, tmp_path, monkeypatch, capsys):
    """What a run does not list is not found; a data set without a rule asks for qrels."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    rows = [{"query_id": "p", "ranked": ["x", "answer_1"]}, {"query_id": "q", "ranked": ["x"]}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    scored = score_by([tmp_path / "a.jsonl"], "longmemeval-s", plan, None)
    found = scored.values.set_index(["metric", "k"])["value"]
    assert (found["recall_all", 10], found["recall_all", 1]) == (0.5, 0)
    with pytest.raises(MemreproError, match="the gold of locomo is not here: name it by --qrels"):
        score_by([tmp_path / "a.jsonl"], "locomo", plan, None)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [("a.txt", "q1 d1\n", "line 1: 'q1 d1' is no qrel"), ("a.txt", "q 0 d 0\n", "marks no doc"),
     ("a.txt", "q 0 d nan\n", "'nan' is no grade"), ("a.jsonl", "[" * 99_999, "no JSON"),
     ("a.jsonl", '{"query_id": "q", "relevant": "d"}', "'relevant' is no list")],
)  # fmt: skip
def test_what_is_no_qrel_is_refused(tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(MemreproError, match=sentence):
        read_qrels(tmp_path / name)
