"""Evidence importance ranking: personalised PageRank on a subgraph (Associa §4.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.association import Subgraph
from memrepro.retrieve.associa.keys.graph import ENTITY, EVENT, Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEGREES = ("weighted", "counted")
_TOLERANCE = 1e-12  # of the ranks' sum, which is 1
_ROUNDS = 10_000
_BLOCK = 1 << 14  # ranks worked on at once


def weights(costs: Doubles) -> Doubles:
    """Equation 12: 1 / (1 + log(1 + C(e))), 1 for an edge without cost."""
    return 1 / (1 + np.log1p(costs))


def page_rank(
    edges: NDArray[np.int64], edge_weights: Doubles, preference: Doubles,
    damping: float = 0.85, degree: str = "weighted",
) -> Doubles:  # fmt: skip
    """Equation 11 by power iteration: r = α Σ_j w(i,j)/d_j r_j + (1 − α) p.

    Edges are taken both ways, parallel ones add. The preference is scaled to a sum of 1; where it
    is 0 all over, each node has the same.

    Args:
        edges: shape (n_edges, 2).
        edge_weights: w, shape (n_edges,).
        preference: p, shape (n_nodes,), as the ranks r; or (n_queries, n_nodes), of which each
            gives what it gives by itself.
        damping: α, which the paper does not name; 0.85 is the usual one.
        degree: d_j as the sum of the weights of j's edges ('weighted', as libraries have it: the
            ranks sum to 1, and what a node without edges has goes back by the preference), or as
            their number ('counted', as printed: the ranks sum to less).

    Raises:
        MemreproError: if the ranks do not settle.
    """
    from scipy.sparse import coo_array  # slow to import, and each reading of params.yaml comes by

    n = preference.shape[-1]
    if not preference.size:
        return np.zeros(preference.shape)
    scaled = np.array([_scaled(one) for one in np.atleast_2d(preference)])
    heads, tails = np.concatenate([edges, edges[:, ::-1]]).T
    both = np.concatenate([edge_weights, edge_weights])
    out = np.bincount(tails, both if degree == "weighted" else None, n)
    shares = np.divide(both, out[tails], out=np.zeros(len(both)), where=out[tails] > 0)
    step = coo_array((shares, (heads, tails)), (n, n)).tocsr()
    dangling = np.flatnonzero(out == 0) if degree == "weighted" else np.zeros(0, np.intp)
    # Beside each other, so that an edge is read once for all queries that a cache holds.
    many = max(1, _BLOCK // n)
    blocks = [scaled[start : start + many] for start in range(0, len(scaled), many)]
    ranks = [_settled(step, dangling, block, damping) for block in blocks]
    return np.concatenate(ranks).reshape(preference.shape)


def _settled(
    step: csr_array, dangling: NDArray[np.int64], preferences: Doubles, damping: float
) -> Doubles:
    """The ranks of each query, (n_queries, n_nodes), as its preferences, each of the sum 1."""
    wanted = preferences[0] if len(preferences) == 1 else preferences.T.copy()
    ranks = wanted.copy()
    found, going = np.empty_like(preferences), np.arange(len(preferences))
    for _ in range(_ROUNDS):
        moved: Doubles = step @ ranks
        if len(dangling):
            moved += ranks[dangling].sum(axis=0) * wanted
        moved *= damping
        moved += (1 - damping) * wanted
        ranks -= moved
        settled = np.atleast_1d(np.abs(ranks, out=ranks).sum(axis=0) < _TOLERANCE)
        ranks = moved
        if settled.any():
            if ranks.ndim == 1:
                return moved[None]
            found[going[settled]] = ranks[:, settled].T
            going, ranks, wanted = going[~settled], ranks[:, ~settled], wanted[:, ~settled]
            if not len(going):
                return found
    raise MemreproError(
        f"PageRank with damping {damping} has not settled after {_ROUNDS} rounds: lower it"
    )


def _scaled(preference: Doubles) -> Doubles:
    total = preference.sum()
    return preference / total if total else np.full(len(preference), 1 / len(preference))


def with_utterances(
    graph: Graph, nodes: NDArray[np.int64], kinds: tuple[int, ...] = (EVENT, ENTITY)
) -> NDArray[np.int64]:
    """Nodes and the utterances that those of some kinds come from, ascending.

    The paper retrieves the utterances that are 'connected to the most high-quality nodes (such as
    events or entities)'; a speaker or a date is connected to too many to tell.
    """
    telling = nodes[np.isin(graph.kinds[nodes], kinds)]
    starts = np.searchsorted(graph.origins[:, 0], telling)
    counts = np.searchsorted(graph.origins[:, 0], telling, "right") - starts
    before = np.cumsum(counts) - counts
    places = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return np.union1d(nodes, graph.origins[places, 1])


def importance(
    graph: Graph, subgraph: Subgraph, prizes: Doubles, costs: Doubles,
    damping: float = 0.85, degree: str = "weighted",
) -> tuple[NDArray[np.int64], Doubles]:  # fmt: skip
    """The importance of a subgraph's nodes and of the utterances connected to them.

    The walk goes over all edges of the memory graph between those nodes, so that an utterance is
    ranked through the nodes connected to it. Prizes are of all nodes of the graph, costs C(e) of
    all its edges; the rest is as of `page_rank`.

    Returns:
        Nodes, ascending, and the importance of each.
    """
    nodes = with_utterances(graph, subgraph.nodes)
    place = np.full(len(graph.kinds), -1)
    place[nodes] = np.arange(len(nodes))
    ends = place[graph.edges]
    inside = (ends >= 0).all(axis=1)
    ranks = page_rank(ends[inside], weights(costs[inside]), prizes[nodes], damping, degree)
    return nodes, ranks
