"""BM25 as the library that LongMemEval's released code uses, `rank_bm25`, scores; and a hybrid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memrepro.core.keys import Keys, Request, best_first, score_all
from memrepro.core.ranking import Ranking
from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.retrieve.lexical import TOKENISATIONS, bm25_scores, check_alpha, hybrid_scores


@dataclass(frozen=True)
class BM25:
    """Okapi BM25 over each memory's own keys.

    Attributes:
        k: length of a ranking.
        tokenisation: 'official', 'words', or 'pairs' for Chinese, Japanese, Korean and Thai too.
        ties: 'id' (this project's rule) or 'reverse_input', the last first: what the official
            argsort()[::-1] gives with a stable sort (its own is not, so ties can differ there).
        k1: term-frequency saturation.
        b: length normalisation.
        epsilon: floor of a negative idf, as a share of the mean idf.
    """

    k: int
    tokenisation: str = "words"
    ties: str = "id"
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25

    def __post_init__(self) -> None:
        """Refuse an unknown tokenisation or tie rule."""
        for value, known in (
            (self.tokenisation, tuple(TOKENISATIONS)),
            (self.ties, ("id", "reverse_input")),
        ):
            if value not in known:
                raise MemreproError(f"bm25: unknown value {value!r}: known are {', '.join(known)}")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        if self.ties == "reverse_input":
            requests = [_last_first(request) for request in requests]
        scored = ((one, self.doc_scores(one.keys, one.query_texts)) for one in requests)
        return best_first(scored, self.k)

    def doc_scores(self, keys: Keys, queries: Sequence[str]) -> Doubles:
        """BM25 of each query with each doc's best key, shape (n_queries, n_docs)."""
        return bm25_scores(keys, queries, self.tokenisation, self.k1, self.b, self.epsilon)


def _last_first(request: Request) -> Request:
    """The request with ties that put the last doc of the memory first."""
    ties = np.arange(len(request.keys.doc_ids), dtype=np.uint64)[::-1]
    return replace(request, keys=replace(request.keys, ties=ties))


@dataclass(frozen=True)
class Hybrid:
    """The plain hybrid of cosine and BM25 over the same keys (`lexical.hybrid_scores`).

    Attributes:
        k: length of a ranking.
        alpha: weight of the cosine, in 0..1.
    """

    k: int
    alpha: float

    def __post_init__(self) -> None:
        """Refuse a weight that is none."""
        check_alpha(self.alpha, "bm25.hybrid")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        scored = score_all(requests)
        return best_first(((one, self.doc_scores(one, scores)) for one, scores in scored), self.k)

    def doc_scores(self, request: Request, key_scores: Doubles) -> Doubles:
        """The score of each query with each doc, shape (n_queries, n_docs)."""
        return hybrid_scores(request, key_scores, self.alpha)


@dataclass(frozen=True)
class WithNeighbours(Hybrid):
    """The plain hybrid, to which a doc's neighbours add: an answer is often next to its topic.

    A neighbour is the doc before or after in the same session. A doc scores its own hybrid score
    and `share` of the better neighbour's.

    Attributes:
        k: as of `Hybrid`.
        alpha: as of `Hybrid`.
        share: of the better neighbour's score, from 0.
    """

    share: float = 0.3

    def doc_scores(self, request: Request, key_scores: Doubles) -> Doubles:
        """The score of each query with each doc, shape (n_queries, n_docs)."""
        own = super().doc_scores(request, key_scores)
        if request.doc_sessions is None:
            raise MemreproError("bm25.with_neighbours: these docs have no sessions")
        together = request.doc_sessions[1:] == request.doc_sessions[:-1]
        best = np.full_like(own, -np.inf)
        best[:, 1:] = np.where(together, own[:, :-1], -np.inf)
        best[:, :-1] = np.maximum(best[:, :-1], np.where(together, own[:, 1:], -np.inf))
        return own + self.share * np.where(np.isneginf(best), 0.0, best)


RETRIEVERS = {"bm25": BM25, "hybrid": Hybrid, "with_neighbours": WithNeighbours}
