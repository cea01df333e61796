import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.retrieve.associa.importance import page_rank, weights, with_utterances
from memrepro.retrieve.associa.keys.graph import EVENT, build_from

from .made import tale


def test_weights_are_equation_12():
    found = weights(np.array([0, 0.5, np.e - 1]))
    np.testing.assert_allclose(found, [1, 1 / (1 + np.log(1.5)), 0.5])


@st.composite
def weighted_graphs(draw):
    n = draw(st.integers(1, 9))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node).filter(lambda e: e[0] != e[1]), max_size=20))
    costs = draw(st.lists(st.floats(0, 9), min_size=len(edges), max_size=len(edges)))
    prizes = draw(st.lists(st.integers(0, 15), min_size=n, max_size=n).filter(any))
    return np.array(edges, np.int64).reshape(-1, 2), np.array(costs), np.array(prizes, float)


@given(weighted_graphs(), st.sampled_from([0.0, 0.85, 0.95]))
@settings(max_examples=40)
def test_equals_networkx(graph, damping):
    edges, costs, prizes = graph
    found = page_rank(edges, weights(costs), prizes, damping)
    peer = nx.MultiGraph()
    peer.add_nodes_from(range(len(prizes)))
    for (one, other), w in zip(edges.tolist(), weights(costs), strict=True):
        peer.add_edge(one, other, weight=w)
    expected = nx.pagerank(
        peer, damping, personalization=dict(enumerate(prizes)), tol=1e-14, max_iter=10_000
    )
    np.testing.assert_allclose(found, [expected[i] for i in range(len(prizes))], atol=1e-9)
    assert found.sum() == pytest.approx(1)


@given(weighted_graphs(), st.sampled_from([0.0, 0.85]))
@settings(max_examples=40)
def test_counted_degrees_solve_equation_11_as_printed(graph, damping):
    edges, costs, prizes = graph
    n = len(prizes)
    w, d = np.zeros((n, n)), np.zeros(n)
    for (one, other), weight in zip(edges.tolist(), weights(costs), strict=True):
        w[one, other] += weight
        w[other, one] += weight
        d[[one, other]] += 1
    step = w / np.maximum(d, 1)
    expected = np.linalg.solve(np.eye(n) - damping * step, (1 - damping) * prizes / prizes.sum())
    found = page_rank(edges, weights(costs), prizes, damping, "counted")
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found.sum() <= 1 + 1e-9


def test_a_damping_that_does_not_settle_is_refused():
    edges = np.array([[0, 1], [1, 2]])
    with pytest.raises(MemreproError, match="has not settled"):
        page_rank(edges, np.ones(2), np.array([1.0, 0, 0]), 1 - 1e-9)


def test_utterances_come_in_through_events_and_entities_only():
    graph = build_from(tale())
    at = graph.node_ids.index
    d0, d1 = at("utterance:d0"), at("utterance:d1")

    def reached(*names, **kinds):
        return with_utterances(graph, np.sort([at(name) for name in names]), **kinds).tolist()

    assert reached("entity:paris") == sorted([at("entity:paris"), d0, d1])
    assert reached("event:i visited paris.") == sorted([at("event:i visited paris."), d1])
    assert reached("speaker:user") == [at("speaker:user")]
    assert reached("time:8 may 2023") == [at("time:8 may 2023")]
    assert reached("entity:paris", kinds=(EVENT,)) == [at("entity:paris")]
    assert with_utterances(graph, np.zeros(0, np.int64)).tolist() == []
