"""Many comparisons at once: a p-value for paired differences, and Holm's correction."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import permutation_test

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError

RESAMPLES = 9999
SEED = 0


def sign_flip(differences: Doubles) -> float:
    """Two-sided p-value of a mean difference over the same questions, shape (n,), n at least 1.

    Under 'no difference' each sign is a coin's: the signs are flipped in every way where there are
    few enough, else at random. The sum then hangs only on how many of the differences of one size
    come out positive, so these numbers are drawn. One where at most one difference is not zero.
    """
    moved = differences[differences != 0]  # zeros stay zero whatever their sign
    if len(moved) < 2:
        return 1.0
    if 2 ** len(moved) <= RESAMPLES:
        result = permutation_test((moved,), np.sum, permutation_type="samples", n_resamples=np.inf)
        return float(result.pvalue)
    sizes, counts = np.unique(np.abs(moved), return_counts=True)
    positive = np.random.default_rng(SEED).binomial(counts, 0.5, (RESAMPLES, len(sizes)))
    sums = np.abs((2 * positive - counts) @ sizes)
    # Sums that are equal but for rounding count as reached.
    reached = int((sums >= np.abs(moved.sum()) - 1e-9 * np.abs(moved).sum()).sum())
    return (reached + 1) / (RESAMPLES + 1)


def holm(p: Sequence[float]) -> list[float]:
    """P-values corrected for their number, in their order.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979): the j-th smallest of m is multiplied by m − j + 1 and none falls below the
    one before it. SciPy has corrections of the false discovery rate alone.

    Raises:
        MemreproError: if a value is no probability.
    """
    values = np.asarray(p, float)
    if not ((values >= 0) & (values <= 1)).all():
        raise MemreproError(f"p-values must lie between 0 and 1, got {list(p)}")
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return [float(value) for value in corrected]
