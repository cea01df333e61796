"""Rankings and runs: the one top-k rule and the one tie rule.

A *run* is a table `query_id, doc_id, rank, score`, rank from 1. Ranks count 1, 2, 3 …, but for a
list in which a doc takes several places: it has the first of them. The rank is what counts: a
method that lists docs in order of discovery (RF-Mem's recollection) has scores that do not fall.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.errors import MemreproError

COLUMNS = ["query_id", "doc_id", "rank", "score"]
_SORTED = 256  # so many docs are sorted in less time than their best are picked out


@dataclass(frozen=True)
class Ranking:
    """The docs found for one query, best first, with the score that each was found by.

    Attributes:
        query_id: whose docs they are.
        doc_ids: shape (n_docs,).
        scores: shape (n_docs,).
        ranks: shape (n_docs,), ascending; None for 1, 2, 3 …. A list whose places are taken by
            keys, of which a doc may have several, leaves gaps.
    """

    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]
    ranks: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse a doc that is named twice."""
        if len(set(self.doc_ids)) < len(self.doc_ids) or len(self.doc_ids) != len(self.scores):
            raise MemreproError(
                f"the ranking of query {self.query_id!r} holds {len(self.doc_ids)} docs, "
                f"{len(set(self.doc_ids))} of them distinct, and {len(self.scores)} scores: "
                "each doc must stand once, with one score"
            )


@dataclass(frozen=True, eq=False)
class Rankings(Sequence[Ranking]):
    """The rankings of many queries as one table; a `Ranking` is made of it where one is asked for.

    Attributes:
        query_ids: shape (n_queries,).
        doc_ids: of all rankings, one after the other, shape (n_hits,).
        scores: that each doc was found by, shape (n_hits,).
        ends: where each ranking begins and the last one ends, shape (n_queries + 1,).
        ranks: as of `Ranking`, shape (n_hits,); None where all count 1, 2, 3 ….
        recall: where the search was approximate, the share of the exact search's docs that these
            hold, the least of any memory's; None where all are exact.
    """

    query_ids: Sequence[str]
    doc_ids: NDArray[np.object_]
    scores: NDArray[np.float64]
    ends: NDArray[np.intp]
    ranks: NDArray[np.int64] | None = None
    recall: float | None = None

    @staticmethod
    def from_rankings(rankings: Iterable[Ranking]) -> "Rankings":
        """The rankings as a table."""
        listed = list(rankings)
        return Rankings(
            [one.query_id for one in listed],
            np.array(list(chain.from_iterable(one.doc_ids for one in listed)), object),
            np.fromiter(chain.from_iterable(one.scores for one in listed), np.float64),
            np.cumsum([0, *(len(one.doc_ids) for one in listed)]),
            _ranks(listed),
        )

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    def __getitem__(self, at: Any) -> Any:
        """One ranking, or a list of those of a slice."""
        if isinstance(at, slice):
            return [self[place] for place in range(len(self))[at]]
        place = range(len(self))[at]
        hits = slice(*self.ends[place : place + 2].tolist())
        return Ranking(
            self.query_ids[place],
            tuple(self.doc_ids[hits]),
            tuple(self.scores[hits].tolist()),
            None if self.ranks is None else tuple(self.ranks[hits].tolist()),
        )


def _ranks(listed: Sequence[Ranking]) -> NDArray[np.int64] | None:
    """The ranks of all rankings, one after the other; None where none has its own."""
    if all(one.ranks is None for one in listed):
        return None
    each = (one.ranks or range(1, len(one.doc_ids) + 1) for one in listed)
    return np.fromiter(chain.from_iterable(each), np.int64)


def tie_keys(doc_ids: Sequence[str]) -> NDArray[np.uint64]:
    """What decides between docs of one score, the least first, shape (n_docs,).

    It is the beginning of the SHA-256 of the id. By the id itself a tie would leak relevance:
    LongMemEval's gold ids start with 'answer'.
    """
    digests = (hashlib.sha256(doc_id.encode()).digest()[:8] for doc_id in doc_ids)
    return np.frombuffer(b"".join(digests), ">u8").astype(np.uint64)


