"""One question's graph: what is drawn is what the retriever saw, and shows no text."""

import pytest

from memrepro.core.prepared import load
from memrepro.files import paths
from memrepro.papers.associa.view import draw_question, seen
from memrepro.retrieve import make_retriever
from memrepro.retrieve.associa.evidence import recall
from memrepro.retrieve.associa.keys.key_builder import graph_of
from memrepro.study.search.requests import make_requests, read_vectors
from tests.study.test_encoder_attached import EXPERIMENTS, prepare_graphs
from tests.study.toy import WORDS, plan


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memrepro.files.paths.root", lambda: folder)
        prepare_graphs()
    return folder


@pytest.fixture
def toy(prepared, monkeypatch):
    """A prepared data set of two memories of 30 rounds, of which every other tells a fact."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: prepared)
    monkeypatch.setattr("memrepro.papers.associa.view.load_plan", lambda: plan(EXPERIMENTS))


def test_nodes_are_the_tree_and_the_head_of_the_ranking(toy, monkeypatch):
    entry = EXPERIMENTS["plain"]
    made = make_retriever("associa", entry.retriever, dict(entry.parameters))
    (asked, *_) = make_requests(load(paths.prepared("toy"), "toy"), entry, read_vectors(entry))
    graph, (vector, *_) = graph_of(asked.keys), asked.vectors_of_queries()
    evidence = recall(vector, graph, made)
    order = made.order(graph, vector, evidence)
    ranking = made.ranking(asked, graph, asked.query_ids[0], evidence, order)
    nodes, edges = seen(graph, evidence, ranking)
    inside = nodes[nodes["in tree"]]
    assert sorted(inside.index) == sorted(evidence.subgraph.nodes.tolist())
    assert inside["prize"].tolist() == evidence.prizes.nodes[inside.index].tolist()
    assert edges["in tree"].sum() == len(evidence.subgraph.edges)
    assert {*edges["from"], *edges["to"]} <= {*nodes.index}
    # Six are found at all.
    assert sorted(nodes.loc[nodes["rank"] > 0, "rank"]) == [*range(1, 7)]
    ranked = nodes[nodes["rank"] > 0].set_index("rank")["name"]
    assert ranked[1] == ranking.doc_ids[0]
    monkeypatch.setattr("memrepro.papers.associa.view._TOP", 3)
    nodes, _ = seen(graph, evidence, ranking)
    assert nodes.loc[~nodes["in tree"], "rank"].max() == 3


def test_the_drawing_shows_every_node_and_no_text(toy):
    axis = draw_question("plain", "m0-q1").axes[0]
    drawn = " ".join(text.get_text() for text in axis.texts)
    assert not [word for word in ("Ann", *WORDS) if word in drawn]
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels[:5] == ["utterance", "event", "entity", "time", "speaker"]
    # Where it stands is the style's, which reports set once they are drawn.
    assert f"{len(axis.texts)} nodes" in axis.get_title() + axis.get_title("left")
