"""RF-Mem's learned gate (D.6) on PersonaBench, beside the fixed policies.

Tables 12 to 14 are about the right answers of a reader, and stand as printed. Here the label of a
question is the path of the higher recall@K, and what a policy reaches is recall@K; the split,
the network and the seeds are those of `memrepro.papers.rfmem.learned_gate`.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from memrepro.audit.verdicts import NOT_IN_PAPER
from memrepro.files.atomic import write_table
from memrepro.papers.rfmem.learned_gate import FAMILIARITY, RECOLLECTION, TIE, label, train_and_test
from memrepro.papers.rfmem.routing import CUTOFFS, ENCODERS, GATE, side_by_side, signals
from memrepro.report.profile import Metrics
from memrepro.report.tables import Cell, number, write_cells

SEEDS = range(10)
# 189 of PersonaMem's 589 questions of 32k.
TEST_SHARE = 189 / 589
_NOTE = (
    "a label is the path of the higher recall, not the right answer of a reader (D.6), so that "
    f"no number of Tables 12 to 14 compares; the last {TEST_SHARE:.1%} of the questions test, as "
    "of 32k's; in the data's order they are the last users'; the learned row is empty where fewer "
    "than ten training questions, or fewer than two of a label, have one"
)
_POLICIES = {
    "familiarity": "always familiarity",
    "recollection": "always recollection",
    "thresholds": "thresholds, τ = 0.2",
    "oracle": "oracle",
    "learned": f"learned, {len(SEEDS)} seeds",
}


def questions(profile: str, metrics: Metrics, encoder: str, k: int) -> pd.DataFrame:
    """`familiarity, recollection, mean, entropy, familiar` by question, in the data's order."""
    one = ENCODERS[encoder]
    both = side_by_side(
        one.recall(metrics, "familiarity", k), one.recall(metrics, "recollection", k)
    ).set_index("query_id")
    found = signals(one.probes(profile, k), GATE)
    both = both.join(found, validate="1:1")
    return both.loc[found.index[found.index.isin(both.index)]]


def learned(both: pd.DataFrame) -> pd.DataFrame:
    """Every policy on the test questions, the learned one once a seed."""
    return train_and_test(
        both[["mean", "entropy"]].to_numpy(float),
        both[["familiarity", "recollection"]].to_numpy(float),
        ~both["familiar"].to_numpy(bool),
        SEEDS,
        TEST_SHARE,
    )


def label_cells(row: str, both: pd.DataFrame) -> Iterator[Cell]:
    """Table 12's columns, of the questions that train and of those that test."""
    labels = label(both["familiarity"].to_numpy(float), both["recollection"].to_numpy(float))
    n_train = len(labels) - round(TEST_SHARE * len(labels))
    for part, of in (("train", labels[:n_train]), ("test", labels[n_train:])):
        counts = {
            "Fami. win": FAMILIARITY,
            "Recol. win": RECOLLECTION,
            "Tie": TIE,
        }
        for column, value in counts.items():
            text = str(int((of == value).sum()))
            yield Cell(f"{row}, {part}", column, "count", "", text, len(of), NOT_IN_PAPER,
                       note=_NOTE)  # fmt: skip


def policy_cells(row: str, table: pd.DataFrame) -> Iterator[Cell]:
    """Recall, accuracy and routing of each policy; of the learned one mean ± deviation."""
    for policy, name in _POLICIES.items():
        part = table[table["policy"] == policy]
        n_test, decided = int(part["n_test"].iloc[0]), int(part["n_decided"].iloc[0])
        for column, values, n in (
            ("recall", part["recall"], n_test),
            ("decided questions sent the better way", part["accuracy"], decided),
            ("share recollected", part["recollected"], n_test),
        ):
            text = "" if values.isna().any() else number(values.mean())
            if text and len(values) > 1:
                text += f" ± {number(values.std())}"
            yield Cell(f"{row}, {name}", column, column, "", text, n, NOT_IN_PAPER, note=_NOTE)


def build(profile: str, folder: Path) -> list[Path]:
    """Write the labels, the policies, and the learned gate seed by seed; return the paths."""
    metrics = Metrics(profile)
    labels: list[Cell] = []
    policies: list[Cell] = []
    seeds: list[pd.DataFrame] = []
    for encoder in ENCODERS:
        for k in CUTOFFS:
            row = f"{encoder}, K = {k}"
            both = questions(profile, metrics, encoder, k)
            table = learned(both)
            labels += label_cells(row, both)
            policies += policy_cells(row, table)
            seeds.append(table.assign(encoder=encoder, k=k))
    by_seed = folder / "learned_gate_seeds.csv"
    write_table(by_seed, pd.concat(seeds, ignore_index=True).round(6))
    return [
        *write_cells(labels, folder, "learned_gate_labels"),
        *write_cells(policies, folder, "learned_gate"),
        by_seed,
    ]
