"""RF-Mem's routing: the signals by hand, and every routing against the gate itself."""

from dataclasses import replace
from math import exp, inf, log

import numpy as np
import pandas as pd
import pytest

from memrepro.papers.rfmem.grid import GATE, routings, signals

LISTS = {"a": [0.9, 0.8], "b": [0.4, 0.4], "c": [0.4, 0.3], "d": [0.4, 0.1], "e": [0.1, -0.2]}


@pytest.fixture
def scores():
    return pd.DataFrame.from_dict(LISTS, orient="index", columns=[1, 2])


def entropy(gap, sharpness=30.0):
    """The mean form of two scores' entropy."""
    p = 1 / (1 + exp(-sharpness * gap))
    return -(p * log(p) + (1 - p) * log(1 - p)) / 2


def test_routings_are_all_that_the_gate_can_give(scores):
    gate = replace(GATE, mean_low=0.0)
    found = routings(signals(scores, gate), gate)
    assert [one.recollected for one in found] == [4, 3, 2, 1]
    edges = [0.0, entropy(0.3), entropy(0.1), entropy(0.0)]
    assert [one.low for one in found] == pytest.approx(edges)
    assert found[-1].high == inf
    for one in found:
        for tau in (one.high, one.low + 1e-9):
            at = replace(gate, entropy_threshold=min(tau, 1.0))
            wanted = [at.is_familiar(np.array(s)) for s in LISTS.values()]
            assert one.familiar.tolist() == wanted
