"""RF-Mem's learned gate: labels, the split in order, the policies by hand, and a rule to learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier

from memrepro.errors import MemreproError
from memrepro.papers.rfmem import learned_gate
from memrepro.papers.rfmem.cells import printed_rows
from memrepro.papers.rfmem.grid import ENCODERS, Grid
from memrepro.papers.rfmem.learned_gate import (
    COLUMNS,
    SEEDS,
    TEST_SHARE,
    labels,
    policies,
    train_and_test,
)

ROW = "mpnet, K = 5"


def problem(n=200, seed=0):
    """Queries of which those of great entropy are won by recollection, and some are ties."""
    generator = np.random.default_rng(seed)
    signals = np.stack([generator.uniform(0.2, 0.3, n), generator.uniform(0.1, 0.2, n)], axis=1)
    recollect = signals[:, 1] > 0.15
    recalls = np.where(recollect[:, None], [0.0, 1.0], [1.0, 0.0])
    recalls[::5] = 0.5
    return signals, recalls, recollect


@pytest.mark.parametrize("wins", [(12, 1), (1, 12), (0, 0), (4, 4)])
def test_too_little_to_learn_from_is_said_by_an_empty_row(wins):
    recalls = np.array([[1.0, 0.0]] * wins[0] + [[0.0, 1.0]] * wins[1] + [[0.0, 0.0]] * 30)
    n = len(recalls)
    table = train_and_test(np.zeros((n, 2)), recalls, np.zeros(n, bool), [0, 1], 0.2)
    learned = table[table["policy"] == "learned"]
    assert len(learned) == 1
    assert learned["n_train"].item() == sum(wins)
    assert learned[["seed", "accuracy", "recollected", "recall"]].isna().all(axis=None)
    assert np.isnan(table["accuracy"]).all()  # the test queries are all ties


def test_a_rule_is_learned_the_same_each_time():
    signals, recalls, recollect = problem(300)
    table = train_and_test(signals, recalls, recollect, range(2), 0.3)
    assert list(table.columns) == COLUMNS
    learned = table[table["policy"] == "learned"]
    assert learned["seed"].tolist() == [0, 1]
    assert (learned["accuracy"] > 0.8).all()
    best = table.set_index("policy").loc["oracle", "recall"]
    assert (learned["recall"] <= best).all()
    assert table.set_index("policy").loc["thresholds", "accuracy"] == 1.0
    assert train_and_test(signals, recalls, recollect, range(2), 0.3).equals(table)


def test_the_first_queries_train_and_the_last_test():
    # Queries to test on change nothing that is learned; ties among those to train on do not either.
    signals, recalls, recollect = problem()
    before = train_and_test(signals, recalls, recollect, [0], 0.5)
    other = signals.copy()
    other[:100:5] = 9.0
    assert train_and_test(other, recalls, recollect, [0], 0.5).equals(before)
    assert before["n_test"].unique().tolist() == [100]
    assert before["n_train"].unique().tolist() == [80]


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_a_share_that_leaves_nothing_is_refused(share):
    signals, recalls, recollect = problem()
    with pytest.raises(MemreproError, match="choose a share between 0 and 1"):
        train_and_test(signals, recalls, recollect, [0], share)


def test_the_quicker_network_learns_what_the_librarys_does(monkeypatch):
    monkeypatch.setattr(learned_gate, "_PASSES", 100)
    signals, recalls, recollect = problem(60)
    ours = train_and_test(signals, recalls, recollect, range(2), 0.3)
    monkeypatch.setattr(learned_gate, "_Network", MLPClassifier)
    assert train_and_test(signals, recalls, recollect, range(2), 0.3).equals(ours)


# The tables


@pytest.fixture
def table(monkeypatch):
    """The tables of ten questions of which seven train: won by either path or tied in turn."""
    pairs = np.array([(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)] * 3 + [(0.0, 1.0)])
    one = Grid(ENCODERS[0], 5, None)
    one.__dict__.update(
        familiarity=pairs[:, 0],
        recollection=pairs[:, 1],
        signals=pd.DataFrame(
            {"mean": 0.3, "entropy": np.linspace(0.1, 0.3, 10), "familiar": [True, False] * 5}
        ),
    )
    monkeypatch.setattr(learned_gate, "grids_of", lambda profile: (one,))

    def make(of):
        return {(c.row, c.column): c for c in of(None, {"note": ""})}

    return make


def test_the_test_share_is_that_of_table_13():
    kept = printed_rows("table12")["PersonaMem-32k"]
    trained = sum(int(kept[c]) for c in ("Fami. win", "Recol. win", "Tie"))
    asked = int(printed_rows("table7")["# of samples"]["32k"])
    assert round(TEST_SHARE * asked) == asked - trained == 189


def test_the_table_of_labels_by_hand(table):
    cells = {place: (c.reproduced, c.n) for place, c in table(labels).items()}
    wins = ("Fami. win", "Recol. win", "Tie")
    counts = {part: [cells[f"{ROW}, {part}", c] for c in wins] for part in ("train", "test")}
    assert counts["train"] == [("3", 7), ("2", 7), ("2", 7)]
    assert counts["test"] == [("0", 3), ("2", 3), ("1", 3)]


def test_the_table_of_policies_by_hand(table):
    cells = table(policies)
    recall = {
        row.removeprefix(f"{ROW}, "): c for (row, column), c in cells.items() if column == "recall"
    }
    assert recall["always familiarity"].reproduced == f"{0.5 / 3:.4f}"
    assert recall["always recollection"].reproduced == f"{2.5 / 3:.4f}"
    assert recall["oracle"].reproduced == f"{2.5 / 3:.4f}"
    # The last three take recollection, familiarity, recollection.
    assert recall["thresholds, τ = 0.2"].reproduced == f"{2.5 / 3:.4f}"
    assert recall["thresholds, τ = 0.2"].n == 3
    decided = "decided questions sent the better way"
    assert cells[f"{ROW}, oracle", decided].n == 2
    # Five questions with a label are too few to learn from.
    assert recall[f"learned, {len(SEEDS)} seeds"].reproduced == ""


def test_the_learned_row_is_a_mean_over_seeds(table, monkeypatch):
    found = pd.DataFrame(
        [(p, 0, 30, 10, 4, 0.5, 0.4, 0.6) for p in (
            "familiarity", "recollection", "thresholds", "oracle")]
        + [("learned", s, 30, 10, 4, 0.25 * s, 0.4, 0.5 + 0.1 * s) for s in range(2)],
        columns=COLUMNS,
    )  # fmt: skip
    monkeypatch.setattr(learned_gate, "learned", lambda _: found.assign(encoder="mpnet", k=5))
    cells = {place: c.reproduced for place, c in table(policies).items()}
    row = f"{ROW}, learned, {len(SEEDS)} seeds"
    assert cells[row, "recall"] == f"0.5500 ± {np.std([0.5, 0.6], ddof=1):.4f}"
    assert cells[row, "share recollected"] == "0.4000 ± 0.0000"
