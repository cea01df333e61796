"""One question's graph: what is drawn is what the retriever saw, and shows no text unasked."""

from dataclasses import replace

import pandas as pd
import pytest

from memrepro.core.prepared import load
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.papers.associa.view import question_graph
from memrepro.retrieve import make_retriever
from memrepro.retrieve.associa.evidence import recall
from memrepro.retrieve.associa.keys.key_builder import graph_of
from memrepro.study.search.requests import make_requests, read_vectors
from tests.study.test_encoder_attached import EXPERIMENTS, experiment, prepare_graphs
from tests.study.toy import WORDS, plan

PLANNED = EXPERIMENTS | {
    "unranked": experiment("without_importance"),
    "none": replace(experiment("without_association"), parameters={"k": 6}),
}


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
    monkeypatch.setattr("memrepro.papers.associa.view.load_plan", lambda: plan(PLANNED))


def made(name):
    entry = PLANNED[name]
    return make_retriever("associa", entry.retriever, dict(entry.parameters))


def requests():
    entry = PLANNED["plain"]
    return list(make_requests(load(paths.prepared("toy"), "toy"), entry, read_vectors(entry)))


def test_nodes_are_the_tree_and_the_head_of_the_ranking(toy):
    asked = requests()[0]
    graph = graph_of(asked.keys)
    evidence = recall(asked.vectors_of_queries()[0], graph, made("plain"))
    query_id = asked.query_ids[0]
    seen = question_graph("sample", "plain", query_id, texts=True, top=2)
    inside = seen.nodes[seen.nodes["in tree"]]
    held = [(graph.text(i), evidence.prizes.nodes[i]) for i in evidence.subgraph.nodes.tolist()]
    assert sorted(inside[["text", "prize"]].itertuples(index=False, name=None)) == sorted(held)
    assert seen.edges["in tree"].sum() == len(evidence.subgraph.edges)
    assert seen.value == evidence.subgraph.value
    assert set(seen.nodes.loc[~seen.nodes["in tree"], "rank"]) <= {1, 2}
    names = set(seen.nodes["node"])
    assert set(seen.edges["from"]) | set(seen.edges["to"]) <= names
    assert len(names) == len(seen.nodes)
    more = question_graph("sample", "plain", query_id, top=6).nodes
    assert names < set(more["node"])
    ranked = more.loc[more["rank"] > 0, "rank"]
    assert sorted(ranked)[:6] == [*range(1, 7)]


def test_no_text_is_shown_unasked_and_the_drawing_is_the_same_at_every_call(toy):
    seen, again, told = (
        question_graph("sample", "plain", "m0-q1", texts=texts) for texts in (False, False, True)
    )
    pd.testing.assert_frame_equal(seen.nodes, again.nodes)
    pd.testing.assert_frame_equal(seen.edges, again.edges)
    assert "text" not in {*seen.nodes, *seen.edges}
    shown = " ".join(map(str, [*seen.nodes.to_numpy().ravel(), *seen.edges.to_numpy().ravel()]))
    axis = seen.draw().axes[0]
    drawn = " ".join(text.get_text() for text in axis.texts)
    assert not [word for word in ("Ann", *WORDS) if word in shown or word in drawn]
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels[:5] == ["utterance", "event", "entity", "time", "speaker"]
    assert len(axis.texts) == len(seen.nodes)
    assert "Ann" in " ".join(text.get_text() for text in told.draw().axes[0].texts)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sample", "plain", "m0-q9"), "unknown question 'm0-q9': the nearest of the 12 of toy"),
        (("open", "plain", "m0-q1"), "plain is of the profile 'sample', not of 'open'"),
        (("sample", "none", "m0-q1"), "without_association, which has no memory graph"),
    ],
)
def test_errors_name_what_was_found(toy, arguments, said):
    with pytest.raises(MemreproError, match=said):
        question_graph(*arguments)
