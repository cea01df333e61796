"""Associa: a memory graph, intuitive association, deliberation, and ranked evidence (Associa §4).

`recall` answers one query from a graph; deliberating recall (§4.2.2) does so again with what the
evidence lacks, and ranks the union of the subgraphs. Docs need a graph key scheme, see
`memrepro.retrieve.associa.keys.key_builder`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrepro.core.keys import Request, best_first, blocks_of, ranked, score_all
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import Doubles, Floats
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.deliberation import (
    Coverage,
    Deliberated,
    Deliberator,
    Embed,
    deliberate,
)
from memrepro.retrieve.associa.evidence import Evidence, Found, Settings, associated, weighed
from memrepro.retrieve.associa.importance import with_utterances
from memrepro.retrieve.associa.keys.graph import EVENT, Graph
from memrepro.retrieve.associa.keys.key_builder import graph_of
from memrepro.retrieve.associa.merge import GROUPINGS, merge
from memrepro.retrieve.associa.model_deliberator import EntryDeliberator
from memrepro.retrieve.lexical import check_alpha, hybrid_scores, share_of_best

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

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request in requests:
            graph, vectors = self.graph(request), request.vectors_of_queries()
            for query_id, vector in zip(request.query_ids, vectors, strict=True):
                evidence = self.weigh(associated(vector, graph, self), graph)
                order = self.order(graph, vector, evidence)
                found.append(self.ranking(request, graph, query_id, evidence, order))
        return found

    def weigh(self, found: Found, graph: Graph) -> Evidence:
        """What was found, with what its nodes and the utterances connected to them rank by."""
        return weighed(found, graph, self)

    def order(self, graph: Graph, vector: Floats, evidence: Evidence) -> Doubles | None:
        """What decides between utterances of one score, shape (n_utterances,); None: the hash."""
        return None

    def ranking(
        self, request: Request, graph: Graph, query_id: str, evidence: Evidence,
        order: Doubles | None = None,
    ) -> Ranking:  # fmt: skip
        """The docs of the recalled utterances, best first; of one score, those greatest in order.

        What is equal in both goes by the hash of the doc's id.
        """
        scores = self.doc_scores(request, graph, evidence)
        ties: NDArray[np.integer] = request.keys.ties
        if order is not None:
            of_doc = np.full(len(scores), -np.inf)
            of_doc[_docs_said(request, graph)] = order
            ties = np.argsort(np.lexsort((request.keys.ties, -of_doc)))
        best = top_k(scores, ties, self.k)
        return ranked(request.keys, query_id, best, scores[best])

    def doc_scores(self, request: Request, graph: Graph, evidence: Evidence) -> Doubles:
        """The importance of each doc's utterance, shape (n_docs,); −inf of one not recalled."""
        of_node = np.full(len(graph.kinds), -np.inf)
        of_node[evidence.nodes] = evidence.importance
        scores = np.full(len(request.keys.doc_ids), -np.inf)
        scores[_docs_said(request, graph)] = of_node[graph.utterances]
        return scores

    def graph(self, request: Request) -> Graph:
        """The memory graph of a request, merged as the settings say."""
        graph = graph_of(request.keys)
        if self.merging == "none":
            return graph
        return merge(graph, self.merging, self.merge_threshold)


def _docs_said(request: Request, graph: Graph) -> NDArray[np.intp]:
    """The doc's index of each utterance, shape (n_utterances,)."""
    doc = {doc_id: number for number, doc_id in enumerate(request.keys.doc_ids)}
    return np.array([doc[graph.doc_id(i)] for i in graph.utterances.tolist()], np.intp)


@dataclass(frozen=True, kw_only=True)
class OnHybrid(Associa):
    """The graph on top of the plain hybrid of the utterances; in no paper.

    A doc scores its hybrid score and `weight` of its importance, as a share of the query's most
    important doc; what is not recalled keeps its hybrid score.

    Attributes:
        cosine: weight of the cosine in the hybrid, the rest being BM25's (`lexical.hybrid_scores`).
        weight: of the importance.
    """

    cosine: float
    weight: float

    def __post_init__(self) -> None:
        """Refuse a weight that is none."""
        super().__post_init__()
        check_alpha(self.cosine, "associa.on_hybrid")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        return best_first(
            ((one, self._scores(one, scores)) for one, scores in score_all(requests)), self.k
        )

    def _scores(self, request: Request, key_scores: Doubles) -> Doubles:
        """The score of each query with each doc, shape (n_queries, n_docs)."""
        said = np.array([field == "utterance" for field in request.keys.fields])
        spoken = replace(request, keys=request.keys.only(said))
        hybrid = hybrid_scores(spoken, key_scores[:, said], self.cosine)
        graph, vectors = self.graph(request), request.vectors_of_queries()
        recalled = np.stack(
            [
                self.doc_scores(request, graph, self.weigh(associated(vector, graph, self), graph))
                for vector in vectors
            ]
        )
        return hybrid + self.weight * share_of_best(np.maximum(recalled, 0))


