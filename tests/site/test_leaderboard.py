"""Means, intervals, and what cannot be told from the best."""

import numpy as np
import pandas as pd
import pytest

from memrepro.evaluate.bootstrap import RESAMPLES, paired_difference
from memrepro.site import leaderboard as board
from memrepro.site.leaderboard import COLUMNS, resampled_means
from memrepro.study.params import load_plan


def test_resamples_are_those_of_the_bootstrap_and_shared_between_series():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 200).astype(float)
    second = np.clip(first + rng.integers(-1, 2, 200), 0, 1)
    drawn = resampled_means(np.stack([first, second, first], axis=1))
    assert drawn.shape == (RESAMPLES, 3)
    assert (drawn[:, 0] == drawn[:, 2]).all()
    assert drawn.mean(axis=0) == pytest.approx(
        [first.mean(), second.mean(), first.mean()], abs=2e-3
    )
    assert drawn[:, 0].std() == pytest.approx(first.std() / 200**0.5, rel=0.03)
    there = paired_difference(first, second)
    low, high = np.percentile(drawn[:, 1] - drawn[:, 0], [2.5, 97.5])
    assert (low, high) == pytest.approx((there.low, there.high), abs=6e-3)


def test_the_best_the_close_and_the_rest(monkeypatch):
    n = 200
    best = np.ones(n)
    best[:20] = 0
    close = best.copy()
    close[20:22] = 0
    close[0] = 1
    far = np.zeros(n)
    rows = [
        (name, "", "session", f"q{i}", "", "recall_all", 5, value)
        for name, values in (
            ("sample-bm25-user", far), ("sample-dense-user", best), ("sample-dense-concat", close),
        )
        for i, value in enumerate(values)
    ]  # fmt: skip
    # On other questions of the same data set: not paired with those above.
    rows += [
        ("sample-dense-fielded", "", "session", f"q{i}", "", "recall_all", 5, 1.0) for i in range(9)
    ]
    names = ["experiment", "setting", "level", "query_id", "kind", "metric", "k", "value"]
    monkeypatch.setattr(board, "is_evaluated", lambda profile: True)
    monkeypatch.setattr(board, "_values", lambda profile: pd.DataFrame(rows, columns=names))
    found = {entry.experiment: entry for entry in board.leaderboard("sample", load_plan())}
    score = {name: entry.scores[COLUMNS.index(("recall_all", 5))] for name, entry in found.items()}
    assert score["sample-dense-user"].standing == "best"
    assert score["sample-dense-user"].mean == pytest.approx(0.9)
    assert score["sample-dense-user"].low < 0.9 < score["sample-dense-user"].high
    assert score["sample-dense-concat"].standing == "close"
    assert score["sample-bm25-user"].standing == ""
    assert score["sample-dense-fielded"].standing == "best"
    assert found["sample-dense-fielded"].n == 9
    assert found["sample-bm25-user"].encoder == "none (lexical)"
    assert found["sample-bm25-user"].scores[1] is None  # never evaluated at 10
