"""Time-aware retrieval: docs of the dates that a question asks about come first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memrepro.core.keys import Request, ranked, score_all
from memrepro.core.ranking import Ranking, top_k
from memrepro.errors import MemreproError
from memrepro.retrieve.lexical import check_alpha, hybrid_scores


@dataclass(frozen=True)
class TimeFiltered:
    """Retrieval, then the official time filter (LongMemEval §5.4; docs/protocols.md).

    A doc is in range if one of its dates lies in the question's range, widened on both sides. Docs
    out of range are moved behind the others in their old order, not removed. A question that asks
    about no dates keeps its ranking.

    Attributes:
        k: length of a ranking.
        margin: days by which a range is widened on both sides (released code: 2).
        alpha: weight of the cosine in what is filtered, the rest being BM25's; 1: dense alone.
    """

    k: int
    margin: int = 2
    alpha: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a weight that is none."""
        check_alpha(self.alpha, "timeaware.filtered")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request, key_scores in score_all(requests):
            keys = request.keys
            if request.ranges is None or request.doc_dates is None:
                raise MemreproError(
                    "these queries have no ranges or these docs no dates: give the experiment "
                    "`ranges` and `dates`"
                )
            doc_scores = hybrid_scores(request, key_scores, self.alpha)
            owner = np.repeat(np.arange(len(request.doc_dates)), [*map(len, request.doc_dates)])
            dates = np.array([d for of_doc in request.doc_dates for d in of_doc]).reshape(-1, 2)
            for query_id, asked, scores in zip(
                request.query_ids, request.ranges, doc_scores, strict=True
            ):
                inside = np.ones(len(scores), np.bool_)
                if asked is not None:
                    first, last = asked[0] - self.margin, asked[1] + self.margin
                    inside[:] = False
                    inside[owner[(dates[:, 0] <= last) & (dates[:, 1] >= first)]] = True
                best = top_k(np.where(inside, scores, -np.inf), keys.ties, self.k)
                if len(best) < self.k:
                    rest = np.where(inside, -np.inf, scores)
                    best = np.concatenate([best, top_k(rest, keys.ties, self.k - len(best))])
                found.append(ranked(keys, query_id, best, scores[best]))
        return found


RETRIEVERS = {"filtered": TimeFiltered}
