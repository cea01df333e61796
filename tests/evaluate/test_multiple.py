"""Paired sign flips and Holm's correction."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from memrepro.evaluate.multiple import holm, sign_flip

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_few_differences_are_flipped_in_every_way():
    differences = np.array([0.5, 0.25, 1.0, -0.1, 0.3])
    means = [np.mean(differences * signs) for signs in product((1, -1), repeat=5)]
    above = sum(mean >= differences.mean() - 1e-12 for mean in means) / len(means)
    assert sign_flip(differences) == pytest.approx(2 * above)


@pytest.mark.parametrize("seed", range(4))
def test_many_differences_agree_with_scipys_permutation_test(seed):
    generator = np.random.default_rng(seed)
    differences = generator.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 90, p=[0.1, 0.2, 0.3, 0.25, 0.15])
    peer = permutation_test(
        (differences,), np.mean, permutation_type="samples", vectorized=True, rng=generator
    ).pvalue
    # Each is a share of 9,999 draws: four standard errors of their difference.
    slack = 4 * np.sqrt(2 * peer * (1 - peer / 2) / 9999)
    assert sign_flip(differences) == pytest.approx(peer, abs=max(slack, 0.005))


def test_holm_by_hand():
    # 4 · 0.01, 3 · 0.015, 2 · 0.04; the last is no less than the one before.
    assert holm([0.04, 0.01, 0.05, 0.015]) == pytest.approx([0.08, 0.04, 0.08, 0.045])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(PROBABILITIES)
def test_holm_lies_between_the_value_and_bonferroni_and_keeps_the_order(p):
    corrected = holm(p)
    for value, now in zip(p, corrected, strict=True):
        assert value <= now <= min(1.0, value * len(p)) + 1e-15
    order = np.argsort(p, kind="stable")
    assert (np.diff(np.asarray(corrected)[order]) >= 0).all()
