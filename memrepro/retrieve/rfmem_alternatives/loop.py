"""The loop of RF-Mem's recollection, the two steps that the alternatives change left open.

Source: RF-Mem §2.3, Algorithm 3; all else is the released code's recollection
(`rfmem.ReleasedRecollection`), as D.8 keeps 'all other components fixed': that of PersonaBench, of
which Tables 15 and 16 are, whose search ends with a round that finds nothing new (`on_empty` of
`rfmem.Settings` is 'stop'). The loop is plain, a query at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from memrepro.core.keys import Request, ranked
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import Doubles, Floats, normalise, products

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class DocVectors:
    """The docs that a query may find: vectors (n_docs, dimension) and tie keys (n_docs,)."""

    vectors: Floats
    ties: NDArray[np.uint64]

    def similarity(self, query: Floats) -> Doubles:
        """The inner product of each doc with a query, in double precision, shape (n_docs,)."""
        scores: Doubles = products(query[None, :], self.vectors)[0]
        return scores


def queries_of(request: Request) -> Iterator[tuple[str, Floats, DocVectors]]:
    """Each query's id and vector, with its memory."""
    memory = DocVectors(request.keys.doc_vectors(), request.keys.ties)
    for query_id, query in zip(request.query_ids, request.vectors_of_queries(), strict=True):
        yield query_id, query, memory


def reranked(docs: Sequence[int], query: Floats, memory: DocVectors) -> dict[int, float]:
    """Docs by similarity to the query itself, best first."""
    scores = np.full(len(memory.ties), -np.inf)
    held = np.array(docs, np.intp)
    scores[held] = memory.similarity(query)[held]
    return {int(i): float(scores[i]) for i in top_k(scores, memory.ties, len(scores))}


@dataclass(frozen=True)
class Branch:
    """One branch of the beam: its query, the score summed along its path, its docs."""

    query: Floats
    score: float
    docs: NDArray[np.intp]
    doc_scores: Doubles


@dataclass(frozen=True, kw_only=True)
class Loop(ABC):
    """Retrieve → cluster → mix → iterate (§2.3, Algorithm 3), the two steps left to others.

    Attributes:
        k: the paper's K, length of a ranking.
        beam_width: the paper's B, branches kept a round; k-means makes as many clusters a branch.
        fanout: the paper's F; round r retrieves N = (B + r)·F docs.
        rounds: the paper's R.
        relevance_weight: the released code's μ (the paper: 1), see `ReleasedRecollection`.
        floor: candidates scoring less are dropped.
        exhaustive: whether there is no stop at K docs (Algorithm 3, 22); docs are then ranked by
            similarity to the query, and otherwise as they were discovered.
    """

    exhaustive: ClassVar[bool] = False
    k: int
    beam_width: int
    fanout: int
    rounds: int = 10
    relevance_weight: float = 0.9
    floor: float = 0.0

    @abstractmethod
    def cluster(self, vectors: Floats) -> Labels:
        """A label for each candidate, shape (n,), of vectors of shape (n, dimension)."""

    @abstractmethod
    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """The next query, of length 1; each of shape (dimension,)."""

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        rankings = []
        for request in requests:
            for query_id, query, memory in queries_of(request):
                found = self.explore(query, memory)
                if self.exhaustive:
                    found = reranked(list(found), query, memory)
                docs = np.array(list(found), np.intp)[: self.k]
                scores = np.array(list(found.values()))[: self.k]
                rankings.append(ranked(request.keys, query_id, docs, scores))
        return rankings

    def explore(self, original: Floats, memory: DocVectors) -> dict[int, float]:
        """The docs of every branch kept, in order of discovery, with the score of each."""
        beam = [Branch(original, 0.0, np.empty(0, np.intp), np.empty(0))]
        found: dict[int, float] = {}
        for depth in range(self.rounds):
            grown = [
                branch
                for parent in beam
                for branch in self._grow(parent, depth, original, memory, found)
            ]
            if not grown:
                break
            # sorted() is stable: equal branches stay in the order in which they grew.
            beam = sorted(grown, key=lambda branch: -branch.score)[: self.beam_width]
            for branch in beam:
                for doc, score in zip(branch.docs, branch.doc_scores, strict=True):
                    found.setdefault(int(doc), float(score))
            if len(found) >= self.k and not self.exhaustive:
                break
        return found

    def _grow(
        self, parent: Branch, depth: int, original: Floats, memory: DocVectors,
        found: dict[int, float],
    ) -> Iterator[Branch]:  # fmt: skip
        """A branch's children: its unseen candidates, clustered, each centroid mixed in."""
        similarity = memory.similarity(parent.query)
        nearest = top_k(similarity, memory.ties, (self.beam_width + depth) * self.fanout)
        fresh = [similarity[i] >= self.floor and int(i) not in found for i in nearest]
        docs = nearest[np.array(fresh, bool)]
        if not len(docs):
            return
        vectors = memory.vectors[docs]
        scores = similarity[docs] * self.relevance_weight
        if len(docs) > 1:
            between = products(vectors, vectors)
            np.fill_diagonal(between, -np.inf)
            scores -= (1 - self.relevance_weight) * between.max(axis=1)
        labels = self.cluster(vectors)
        for label in np.unique(labels):
            members = labels == label
            centroid = normalise(vectors[members].mean(axis=0))
            query = self.mix(parent.query, centroid, original)
            total = parent.score + float(scores[members].sum())
            yield Branch(query, total, docs[members], scores[members])
