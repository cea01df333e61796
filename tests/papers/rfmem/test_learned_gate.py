"""RF-Mem's learned gate: labels, memories held out, and a rule to learn."""

import numpy as np
import pandas as pd
import pytest

from memrepro.papers.rfmem import learned_gate
from memrepro.papers.rfmem.learned_gate import (
    TIE,
    Questions,
    held_out,
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


def test_a_rule_is_learned_and_holds_for_other_memories():
    questions, recollect = problem()
    shares = held_out(questions, range(2))
    assert ((shares > 0.5) == recollect).mean() > 0.9
    assert set(shares) <= {0.0, 0.5, 1.0}
