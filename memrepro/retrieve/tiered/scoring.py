"""The tiered document's scores of a memory, on arrays ("Retrieval tuning" of 328e0f776fdaed08).

Times are hours. What the document leaves open is said at each function.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from memrepro.core.similarity import Doubles

# "Time decay formulas": the last hour, day, 7 days, 30 days, and older.
BUCKETS = ((1.0, 1.0), (24.0, 0.9), (7 * 24.0, 0.75), (30 * 24.0, 0.5), (np.inf, 0.3))
CHANNEL_WEIGHTS: Mapping[str, float] = {"telegram": 1.0, "ide": 0.9, "cli": 0.9}
OTHER_CHANNEL = 0.8
IMPORTANCE_WEIGHT = 0.2
PER_ACCESS, MOST_OF_ACCESSES = 0.02, 0.1


def additive_recency(hours: ArrayLike, rate: float) -> Doubles:
    """`(1 - rate)^hours` since the last access; a time that is still to come counts as now."""
    return np.asarray((1.0 - rate) ** np.maximum(np.asarray(hours, np.float64), 0.0))


def half_life(rate: float) -> float:
    """The hours after which `additive_recency` is one half: ln 2 / -ln(1 - rate)."""
    return float(np.log(2) / -np.log1p(-rate)) if rate > 0 else float("inf")


def bucket_recency(hours: ArrayLike) -> Doubles:
    """The weight of the time bucket, its upper end included ("Last 24 hours: 0.9")."""
    ends = [end for end, _ in BUCKETS]
    weights = np.array([weight for _, weight in BUCKETS])
    return weights[np.searchsorted(ends, np.maximum(np.asarray(hours, np.float64), 0.0))]


def reinforcement(accesses: ArrayLike) -> Doubles:
    """0.02 an access, at most 0.1."""
    return np.minimum(np.asarray(accesses, np.float64) * PER_ACCESS, MOST_OF_ACCESSES)


def channel_weight(channel: str) -> float:
    """The channel's weight; 0.8 for one that the document does not name."""
    return CHANNEL_WEIGHTS.get(channel, OTHER_CHANNEL)


def combined(
    similarity: ArrayLike,
    channel: ArrayLike,
    recency: ArrayLike,
    importance: ArrayLike = 0.0,
    accesses: ArrayLike = 0.0,
) -> Doubles:
    """`computeMemoryScore`: similarity × channel weight + recency + importance + reinforcement.

    Similarity is semantic or hybrid; recency, of the last access, and importance lie in 0..1.
    """
    weighted = np.asarray(similarity, np.float64) * np.asarray(channel, np.float64)
    boosts = IMPORTANCE_WEIGHT * np.asarray(importance, np.float64) + reinforcement(accesses)
    return np.asarray(weighted + np.asarray(recency, np.float64) + boosts)


def memory_bank(
    similarity: ArrayLike, time_weight: ArrayLike, conflict: ArrayLike, gamma: float
) -> Doubles:
    """MemoryBank's `sim × w_time - γ × conflict`, as the document prints it; γ it does not name."""
    product = np.asarray(similarity, np.float64) * np.asarray(time_weight, np.float64)
    return np.asarray(product - gamma * np.asarray(conflict, np.float64))


def hybrid(dense: ArrayLike, lexical: ArrayLike, alpha: float) -> Doubles:
    """`alpha` of the cosine and `1 - alpha` of BM25, the latter as a share of its largest value.

    The document gives the weights alone; BM25 has no upper end, so it is divided by the best of the
    texts that are scored together. Where no text has a word of the query, BM25 adds nothing. The
    texts are along the last axis of both.
    """
    found = np.asarray(lexical, np.float64)
    best = found.max(axis=-1, keepdims=True, initial=0.0)
    share = np.divide(found, best, out=np.zeros_like(found), where=best > 0)
    return np.asarray(alpha * np.asarray(dense, np.float64) + (1 - alpha) * share)
