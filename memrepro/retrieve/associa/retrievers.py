"""Associa: a memory graph, intuitive association, deliberation, and ranked evidence (Associa §4).

`recall` answers one query from a graph; deliberating recall (§4.2.2) does so again with what the
evidence lacks, and ranks the union of the subgraphs. Docs need a graph key scheme, see
`memrepro.retrieve.associa.key_builder`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memrepro.core.keys import Request, best_first, blocks_of, ranked, score_all
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.deliberation import (
    Coverage,
    Deliberated,
    Deliberator,
    Embed,
    deliberate,
)
from memrepro.retrieve.associa.evidence import Evidence, Settings, associated, recall, weighed
from memrepro.retrieve.associa.graph import EVENT, Graph
from memrepro.retrieve.associa.importance import with_utterances
from memrepro.retrieve.associa.key_builder import graph_of
from memrepro.retrieve.associa.merge import GROUPINGS, merge

_BLOCK = 1 << 25  # numbers of the graphs and prizes that are deliberated on at once


@dataclass(frozen=True, kw_only=True)
class Associa(Settings):
    """Docs by the importance of their utterances; a doc that is not recalled is not ranked.

    One round of association: Table 1's `max_iter` = 1, Table 3's 'w/o DM'.

    Attributes:
        k: length of a ranking.
        merging: how the graph is deduplicated, 'incremental', 'clustering' or 'none'.
        merge_threshold: the cosine above which two are one; the paper names none.
    """

    k: int
    merging: str = "none"
    merge_threshold: float = 0.9

    def __post_init__(self) -> None:
        """Refuse merging that is unknown, or by a threshold that means nothing."""
        super().__post_init__()
        if self.merging not in (known := ("none", *GROUPINGS)):
            raise MemreproError(f"unknown merging {self.merging!r}: known are {', '.join(known)}")
        if not 0 < self.merge_threshold <= 1:
            raise MemreproError(
                f"merge_threshold is {self.merge_threshold}: it must be above 0, at most 1"
            )

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request in requests:
            graph, vectors = self.graph(request), request.vectors_of_queries()
            for query_id, vector in zip(request.query_ids, vectors, strict=True):
                found.append(self.ranking(request, graph, query_id, recall(vector, graph, self)))
        return found

    def ranking(self, request: Request, graph: Graph, query_id: str, evidence: Evidence) -> Ranking:
        """The docs of the recalled utterances, best first."""
        doc = {doc_id: number for number, doc_id in enumerate(request.keys.doc_ids)}
        docs = np.array([doc[graph.doc_id(i)] for i in graph.utterances.tolist()], np.intp)
        of_node = np.full(len(graph.kinds), -np.inf)
        of_node[evidence.nodes] = self.node_scores(graph, evidence)
        scores = np.full(len(doc), -np.inf)
        scores[docs] = of_node[graph.utterances]
        best = top_k(scores, request.keys.ties, self.k)
        return ranked(request.keys, query_id, best, scores[best])

    def graph(self, request: Request) -> Graph:
        """The memory graph of a request, merged as the settings say."""
        graph = graph_of(request.keys)
        if self.merging == "none":
            return graph
        return merge(graph, self.merging, self.merge_threshold)

    def node_scores(self, graph: Graph, evidence: Evidence) -> Doubles:
        """What the recalled nodes are ranked by: their importance."""
        return evidence.importance


@dataclass(frozen=True, kw_only=True)
class DeliberatedAssocia(Associa):
    """Associa with deliberating recall (§4.2.2, Algorithm 1); it needs an encoder to search.

    Attributes:
        max_iter: rounds of association at most (§5.2.1: 2); with 1 it is `Associa`.
    """

    max_iter: int = 2

    def with_encoder(self, embed: Embed, deliberator: Deliberator | None = None) -> "Deliberating":
        """With what embeds queries, by the encoder of the keys, and says what is missing."""
        return Deliberating(**vars(self), embed=embed, deliberator=deliberator or Coverage())

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """Refuse: nothing says what is missing, or turns it into a vector."""
        raise MemreproError(
            "associa.deliberated has no encoder: it embeds queries that it makes itself; run it "
            "by its study, or call with_encoder(embed, deliberator)"
        )


@dataclass(frozen=True, kw_only=True)
class Deliberating(DeliberatedAssocia):
    """Associa with deliberating recall, an encoder, and what says what is missing."""

    embed: Embed
    deliberator: Deliberator

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for block in blocks_of(requests, _size, _BLOCK):
            asked = []
            for request in block:
                graph, vectors = self.graph(request), request.vectors_of_queries()
                for query_id, text, vector in zip(
                    request.query_ids, request.query_texts, vectors, strict=True
                ):
                    one = Deliberated(graph, text, associated(vector, graph, self))
                    asked.append((request, query_id, one))
            questions = [one for _, _, one in asked]
            deliberate(questions, self.deliberator, self.embed, self.max_iter, self)
            for request, query_id, one in asked:
                evidence = weighed(one.found, one.graph, self)
                found.append(self.ranking(request, one.graph, query_id, evidence))
        return found


def _size(request: Request) -> int:
    """Numbers of a request's graph and prizes."""
    dimension = int(request.vectors_of_queries().shape[1])
    return len(request.keys.rows) * (dimension + len(request.query_ids))


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
    "deliberated": DeliberatedAssocia,
    "without_association": WithoutAssociation,
    "without_importance": WithoutImportance,
}
