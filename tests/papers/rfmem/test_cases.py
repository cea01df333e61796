"""RF-Mem's case studies: which questions are chosen, and that each is drawn as a tree, whole."""

import csv

import networkx as nx
import pandas as pd
import pytest

from memrepro.files.atomic import read_table
from memrepro.papers.rfmem import cases
from memrepro.papers.rfmem.cases import GAIN, LOSS, QUOTED, K, choose, draw_cases, tree
from memrepro.papers.rfmem.traces import Records
from tests.data.gathered import in_mirror
from tests.papers.rfmem import toy

DEEP = f"rfmem-mpnet-recollection-k{K}"


pytestmark = pytest.mark.usefixtures("folder")


def test_the_rules_by_hand_of_equals_the_first_id():
    recalls = [(0.5, 0.5), (0.0, 1.0), (0.0, 1.0), (1.0, 0.5), (1.0, 0.5)]
    both = pd.DataFrame(
        [(f"q{i}", "kind", *pair) for i, pair in enumerate(recalls)],
        columns=["query_id", "kind", "familiarity", "recollection"],
    )
    found = {case.case: case.query_id for case in choose(both.iloc[::-1])}
    assert found == {GAIN: "q1", LOSS: "q3"}


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


def test_all_is_drawn_without_texts(folder):
    asked = toy.requests(seed=1)
    ids = asked[0].query_ids
    toy.write_gold("personabench-n00", "session", {q: ["d01"] for q in ids})
    toy.write_family(DEEP, asked)
    recalls = {
        "rfmem-mpnet-familiarity": dict.fromkeys(ids, 0.5),
        DEEP: {q: i / len(ids) for i, q in enumerate(ids)},
    }
    toy.write_metrics("open", "session", recalls)
    names = {path.name for path in draw_cases(Records("open"), folder)}
    shown = ("figure18_mpnet", "figure19_mpnet")
    assert names == {f"{name}.{s}" for name in shown for s in ("svg", "png", "csv")}
    assert f"question {ids[-1]} (" in (folder / "figure18_mpnet.svg").read_text("utf-8")
    assert f"question {ids[0]} (" in (folder / "figure19_mpnet.svg").read_text("utf-8")
    nodes = read_table(folder / "figure18_mpnet.csv")
    docs = nodes.loc[nodes["kind"].str.startswith("doc"), "doc_id"]
    assert set(docs) <= set(asked[0].keys.doc_ids)


def test_figure_19s_own_question(folder, monkeypatch):
    asked = toy.requests(seed=1)
    query_id = asked[0].query_ids[3]
    monkeypatch.setattr(cases, "QUOTED", query_id)
    name = "personamem-mpnet-recollection"
    toy.write_family(name, asked)
    found = toy.traced(name).hits
    gold = found.loc[found["query_id"] == query_id, "doc_id"].iloc[-1]
    toy.write_gold("personamem-32k", "round", {query_id: [gold]})
    toy.write_metrics("open", "session", {"rfmem-mpnet-familiarity": {"q": 0.5}})
    names = {path.name for path in draw_cases(Records("open"), folder)}
    assert names == {f"figure19_own_personamem_mpnet.{s}" for s in ("svg", "png", "csv")}
    nodes = read_table(folder / "figure19_own_personamem_mpnet.csv")
    assert nodes.loc[nodes["relevant"] == "True", "doc_id"].tolist() == [gold]


def test_the_id_is_that_of_the_printed_question():
    path = in_mirror("personamem-32k") / "personamem" / "questions_32k.csv"
    with path.open(newline="", encoding="utf-8") as file:
        (found,) = [r for r in csv.DictReader(file) if r["question_id"] == QUOTED]
    text = found["user_question_or_message"]
    assert "developing a tool to manage finances while traveling" in text  # D.7.2