@dataclass(frozen=True, kw_only=True)
class DeliberatedAssocia(Associa):
    """Associa with deliberating recall (§4.2.2, Algorithm 1); it needs an encoder to search.

    Attributes:
        max_iter: rounds of association at most (§5.2.1: 2); with 1 it is `Associa`.
        model: the language model that deliberates, a name of `models` in params.yaml; '' for a
            lexical rule (`deliberation.Coverage`).
    """

    max_iter: int = 2
    model: str = ""

    def with_encoder(
        self, embed: Embed, deliberator: Deliberator | None = None,
        models: Mapping[str, Any] = MappingProxyType({}),
    ) -> "Deliberating":  # fmt: skip
        """With what embeds queries, by the encoder of the keys, and says what is missing.

        Raises:
            MemreproError: if the model is none of `models`.
        """
        if deliberator is None and self.model:
            if self.model not in models:
                raise MemreproError(
                    f"unknown language model {self.model!r}: `models` in params.yaml has "
                    f"{', '.join(models) or 'none'} (docs/llm.md)"
                )
            deliberator = EntryDeliberator(self.model, models[self.model])
        return Deliberating(**vars(self), embed=embed, deliberator=deliberator or Coverage())

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
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

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
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
                evidence = self.weigh(one.found, one.graph)
                found.append(self.ranking(request, one.graph, query_id, evidence))
        return found


def _size(request: Request) -> int:
    """Numbers of a request's graph and prizes."""
    dimension = int(request.vectors_of_queries().shape[1])
    return len(request.keys.rows) * (dimension + len(request.query_ids))


TIES = ("id", "similarity", "prize", "input", "reverse_input")


@dataclass(frozen=True, kw_only=True)
class WithoutImportance(Associa):
    """Table 3, 'w/o EIR': utterances that the subgraph or its events come from, unranked.

    Behind them come those that only share an entity with it. In what order the utterances of each
    of the two come, the paper does not say, and the row depends on it.

    Attributes:
        ties: what orders them: 'id' (this project's rule for ties, the hash of the doc's id, that
            is no order at all), 'similarity' of the utterance with the question, 'prize' (the
            greatest of the utterance and its events), 'input' (as the memory has them) or
            'reverse_input'.
    """

    ties: str = "id"

    def __post_init__(self) -> None:
        """Refuse an unknown order."""
        super().__post_init__()
        if self.ties not in TIES:
            raise MemreproError(f"unknown ties {self.ties!r}: known are {', '.join(TIES)}")

    def weigh(self, found: Found, graph: Graph) -> Evidence:
        """1 for an utterance of the subgraph or of an event of it, 0 for another node."""
        held = found.subgraph.nodes
        nodes = with_utterances(graph, held)
        first = np.isin(nodes, with_utterances(graph, held, (EVENT,))).astype(np.float64)
        return Evidence(found.prizes, found.subgraph, nodes, first)

    def order(self, graph: Graph, vector: Floats, evidence: Evidence) -> Doubles | None:
        """What decides between utterances of one score, shape (n_utterances,); None: the hash."""
        said = graph.utterances
        if self.ties == "similarity":
            similarities: Doubles = graph.similarities(vector)[graph.node_rows[said]]
            return similarities
        if self.ties == "prize":
            greatest = evidence.prizes.nodes.copy()
            events = graph.origins[graph.kinds[graph.origins[:, 0]] == EVENT]
            np.maximum.at(greatest, events[:, 1], evidence.prizes.nodes[events[:, 0]])
            return greatest[said]
        if self.ties == "id":
            return None
        place = np.arange(len(said), dtype=np.float64)
        return -place if self.ties == "input" else place


@dataclass(frozen=True)
class WithoutAssociation:
    """Table 3, 'w/o AM': the utterances by similarity, no graph.

    The paper's row equals its row of Contriever in Table 1, to the last digit.

    Attributes:
        k: length of a ranking.
    """

    k: int

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        return best_first(
            (
                (one, one.keys.best(scores, np.array(one.keys.fields) == "utterance"))
                for one, scores in score_all(requests)
            ),
            self.k,
        )


RETRIEVERS = {
    "associa": Associa,
    "on_hybrid": OnHybrid,
    "deliberated": DeliberatedAssocia,
    "without_association": WithoutAssociation,
    "without_importance": WithoutImportance,
}
