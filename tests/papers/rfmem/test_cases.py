"""RF-Mem's case studies: which questions are chosen, and that each is drawn as a tree, whole."""

import csv

import networkx as nx
import pandas as pd
import pytest

from memrepro.files.atomic import read_table
from memrepro.papers.rfmem.analysis import DOCUMENT
from memrepro.papers.rfmem.cases import (
    FAMILIAR,
    FIGURES,
    GAIN,
    LOSS,
    PRINTED,
    K,
    cases,
    choose,
    draw_cases,
    tree,
)
from memrepro.papers.rfmem.traces import Records
from memrepro.report.runs import Runs
from tests.data.gathered import in_mirror
from tests.papers.rfmem import toy

DEEP = f"rfmem-mpnet-recollection-k{K}"


SPEC = DOCUMENT.tables["cases"]["quoted"]

pytestmark = pytest.mark.usefixtures("folder")


def chosen(recalls, entropies):
    """Cases of `q0`, `q1`, …: (familiarity, recollection), and the entropy of familiar ones."""
    both = pd.DataFrame(
        [(f"q{i}", "kind", *pair) for i, pair in enumerate(recalls)],
        columns=["query_id", "kind", "familiarity", "recollection"],
    )
    gated = pd.DataFrame(
        [(f"q{i}", "recollection" if e is None else "familiarity", e or 0.3)
         for i, e in enumerate(entropies)],
        columns=["query_id", "path", "entropy"],
    )  # fmt: skip
    return {case.case: case.query_id for case in choose(both.iloc[::-1], gated.iloc[::-1])}


def test_the_rules_by_hand_of_equals_the_first_id():
    recalls = [(0.5, 0.5), (0.0, 1.0), (0.0, 1.0), (1.0, 0.5), (1.0, 0.5)]
    assert chosen(recalls, [0.2, None, 0.1, None, 0.1]) == {GAIN: "q1", LOSS: "q3", FAMILIAR: "q2"}


# PersonaMem's program searches on after a round that finds nothing, which its floor makes common.
@pytest.mark.parametrize(
    ("name", "dataset", "level", "goes_on"),
    [
        (DEEP, "personabench-n00", "session", False),
        ("personamem-minilm-recollection", "personamem-32k", "round", True),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_each_question_is_a_tree_that_holds_all_its_docs(seed, name, dataset, level, goes_on):
    toy.write_gold(dataset, level, {"q00": ["d01", "d02"], "q01": ["d05"]})
    asked = toy.requests(seed=seed)
    toy.write_family(name, asked)
    one = toy.traced(name)
    direct = one.familiarity
    again = (one.branches["round"] > 0) & (one.branches["cluster"] < 0)
    assert again.any() == goes_on
    for query_id in asked[0].query_ids:
        nodes = tree(one, query_id)
        assert nodes["node"].is_unique
        alone = nodes[nodes["kind"] == "doc of familiarity alone"]
        graph = nx.DiGraph()
        graph.add_nodes_from(set(nodes["node"]) - set(alone["node"]))
        inside = nodes[nodes["parent"] != ""]
        graph.add_edges_from(zip(inside["parent"], inside["node"], strict=True))
        assert nx.is_arborescence(graph)
        hits = one.hits[one.hits["query_id"] == query_id].set_index("doc_id")
        docs = nodes[nodes["kind"] == "doc"].set_index("doc_id")
        assert docs["rank"].to_dict() == hits["rank"].to_dict()
        assert set(alone["doc_id"]) == set(
            direct.loc[direct["query_id"] == query_id, "doc_id"]
        ) - set(hits.index)
        gold = set(one.gold.loc[one.gold["query_id"] == query_id, "doc_id"])
        shown = pd.concat([docs.reset_index(), alone])
        assert {r.doc_id for r in shown.itertuples() if r.relevant} == gold & set(shown["doc_id"])
        # A doc is drawn at the cluster and round that found it; no two lie on one line.
        for doc_id, row in docs.iterrows():
            place = hits.loc[doc_id]
            start = (
                f"round {place['round']}, branch {place['branch']}" if place["round"] else "query"
            )
            assert row["parent"] == f"{start}, cluster {place['cluster']}"
        assert shown["y"].is_unique
        # Every branch that was searched is there, but for those below a cluster that is not.
        searched = one.branches[one.branches["query_id"] == query_id]
        assert (nodes["kind"] == "branch").sum() == (searched["round"] > 0).sum()


def test_all_is_written_without_texts_and_what_is_missing_is_not_run(folder):
    asked = toy.requests(seed=1)
    ids = asked[0].query_ids
    toy.write_gold("personabench-n00", "session", {q: ["d01"] for q in ids})
    toy.write_family(DEEP, asked)
    recalls = {
        "rfmem-mpnet-familiarity": dict.fromkeys(ids, 0.5),
        DEEP: {q: i / len(ids) for i, q in enumerate(ids)},
    }
    toy.write_metrics("open", "session", recalls)
    names = {path.name for path in draw_cases(Records("open"), SPEC, folder)}
    shown = [FIGURES[case] for case in (GAIN, LOSS, FAMILIAR)]
    assert names == {f"{n}_mpnet.{s}" for n in shown for s in ("svg", "png", "csv")}
    table = toy.cells("cases")
    assert table[f"all-mpnet-base-v2: {GAIN}", "question"].reproduced == ids[-1]
    assert table[f"all-mpnet-base-v2: {LOSS}", "question"].reproduced == ids[0]
    assert table["all-MiniLM-L6-v2", "question"].verdict == "not run"
    assert table["PersonaMem 32k, all-mpnet-base-v2", "question"].verdict == "not run"
    nodes = read_table(folder / "figure18_mpnet.csv")
    docs = nodes.loc[nodes["kind"].str.startswith("doc"), "doc_id"]
    assert set(docs) <= set(asked[0].keys.doc_ids)


def test_figure_19s_own_question(folder):
    asked = toy.requests(seed=1)
    query_id = asked[0].query_ids[3]
    name = SPEC["run"].format(stem="minilm", path="recollection")
    toy.write_family(name, asked)
    one = toy.traced(name)
    found, before = (
        run.loc[run["query_id"] == query_id].set_index("doc_id")["rank"]
        for run in (one.hits, one.familiarity)
    )
    gold = found.index[-1]
    toy.write_gold("personamem-32k", "round", {query_id: [gold]})
    toy.write_metrics("open", "session", {"rfmem-mpnet-familiarity": {"q": 0.5}})
    quoted = {**SPEC, "question": query_id}
    names = {path.name for path in draw_cases(Records("open"), quoted, folder)}
    assert names == {f"figure19_own_personamem_minilm.{s}" for s in ("svg", "png", "csv")}
    rows = cases(Runs(["open"], toy.plan()), {**DOCUMENT.tables["cases"], "quoted": quoted})
    cells = {c.column: c.reproduced for c in rows if c.row.endswith(PRINTED)}
    assert cells["question"] == query_id
    ranks = f"{before.get(gold, '–')} → {found[gold]}"
    assert cells["ranks of relevant docs, familiarity → recollection"] == ranks
    assert cells["docs of both"] == str(len(set(found.index) & set(before.index)))


def test_the_id_is_that_of_the_printed_question():
    path = in_mirror("personamem-32k") / "personamem" / "questions_32k.csv"
    with path.open(newline="", encoding="utf-8") as file:
        (found,) = [r for r in csv.DictReader(file) if r["question_id"] == SPEC["question"]]
    text = found["user_question_or_message"]
    assert "developing a tool to manage finances while traveling" in text  # D.7.2