def top_k(scores: NDArray[np.floating], ties: NDArray[np.integer], k: int) -> NDArray[np.intp]:
    """The indices of the k best scores, best first; a score of −inf is never returned.

    Args:
        scores: shape (n_docs,).
        ties: shape (n_docs,), from `tie_keys`.
        k: at least 1.

    Raises:
        MemreproError: if k < 1 or a score is NaN.
    """
    _check(scores, k)
    chosen = np.arange(scores.size)
    if k < scores.size:
        # Only docs that reach the k-th best score can stand among the k best, ties included.
        chosen = np.flatnonzero(scores >= np.partition(scores, scores.size - k)[scores.size - k])
    order = chosen[np.lexsort((ties[chosen], -scores[chosen]))[:k]]
    return order[scores[order] > -np.inf]


def _check(scores: NDArray[np.floating], k: int) -> None:
    """Refuse what cannot be ranked."""
    if k < 1:
        raise MemreproError(f"k is {k}: a ranking needs k of at least 1")
    if np.isnan(scores).any():
        raise MemreproError(
            f"{int(np.isnan(scores).sum())} of {scores.size} scores are NaN: an embedding is "
            "damaged; delete the embedding cache and run the embed stage again"
        )


def top_rows(
    scores: NDArray[np.floating], ties: NDArray[np.integer], memory: NDArray[np.intp], k: int
) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
    """`top_k` of each row of scores, in a few steps for all of them.

    Args:
        scores: shape (n_rows, n_docs).
        ties: of each memory's docs, shape (n_memories, n_docs).
        memory: of each row, shape (n_rows,).
        k: at least 1.

    Returns:
        The docs of each row, best first, and their scores, each of shape (n_rows, min(k, n_docs));
        a row with fewer scores above −inf ends with others, which are not to be returned.

    Raises:
        MemreproError: as `top_k`.
    """
    _check(scores, k)
    n_rows, n_docs = scores.shape
    n = min(k, n_docs)
    # One more than n, which shows whether the last one ties; few docs are sorted as they are.
    if n_docs > max(_SORTED, 2 * n):
        docs = np.argpartition(scores, n_docs - n - 1, axis=1)[:, n_docs - n - 1 :]
        order = np.argsort(-np.take_along_axis(scores, docs, axis=1), axis=1)
        docs = np.take_along_axis(docs, order, axis=1)
    else:
        docs = np.argsort(-scores, axis=1)[:, : n + 1]
    reached = scores.ravel()[docs + n_docs * np.arange(n_rows)[:, None]]
    tied = (reached[:, 1:] == reached[:, :-1]) & (reached[:, 1:] > -np.inf)
    docs, reached = docs[:, :n], reached[:, :n]
    if len(rows := np.flatnonzero(tied.any(axis=1))):
        # Only docs that reach the n-th best score can stand among the n best.
        row, doc = np.nonzero(scores[rows] >= reached[rows, -1:])
        own = scores[rows[row], doc]
        order = np.lexsort((ties[memory[rows[row]], doc], -own, row))
        order = order[np.searchsorted(row, np.arange(len(rows)))[:, None] + np.arange(n)]
        docs[rows], reached[rows] = doc[order], own[order]
    return docs, reached


def to_frame(rankings: Iterable[Ranking]) -> pd.DataFrame:
    """A run: one row a (query, doc), in the order of the rankings."""
    table = rankings if isinstance(rankings, Rankings) else Rankings.from_rankings(rankings)
    sizes, ranks = np.diff(table.ends), table.ranks
    if ranks is None:
        ranks = np.arange(1, len(table.doc_ids) + 1) - np.repeat(table.ends[:-1], sizes)
    # Named, as a table without a row has no values to tell the type by.
    frame = pd.DataFrame(
        {
            "query_id": pd.array(np.repeat(np.array(table.query_ids, object), sizes), "str"),
            "doc_id": pd.array(table.doc_ids.tolist(), "str"),
            "rank": ranks,
            "score": table.scores,
        },
        columns=COLUMNS,
    )
    return frame.astype({"rank": np.int32, "score": np.float32})
