import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from memrepro.core.similarity import normalise
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.clues import EventClues, Recipe, UtteranceClues
from memrepro.retrieve.associa.graph import build, build_from
from memrepro.retrieve.associa.merge import GROUPINGS, clustered, incremental, merge

from .made import memories, tale, vectors_of

RECIPE = Recipe("round", "user_only", ("recorded-fact", "recorded-event"))
groupings = pytest.mark.parametrize("grouping", list(GROUPINGS))


def alike(graph, *groups):
    """Vectors that are equal within a group of texts and orthogonal elsewhere."""
    vectors = np.eye(len(graph.texts), dtype=np.float32)
    for group in groups:
        rows = [graph.texts.index(text) for text in group]
        vectors[rows] = vectors[rows[0]]
    return graph.with_vectors(vectors)


@groupings
def test_what_is_alike_becomes_one_and_keeps_all_utterances(grouping):
    related = (("choir", "Other"), ("Rome", "Place"))
    clues = [
        *tale(),
        UtteranceClues(
            "d3", "Ah.", ("user",), "", (EventClues("She sings.", related, ((0, "to", 1),)),)
        ),
        UtteranceClues(
            "d4", "So.", ("user",), "",
            (EventClues("Song.", (("chorus", "Other"), ("Rome", "Place")), ((0, "into", 1),)),),
        ),
    ]  # fmt: skip
    graph = alike(build_from(clues), ["choir", "chorus"], ["She sings.", "Song."], ["to", "into"])
    merged = merge(graph, grouping, 0.9)
    assert (merged.before["event"], merged.after["event"]) == (4, 3)
    assert (merged.before["entity"], merged.after["entity"]) == (5, 4)
    assert (merged.before["relation"], merged.after["relation"]) == (5, 4)
    new = merged.graph
    assert "entity:chorus" not in new.node_ids
    choir = new.node_ids.index("entity:choir")
    assert [new.doc_id(i) for i in new.utterances_of(choir)] == ["d0", "d3", "d4"]
    sings = new.node_ids.index("event:she sings.")
    assert [new.doc_id(i) for i in new.utterances_of(sings)] == ["d3", "d4"]
    assert merged.place[graph.node_ids.index("entity:chorus")] == choir


@groupings
@given(memories(), st.integers(0, 99), st.sampled_from([0.05, 0.3, 0.6, 0.95]))
@settings(max_examples=30)
def test_merging_keeps_every_utterance_reachable(grouping, made, seed, threshold):
    memory, extractions = made
    graph = build(memory, extractions, RECIPE)
    graph = graph.with_vectors(vectors_of(graph, seed, 3))
    merged = merge(graph, grouping, threshold)
    new = merged.graph
    assert [new.doc_id(i) for i in new.utterances] == [graph.doc_id(i) for i in graph.utterances]
    for node in range(len(graph.kinds)):
        # What a node came from, that which stands for it comes from.
        assert new.kinds[merged.place[node]] == graph.kinds[node]
        assert set(merged.place[graph.utterances_of(node)]) <= set(
            new.utterances_of(merged.place[node])
        )
    before, after = (nx.Graph(g.edges.tolist()) for g in (graph, new))
    after.add_nodes_from(range(len(new.kinds)))
    for one, other in nx.Graph(before).edges:
        assert nx.has_path(after, int(merged.place[one]), int(merged.place[other]))
    kinds = ("event", "entity", "relation", "nodes", "edges")
    assert all(merged.after[kind] <= merged.before[kind] for kind in kinds)
    assert {*map(tuple, new.origins)} == {*map(tuple, merged.place[graph.origins])}


@groupings
def test_nothing_is_merged_at_the_threshold_itself_or_among_other_kinds(grouping):
    graph = alike(build_from(tale()), ["Paris", "8 May 2023", "What a trip!", "user"])
    merged = merge(graph, grouping, 1.0)
    assert merged.before == merged.after
    assert merged.graph.node_ids == graph.node_ids


@groupings
def test_an_edge_between_two_that_became_one_is_dropped(grouping):
    graph = alike(build_from(tale()), ["Ann", "choir", "Paris"])
    new = merge(graph, grouping, 0.9).graph
    assert (new.edges[:, 0] != new.edges[:, 1]).all()
    assert (new.edge_kinds == 5).sum() == 1  # the speaker's alone


@given(st.integers(0, 999), st.integers(1, 20), st.floats(0.1, 0.95))
def test_later_vectors_move_nothing_that_was_merged_incrementally(seed, n, threshold):
    vectors = normalise(np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32))
    whole = incremental(vectors, threshold)
    for place in range(1, n):
        assert incremental(vectors[:place], threshold).tolist() == whole[:place].tolist()
    standing = np.unique(whole)
    similar = vectors[standing] @ vectors[standing].T
    assert (similar[~np.eye(len(standing), dtype=bool)] <= threshold + 1e-6).all()
    joined = whole != np.arange(n)
    assert ((vectors * vectors[whole]).sum(axis=1)[joined] > threshold - 1e-6).all()


@given(st.integers(0, 999), st.integers(2, 15), st.floats(0.1, 0.95))
def test_clustering_equals_scipys_average_linkage(seed, n, threshold):
    vectors = normalise(np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32))
    distances = np.clip(1 - vectors.astype(float) @ vectors.T.astype(float), 0, 2)
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform((distances + distances.T) / 2, checks=False), "average")
    labels = fcluster(tree, 1 - threshold, "distance")
    found = clustered(vectors, threshold)
    first = {label: int(np.argmax(labels == label)) for label in labels}
    assert found.tolist() == [first[label] for label in labels]


def test_one_vector_stands_for_itself():
    one = np.ones((1, 3), np.float32)
    assert incremental(one, 0.5).tolist() == clustered(one, 0.5).tolist() == [0]


@pytest.mark.parametrize(
    ("grouping", "threshold", "said"),
    [
        ("by hand", 0.9, "unknown grouping 'by hand'"),
        ("incremental", 0.0, "threshold is 0.0"),
        ("clustering", 1.1, "threshold is 1.1"),
        ("clustering", np.nan, "threshold is nan"),
    ],
)
def test_what_cannot_be_merged_is_refused(grouping, threshold, said):
    graph = build_from(tale())
    with pytest.raises(MemreproError, match=said):
        merge(graph.with_vectors(vectors_of(graph)), grouping, threshold)


def test_merging_needs_vectors():
    with pytest.raises(MemreproError, match="has no vectors: merging needs an encoder"):
        merge(build_from(tale()), "incremental", 0.9)
