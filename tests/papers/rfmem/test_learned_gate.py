"""RF-Mem's learned gate: labels, memories held out, and a rule to learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from memrepro.papers.rfmem import learned_gate
from memrepro.papers.rfmem.learned_gate import (
    HIDDEN,
    RECOLLECTION,
    TIE,
    VALIDATED,
    Questions,
    held_out,
    learn,
)


@pytest.fixture(autouse=True)
def few_passes(monkeypatch):
    monkeypatch.setattr(learned_gate, "_PASSES", 300)


def problem(n=200, seed=0, groups=10):
    """Questions of which those of great entropy are won by recollection, and some are ties."""
    generator = np.random.default_rng(seed)
    signals = np.stack([generator.uniform(0.2, 0.3, n), generator.uniform(0.1, 0.2, n)], axis=1)
    recollect = signals[:, 1] > 0.15
    recalls = np.where(recollect[:, None], [0.0, 1.0], [1.0, 0.0])
    recalls[::5] = 0.5
    ids = pd.DataFrame({"query_id": [f"q{i}" for i in range(n)], "kind": "x"})
    memories = [f"m{i % groups}" for i in range(n)]
    return Questions("toy", ids, signals, recalls, recollect, memories, []), recollect


def test_no_memory_is_judged_by_what_it_taught(monkeypatch):
    questions, _ = problem()
    seen = []

    def spy(signals, labels, asked, seeds):
        seen.append((signals, asked))
        assert TIE not in labels
        return np.zeros(len(asked))

    monkeypatch.setattr(learned_gate, "_predicted", spy)
    held_out(questions)
    of = {tuple(row): group for row, group in zip(questions.signals, questions.groups, strict=True)}
    for taught, asked in seen:
        assert {of[tuple(r)] for r in taught}.isdisjoint({of[tuple(r)] for r in asked})
    assert sum(len(asked) for _, asked in seen) == 200  # ties are tested too


def test_networks_side_by_side_are_the_librarys_to_the_last_bit():
    questions, _ = problem(60)
    known = questions.labels != TIE
    signals, labels = questions.signals[known], questions.labels[known]
    ours = learn(signals, labels, range(2))
    scaled = ours.scaler.transform(signals)
    for seed in range(2):
        library = MLPClassifier(
            HIDDEN, max_iter=300, early_stopping=True, validation_fraction=VALIDATED,
            n_iter_no_change=300, shuffle=False, random_state=seed,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            library.fit(scaled, labels)
        assert ours(signals)[seed].tolist() == (library.predict(scaled) == RECOLLECTION).tolist()
        for place, (weights, added) in enumerate(ours.layers):
            assert np.array_equal(weights[seed], library.coefs_[place])
            assert np.array_equal(added[seed], library.intercepts_[place])
