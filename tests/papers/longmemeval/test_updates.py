"""Which of two sessions of evidence is first, and how well scores tell that there is no answer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from memrepro.papers.longmemeval.unanswered import auc, signals
from memrepro.papers.longmemeval.updates import newest_first
from memrepro.retrieve.rfmem.gate import Gate


def test_the_newest_is_first_if_no_older_one_stands_before_it():
    lists = {"a": "xno", "b": "on", "c": "no", "d": "oxy"}  # n: newest, o: older
    rows = [(query, doc) for query, docs in lists.items() for doc in docs]
    evidence = {query: ["o", "n"] for query in [*lists, "e"]}
    found = newest_first(pd.DataFrame(rows, columns=["query_id", "doc_id"]), evidence)
    assert found.to_numpy().tolist() == [
        ["a", True, True], ["b", True, False], ["c", True, True], ["d", False, False],
        ["e", False, False],
    ]  # fmt: skip


def test_signals_are_the_lists_and_the_gates():
    scores = np.array([0.9, 0.5, 0.1])
    found = signals(scores)
    assert found["best score"] == 0.9
    assert found["best − second"] == pytest.approx(0.4)
    assert found["mean of the list"] == pytest.approx(0.5)
    gate = Gate(20.0, 0.2, 0.6, 0.3)
    assert found["gate's entropy"] == pytest.approx(-float(gate.entropy(scores)))


def test_the_area_is_scikit_learns_with_an_interval_around_it():
    generator = np.random.default_rng(3)
    answerable = np.arange(200) < 150
    values = generator.normal(size=200) + answerable
    area, low, high = auc(values, answerable)
    assert area == pytest.approx(roc_auc_score(answerable, values))
    assert low < area < high
    assert auc(answerable.astype(float), answerable) == (1.0, 1.0, 1.0)
