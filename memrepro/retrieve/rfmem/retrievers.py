"""RF-Mem: familiarity, recollection and the gate between them, as released and as printed.

Source: RF-Mem §2, Appendices B and E, Algorithms 1-3; 'released' follows the released code where it
differs (docs/protocols.md, RF-Mem: paper and released code), 'printed' the paper, read as the
docstring of `memrepro.retrieve.rfmem.recollection` says.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.core.keys import Request, best_first, blocks_of, ranked, score_all
from memrepro.core.ranking import Ranking
from memrepro.core.similarity import Doubles
from memrepro.retrieve.lexical import check_alpha, hybrid_scores
from memrepro.retrieve.rfmem.gate import Gate
from memrepro.retrieve.rfmem.nearest import QueryBatch
from memrepro.retrieve.rfmem.recollection import (
    Hits,
    Printed,
    Released,
    Searches,
    Settings,
    recollect,
)

_BLOCK = 1 << 26  # numbers of the docs that are searched in one go


@dataclass(frozen=True)
class Trace:
    """How each query was answered.

    Attributes:
        queries: `query_id, path, mean, entropy, rounds`: 'familiarity' or 'recollection'; the
            gate's signals, missing where there is no gate or no hit; the rounds searched, 0 for
            familiarity.
        branches: `query_id` and the columns of `Searches`: one row a search of recollection.
        hits: `query_id, doc_id, rank, score, round, branch, cluster`: the ranking, and the round,
            branch and cluster where each doc was found; −1 for familiarity.
    """

    queries: pd.DataFrame
    branches: pd.DataFrame
    hits: pd.DataFrame


@dataclass(frozen=True)
class Familiarity:
    """One-shot top-k by similarity (Eq. 4, Algorithm 2).

    Attributes:
        k: the paper's K, length of a ranking.
        floor: a doc scoring less is dropped (released code: 0 on PersonaBench).
    """

    k: int
    floor: float = 0.0

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        scored = ((one, one.doc_scores()) for one in requests)
        above = ((one, np.where(s >= self.floor, s, -np.inf)) for one, s in scored)
        return best_first(above, self.k)


@dataclass(frozen=True, kw_only=True)
class _Recollection(Settings):
    """Retrieve → cluster → α-mix → iterate (§2.3, Algorithm 3)."""

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests; a doc without a key is not found."""
        return [
            ranking
            for block in blocks_of(_searchable(requests), _size, _BLOCK)
            for ranking in _rankings(block, recollect(_batches(block), self))
        ]

    def trace(self, requests: Sequence[Request]) -> Trace:
        """How each query is answered; its hits are the rankings of `search`."""
        queries, branches, hits = [], [], []
        for block in blocks_of(_searchable(requests), _size, _BLOCK):
            searches: list[Searches] = []
            found = recollect(_batches(block), self, searches)
            ids = np.array([name for request in block for name in request.query_ids], object)
            rounds = np.bincount(np.concatenate([np.unique(one.query) for one in searches]))
            queries.append(pd.DataFrame({"query_id": ids, "path": "recollection"}))
            queries[-1][["mean", "entropy"]] = np.nan
            queries[-1]["rounds"] = rounds
            table = pd.concat([pd.DataFrame(vars(one)) for one in searches])
            table = table.sort_values(["query", "round", "branch"], ignore_index=True)
            table.insert(0, "query_id", ids[table.pop("query")])
            branches.append(table)
            table = _hits(_rankings(block, found))
            hits.append(table.assign(round=found.round, branch=found.branch, cluster=found.cluster))
        return Trace(
            _typed(queries, _OF_QUERY), _typed(branches, _OF_BRANCH), _typed(hits, _OF_HIT)
        )


@dataclass(frozen=True, kw_only=True)
class ReleasedRecollection(Released, _Recollection):
    """Recollection as the released code does it."""


