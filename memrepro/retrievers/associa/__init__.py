"""Associa: a memory graph, intuitive association and the ranking of evidence (Associa §4).

`recall` answers one query from a graph; deliberating recall (§4.2.2) calls it with augmented
queries, and ranks the union of the subgraphs by `importance`.

Until then every variant is of `max_iter` = 1 (Table 1), Table 3's 'w/o DM'. Docs need a graph
keying, see `memrepro.retrievers.associa.keying`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrepro.core.keys import Request, best_first, ranked, score_all
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import Doubles, Floats
from memrepro.retrievers.associa.association import Prizes, Subgraph, associate, prize
from memrepro.retrievers.associa.graph import EVENT, Graph
from memrepro.retrievers.associa.importance import importance, with_utterances
from memrepro.retrievers.associa.keying import graph_of
from memrepro.retrievers.associa.merge import merge


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


def recall(query_vector: Floats, graph: Graph, settings: Settings) -> Evidence:
    """One round of association, and the importance of what it finds.

    Args:
        query_vector: of the query, or of the query and a missing clue; shape (dimension,).
        graph: the memory graph, with vectors.
        settings: what recall is done by.

    Raises:
        MemreproError: if the graph has no vectors, a number is not finite, or a setting is unfit.
    """
    similarities = graph.similarities(query_vector)
    prizes = prize(graph, similarities, settings.top_nodes, settings.top_edges, settings.edge_cost)
    subgraph = associate(graph.edges, prizes, settings.pruning)
    nodes, ranks = importance(
        graph, subgraph, prizes.nodes, prizes.costs, settings.damping, settings.degree
    )
    return Evidence(prizes, subgraph, nodes, ranks)


@dataclass(frozen=True, kw_only=True)
class Associa(Settings):
    """Docs by the importance of their utterances; a doc that is not recalled is not ranked.

    Attributes:
        k: length of a ranking.
        merging: how the graph is deduplicated, 'incremental', 'clustering' or 'none'.
        merge_threshold: the cosine above which two are one; the paper names none.
    """

    k: int
    merging: str = "none"
    merge_threshold: float = 0.9

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request in requests:
            graph = self.graph(request)
            doc = {doc_id: number for number, doc_id in enumerate(request.keys.doc_ids)}
            docs = np.array([doc[graph.doc_id(i)] for i in graph.utterances.tolist()], np.intp)
            for query_id, vector in zip(
                request.query_ids, request.vectors_of_queries(), strict=True
            ):
                of_node = np.full(len(graph.kinds), -np.inf)
                evidence = recall(vector, graph, self)
                of_node[evidence.nodes] = self.node_scores(graph, evidence)
                scores = np.full(len(doc), -np.inf)
                scores[docs] = of_node[graph.utterances]
                best = top_k(scores, request.keys.ties, self.k)
                found.append(ranked(request.keys, query_id, best, scores[best]))
        return found

    def graph(self, request: Request) -> Graph:
        """The memory graph of a request, merged as the settings say."""
        graph = graph_of(request.keys)
        if self.merging == "none":
            return graph
        return merge(graph, self.merging, self.merge_threshold).graph

    def node_scores(self, graph: Graph, evidence: Evidence) -> Doubles:
        """What the recalled nodes are ranked by: their importance."""
        return evidence.importance


@dataclass(frozen=True, kw_only=True)
class WithoutImportance(Associa):
    """Table 3, 'w/o EIR': utterances that the subgraph or its events come from, unranked.

    Behind them come those that only share an entity with it. Within the two the docs' ties decide,
    as the paper does not say in what order they come.
    """

    def node_scores(self, graph: Graph, evidence: Evidence) -> Doubles:
        """1 for an utterance of the subgraph or of an event of it, 0 for another node."""
        nodes = evidence.subgraph.nodes
        told = with_utterances(graph, nodes, (EVENT,))
        return np.isin(evidence.nodes, told).astype(np.float64)


@dataclass(frozen=True)
class WithoutAssociation:
    """Table 3, 'w/o AM': the utterances by similarity, no graph.

    The paper's row equals its row of Contriever in Table 1, to the last digit.

    Attributes:
        k: length of a ranking.
    """

    k: int

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request, key_scores in score_all(requests):
            said = np.array([field == "utterance" for field in request.keys.fields])
            found += best_first(request, request.keys.best(key_scores, said), self.k)
        return found


RETRIEVERS = {
    "associa": Associa,
    "without_association": WithoutAssociation,
    "without_importance": WithoutImportance,
}
