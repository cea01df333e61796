"""RF-Mem's learned gate on PersonaBench: the questions' order, the labels, and what is shown."""

import numpy as np
import pandas as pd
import pytest

from memrepro.papers.rfmem.cells import printed_rows
from memrepro.papers.rfmem.grid import ENCODERS, Grid
from memrepro.papers.rfmem.learned_gate import (
    SEEDS,
    TEST_SHARE,
    label_cells,
    learned,
    policy_cells,
)

ROW = "mpnet, K = 5"


@pytest.fixture
def grid():
    """Ten questions of which seven train: three won by either path or tied in turn."""
    pairs = np.array([(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)] * 3 + [(0.0, 1.0)])
    one = Grid(ENCODERS[0], 5, None)
    one.__dict__.update(
        familiarity=pairs[:, 0],
        recollection=pairs[:, 1],
        signals=pd.DataFrame(
            {"mean": 0.3, "entropy": np.linspace(0.1, 0.3, 10), "familiar": [True, False] * 5}
        ),
    )
    return one


def test_the_test_share_is_that_of_table_13():
    kept = printed_rows("table12")["PersonaMem-32k"]
    trained = sum(int(kept[c]) for c in ("Fami. win", "Recol. win", "Tie"))
    asked = int(printed_rows("table7")["# of samples"]["32k"])
    assert round(TEST_SHARE * asked) == asked - trained == 189


def test_labels_by_hand(grid):
    cells = {(c.row, c.column): (c.reproduced, c.n) for c in label_cells(grid)}
    wins = ("Fami. win", "Recol. win", "Tie")
    counts = {part: [cells[f"{ROW}, {part}", c] for c in wins] for part in ("train", "test")}
    assert counts["train"] == [("3", 7), ("2", 7), ("2", 7)]
    assert counts["test"] == [("0", 3), ("2", 3), ("1", 3)]


def test_policies_by_hand(grid):
    cells = {(c.row, c.column): c for c in policy_cells(grid, learned(grid))}
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


def test_the_learned_row_is_a_mean_over_seeds(grid):
    table = pd.DataFrame(
        [(p, 0, 30, 10, 4, 0.5, 0.4, 0.6) for p in (
            "familiarity", "recollection", "thresholds", "oracle")]
        + [("learned", s, 30, 10, 4, 0.25 * s, 0.4, 0.5 + 0.1 * s) for s in range(2)],
        columns=["policy", "seed", "n_train", "n_test", "n_decided", "accuracy", "recollected",
                 "recall"],
    )  # fmt: skip
    cells = {(c.row, c.column): c.reproduced for c in policy_cells(grid, table)}
    row = f"{ROW}, learned, {len(SEEDS)} seeds"
    assert cells[row, "recall"] == f"0.5500 ± {np.std([0.5, 0.6], ddof=1):.4f}"
    assert cells[row, "share recollected"] == "0.4000 ± 0.0000"
