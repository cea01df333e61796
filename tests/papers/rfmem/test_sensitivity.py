"""RF-Mem's sensitivity: hand-made recalls, with what must come out as formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memrepro.papers.rfmem.sensitivity import (
    FOLDS,
    REPEATS,
    best,
    chosen,
    folds,
    left_out_users,
)

USERS = ("000000", "000001", "001000")
QUERIES = [f"{user}{number:03d}" for user in USERS for number in range(4)]
N = len(QUERIES)
RECALLS = arrays(
    float, st.tuples(st.integers(1, 6), st.just(N)), elements=st.sampled_from([0, 0.5, 1])
)


# Choosing


def test_each_user_is_answered_at_the_others_choice():
    users = ["a", "a", "b", "c"]
    recalls = np.array([[1, 1, 0, 0], [0, 0, 1, 0.5], [0.5, 0.5, 0.5, 0.5]])
    # Without a: means (0, .75, .5); without b: (.67, .17, .5); without c: (.67, .33, .5).
    found = chosen(recalls, left_out_users(users))
    assert found.picks == [1, 0, 0]
    assert found.recall.tolist() == [0, 0, 0, 0]
    assert best(recalls) == 0  # means (.5, .375, .5): the first of equals


def test_users_and_folds_never_choose_for_themselves():
    users = [q[:6] for q in QUERIES]
    splits = list(left_out_users(users))
    assert [{users[i] for i in test} for _, test in splits] == [{user} for user in USERS]
    assert all({users[i] for i in train} == {*USERS} - {users[test[0]]} for train, test in splits)
    splits = list(folds(N))
    assert len(splits) == FOLDS * REPEATS
    assert np.bincount([i for _, test in splits for i in test]).tolist() == [REPEATS] * N
    assert all(set(train).isdisjoint(test) for train, test in splits)
    assert all((a[1] == b[1]).all() for a, b in zip(splits, folds(N), strict=True))


@settings(max_examples=30)
@given(RECALLS)
def test_a_fair_choice_is_no_better_than_the_best_of_each_user(recalls):
    users = np.array([q[:6] for q in QUERIES])
    found = chosen(recalls, left_out_users(list(users)))
    for user in USERS:
        own = recalls[:, users == user].mean(axis=1)
        assert own.min() - 1e-9 <= found.recall[users == user].mean() <= own.max() + 1e-9
    assert recalls[best(recalls)].mean() >= recalls.mean(axis=1).max() - 1e-9
    same = np.repeat(recalls[:1], 4, axis=0)
    assert chosen(same, folds(N)).recall == pytest.approx(same[0])
