"""Paired bootstrap: how far a mean difference over questions could be chance."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

RESAMPLES = 9999
SEED = 0


class Interval(NamedTuple):
    """A mean difference and the 95 % percentile interval around it."""

    mean: float
    low: float
    high: float


def paired_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """The mean of second − first over the same questions, each shape (n,), n at least 1.

    Questions are resampled whole; where all differences are equal the interval is that point.
    """
    differences = second - first
    mean = float(differences.mean())
    if np.ptp(differences) == 0:
        return Interval(mean, mean, mean)
    result = bootstrap(
        (differences,), np.mean, n_resamples=RESAMPLES, method="percentile", batch=500,
        rng=np.random.default_rng(SEED),
    )  # fmt: skip
    return Interval(
        mean, float(result.confidence_interval.low), float(result.confidence_interval.high)
    )
