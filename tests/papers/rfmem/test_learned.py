"""RF-Mem's learned gate on PersonaBench: the questions' order, the labels, and what is shown."""

import numpy as np
import pandas as pd
import pytest
from memrepro.papers.rfmem.learned import (
    SEEDS,
    TEST_SHARE,
    build,
    label_cells,
    learned,
    policy_cells,
    questions,
)
from memrepro.papers.rfmem.routing import CUTOFFS, ENCODERS

from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.papers.rfmem.printed import printed_rows
from memrepro.report.profile import Metrics
from memrepro.study.evaluation import METRIC_COLUMNS


@pytest.fixture
def both():
    """Ten questions of which seven train: three won by either path or tied in turn."""
    pairs = [(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)] * 3 + [(0.0, 1.0)]
    table = pd.DataFrame(pairs, columns=["familiarity", "recollection"])
    return table.assign(mean=0.3, entropy=np.linspace(0.1, 0.3, 10), familiar=[True, False] * 5)


def test_the_test_share_is_that_of_table_13():
    kept = printed_rows("table12")["PersonaMem-32k"]
    trained = sum(int(kept[c]) for c in ("Fami. win", "Recol. win", "Tie"))
    asked = int(printed_rows("table7")["# of samples"]["32k"])
    assert round(TEST_SHARE * asked) == asked - trained == 189


def test_labels_by_hand(both):
    cells = {(c.row, c.column): (c.reproduced, c.n) for c in label_cells("x", both)}
    counts = {part: [cells[f"x, {part}", c] for c in ("Fami. win", "Recol. win", "Tie")] for part
              in ("train", "test")}  # fmt: skip
    assert counts["train"] == [("3", 7), ("2", 7), ("2", 7)]
    assert counts["test"] == [("0", 3), ("2", 3), ("1", 3)]


def test_policies_by_hand(both):
    cells = {(c.row, c.column): c for c in policy_cells("x", learned(both))}
    recall = {row.split(", ", 1)[1]: c for (row, column), c in cells.items() if column == "recall"}
    assert recall["always familiarity"].reproduced == f"{0.5 / 3:.4f}"
    assert recall["always recollection"].reproduced == f"{2.5 / 3:.4f}"
    assert recall["oracle"].reproduced == f"{2.5 / 3:.4f}"
    # The last three take recollection, familiarity, recollection.
    assert recall["thresholds, τ = 0.2"].reproduced == f"{2.5 / 3:.4f}"
    assert recall["thresholds, τ = 0.2"].n == 3
    decided = "decided questions sent the better way"
    assert cells["x, oracle", decided].n == 2
    # Five questions with a label are too few to learn from.
    assert recall[f"learned, {len(SEEDS)} seeds"].reproduced == ""


def test_the_learned_row_is_a_mean_over_seeds():
    table = pd.DataFrame(
        [(p, 0, 30, 10, 4, 0.5, 0.4, 0.6) for p in (
            "familiarity", "recollection", "thresholds", "oracle")]
        + [("learned", s, 30, 10, 4, 0.25 * s, 0.4, 0.5 + 0.1 * s) for s in range(2)],
        columns=["policy", "seed", "n_train", "n_test", "n_decided", "accuracy", "recollected",
                 "recall"],
    )  # fmt: skip
    cells = {(c.row, c.column): c.reproduced for c in policy_cells("x", table)}
    row = f"x, learned, {len(SEEDS)} seeds"
    assert cells[row, "recall"] == f"0.5500 ± {np.std([0.5, 0.6], ddof=1):.4f}"
    assert cells[row, "share recollected"] == "0.4000 ± 0.0000"


def test_all_is_written_in_the_datas_order(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    names = [f"q{i:02}" for i in range(20)][::-1]
    rows = []
    for encoder in ENCODERS.values():
        run = pd.DataFrame(
            [(q, f"d{j}", j + 1, 0.5 - 0.01 * j) for q in names for j in range(10)],
            columns=["query_id", "doc_id", "rank", "score"],
        )
        write_table(paths.run("open", f"{encoder.stem}-familiarity"), run)
        for k in CUTOFFS:
            for path, value in (("familiarity", 0.0), (f"recollection-k{k}", 1.0)):
                # Metrics come in an order of their own, and not of all that were asked.
                rows += [
                    (f"{encoder.stem}-{path}", "", "session", q, "kind", "recall", k, value)
                    for q in sorted(names)[1:]
                ]
    write_table(paths.metrics("open"), pd.DataFrame(rows, columns=METRIC_COLUMNS))
    found = questions("open", Metrics("open"), "mpnet", 5)
    assert found.index.tolist() == names[:-1]
    assert (found["recollection"] - found["familiarity"]).tolist() == [1.0] * 19
    written = build("open", tmp_path / "out")
    assert len(written) == 7
    seeds = read_table(tmp_path / "out" / "learned_gate_seeds.csv")
    assert len(seeds) == 2 * len(CUTOFFS) * 5  # nothing to learn: one label alone
