"""Paired bootstrap: how far a mean difference over questions could be chance."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 9999
SEED = 0


class Interval(NamedTuple):
    """A mean difference and the 95 % percentile interval around it."""

    mean: float
    low: float
    high: float


def paired_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """The mean of second − first over the same questions, each shape (n,), n at least 1.

    Questions are resampled whole. A resample's mean depends only on how often each difference was
    drawn, so the counts are drawn, and not the questions one by one: the same distribution, at a
    cost that does not grow with n where the metric is 0 or 1. Where all differences are equal the
    interval is that point.
    """
    # A report asks for the same difference in several places.
    return _interval((second - first).tobytes())


@lru_cache(maxsize=4096)
def _interval(raw: bytes) -> Interval:
    differences = np.frombuffer(raw)
    mean = float(differences.mean())
    values, counts = np.unique(differences, return_counts=True)
    if len(values) == 1:
        return Interval(mean, mean, mean)
    n = len(differences)
    drawn = np.random.default_rng(SEED).multinomial(n, counts / n, size=RESAMPLES)
    low, high = np.percentile(drawn @ values / n, [2.5, 97.5])
    return Interval(mean, float(low), float(high))


def unpaired_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """The mean of second − that of first over other questions, each shape (n,), n at least 1.

    Each side is resampled by itself, with its own number of questions.
    """
    drawn = [_resampled_means(side, seed) for seed, side in enumerate((first, second), SEED)]
    low, high = np.percentile(drawn[1] - drawn[0], [2.5, 97.5])
    return Interval(float(second.mean() - first.mean()), float(low), float(high))


def _resampled_means(sample: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    values, counts = np.unique(sample, return_counts=True)
    shares = counts / len(sample)
    drawn = np.random.default_rng(seed).multinomial(len(sample), shares, size=RESAMPLES)
    return np.asarray(drawn @ values / len(sample), np.float64)
