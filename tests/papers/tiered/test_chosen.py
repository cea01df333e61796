"""What is chosen on other conversations, against scikit-learn's splits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import LeaveOneGroupOut

from memrepro.papers.tiered.chosen import best_elsewhere


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 6))
def test_each_group_is_answered_by_what_is_best_on_all_others(seed, n_settings, n_groups):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
    values = rng.integers(0, 2, (n_settings, len(groups))).astype(float)
    expected = np.empty(len(groups), int)
    for train, test in LeaveOneGroupOut().split(values.T, groups=groups):
        expected[test] = np.argmax(np.round(values[:, train].mean(axis=1), 9))
    picks = best_elsewhere(values, [f"c{g}" for g in groups])
    assert (picks == expected).all()


def test_a_group_has_no_part_in_its_own_choice():
    # The first setting is right in c0 alone, the second everywhere else.
    values = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    assert best_elsewhere(values, ["c0", "c0", "c1", "c1"]).tolist() == [1, 1, 0, 0]
