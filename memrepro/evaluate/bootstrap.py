"""Paired bootstrap: how far a mean difference over questions could be chance."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# What still draws: choices made anew on each resample, and sign flips.
RESAMPLES = 9999
SEED = 0
# Sums lie on a grid of so many steps, 32 standard deviations wide: what lies outside wraps around.
_STEPS, _WIDTH = 2**15, 32.0
# Halves, thirds, quarters, fifths and sixths are whole numbers of this unit, as most metrics are.
_UNIT = 1 / 60
# More than the float error of a cumulated probability, less than any that is of interest.
_SLACK = 1e-9


class Interval(NamedTuple):
    """A mean difference and the 95 % percentile interval around it."""

    mean: float
    low: float
    high: float


def paired_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """The mean of second − first over the same questions, each shape (n,), n at least 1.

    Questions are resampled whole, all resamples at once: the mean of n draws has an exact
    distribution, whose percentiles need no random numbers. Where all differences are equal the
    interval is that point.
    """
    # A report asks for the same difference in several places.
    return _interval((second - first).tobytes())


@lru_cache(maxsize=4096)
def _interval(raw: bytes) -> Interval:
    differences = np.frombuffer(raw)
    n = len(differences)
    low, high = _percentiles([(differences, 1)])
    return Interval(float(differences.mean()), low / n, high / n)


def unpaired_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """The mean of second − that of first over other questions, each shape (n,), n at least 1.

    Each side is resampled by itself, with its own number of questions.
    """
    n, m = len(first), len(second)
    low, high = _percentiles([(first, -m), (second, n)])
    return Interval(float(second.mean() - first.mean()), low / (n * m), high / (n * m))


def _percentiles(samples: Sequence[tuple[NDArray[np.float64], int]]) -> tuple[float, float]:
    """The 2.5 % and 97.5 % points of a sum of resampled sums, each with its factor.

    The characteristic function of n draws is that of one to the n-th power (Efron 1979 draws them
    instead). A value between two points of the grid is shared by both, which keeps the mean.
    """
    mean = sum(factor * float(values.sum()) for values, factor in samples)
    spread = np.sqrt(sum(factor**2 * len(v) * float(v.var()) for v, factor in samples))
    if all(np.ptp(values) == 0 for values, _ in samples):
        return mean, mean
    step = _UNIT * 2.0 ** np.floor(np.log2(_WIDTH * spread / _STEPS / _UNIT))
    product = np.ones(_STEPS // 2 + 1, complex)
    for values, factor in samples:
        distinct, counts = np.unique(values, return_counts=True)
        places = np.round(factor * distinct / step, 6)  # a third is a whole number but for its bits
        below = np.floor(places)
        share = (places - below) * counts / len(values)
        mass = np.zeros(_STEPS)
        np.add.at(mass, below.astype(np.int64) % _STEPS, counts / len(values) - share)
        np.add.at(mass, (below.astype(np.int64) + 1) % _STEPS, share)
        product *= _power(np.fft.rfft(mass), len(values))
    start = round(mean / step) - _STEPS // 2
    reached = np.cumsum(np.roll(np.fft.irfft(product, _STEPS), -(start % _STEPS)))
    low, high = np.searchsorted(reached, np.array([0.025, 0.975]) - _SLACK)
    return float((start + low) * step), float((start + high) * step)


def _power(values: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """The n-th power of each, by squaring, which takes a tenth of the time of NumPy's own."""
    found = np.ones_like(values)
    while n:
        if n & 1:
            found *= values
        values, n = values * values, n >> 1
    return found
