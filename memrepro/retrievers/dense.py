"""Dense retrieval: the docs whose best key is most similar to the query."""

from collections.abc import Sequence
from dataclasses import dataclass

from memrepro.keys import Request
from memrepro.ranking import Ranking, top_k


@dataclass(frozen=True)
class Dense:
    """Top-k by inner product; cosine where the encoder normalises (LongMemEval §5.1)."""

    k: int

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request in requests:
            for query_id, scores in zip(request.query_ids, request.doc_scores(), strict=True):
                best = top_k(scores, request.keys.ties, self.k)
                ids = tuple(request.keys.doc_ids[i] for i in best)
                found.append(Ranking(query_id, ids, tuple(float(s) for s in scores[best])))
        return found


RETRIEVERS = {"dense": Dense}
