"""Dense retrieval: the docs whose best key is most similar to the query."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memrepro.keys import Request, best_first
from memrepro.ranking import Ranking


@dataclass(frozen=True)
class Dense:
    """Top-k by inner product; cosine where the encoder normalises (LongMemEval §5.1)."""

    k: int

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        return [
            ranking
            for request in requests
            for ranking in best_first(request, request.doc_scores(), self.k)
        ]


@dataclass(frozen=True)
class Mixture:
    """Top-k by a linear mixture of two fields (max-sim document, §3.3: s_mix).

    A doc that lacks one of the fields is scored by the other alone: the document does not say,
    and a similarity of 0 in its place would beat a real negative one.

    Attributes:
        k: length of a ranking.
        field: the field that alpha weighs (the document's user field).
        alpha: its weight; the other field has 1 − alpha.
    """

    k: int
    field: str
    alpha: float

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests; keys must be fielded."""
        found = []
        for request in requests:
            keys = request.keys
            mine = np.array([field == self.field for field in keys.fields])
            first, second = request.doc_scores(mine), request.doc_scores(~mine)
            mixed = self.alpha * first + (1 - self.alpha) * second
            scores = np.where(
                np.isneginf(first), second, np.where(np.isneginf(second), first, mixed)
            )
            found += best_first(request, scores, self.k)
        return found


RETRIEVERS = {"dense": Dense, "mixture": Mixture}
