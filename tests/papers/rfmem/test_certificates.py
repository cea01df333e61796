"""RF-Mem's Appendix F: the formulas, what holds of every list, and what is refuted."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import entr

from memrepro.errors import MemreproError
from memrepro.papers.rfmem.certificates import (
    concentration,
    cost,
    design_effect,
    discordant_pairs,
    entropy_certificate,
    greatest_entropy,
    least_entropy,
    meant_certificate,
    printed_certificate,
    probabilities,
    right_certificate,
    tails,
)

LISTS = st.lists(st.floats(-1, 1), min_size=2, max_size=20)


def entropy(p):
    return float(entr(np.array(p)).sum())


def scores_of(p, sharpness=1.0):
    """One list of scores whose tempered softmax is p."""
    return np.log(np.array([p])) / sharpness


@given(LISTS, st.floats(0.1, 60))
def test_equation_20_holds_and_so_does_its_counterpart(scores, sharpness):
    p = probabilities(np.array([scores]), sharpness)[0]
    top = p.max(keepdims=True)
    assert least_entropy(top)[0] - 1e-9 <= entropy(p) <= greatest_entropy(top, len(p))[0] + 1e-9


def test_both_bounds_of_the_entropy_are_reached():
    assert entropy([0.7, 0.1, 0.1, 0.1]) == pytest.approx(greatest_entropy(np.array([0.7]), 4)[0])
    assert entropy([0.4, 0.4, 0.2]) == pytest.approx(least_entropy(np.array([0.4]))[0])
    for n in range(1, 50):
        assert least_entropy(np.array([1 / n]))[0] == pytest.approx(log(n), abs=1e-9)


@given(LISTS, st.floats(0.1, 60), st.floats(0, 3))
def test_the_right_certificate_holds(scores, sharpness, threshold):
    p = probabilities(np.array([scores]), sharpness)[0]
    assume(entropy(p) <= threshold)
    assert p.max() >= right_certificate(threshold, len(p)) - 1e-9


@given(st.floats(0, 3), st.integers(2, 30))
def test_the_certificates_in_order(threshold, k):
    right = right_certificate(threshold, k)
    assert max(exp(-threshold), 1 / k) <= right + 1e-9
    assert right <= meant_certificate(threshold, k) + 1e-9 <= 1 + 2e-9
    assert printed_certificate(threshold, k) == 1.0


def test_the_right_certificate_is_reached():
    # At τ = H(0.4, 0.4, 0.2) no greater bound would do.
    assert right_certificate(entropy([0.4, 0.4, 0.2]), 5) == pytest.approx(0.4)
    assert right_certificate(log(3), 10) == pytest.approx(1 / 3)
    assert right_certificate(0.0, 5) == 1.0
    assert right_certificate(log(5), 5) == right_certificate(9.0, 5) == 0.2


def test_equation_21_as_printed_is_refuted():
    table = entropy_certificate(scores_of([0.9, 0.1]), 1.0, 0.4).iloc[0]
    assert table["premise"]
    assert not table["printed holds"]
    assert table["least x holds"]
    assert table["right holds"]


def test_equation_21_as_meant_is_refuted():
    p = np.array([0.5, 0.5] + [1e-12] * 8)
    table = entropy_certificate(scores_of(p / p.sum(), 30.0), 30.0, log(2) + 1e-6).iloc[0]
    assert table["premise"]
    assert table["least x"] == pytest.approx(0.866, abs=2e-3)
    assert table["top"] == pytest.approx(0.5)
    assert not table["least x holds"]
    assert table["right holds"]
    assert table["binds"]


def test_lemma_1_is_refuted():
    # A smaller entropy with a smaller greatest probability.
    first, second = [0.5, 0.5, 0, 0, 0], [0.6, 0.1, 0.1, 0.1, 0.1]
    assert entropy(first) < entropy(second)
    assert max(first) < max(second)
    # A greater mean with a greater chance to miss, relevance being a step of the score.
    scores = np.array([[0.9, 0.1], [0.6, 0.6]])
    miss = (1 - (scores >= 0.8)).prod(axis=1)
    assert scores.mean(axis=1).tolist() == sorted(scores.mean(axis=1))
    assert miss.tolist() == [0, 1]


def test_discordant_pairs():
    assert discordant_pairs(np.array([1, 2, 3.0]), np.array([1, 2, 3.0])) == 0
    assert discordant_pairs(np.array([1, 2, 3.0]), np.array([3, 2, 1.0])) == 1
    assert discordant_pairs(np.array([1, 2, 3.0]), np.array([1, 3, 2.0])) == pytest.approx(1 / 3)
    assert discordant_pairs(np.array([1, 1, 2.0]), np.array([2, 1, 3.0])) == 0
    assert np.isnan(discordant_pairs(np.ones(3), np.arange(3.0)))


def test_equation_22_is_refuted_by_scores_that_depend():
    signs = np.repeat([1.0, -1.0], 50)
    table = tails(np.tile(signs[:, None], (1, 10)), np.array([1.0]))
    assert table[["below", "above"]].to_numpy().tolist() == [[0.5, 0.5]]
    assert table["bound"].item() == pytest.approx(exp(-5))
    assert not table["holds"].item()
    assert design_effect(np.tile(signs[:, None], (1, 10))) == pytest.approx(10)
    assert np.isnan(design_effect(np.ones((3, 4))))


@given(st.integers(1, 10), st.integers(1, 10), st.integers(1, 30), st.integers(1, 1000))
def test_cost(beam, fanout, rounds, n_docs):
    found = cost(beam, fanout, rounds, n_docs)
    path = found["candidates of one path, Σ N_r"]
    assert path == fanout * (rounds * beam + rounds * (rounds - 1) // 2)
    assert found["candidates of all branches"] == beam * path - (beam - 1) * beam * fanout
    assert found["similarities"] >= n_docs
    assert path >= found["R·B·F"]


def test_the_printed_complexity_is_refuted():
    # No constant will do: the sum over the printed order grows with R.
    counted = [cost(1, 1, rounds, 100) for rounds in (10, 100, 1000)]
    for bound, ratios in (("R·B·F", [5.5, 50.5, 500.5]), ("B·F + R·F", [5.0, 50.0, 500.0])):
        paths = [one["candidates of one path, Σ N_r"] / one[bound] for one in counted]
        assert [round(ratio, 1) for ratio in paths] == ratios


def test_errors():
    with pytest.raises(MemreproError, match=r"scores of shape \(3,\): Appendix F needs"):
        design_effect(np.ones(3))
    with pytest.raises(MemreproError, match="K of at least 2"):
        concentration(np.ones((3, 1)), 0.0, 0.6)
    with pytest.raises(MemreproError, match="1 of 4 scores are not finite"):
        probabilities(np.array([[0.1, np.nan], [0.1, 0.2]]), 30.0)
    with pytest.raises(MemreproError, match="an entropy threshold of -1"):
        right_certificate(-1, 5)
    with pytest.raises(MemreproError, match="B=0, F=1, R=1, M=1: each must be at least 1"):
        cost(0, 1, 1, 1)
