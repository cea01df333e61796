"""Dense retrieval: the docs whose best key is most similar to the query."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memrepro.core.key_schemes import EXPANSION
from memrepro.core.keys import Keys, Request, best_first, ranked, score_all
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import Doubles
from memrepro.retrieve.dense import index


@dataclass(frozen=True)
class Dense:
    """Top-k by inner product; cosine where the encoder normalises (LongMemEval §5.1)."""

    k: int

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests; all large memories through faiss."""
        return index.search(requests, self.k)


@dataclass(frozen=True)
class Pooled:
    """Top-k by one key a doc: the mean of its keys' vectors, scaled to length 1.

    One vector of a text that is longer than the encoder's limit, from keys cut into windows
    (`core.key_schemes.windows`), which weigh alike. A doc without a key is not found.

    Attributes:
        k: length of a ranking.
    """

    k: int

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        return best_first(((one, _pooled(one)) for one in requests), self.k)


def _pooled(request: Request) -> Doubles:
    """The similarity of each query with each doc, shape (n_queries, n_docs); −inf without a key."""
    keys, queries = request.keys, request.vectors_of_queries()
    scores = np.full((len(queries), len(keys.doc_ids)), -np.inf)
    owned, starts = np.unique(keys.owner, return_index=True)
    # The mean's direction is the sum's; in double precision, as all scores.
    sums = np.add.reduceat(keys.key_vectors().astype(np.float64), starts, axis=0)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    scores[:, owned] = queries.astype(np.float64) @ sums.T
    return scores


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

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests; keys must be fielded."""
        scored = score_all(requests)
        return best_first(((one, self._mixed(one.keys, scores)) for one, scores in scored), self.k)

    def _mixed(self, keys: Keys, key_scores: Doubles) -> Doubles:
        """The mixture of each query with each doc, shape (n_queries, n_docs)."""
        mine = np.array([field == self.field for field in keys.fields])
        first, second = keys.best(key_scores, mine), keys.best(key_scores, ~mine)
        with np.errstate(invalid="ignore"):  # 0 · −∞, where a field is missing: not used below
            mixed = self.alpha * first + (1 - self.alpha) * second
        return np.where(np.isneginf(first), second, np.where(np.isneginf(second), first, mixed))


@dataclass(frozen=True)
class EachKey:
    """Top-k keys, each of which takes a place: as LongMemEval's released code lists expanded keys.

    There an expansion that is no part of another key (`separate`, and the `split-` modes) is an
    item of its own under its doc's id (`resolve_expansion`), so that a list of k items may name a
    doc several times, and fewer than k docs. A doc has the rank of its best key here; what it takes
    besides is left out, but counts. Recall at k is the code's; its NDCG counts a relevant doc once
    for each of its places, and ours for the first. Of keys of one score, those of one doc stand
    together, by the rule for ties.

    Attributes:
        k: places of a ranking.
    """

    k: int

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request, key_scores in score_all(requests):
            owner = request.keys.owner
            # A key's own tie key is its doc's place among them, then its own among the doc's keys.
            ties = np.argsort(np.argsort(request.keys.ties[owner], kind="stable"))
            for query_id, scores in zip(request.query_ids, key_scores, strict=True):
                keys = top_k(scores, ties, self.k)
                first = np.sort(np.unique(owner[keys], return_index=True)[1])
                ranking = ranked(request.keys, query_id, owner[keys[first]], scores[keys[first]])
                found.append(replace(ranking, ranks=tuple((first + 1).tolist())))
        return found


@dataclass(frozen=True)
class RankMerged:
    """Top-k by the ranks in two pools: a doc's own keys and its extracted ones (Appendix E.3).

    The paper says that the pools are searched apart and merged by rank, not how: here a doc takes
    the better of its two ranks, and of two docs at one rank that of the own keys comes first. The
    score of a ranking is −rank. Keys must be expanded in the mode `separate` or `split-separate`.

    Attributes:
        k: length of a ranking.
    """

    k: int

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        found = []
        for request, key_scores in score_all(requests):
            keys = request.keys
            extracted = np.array([field == EXPANSION for field in keys.fields])
            pools = [keys.best(key_scores, which) for which in (~extracted, extracted)]
            for number, query_id in enumerate(request.query_ids):
                places: dict[int, tuple[int, int]] = {}
                for pool, scores in enumerate(pools):
                    best = top_k(scores[number], keys.ties, self.k)
                    for rank, doc in enumerate(best.tolist(), start=1):
                        places[doc] = min(places.get(doc, (rank, pool)), (rank, pool))
                docs = sorted(places, key=places.__getitem__)[: self.k]
                scores = np.array([-places[doc][0] for doc in docs], np.float32)
                found.append(ranked(keys, query_id, np.array(docs, np.intp), scores))
        return found


RETRIEVERS = {
    "dense": Dense,
    "pooled": Pooled,
    "mixture": Mixture,
    "each_key": EachKey,
    "rank_merged": RankMerged,
}
