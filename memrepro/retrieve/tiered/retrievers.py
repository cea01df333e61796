"""The tiered design (328e0f776fdaed08) as a retriever: sessions stream in, a question has a time.

What a query finds are the docs of WARM's units (turns, segments or sessions) within a window of
days, by the document's score; where WARM is not sure, those of COLD too, the facts extracted from
what is older; and last those of HOT, the latest messages, which are given in any case and so take
no rank from what was searched for. With its parameters at their defaults the whole memory is WARM,
ranked by similarity alone. `memrepro.memory` is the same as a store.

Where requests have ranges and dates, a time in the query is a filter, as in the store: only units
with a date in the query's range are given, and the floor is lifted for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrepro.core.keys import Request, ranked
from memrepro.core.ranking import Ranking
from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.retrieve.tiered.keys.key_builder import TieredKeys, TimedRequest, Units
from memrepro.retrieve.tiered.keys.lexical import Lexical
from memrepro.retrieve.tiered.scoring import (
    additive_recency,
    bucket_recency,
    combined,
    hybrid,
    memory_bank,
)
from memrepro.retrieve.tiered.selection import adaptive, mmr

RECENCIES = ("none", "additive", "buckets", "memory_bank")


@dataclass(frozen=True)
class Tiered:
    """HOT, WARM and COLD under the document's scores.

    Attributes:
        k: length of a ranking.
        alpha: weight of the cosine, the rest being BM25's (document: 0.7).
        recency: 'none', 'additive' (`computeMemoryScore`), 'buckets' in its place, or 'memory_bank'
            (similarity × decay; its conflict penalty needs the store, which knows conflicts).
        rate: of the decay an hour (document: 0.01).
        reinforced: whether what a question was given counts as accessed, so that later questions of
            the memory find it fresher; they are asked in order of time, then id.
        floor: the least cosine of what is given (document: 0.65-0.70); 0 for none.
        diversity: MMR's lambda (document: 0.7); 1 for none.
        units: how many units are given; 0 for all.
        adapted: whether the cosines decide how many of `units` are given.
        warm_days: WARM's window (document: 7); 0 for all that was said.
        cold: whether COLD is asked too where WARM's best cosine is below `sure`.
        sure: see `cold`; 0 for the floor (the document's "low confidence" has no number).
        hot: how many messages HOT holds (document: 10-20); 0 for none.
    """

    k: int
    alpha: float = 1.0
    recency: str = "none"
    rate: float = 0.01
    reinforced: bool = False
    floor: float = 0.0
    diversity: float = 1.0
    units: int = 0
    adapted: bool = False
    warm_days: float = 0.0
    cold: bool = False
    sure: float = 0.65
    hot: int = 0

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.recency not in RECENCIES:
            raise MemreproError(
                f"tiered: unknown recency {self.recency!r}: known are {', '.join(RECENCIES)}"
            )
        for name in ("alpha", "rate", "diversity"):
            if not 0 <= getattr(self, name) <= 1:
                raise MemreproError(
                    f"tiered: {name} is {getattr(self, name)}, and must lie in 0..1"
                )
        if (self.adapted or self.diversity < 1) and not self.units:
            raise MemreproError("tiered: adapted and diversity need `units`, the most to give")
        if self.cold and not self.warm_days:
            raise MemreproError("tiered: cold needs warm_days, as COLD holds what is older")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests.

        Raises:
            MemreproError: if the keys or queries have no times.
        """
        return [ranking for request in requests for ranking in self._search(request)]

    def _search(self, request: Request) -> list[Ranking]:
        if not isinstance(request, TimedRequest) or not isinstance(request.keys, TieredKeys):
            raise MemreproError(
                "tiered: these keys or queries have no times: give the run a key scheme 'tiers:'"
            )
        memory = request.keys.by_unit
        dense = memory.similarities(request)
        lexical = memory.lexical if self.alpha < 1 else None
        accessed, accesses = memory.said.copy(), np.zeros(len(memory.said))
        found: dict[int, Ranking] = {}
        in_time = sorted(range(len(dense)), key=lambda i: (request.asked[i], request.query_ids[i]))
        for number in in_time:
            now = request.asked[number]
            taken, scores = self._units(
                memory, request.query_texts[number], dense[number], lexical, now, accessed,
                accesses, _in_range(request, memory, number),
            )  # fmt: skip
            if self.reinforced:
                accessed[taken], accesses[taken] = now, accesses[taken] + 1
            docs, values = self._docs(request.keys, memory, taken, scores, now)
            found[number] = ranked(request.keys, request.query_ids[number], docs, values)
        return [found[number] for number in range(len(dense))]

    def _units(
        self, memory: Units, text: str, dense: Doubles, lexical: Lexical | None, now: float,
        accessed: Doubles, accesses: Doubles, in_range: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.intp], Doubles]:  # fmt: skip
        """The units that are given, the first first, and their scores."""
        past = memory.said <= now
        if in_range is not None:
            past &= in_range
        recent = past & (now - memory.said <= self.warm_days * 86400) if self.warm_days else past
        held = memory.warm & recent
        similar = self._similar(text, dense, lexical, held)
        if self.cold and dense[held].max(initial=-np.inf) < (self.sure or self.floor):
            facts = ~memory.warm & past & ~recent
            similar = np.where(facts, self._similar(text, dense, lexical, facts), similar)
            held = held | facts
        if self.floor and in_range is None:
            held = held & (dense >= self.floor)
        scores = self._score(similar, (now - accessed) / 3600, accesses)
        order = memory.in_order(scores, held)
        n = self.units or len(order)
        if self.adapted:
            n = adaptive(np.sort(dense[order])[::-1][:n].tolist())
        if self.diversity < 1:
            order = order[mmr(scores[order], memory.vectors(order), self.diversity, n)]
        return order[:n], scores[order[:n]]

    def _similar(
        self, text: str, dense: Doubles, lexical: Lexical | None, held: NDArray[np.bool_]
    ) -> Doubles:
        """The similarity of each unit that is held, shape (n_units,)."""
        if lexical is None:
            return dense
        return hybrid(dense, lexical.scores(text, held), self.alpha)

    def _score(self, similar: Doubles, hours: Doubles, accesses: Doubles) -> Doubles:
        """The document's score of each unit; these data have no channels and no importance."""
        counts = accesses if self.reinforced else 0.0
        decay = additive_recency(hours, self.rate)
        if self.recency == "memory_bank":
            return memory_bank(similar, decay, 0.0, 0.0)
        if self.recency == "none":
            return combined(similar, 1.0, 0.0, accesses=counts)
        boost = bucket_recency(hours) if self.recency == "buckets" else decay
        return combined(similar, 1.0, boost, accesses=counts)

    def _docs(
        self, keys: TieredKeys, memory: Units, taken: NDArray[np.intp], scores: Doubles, now: float
    ) -> tuple[NDArray[np.intp], Doubles]:
        """The docs of the units in their order, then HOT's, the latest first; each doc once."""
        found: dict[int, float] = {}
        for unit, score in zip(taken, scores, strict=True):
            if len(found) >= self.k:
                break
            for doc in sorted(memory.docs[unit], key=lambda d: keys.ties[d]):
                found.setdefault(doc, float(score))
        left, below = self.hot, min(found.values(), default=0.0) - 1
        for doc in np.lexsort((keys.ties, -keys.doc_said)) if self.hot else ():
            if left <= 0:
                break
            if keys.doc_said[doc] <= now:
                found.setdefault(int(doc), below)
                left -= int(keys.doc_turns[doc])
        best = list(found)[: self.k]
        return np.array(best, np.intp), np.array([found[doc] for doc in best])


def _in_range(request: Request, memory: Units, number: int) -> NDArray[np.bool_] | None:
    """Which units have a date in the range that a query asks about; None where it asks about none.

    A unit's dates are those of its docs.
    """
    span = request.ranges[number] if request.ranges is not None else None
    if span is None or request.doc_dates is None:
        return None
    meant = [
        any(first <= span[1] and last >= span[0] for first, last in dates)
        for dates in request.doc_dates
    ]
    return np.array([any(meant[doc] for doc in docs) for docs in memory.docs])


RETRIEVERS = {"tiered": Tiered}
