from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.memory import Memory
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.clues import (
    EventClues,
    Recipe,
    UtteranceClues,
    dated,
    read_memory,
    read_session,
)
from memrepro.retrieve.associa.graph import EDGE_KINDS, NODE_KINDS, build, build_from, insert

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


def test_provenance_leads_to_the_utterances():
    graph = build_from(tale())
    of = {name: graph.utterances_of(i).tolist() for i, name in enumerate(graph.node_ids)}
    d0, d1, d2 = (graph.node_ids.index(f"utterance:d{i}") for i in range(3))
    assert of["entity:paris"] == of["speaker:user"] == [d0, d1]
    assert of["event:i visited paris."] == of["time:9 may 2023"] == [d1]
    assert of["utterance:d2"] == of["speaker:assistant"] == [d2]
    assert [graph.doc_id(i) for i in graph.utterances] == ["d0", "d1", "d2"]
    assert graph.text(d1) == "What a trip!"


@given(memories(), st.integers(0, 4))
@settings(max_examples=60)
def test_inserting_sessions_equals_a_rebuild(made, place):
    memory, extractions = made
    place = min(place, len(memory.sessions) - 1)
    grown = build_from([])
    if place:
        first = Memory("m", memory.sessions[:place], memory.times[:place])
        grown = build(first, extractions, RECIPE)
    for session, at in zip(memory.sessions[place:], memory.times[place:], strict=True):
        grown = insert(grown, [dated(c, at) for c in read_session(session, extractions, RECIPE)])
    assert same(grown, build(memory, extractions, RECIPE))


@given(memories())
@settings(max_examples=40)
def test_every_node_comes_from_an_utterance_and_every_event_is_grounded(made):
    memory, extractions = made
    graph = build(memory, extractions, RECIPE)
    assert [graph.doc_id(i) for i in graph.utterances] == [r.round_id for r in memory.rounds]
    for node in range(len(graph.kinds)):
        assert len(graph.utterances_of(node))
    events = {e.text.casefold() for c in read_memory(memory, extractions, RECIPE) for e in c.events}
    facts = {head for kind, head, _, _ in told(graph) if kind == "event fact"}
    assert facts == {f"event:{text}" for text in events}


def test_an_event_told_twice_is_one_with_both_utterances():
    clues = [
        UtteranceClues(d, "x", ("user",), t, (EventClues(text),))
        for d, t, text in (("d0", "8 May 2023", "She sang."), ("d1", "9 May 2023", "she SANG."))
    ]
    graph = build_from(clues)
    event = graph.node_ids.index("event:she sang.")
    assert graph.text(event) == "She sang."
    assert [graph.doc_id(i) for i in graph.utterances_of(event)] == ["d0", "d1"]
    occur = [tail for kind, _, tail, _ in told(graph) if kind == "event occur at"]
    assert sorted(occur) == ["time:8 may 2023", "time:9 may 2023"]


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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"edges": [[0, 99]], "edge_kinds": [4]}, "goes from 0 to 99: the graph has the nodes 0"),
        ({"edges": [[-1, 0]], "edge_kinds": [4]}, "goes from -1 to 0"),
        ({"edges": [[4, 4]], "edge_kinds": [5]}, "joins 'entity:ann' and 'entity:ann'"),
        ({"edges": [[0, 1]], "edge_kinds": [4]}, "must go from speaker to utterance"),
        ({"origins": [[0, 1]]}, "comes from what is no utterance"),
        ({"origins": [[0, 0]]}, "'speaker:user' of the memory graph comes from no utterance"),
    ],
)
def test_an_edge_to_nowhere_and_lost_nodes_are_refused(change, said):
    arrays = {name: np.array(value) for name, value in change.items()}
    if "edges" in arrays:
        arrays["edge_rows"] = np.zeros(1, np.int64)
    with pytest.raises(MemreproError, match=said):
        replace(build_from(tale()), **arrays)


def test_an_utterance_that_is_there_is_not_inserted_again():
    graph = build_from(tale())
    with pytest.raises(MemreproError, match="holds utterance 'd1' already"):
        insert(graph, tale()[1:2])


def test_the_speakers_relation_needs_one_speaker():
    event = EventClues("I ran.", (("race", "Event"),), ((-1, "I ran", 0),))
    with pytest.raises(MemreproError, match="has 2 speakers: it must have one"):
        build_from([UtteranceClues("d0", "x", ("a", "b"), events=(event,))])


def test_vectors_must_fit_and_be_finite():
    graph = build_from(tale())
    vectors = vectors_of(graph)
    with pytest.raises(MemreproError, match="must be equal"):
        graph.with_vectors(vectors[1:])
    with pytest.raises(MemreproError, match="has no vectors"):
        graph.similarities(vectors[0])
    with pytest.raises(MemreproError, match="a query's vector has NaN"):
        graph.with_vectors(vectors).similarities(np.full(8, np.nan, np.float32))
    vectors[3, 2] = np.inf
    with pytest.raises(MemreproError, match="has NaN or infinity: embed it again"):
        graph.with_vectors(vectors)
