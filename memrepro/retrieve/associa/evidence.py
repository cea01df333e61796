"""Recall: one round of association, and the importance of what it finds (Associa §4.2)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles, Floats
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.association import Prizes, Subgraph, associate, prize
from memrepro.retrieve.associa.importance import DEGREES, importance
from memrepro.retrieve.associa.keys.graph import Graph
from memrepro.retrieve.associa.solver import PRUNINGS


class Found(NamedTuple):
    """A subgraph of a memory graph, and the prizes that it was found by."""

    prizes: Prizes
    subgraph: Subgraph


@dataclass(frozen=True)
class Evidence:
    """What one query recalls.

    Attributes:
        prizes: of the memory graph's nodes and edges.
        subgraph: the answer of the association, with Equation 10's value.
        nodes: those of the subgraph and the utterances connected to them, ascending.
        importance: of each of these nodes (Equation 11), shape (n,).
    """

    prizes: Prizes
    subgraph: Subgraph
    nodes: NDArray[np.int64]
    importance: Doubles


@dataclass(frozen=True)
class Settings:
    """What recall is done by.

    Attributes:
        top_nodes: top_k, how many nodes have a prize (§5.2.1: 15).
        top_edges: top_e, how many distinct edge similarities have one (§5.2.1: 15).
        edge_cost: cost_e, θ_cost (§5.2.1: 0.5).
        damping: Equation 11's α, which is not named; 0.85 is usual.
        degree: Equation 11's d_j, 'weighted' or 'counted' (see `importance.page_rank`).
        pruning: of the Steiner tree, 'strong' or 'gw'.
    """

    top_nodes: int = 15
    top_edges: int = 15
    edge_cost: float = 0.5
    damping: float = 0.85
    degree: str = "weighted"
    pruning: str = "strong"

    def __post_init__(self) -> None:
        """Refuse a cost, damping, degree or pruning that means nothing."""
        if not 0 < self.edge_cost < float("inf"):
            raise MemreproError(f"edge_cost is {self.edge_cost}: it must be above 0 and finite")
        if not 0 <= self.damping < 1:
            raise MemreproError(f"damping is {self.damping}: it must be at least 0 and below 1")
        for what, known in (("degree", DEGREES), ("pruning", PRUNINGS)):
            if (value := getattr(self, what)) not in known:
                raise MemreproError(f"unknown {what} {value!r}: known are {', '.join(known)}")


def associated(query_vector: Floats, graph: Graph, settings: Settings) -> Found:
    """The subgraph of a query, or of a query and a missing clue.

    Raises:
        MemreproError: if the graph has no vectors, or the query's is not finite.
    """
    similarities = graph.similarities(query_vector)
    prizes = prize(graph, similarities, settings.top_nodes, settings.top_edges, settings.edge_cost)
    return Found(prizes, associate(graph.edges, prizes, settings.pruning))


def weighed(found: Found, graph: Graph, settings: Settings) -> Evidence:
    """What was found, with the importance of its nodes and of the utterances connected to them."""
    prizes, subgraph = found
    nodes, ranks = importance(
        graph, subgraph, prizes.nodes, prizes.costs, settings.damping, settings.degree
    )
    return Evidence(prizes, subgraph, nodes, ranks)


def recall(query_vector: Floats, graph: Graph, settings: Settings) -> Evidence:
    """One round of association, and the importance of what it finds."""
    return weighed(associated(query_vector, graph, settings), graph, settings)
