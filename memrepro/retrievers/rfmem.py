"""RF-Mem: familiarity, recollection in the released code's variant, and the gate between them.

Source: RF-Mem §2, Appendix B, Algorithms 1-3; where the released code differs it is followed
(PROTOCOLS.md, 'RF-Mem: paper and released code'), and the attribute says so.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from memrepro.keys import Request, best_first
from memrepro.numerics.gate import Gate
from memrepro.numerics.similarity import Floats, normalise
from memrepro.ranking import Ranking, top_k


@dataclass(frozen=True)
class Familiarity:
    """One-shot top-k by similarity (Eq. 4, Algorithm 2).

    Attributes:
        k: the paper's K, length of a ranking.
        floor: a doc scoring less is dropped (released code: 0 on PersonaBench).
    """

    k: int
    floor: float = 0.0

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request in requests:
            scores = request.doc_scores()
            kept = np.where(scores >= self.floor, scores, -np.inf)
            found += best_first(request, kept, self.k)
        return found


@dataclass(frozen=True)
class _Branch:
    """One branch of the beam: its query, the score summed along its path, its docs."""

    query: Floats
    score: float
    docs: tuple[int, ...] = ()
    doc_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class ReleasedRecollection:
    """Retrieve → cluster → α-mix → iterate (§2.3, Algorithm 3) as the released code does it.

    Attributes:
        k: the paper's K, length of a ranking.
        beam_width: the paper's B, branches kept a round and clusters a branch.
        fanout: the paper's F; round r retrieves N = (B + r)·F docs.
        alpha: the paper's α: the next query is α·current + (1−α)·centroid + original, normalised
            (Eq. 6).
        rounds: the paper's R.
        relevance_weight: the released code's μ, a doc scores μ·⟨x, z⟩ − (1−μ)·its greatest
            similarity to the round's other candidates; the paper scores ⟨x, z⟩ alone (μ = 1).
        floor: candidates scoring less are dropped.
        seed: of k-means (released: scikit-learn's KMeans, random_state 42, defaults otherwise).
    """

    k: int
    beam_width: int
    fanout: int
    alpha: float
    rounds: int = 10
    relevance_weight: float = 0.9
    floor: float = 0.0
    seed: int = 42

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests: docs in order of discovery."""
        found = []
        for request in requests:
            docs, ties, doc_ids = (
                request.keys.doc_vectors(),
                request.keys.ties,
                request.keys.doc_ids,
            )
            queries = request.vectors_of_queries()
            for query_id, query in zip(request.query_ids, queries, strict=True):
                bag = self._recollect(query, docs, ties)
                found.append(Ranking(query_id, tuple(doc_ids[i] for i in bag), tuple(bag.values())))
        return found

    def _recollect(
        self, original: Floats, docs: Floats, ties: NDArray[np.uint64]
    ) -> dict[int, float]:
        """The first k docs discovered, with the score each was found by."""
        beam = [_Branch(original, 0.0)]
        bag: dict[int, float] = {}
        for depth in range(self.rounds):
            grown = [
                branch
                for parent in beam
                for branch in self._grow(parent, depth, original, docs, ties, bag)
            ]
            if not grown:
                break
            # sorted() is stable: equal branches stay in the order in which they grew.
            beam = sorted(grown, key=lambda branch: -branch.score)[: self.beam_width]
            for branch in beam:
                for doc, score in zip(branch.docs, branch.doc_scores, strict=True):
                    bag.setdefault(doc, score)
            if len(bag) >= self.k:
                break
        return dict(list(bag.items())[: self.k])

    def _grow(
        self,
        parent: _Branch,
        depth: int,
        original: Floats,
        docs: Floats,
        ties: NDArray[np.uint64],
        seen: dict[int, float],
    ) -> list[_Branch]:
        """A branch's children: its unseen candidates, clustered, each centroid mixed in."""
        similarity = docs @ parent.query
        nearest = top_k(similarity, ties, (self.beam_width + depth) * self.fanout)
        candidates = [int(i) for i in nearest if similarity[i] >= self.floor and i not in seen]
        if not candidates:
            return []
        vectors = docs[candidates]
        between = vectors @ vectors.T
        np.fill_diagonal(between, -np.inf)
        nearest_other = between.max(axis=1) if len(candidates) > 1 else np.zeros(1, np.float32)
        weight = self.relevance_weight
        scores = weight * similarity[candidates] - (1.0 - weight) * nearest_other
        n_clusters = min(self.beam_width, len(candidates))
        labels = _cluster(vectors, n_clusters, self.seed)
        children = []
        for label in range(n_clusters):
            members = np.flatnonzero(labels == label)
            if not len(members):
                continue
            centroid = normalise(vectors[members].mean(axis=0))
            query = normalise(self.alpha * parent.query + (1 - self.alpha) * centroid + original)
            children.append(
                _Branch(
                    query,
                    parent.score + float(scores[members].sum()),
                    tuple(candidates[i] for i in members),
                    tuple(float(scores[i]) for i in members),
                )
            )
        return children


def _cluster(vectors: Floats, n_clusters: int, seed: int) -> NDArray[np.int32]:
    with warnings.catch_warnings():
        # Fewer distinct points than clusters is legal here and leaves a cluster empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: NDArray[np.int32] = KMeans(n_clusters, random_state=seed).fit_predict(vectors)
    return labels


@dataclass(frozen=True)
class ReleasedRFMem:
    """Familiarity or recollection, query by query (Algorithm 1), in the released variant.

    Attributes are those of `ReleasedRecollection` and `Gate`.
    """

    k: int
    beam_width: int
    fanout: int
    alpha: float
    sharpness: float
    entropy_threshold: float
    mean_high: float
    mean_low: float
    entropy_form: str = "mean"
    rounds: int = 10
    relevance_weight: float = 0.9
    floor: float = 0.0
    seed: int = 42

    _GATE: ClassVar[tuple[str, ...]] = (
        "sharpness", "entropy_threshold", "mean_high", "mean_low", "entropy_form",
    )  # fmt: skip

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests; only unfamiliar ones recollect."""
        settings: dict[str, Any] = dict(vars(self))
        gate = Gate(**{name: settings.pop(name) for name in self._GATE})
        deliberate = ReleasedRecollection(**settings)
        direct = Familiarity(self.k, self.floor)
        found = []
        for request in requests:
            for index, ranking in enumerate(direct.search([request])):
                if gate.is_familiar(np.asarray(ranking.scores)):
                    found.append(ranking)
                    continue
                one = replace(
                    request,
                    query_ids=[ranking.query_id],
                    query_texts=[request.query_texts[index]],
                    query_vectors=request.vectors_of_queries()[index : index + 1],
                )
                found.extend(deliberate.search([one]))
        return found


RETRIEVERS = {
    "familiarity": Familiarity,
    "recollection": ReleasedRecollection,
    "gated": ReleasedRFMem,
}
