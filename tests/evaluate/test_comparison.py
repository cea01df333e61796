"""One type of a paired difference: intervals and p-values by question, conversation or person."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.clustered import Clusters
from memrepro.evaluate.comparison import (
    Groups,
    compare,
    least_detectable,
    mean_interval,
    questions,
)

LABELS = ("a", "b", "a", "c", "c", "c", "d", "e")
VALUES = st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), min_size=8, max_size=8)
PERSONS = Groups("person", LABELS)


@given(VALUES, VALUES)
def test_a_p_value_by_group_is_that_of_all_signs_of_group_sums(first, second):
    moved = np.array(second) - np.array(first)
    sums = [sum(d for d, g in zip(moved, LABELS, strict=True) if g == name) for name in "abcde"]
    reached = [
        abs(sum(s * one for s, one in zip(signs, sums, strict=True))) >= abs(sum(sums)) - 1e-9
        for signs in product((1, -1), repeat=5)
    ]
    found = compare(np.array(first), np.array(second), PERSONS)
    assert found.p == pytest.approx(np.mean(reached))
    assert (found.n, found.groups, found.unit) == (8, 5, "person")
    assert found.won + found.lost + found.tied == 8


@given(VALUES, VALUES)
def test_an_interval_by_group_is_of_resampled_groups_and_their_questions(first, second):
    first, second = np.array(first), np.array(second)
    clusters = Clusters(LABELS)
    drawn = np.zeros((clusters.resamples, 8))
    for own, counts in zip(clusters.members, clusters.counts, strict=True):
        drawn[:, own] = counts
    means = (drawn * (second - first)).sum(axis=1) / drawn.sum(axis=1)
    found = compare(first, second, PERSONS)
    assert (found.low, found.high) == pytest.approx(np.percentile(means, [2.5, 97.5]))


@given(VALUES, VALUES)
def test_questions_that_stand_for_themselves_keep_the_exact_interval(first, second):
    first, second = np.array(first), np.array(second)
    found = compare(first, second, questions(8))
    assert found.interval == paired_difference(first, second)
    assert (found.groups, found.unit_text) == (8, "8 questions")


def test_few_groups_cannot_show_anything_below_two_in_two_to_their_number():
    values, labels = np.ones(60), tuple("abcdef" * 10)
    found = compare(np.zeros(60), values, Groups("person", labels))
    assert found.p == 2 / 2**6
    assert found.sign() == 1
    assert found.sign(p=0.05) == 0
    assert least_detectable(values, Groups("person", tuple("abcde" * 12))) == float("inf")


def test_one_group_has_no_interval_and_no_verdict():
    found = compare(np.zeros(3), np.ones(3), Groups("conversation", ("a",) * 3))
    assert np.isnan(found.low)
    assert found.p == 1
    assert found.sign() == 0
    assert np.isnan(mean_interval(np.ones(3), Groups("conversation", ("a",) * 3)).high)


def test_the_least_detectable_difference_of_single_questions_is_the_textbooks():
    rng = np.random.default_rng(3)
    moved = rng.choice([-1.0, 0.0, 1.0], size=4000, p=[0.2, 0.5, 0.3])
    error = moved.std(ddof=1) / np.sqrt(4000)
    assert least_detectable(moved, questions(4000)) == pytest.approx(2.8016 * error, rel=1e-3)


def test_resamples_that_drew_more_make_the_interval_and_nothing_else():
    first, second = np.zeros(8), np.array([1.0, 0, 1, 0, 0, 1, 0, -1])
    found = compare(first, second, PERSONS, np.linspace(-1, 3, 401))
    assert (found.low, found.high) == pytest.approx((-0.9, 2.9))
    plain = compare(first, second, PERSONS)
    assert (found.difference, found.p, found.won) == (plain.difference, plain.p, plain.won)


def test_values_of_other_questions_are_refused():
    with pytest.raises(MemreproError, match="3 values before, 2 now and 3 groups"):
        compare(np.zeros(3), np.zeros(2), questions(3))
