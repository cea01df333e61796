import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from memrepro.core.similarity import normalise
from memrepro.retrieve.associa.keys.clues import EventClues, Recipe, UtteranceClues, read_memory
from memrepro.retrieve.associa.keys.graph import RELATION, build_from
from memrepro.retrieve.associa.merge import GROUPINGS, clustered, incremental, merge

from .made import memories, same, tale, vectors_of

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
    new = merge(graph, grouping, 0.9)
    gone = {"entity:chorus", "event:song."}
    assert new.node_ids == tuple(name for name in graph.node_ids if name not in gone)
    assert ((graph.edge_kinds == RELATION).sum(), (new.edge_kinds == RELATION).sum()) == (5, 4)
    for name, docs in (("entity:choir", ["d0", "d3", "d4"]), ("event:she sings.", ["d3", "d4"])):
        told = new.origins[new.origins[:, 0] == new.node_ids.index(name), 1]
        assert [new.doc_id(i) for i in told] == docs


@groupings
@given(memories(), st.integers(0, 99), st.sampled_from([0.05, 0.3, 0.6, 0.95]))
@settings(max_examples=15)
def test_merging_keeps_every_utterance_reachable(grouping, made, seed, threshold):
    memory, extractions = made
    graph = build_from(read_memory(memory, extractions, RECIPE))
    graph = graph.with_vectors(vectors_of(graph, seed, 3))
    new = merge(graph, grouping, threshold)
    assert set(new.node_ids) <= set(graph.node_ids)
    assert [new.doc_id(i) for i in new.utterances] == [graph.doc_id(i) for i in graph.utterances]
    # Whatever an utterance told of, it still tells of a node of that kind.
    told = [
        {(g.doc_id(u), int(g.kinds[node])) for node, u in g.origins.tolist()} for g in (graph, new)
    ]
    assert told[0] == told[1]
    assert (new.edges[:, 0] != new.edges[:, 1]).all()
    # What hung together hangs together: no more pieces than before.
    pieces = []
    for g in (graph, new):
        whole = nx.Graph(g.edges.tolist())
        whole.add_nodes_from(range(len(g.kinds)))
        pieces.append(nx.number_connected_components(whole))
    assert pieces[1] <= pieces[0]


@groupings
def test_nothing_is_merged_at_the_threshold_itself_or_among_other_kinds(grouping):
    graph = alike(build_from(tale()), ["Paris", "8 May 2023", "What a trip!", "user"])
    assert same(merge(graph, grouping, 1.0), graph)


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
@settings(max_examples=40)
def test_clustering_equals_scipys_average_linkage(seed, n, threshold):
    vectors = normalise(np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32))
    distances = np.clip(1 - vectors.astype(float) @ vectors.T.astype(float), 0, 2)
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform((distances + distances.T) / 2, checks=False), "average")
    labels = fcluster(tree, 1 - threshold, "distance")
    found = clustered(vectors, threshold)
    first = {label: int(np.argmax(labels == label)) for label in labels}
    assert found.tolist() == [first[label] for label in labels]
