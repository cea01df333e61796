"""The paired bootstrap against its definition and a peer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from memrepro.evaluate.bootstrap import paired_difference, unpaired_difference


def test_equals_the_percentiles_of_resampled_means():
    generator = np.random.default_rng(1)
    first, second = generator.random(150), generator.random(150) ** 2
    found, differences = paired_difference(first, second), second - first
    means = generator.choice(differences, (100_000, 150)).mean(axis=1)
    assert found.mean == pytest.approx(differences.mean())
    # Four standard errors of a percentile of so many resamples.
    assert found[1:] == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.0015)
    # Shifted far, as a sum that wraps around must not be.
    moved = paired_difference(first, second + 1000)
    assert [end - 1000 for end in moved] == pytest.approx(found, abs=1e-4)


@given(st.integers(1, 3000), st.data())
def test_of_zeros_and_ones_it_is_binomial(n, data):
    won = data.draw(st.integers(0, n))
    values = np.repeat([1.0, 0.0], [won, n - won])
    exact = binom.ppf([0.025, 0.975], n, won / n) / n
    assert paired_difference(np.zeros(n), values)[1:] == pytest.approx(exact, abs=1e-12)
    thirds = paired_difference(values / 3, np.zeros(n))
    assert thirds[1:] == pytest.approx(-exact[::-1] / 3, abs=1 / (3 * n) + 1e-12)


def test_two_groups_of_questions_are_resampled_each_by_itself():
    generator = np.random.default_rng(2)
    first, second = generator.random(40), generator.random(300) < 0.7
    found = unpaired_difference(first, second.astype(float))
    means = [generator.choice(side, (100_000, len(side))).mean(axis=1) for side in (first, second)]
    assert found.mean == pytest.approx(second.mean() - first.mean())
    drawn = np.percentile(means[1] - means[0], [2.5, 97.5])
    assert found[1:] == pytest.approx(drawn, abs=0.003)


def test_identical_runs_have_no_width():
    same = np.array([0.0, 1.0, 1.0])
    assert tuple(paired_difference(same, same)) == (0.0, 0.0, 0.0)
    assert tuple(paired_difference(same, same + 1)) == (1.0, 1.0, 1.0)
