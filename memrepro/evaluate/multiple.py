"""Many comparisons at once: a p-value for paired differences, and Holm's correction."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import RESAMPLES, SEED

# The signs that each byte stands for, shape (256, 8).
_FLIPS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)


def sign_flip(differences: Doubles) -> float:
    """Two-sided p-value of a mean difference over the same questions, shape (n,), n at least 1.

    Under 'no difference' each sign is a coin's: the signs are flipped in every way where there are
    few enough, else at random. A random byte flips eight differences at once: their sum is looked
    up among the 256 that there are. One where at most one difference is not zero.
    """
    moved = differences[differences != 0]  # zeros stay zero whatever their sign
    if len(moved) < 2:
        return 1.0
    # Sums that are equal but for rounding count as reached.
    least = np.abs(moved.sum()) - 1e-9 * np.abs(moved).sum()
    if 2 ** len(moved) <= RESAMPLES:
        ways = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((np.abs((1.0 - 2.0 * ways) @ moved) >= least).mean())
    eights = np.pad(moved, (0, -len(moved) % 8)).reshape(-1, 8)
    sums, some = np.zeros(RESAMPLES), np.empty(RESAMPLES)
    drawn = _drawn(1 << (len(eights) - 1).bit_length())
    for known, which in zip(eights @ _FLIPS.T, drawn, strict=False):
        # "clip" as nothing is to be checked, which needs a copy.
        sums += known.take(which.astype(np.intp), out=some, mode="clip")
    return (int((np.abs(sums) >= least).sum()) + 1) / (RESAMPLES + 1)


@lru_cache(maxsize=4)
def _drawn(n_bytes: int) -> NDArray[np.uint8]:
    """Random bytes, (n_bytes, RESAMPLES): fewer are the first of more."""
    return np.random.default_rng(SEED).integers(0, 256, (n_bytes, RESAMPLES), np.uint8)


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
