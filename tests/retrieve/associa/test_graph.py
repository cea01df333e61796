import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.memory import Memory
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.keys.clues import (
    Recipe,
    dated,
    read_memory,
    read_session,
)
from memrepro.retrieve.associa.keys.graph import EDGE_KINDS, NODE_KINDS, build_from

from .made import memories, same, tale, vectors_of

RECIPE = Recipe("round", "user_only", ("recorded-fact", "recorded-event"))


def told(graph):
    return {
        (EDGE_KINDS[kind], graph.node_ids[head], graph.node_ids[tail], graph.texts[row])
        for (head, tail), kind, row in zip(
            graph.edges.tolist(), graph.edge_kinds, graph.edge_rows, strict=True
        )
    }


def test_the_nodes_and_the_six_edges_of_a_tale():
    graph = build_from(tale())
    first, second = "event:ann joined a choir in paris.", "event:i visited paris."
    assert list(zip(graph.node_ids, graph.categories, strict=True)) == [
        ("utterance:d0", ""), ("speaker:user", ""), (first, ""), ("time:8 may 2023", ""),
        ("entity:ann", "Person/User/Organization"), ("entity:choir", "Other"),
        ("entity:paris", "Place"), ("utterance:d1", ""), (second, ""), ("time:9 may 2023", ""),
        ("utterance:d2", ""), ("speaker:assistant", ""),
    ]  # fmt: skip
    assert [NODE_KINDS[kind] for kind in graph.kinds] == [
        name.partition(":")[0] for name in graph.node_ids
    ]
    assert told(graph) == {
        ("ask", "speaker:user", "utterance:d0", "ask"),
        ("ask", "speaker:user", "utterance:d1", "ask"),
        ("ask", "speaker:assistant", "utterance:d2", "ask"),
        ("event fact", first, "utterance:d0", "event fact"),
        ("event fact", second, "utterance:d1", "event fact"),
        ("event occur at", first, "time:8 may 2023", "event occur at"),
        ("event occur at", second, "time:9 may 2023", "event occur at"),
        ("event include", first, "entity:ann", "event include"),
        ("event include", first, "entity:choir", "event include"),
        ("event include", first, "entity:paris", "event include"),
        ("event include", second, "entity:paris", "event include"),
        ("include", "utterance:d0", "entity:ann", "include"),
        ("include", "utterance:d0", "entity:choir", "include"),
        ("include", "utterance:d0", "entity:paris", "include"),
        ("include", "utterance:d1", "entity:paris", "include"),
        ("relation", "entity:ann", "entity:choir", "Ann joined a choir"),
        ("relation", "entity:choir", "entity:paris", "choir in Paris"),
        ("relation", "speaker:user", "entity:paris", "I visited paris"),
    }
    came_from = [(graph.node_ids[node], graph.doc_id(u)) for node, u in graph.origins.tolist()]
    assert [doc for node, doc in came_from if node == "entity:paris"] == ["d0", "d1"]
    assert [doc for node, doc in came_from if node == second] == ["d1"]
    assert graph.text(graph.node_ids.index("utterance:d1")) == "What a trip!"


@given(memories(), st.integers(0, 4))
@settings(max_examples=25)
def test_inserting_sessions_equals_a_rebuild(made, place):
    memory, extractions = made
    place = min(place, len(memory.sessions) - 1)
    grown = build_from([])
    if place:
        first = Memory("m", memory.sessions[:place], memory.times[:place])
        grown = build_from(read_memory(first, extractions, RECIPE))
    for session, at in zip(memory.sessions[place:], memory.times[place:], strict=True):
        clues = [dated(c, at) for c in read_session(session, extractions, RECIPE)]
        grown = build_from(clues, grown)
    assert same(grown, build_from(read_memory(memory, extractions, RECIPE)))


def test_similarities_are_cosines():
    graph = build_from(tale())
    vectors = vectors_of(graph)
    vectors[0] = 0
    query = np.arange(8, dtype=np.float32)
    expected = vectors[1:] @ query / np.linalg.norm(vectors[1:], axis=1) / np.linalg.norm(query)
    found = graph.with_vectors(vectors).similarities(query)
    assert found[0] == 0
    np.testing.assert_allclose(found[1:], expected, atol=1e-6)
    assert not graph.with_vectors(vectors).similarities(np.zeros(8, np.float32)).any()


def test_vectors_must_fit_and_be_finite():
    graph = build_from(tale())
    vectors = vectors_of(graph)
    with pytest.raises(MemreproError, match="has no vectors"):
        graph.similarities(vectors[0])
    with pytest.raises(MemreproError, match="a query's vector has NaN"):
        graph.with_vectors(vectors).similarities(np.full(8, np.nan, np.float32))
    vectors[3, 2] = np.inf
    with pytest.raises(MemreproError, match="has NaN or infinity: embed it again"):
        graph.with_vectors(vectors)