# What recollection lists does not depend on what it is added to: a sweep asks for it once.
_listed: WeakKeyDictionary[Request, dict[tuple[object, ...], dict[str, tuple[str, ...]]]]
_listed = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class RecollectionOnHybrid(ReleasedRecollection):
    """What recollection discovers on top of the plain hybrid; in no paper.

    A doc scores its hybrid score and `weight` of its place among the K that recollection lists: all
    of it for the first, 1/K of it for the last, none for a doc that is not listed.

    Attributes:
        cosine: weight of the cosine in the hybrid, the rest being BM25's (`lexical.hybrid_scores`).
        weight: of the place.
    """

    cosine: float
    weight: float

    def __post_init__(self) -> None:
        """Refuse a weight that is none, or what `Settings` refuses."""
        super().__post_init__()
        check_alpha(self.cosine, "rfmem.on_hybrid")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        settings = tuple(getattr(self, one.name) for one in fields(Released))
        new = [one for one in requests if settings not in _listed.get(one, {})]
        listed = iter(super().search(new))
        for one in new:
            of = {query_id: next(listed).doc_ids for query_id in one.query_ids}
            _listed.setdefault(one, {})[settings] = of
        scored = (
            (one, self._scores(one, s, _listed[one][settings])) for one, s in score_all(requests)
        )
        return best_first(scored, self.k)

    def _scores(
        self, request: Request, key_scores: Doubles, found: Mapping[str, Sequence[str]]
    ) -> Doubles:
        """The score of each query with each doc, shape (n_queries, n_docs)."""
        scores = hybrid_scores(request, key_scores, self.cosine)
        place = {doc_id: number for number, doc_id in enumerate(request.keys.doc_ids)}
        for row, query_id in enumerate(request.query_ids):
            for rank, doc_id in enumerate(found[query_id]):
                scores[row, place[doc_id]] += self.weight * (self.k - rank) / self.k
        return scores


@dataclass(frozen=True, kw_only=True)
class PrintedRecollection(Printed, _Recollection):
    """Recollection as Equations 5-8 and Algorithm 3 print it."""


@dataclass(frozen=True, kw_only=True)
class _Gated(_Recollection, ABC):
    """Familiarity or recollection, query by query (Algorithm 1); attributes as of `Gate`."""

    sharpness: float
    entropy_threshold: float
    mean_high: float
    mean_low: float

    @abstractmethod
    def gate(self) -> Gate:
        """What decides between the two paths."""

    def probe(self, requests: Sequence[Request], found: Sequence[Ranking]) -> Sequence[Ranking]:
        """What the gate judges by: familiarity's rankings."""
        return found

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests; only unfamiliar ones recollect."""
        found = list(Familiarity(self.k, self.floor).search(requests))
        unsure = _unfamiliar(self.gate(), self.probe(requests, found))
        deeper = super().search(_only(requests, unsure))
        for place, ranking in zip(np.flatnonzero(unsure), deeper, strict=True):
            found[place] = ranking
        return found

    def trace(self, requests: Sequence[Request]) -> Trace:
        """How each query is answered; its hits are the rankings of `search`."""
        gate = self.gate()
        found = Familiarity(self.k, self.floor).search(requests)
        probed = self.probe(requests, found)
        unsure = _unfamiliar(gate, probed)
        scores = [np.array(ranking.scores) for ranking in probed]
        deeper = super().trace(_only(requests, unsure))
        rounds = np.zeros(len(found), np.int64)
        rounds[unsure] = deeper.queries["rounds"]
        queries = pd.DataFrame(
            {
                "query_id": [ranking.query_id for ranking in found],
                "path": np.where(unsure, "recollection", "familiarity"),
                "mean": [s.mean() if len(s) else np.nan for s in scores],
                "entropy": [gate.entropy(s) if len(s) else np.nan for s in scores],
                "rounds": rounds,
            }
        )
        shallow = _hits([one for one, is_so in zip(found, unsure, strict=True) if not is_so])
        hits = _typed([shallow.assign(round=-1, branch=-1, cluster=-1), deeper.hits], _OF_HIT)
        place = {ranking.query_id: number for number, ranking in enumerate(found)}
        hits = hits.iloc[np.argsort(hits["query_id"].map(place), kind="stable")]
        return Trace(_typed([queries], _OF_QUERY), deeper.branches, hits.reset_index(drop=True))


@dataclass(frozen=True, kw_only=True)
class ReleasedRFMem(Released, _Gated):
    """RF-Mem as released: the entropy's mean over the K probabilities, familiar if H < τ.

    Attributes:
        entropy_form: 'mean' (released code) or 'sum' (Eq. 2).
        probe_floor: the floor of the list that the gate judges by (released code: 0 on PersonaMem,
            where the list that is returned has 0.3); None for `floor`.
        probe_k: how many docs that list has (released code: 10 on LongMemEval, whose K is 50);
            None for `k`.
    """

    entropy_form: str = "mean"
    probe_floor: float | None = None
    probe_k: int | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown form of the entropy, or what `Settings` refuses."""
        super().__post_init__()
        self.gate()

    def probe(self, requests: Sequence[Request], found: Sequence[Ranking]) -> Sequence[Ranking]:
        """What the gate judges by: familiarity's rankings, of the probe's length and floor."""
        k = self.k if self.probe_k is None else self.probe_k
        floor = self.floor if self.probe_floor is None else self.probe_floor
        if (k, floor) == (self.k, self.floor):
            return found
        return Familiarity(k, floor).search(requests)

    def gate(self) -> Gate:
        """What decides between the two paths."""
        return Gate(**{one.name: getattr(self, one.name) for one in fields(Gate)})


