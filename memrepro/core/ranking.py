"""Rankings and runs: the one top-k rule and the one tie rule.

A *run* is a table `query_id, doc_id, rank, score`, rank from 1. The rank is what counts: a
method that lists docs in order of discovery (RF-Mem's recollection) has scores that do not fall.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.errors import MemreproError

COLUMNS = ["query_id", "doc_id", "rank", "score"]


@dataclass(frozen=True)
class Ranking:
    """The docs found for one query, best first, with the score that each was found by."""

    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse a doc that is named twice."""
        if len(set(self.doc_ids)) < len(self.doc_ids) or len(self.doc_ids) != len(self.scores):
            raise MemreproError(
                f"the ranking of query {self.query_id!r} holds {len(self.doc_ids)} docs, "
                f"{len(set(self.doc_ids))} of them distinct, and {len(self.scores)} scores: "
                "each doc must stand once, with one score"
            )


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
    if k < 1:
        raise MemreproError(f"k is {k}: a ranking needs k of at least 1")
    if np.isnan(scores).any():
        raise MemreproError(
            f"{int(np.isnan(scores).sum())} of {scores.size} scores are NaN: an embedding is "
            "damaged; delete the embedding cache and run the embed stage again"
        )
    chosen = np.arange(scores.size)
    if k < scores.size:
        # Only docs that reach the k-th best score can stand among the k best, ties included.
        chosen = np.flatnonzero(scores >= np.partition(scores, scores.size - k)[scores.size - k])
    order = chosen[np.lexsort((ties[chosen], -scores[chosen]))[:k]]
    return order[scores[order] > -np.inf]


def top_rows(
    scores: NDArray[np.floating], ties: NDArray[np.integer], k: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """`top_k` of each row of scores, shape (n_rows, n_docs), in a few steps for all of them.

    Returns:
        The docs of all rows, one row after the other, and where each row's begin and the last one's
        end, shape (n_rows + 1,).
    """
    n_rows, n_docs = scores.shape
    if n_rows < 2 or k < 1 or np.isnan(scores).any():
        found = [top_k(row, ties, k) for row in scores]
        ends = np.cumsum([0, *map(len, found)])
        return np.concatenate([np.zeros(0, np.intp), *found]), ends
    if k < n_docs:
        least = np.partition(scores, n_docs - k, axis=1)[:, n_docs - k]
        chosen = np.flatnonzero(scores >= least[:, None])
    else:
        chosen = np.arange(scores.size)
    row, doc = np.divmod(chosen, n_docs)
    reached = scores.ravel()[chosen]
    order = np.lexsort((ties[doc], -reached, row))
    # Of the first k of each row, those that may be returned.
    rank = np.arange(len(row)) - np.searchsorted(row, np.arange(n_rows))[row]
    order = order[(rank < k) & (reached[order] > -np.inf)]
    return doc[order], np.searchsorted(row[order], np.arange(n_rows + 1))


def to_frame(rankings: Iterable[Ranking]) -> pd.DataFrame:
    """A run: one row a (query, doc), in the order of the rankings, rank from 1."""
    listed = list(rankings)
    sizes = [len(ranking.doc_ids) for ranking in listed]
    frame = pd.DataFrame(
        {
            "query_id": np.repeat(np.array([r.query_id for r in listed], object), sizes),
            "doc_id": list(chain.from_iterable(r.doc_ids for r in listed)),
            "rank": np.concatenate([np.zeros(0), *(np.arange(1, n + 1) for n in sizes)]),
            "score": np.fromiter(chain.from_iterable(r.scores for r in listed), np.float64),
        },
        columns=COLUMNS,
    )
    return frame.astype({"rank": np.int32, "score": np.float32})
