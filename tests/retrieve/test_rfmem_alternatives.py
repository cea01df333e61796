"""RF-Mem's alternatives: the paper's own steps as peer, the formulas, the graph, odd inputs."""

from dataclasses import dataclass
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.retrieve.dense.retrievers import RETRIEVERS as DENSE
from memrepro.retrieve.rfmem.retrievers import RETRIEVERS as RFMEM
from memrepro.retrieve.rfmem_alternatives.graph import FullGraphSearch, GraphSearch
from memrepro.retrieve.rfmem_alternatives.retrievers import (
    RETRIEVERS,
    AlphaMixing,
    FullExploration,
    KMeansClusters,
)

from .made import random_request, request

BUDGET = {"k": 5, "beam_width": 3, "fanout": 2}
ALPHA = {"dbscan": 0.5, "spectral": 0.5, "full": 0.5}


@dataclass(frozen=True, kw_only=True)
class KMeansRecollection(KMeansClusters, AlphaMixing):
    """The loop with the paper's own two steps."""


def made(name, **changed):
    parameters = {**BUDGET, **({"alpha": ALPHA[name]} if name in ALPHA else {}), **changed}
    return RETRIEVERS[name](**parameters)


def found(retriever, asked):
    return [ranking.doc_ids for ranking in retriever.search([asked])]


def on_circle(*degrees):
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.mark.parametrize(
    ("k", "fanout", "alpha", "weight"),
    [(5, 1, 0.9, 0.9), (10, 3, 0.5, 1.0), (50, 1, 0.2, 0.9)],
)
def test_the_papers_own_steps_give_recollections_rankings(k, fanout, alpha, weight):
    asked = random_request(60)
    own = {"k": k, "beam_width": 3, "fanout": fanout, "alpha": alpha, "relevance_weight": weight}
    loop, peer = (
        kind(**own).search([asked]) for kind in (KMeansRecollection, RFMEM["recollection"])
    )
    for ours, theirs in zip(loop, peer, strict=True):
        assert ours.doc_ids == theirs.doc_ids
        assert ours.scores == pytest.approx(theirs.scores, abs=1e-5)


def test_dbscan_joins_what_is_near_and_leaves_noise_alone():
    vectors = on_circle(0, 5, 90, 95, 180, 270)
    labels = made("dbscan", eps=0.01).cluster(vectors)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    assert len({labels[0], labels[2], labels[4], labels[5]}) == 4
    # 1 - cos 5° = 0.0038: the two are no neighbours below it, and chain as one above 1 - cos 90°.
    assert len(set(made("dbscan", eps=0.003).cluster(vectors))) == 6
    assert len(set(made("dbscan", eps=1.01).cluster(vectors))) == 1
    assert len(set(made("dbscan", eps=0.01, min_samples=3).cluster(vectors))) == 6


def test_gated_mixing_by_hand():
    # Query (1, 0), centroid (0.6, 0.8), original (0, 1): g = σ(0.6).
    gate = 1 / (1 + exp(-0.6))
    mixed = np.array([gate + (1 - gate) * 0.6, (1 - gate) * 0.8 + 1])
    x = [np.array(v, np.float32) for v in ([1, 0], [0.6, 0.8], [0, 1])]
    assert made("gated-mix").mix(*x) == pytest.approx(mixed / np.linalg.norm(mixed))
    same = np.array([0.6, 0.8], np.float32)
    assert made("gated-mix").mix(same, same, same) == pytest.approx(same)


@pytest.mark.parametrize(
    ("full", "plain", "own"),
    [
        (FullExploration, KMeansRecollection, {"fanout": 1, "alpha": 0.5, "rounds": 3}),
        (FullGraphSearch, GraphSearch, {"fanout": 1, "neighbours": 2, "rounds": 2}),
    ],
)
def test_full_exploration_is_the_dense_order_of_what_was_explored(full, plain, own):
    asked = random_request(60, 2)
    everything = found(plain(k=60, beam_width=3, **own), asked)
    dense = found(DENSE["dense"](k=60), asked)
    rankings = found(full(k=10, beam_width=3, **own), asked)
    for ranking, explored, order in zip(rankings, everything, dense, strict=True):
        assert ranking == tuple(doc for doc in order if doc in explored)[:10]


def test_graph_search_visits_in_breadth_first_order():
    # Docs at 0°, 10°, 22°, 36°, 52°: each one's nearest is the one before it, and 0°'s is 10°.
    asked = request(on_circle(0, 10, 22, 36, 52), on_circle(60))
    own = {"k": 5, "beam_width": 1, "fanout": 1, "neighbours": 1}
    assert found(GraphSearch(**own), asked) == [("d4", "d3", "d2", "d1", "d0")]
    assert found(GraphSearch(**own, rounds=2), asked) == [("d4", "d3", "d2")]
    # With two neighbours d4 leads to d3, d2; d3 to d2, d4; d2 to d1, d3.
    own["neighbours"] = 2
    assert found(GraphSearch(**own), asked) == [("d4", "d3", "d2", "d1", "d0")]
    # Two docs of entry come first, by similarity; then what the first of them leads to.
    own = {"k": 3, "beam_width": 2, "fanout": 1, "neighbours": 1}
    assert found(GraphSearch(**own), request(on_circle(0, 9, 180, 190), on_circle(95))) == [
        ("d2", "d1", "d3")
    ]


@pytest.mark.parametrize("name", RETRIEVERS)
@given(
    n_docs=st.integers(1, 25), k=st.integers(1, 12), beam=st.integers(1, 4),
    fanout=st.integers(1, 3), seed=st.integers(0, 5),
)  # fmt: skip
@settings(max_examples=4)
def test_never_twice_never_more_than_k_and_the_same_again(name, n_docs, k, beam, fanout, seed):
    asked = random_request(n_docs, seed, n_queries=2)
    retriever = made(name, k=k, beam_width=beam, fanout=fanout)
    rankings = retriever.search([asked])
    assert [r.query_id for r in rankings] == asked.query_ids
    for ranking in rankings:
        assert len(set(ranking.doc_ids)) == len(ranking.doc_ids) <= min(k, n_docs)
    assert retriever.search([asked]) == rankings
