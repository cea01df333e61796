"""Intuitive association: prizes, virtual nodes and the Steiner tree (Associa §4.2.1).

Prizes follow G-Retriever's released code, which the paper builds on (docs/protocols.md, PCST
retrieval): Equation 6 for the nodes, and for the edges the same over distinct similarities.

Equation 9 takes an edge's prize off its cost, and Equation 10 adds the prize and takes the cost
off; read together they would count it twice. Here it counts once: the value of a subgraph is the
prizes of its nodes and edges less one cost an edge, which is what the tree's prizes less its costs
C(e) come to when the virtual nodes are in.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrepro.core.ranking import top_k
from memrepro.core.similarity import Doubles
from memrepro.retrieve.associa.keys.graph import Graph
from memrepro.retrieve.associa.solver import solve

# Each edge prize is at most this share of the one before, and the cost is lowered by half of what
# is left to 1 (G-Retriever's released code).
_FALL = 0.99
_TAKEN = 0.995


@dataclass(frozen=True)
class Prizes:
    """What each node and edge is worth to a query.

    Attributes:
        nodes: shape (n_nodes,).
        edges: shape (n_edges,).
        edge_cost: θ_cost, lowered where no edge could be taken otherwise.
    """

    nodes: Doubles
    edges: Doubles
    edge_cost: float

    @property
    def costs(self) -> Doubles:
        """C(e) of Equation 9, shape (n_edges,): 0 where a virtual node stands on the edge."""
        return np.maximum(self.edge_cost - self.edges, 0)


@dataclass(frozen=True)
class Subgraph:
    """A connected part of a graph: indices of nodes and edges, ascending; Equation 10's value."""

    nodes: NDArray[np.int64]
    edges: NDArray[np.int64]
    value: float


def node_prizes(similarities: Doubles, ties: NDArray[np.uint64], top: int) -> Doubles:
    """Equation 6: k − rank + 1 for the top k nodes by similarity, 0 for the others.

    Of equal ones the least of `ties` is first; where there are fewer nodes, k is their number.
    """
    prizes = np.zeros(len(similarities))
    if len(similarities) and top:
        best = top_k(similarities, ties, top)
        prizes[best] = np.arange(len(best), 0, -1)
    return prizes


def edge_prizes(similarities: Doubles, top: int) -> Doubles:
    """The top distinct similarities k..1; edges of one similarity share its prize equally.

    A prize is at most 0.99 of the one before, so that many edges of one text do not rank below one
    edge of a text that is less similar. Where there are fewer distinct values, k is their number.
    """
    prizes = np.zeros(len(similarities))
    last = float("inf")
    distinct = np.unique(similarities)[::-1][:top]
    for rank, value in enumerate(distinct):
        of_value = similarities == value
        prize = min((len(distinct) - rank) / int(of_value.sum()), last)
        prizes[of_value] = prize
        last = prize * _FALL
    return prizes


def prize(
    graph: Graph, similarities: Doubles, top_nodes: int, top_edges: int, cost: float
) -> Prizes:
    """The prizes of all nodes and edges, by their texts' similarities with the query, (n_texts,).

    Where θ_cost is above every edge prize it is lowered to 0.995 of the greatest.
    """
    nodes = node_prizes(similarities[graph.node_rows], graph.ties, top_nodes)
    edges = edge_prizes(similarities[graph.edge_rows], top_edges)
    greatest = float(edges.max(initial=0))
    return Prizes(nodes, edges, min(cost, greatest * _TAKEN) if greatest else cost)


def associate(edges: NDArray[np.int64], prizes: Prizes, pruning: str = "strong") -> Subgraph:
    """The subgraph of a query (Equations 7 to 10).

    An edge worth more than its cost becomes a virtual node with the surplus for a prize and two
    edges without cost. Where the tree holds a virtual node, the edge and both its ends are taken:
    the second end costs nothing. So the answer is connected, and need not be a tree.
    """
    n = len(prizes.nodes)
    virtual = prizes.edges > prizes.edge_cost
    plain, raised = np.flatnonzero(~virtual), np.flatnonzero(virtual)
    between = n + np.arange(len(raised))
    nodes, taken = solve(
        np.concatenate(
            [
                edges[plain],
                np.column_stack([edges[raised, 0], between]),
                np.column_stack([between, edges[raised, 1]]),
            ]
        ),
        np.concatenate([prizes.nodes, prizes.edges[raised] - prizes.edge_cost]),
        np.concatenate([prizes.costs[plain], np.zeros(2 * len(raised))]),
        pruning,
    )
    chosen = np.concatenate([plain[taken[taken < len(plain)]], raised[nodes[nodes >= n] - n]])
    chosen.sort()
    held = np.union1d(nodes[nodes < n], edges[chosen])
    return Subgraph(held, chosen, value_of(held, chosen, prizes))


def value_of(nodes: NDArray[np.int64], edges: NDArray[np.int64], prizes: Prizes) -> float:
    """Equation 10: the prizes of nodes and edges, less one cost an edge."""
    return float(
        prizes.nodes[nodes].sum() + prizes.edges[edges].sum() - prizes.edge_cost * len(edges)
    )
