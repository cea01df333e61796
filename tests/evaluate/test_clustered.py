"""Settings chosen on other groups, and the bootstrap that chooses again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.evaluate.clustered import Clusters, group_of

GROUPS = ("a", "a", "b", "c", "b", "c", "c", "a")
TABLES = st.lists(
    st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), min_size=3, max_size=3),
    min_size=8,
    max_size=8,
)


def by_hand(values):
    """Each question under the setting that is best over the other groups, the first of ties."""
    found = []
    for question, group in zip(values, GROUPS, strict=True):
        others = [v for v, g in zip(values, GROUPS, strict=True) if g != group]
        means = [round(sum(column) / len(column), 9) for column in zip(*others, strict=True)]
        found.append(question[means.index(max(means))])
    return found


@given(TABLES)
def test_the_choice_is_that_of_brute_force(values):
    clusters = Clusters(GROUPS, resamples=2)
    np.testing.assert_array_equal(clusters.answered(np.array(values)), by_hand(values))


@given(TABLES)
def test_each_resample_is_answered_as_if_it_were_the_data(values):
    """Writing a resample out, a question as often as it was drawn, gives its mean by hand."""
    clusters, table = Clusters(GROUPS, resamples=5), np.array(values)
    means = clusters.means(table)
    for number in range(5):
        drawn = np.zeros(len(GROUPS), int)
        for own, counts in zip(clusters.members, clusters.counts, strict=True):
            drawn[own] = counts[number]
        answered = []
        for group in dict.fromkeys(GROUPS):
            here = np.array([g == group for g in GROUPS])
            sums = (table[~here] * drawn[~here, None]).sum(axis=0)
            setting = int(np.argmax(np.round(sums, 9)))
            answered += list(np.repeat(table[here, setting], drawn[here]))
        assert len(answered) == clusters.sizes[number] == drawn.sum()
        assert means[number] == pytest.approx(np.mean(answered))


def test_a_group_drawn_twice_has_twice_its_questions_and_all_groups_are_equally_likely():
    clusters = Clusters(GROUPS, resamples=4000)
    for own, counts in zip(clusters.members, clusters.counts, strict=True):
        assert (counts.sum(axis=1) % len(own) == 0).all()
        assert counts.sum(axis=1).mean() == pytest.approx(len(own), rel=0.06)


def test_what_else_is_chance_is_drawn():
    clusters, values = Clusters(GROUPS, resamples=500), np.zeros((8, 1))
    moved = np.array([[0.0, 1.0]] * 8)  # the second outcome moves each question by one
    assert set(clusters.means(values, moved)) == {0.0, 1.0}


def test_one_group_leaves_nothing_to_choose_on():
    with pytest.raises(MemreproError, match="3 questions are of 1 group"):
        Clusters(("a", "a", "a"))
    assert [group_of(one) for one in ("context@12", "conv-26")] == ["context", "conv-26"]
