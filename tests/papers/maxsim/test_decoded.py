"""The document's shares as counts: what of its changes no choice of questions can undo."""

from math import comb

import pytest

from memrepro.papers.maxsim.decoded import change, sign_test


@pytest.mark.parametrize(("won", "lost"), [(0, 5), (3, 0), (2, 9), (6, 6), (0, 0)])
def test_the_sign_test_counts_coins(won, lost):
    n, least = won + lost, min(won, lost)
    tail = sum(comb(n, i) for i in range(least + 1)) / 2**n
    assert sign_test(won, lost) == pytest.approx(min(1.0, 2 * tail))


def test_fewest_and_most_moved():
    """Of 4 right of 10 and then 5, at least one is new; at most 5 of the 6 that were wrong."""
    assert change({"a": (4, 10)}, {"a": (5, 10)}, "a")[3:] == ((1, 0), (5, 4))
    before, now = (
        {"all": (5, 20), "x": (4, 10), "y": (1, 10)},
        {"all": (5, 20), "x": (3, 10), "y": (2, 10)},
    )
    assert change(before, now, "all", ["x", "y"])[3:] == ((1, 1), (5, 5))
    # Parts that are not all of the whole bound nothing.
    assert change(before, now, "all", ["x"])[3:] == ((0, 0), (5, 5))
