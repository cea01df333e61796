"""Which scored memories are given, and how many ("Optimal retrieval parameters")."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles, Floats

# "If the top result scores > 0.85, return only top 1-2; if clustered between 0.70-0.80, top-5."
SURE, CLUSTER = 0.85, (0.70, 0.80)
FEW, USUAL, MOST = 2, 3, 5


def mmr(relevance: Doubles, vectors: Floats, weight: float, k: int) -> NDArray[np.intp]:
    """Maximal marginal relevance: which to take, in order of taking.

    Each step takes the largest `weight × relevance - (1 - weight) × (largest cosine with what is
    taken)`; of equals the first, so give them in the order that ties shall have. The weight is the
    document's lambda, 0.7; 1 is the order of relevance. Vectors have length one.
    """
    doubles = vectors.astype(np.float64)
    left = np.ones(len(relevance), np.bool_)
    closest = np.zeros(len(relevance))
    taken: list[int] = []
    while left.any() and len(taken) < k:
        value = np.where(left, weight * relevance - (1 - weight) * closest, -np.inf)
        best = int(np.argmax(value))
        similar = doubles @ doubles[best]
        closest = np.maximum(closest, similar) if taken else similar
        taken.append(best)
        left[best] = False
    return np.array(taken, np.intp)


def adaptive(similarities: Sequence[float]) -> int:
    """How many of the best to give, by their similarities, the largest first.

    Above 0.85 one or two: those of the first two that are above it. Where the first five lie
    between 0.70 and 0.80, five. The document names no other case: three, the lower end of its 3-5.
    """
    if not len(similarities):
        return 0
    if similarities[0] > SURE:
        return sum(s > SURE for s in similarities[:FEW])
    if len(similarities) >= MOST and all(
        CLUSTER[0] <= s <= CLUSTER[1] for s in similarities[:MOST]
    ):
        return MOST
    return min(USUAL, len(similarities))
