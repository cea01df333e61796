"""The paired bootstrap against its definition."""

import numpy as np
import pytest

from memrepro.evaluate.bootstrap import paired_difference


def test_equals_the_percentiles_of_resampled_means():
    generator = np.random.default_rng(1)
    first = (generator.random(200) < 0.5).astype(float)
    second = (generator.random(200) < 0.6).astype(float)
    found = paired_difference(first, second)
    differences = second - first
    means = [generator.choice(differences, 200).mean() for _ in range(20_000)]
    assert found.mean == pytest.approx(differences.mean())
    assert found.low == pytest.approx(np.percentile(means, 2.5), abs=0.012)
    assert found.high == pytest.approx(np.percentile(means, 97.5), abs=0.012)
    assert paired_difference(first, second) == found


def test_identical_runs_have_no_width():
    same = np.array([0.0, 1.0, 1.0])
    assert tuple(paired_difference(same, same)) == (0.0, 0.0, 0.0)
    assert tuple(paired_difference(same, same + 1)) == (1.0, 1.0, 1.0)