@dataclass(frozen=True, kw_only=True)
class PrintedRFMem(Printed, _Gated):
    """RF-Mem as printed: the entropy as a sum (Eq. 2), familiar if H ≤ τ (Eq. 3).

    Algorithm 1 asks for low entropy before it asks for a low mean; Eq. 3, Eq. 12 and §2.1 let a
    mean of at most θ_low recollect whatever the entropy, and are followed.
    """

    def gate(self) -> Gate:
        """What decides between the two paths; H ≤ τ is H < the next number after τ."""
        above = math.nextafter(self.entropy_threshold, math.inf)
        return Gate(self.sharpness, above, self.mean_high, self.mean_low, "sum")


def _searchable(requests: Sequence[Request]) -> list[Request]:
    return [replace(one, keys=one.keys.without_bare_docs()) for one in requests]


def _size(request: Request) -> int:
    """Numbers of a request's docs."""
    return len(request.keys.doc_ids) * int(request.vectors_of_queries().shape[1])


def _batches(requests: Sequence[Request]) -> list[QueryBatch]:
    return [
        QueryBatch(one.vectors_of_queries(), one.keys.doc_vectors(), one.keys.ties)
        for one in requests
    ]


def _rankings(requests: Sequence[Request], hits: Hits) -> list[Ranking]:
    """One ranking a query, in the order of the requests."""
    found, number = [], 0
    for request in requests:
        n_queries = len(request.query_ids)
        ends = np.searchsorted(hits.query, np.arange(number, number + n_queries + 1))
        number += n_queries
        for query_id, start, end in zip(request.query_ids, ends, ends[1:], strict=False):
            found.append(ranked(request.keys, query_id, hits.doc[start:end], hits.score[start:end]))
    return found


def _unfamiliar(gate: Gate, found: Sequence[Ranking]) -> NDArray[np.bool_]:
    """Which rankings do not pass the gate, shape (n_queries,)."""
    return np.array([not gate.is_familiar(np.array(one.scores)) for one in found], np.bool_)


def _only(requests: Sequence[Request], which: NDArray[np.bool_]) -> list[Request]:
    """The requests with some of their queries; those left without one are left out."""
    kept, start = [], 0
    for request in requests:
        picked = np.flatnonzero(which[start : start + len(request.query_ids)]).tolist()
        start += len(request.query_ids)
        if picked:
            kept.append(
                replace(
                    request,
                    query_ids=[request.query_ids[i] for i in picked],
                    query_texts=[request.query_texts[i] for i in picked],
                    query_vectors=request.vectors_of_queries()[picked],
                )
            )
    return kept


def _hits(rankings: Sequence[Ranking]) -> pd.DataFrame:
    rows = [
        (one.query_id, doc_id, rank, score)
        for one in rankings
        for rank, (doc_id, score) in enumerate(zip(one.doc_ids, one.scores, strict=True), start=1)
    ]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"])


_KINDS = {"query_id": "str", "doc_id": "str", "path": "str"} | dict.fromkeys(
    ("mean", "entropy", "score", "drift"), "float64"
)
_OF_QUERY = ("query_id", "path", "mean", "entropy", "rounds")
_OF_BRANCH = ("query_id", *(one.name for one in fields(Searches) if one.name != "query"))
_OF_HIT = ("query_id", "doc_id", "rank", "score", "round", "branch", "cluster")


def _typed(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """The tables as one, which may be none or empty: the columns have their types all the same."""
    filled = [table for table in tables if len(table)]
    table = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=list(columns))
    return table.astype({name: _KINDS.get(name, "int64") for name in columns})


RETRIEVERS = {
    "familiarity": Familiarity,
    "recollection": ReleasedRecollection,
    "on_hybrid": RecollectionOnHybrid,
    "gated": ReleasedRFMem,
    "recollection_printed": PrintedRecollection,
    "gated_printed": PrintedRFMem,
}
