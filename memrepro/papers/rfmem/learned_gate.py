"""RF-Mem's learned gate (D.6) on PersonaBench: a network on the two signals, beside thresholds.

Tables 12 to 14 are about the right answers of a reader, and stand as printed. Here the label of a
question is the path of the higher recall@K, and what a policy reaches is recall@K.
"""

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.files.atomic import write_table
from memrepro.papers.rfmem.cells import row_cells
from memrepro.papers.rfmem.grid import BOTH, OPEN, Grid, grids_of
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number

FAMILIARITY, RECOLLECTION, TIE = 0, 1, -1
COLUMNS = [
    "policy", "seed", "n_train", "n_test", "n_decided", "accuracy", "recollected", "recall",
]  # fmt: skip
# Of the queries to learn from a fifth validates, and needs one of each label.
_FEWEST = 10
_PASSES = 1000
_AT_ONCE = 200  # queries that the library learns from in one step
SEEDS = range(10)
# 189 of PersonaMem's 589 questions of 32k.
TEST_SHARE = 189 / 589
_POLICIES = {
    "familiarity": "always familiarity",
    "recollection": "always recollection",
    "thresholds": "thresholds, τ = 0.2",
    "oracle": "oracle",
    "learned": f"learned, {len(SEEDS)} seeds",
}


def label(recall_familiar: Doubles, recall_recollected: Doubles) -> NDArray[np.int64]:
    """Which path found more: 0 familiarity, 1 recollection, −1 neither; shape (n_queries,).

    D.6 labels by the reader's answer; without a reader the label is the path of the higher
    recall@K. It keeps 'only cases in which one path clearly outperforms the other' (Table 12
    counts the others as ties); of 0/1 answers every difference is clear, and so any difference
    of recall counts as one here.
    """
    order = np.sign(recall_recollected - recall_familiar)
    return np.where(order == 0, TIE, np.where(order > 0, RECOLLECTION, FAMILIARITY))


def train_and_test(
    signals: Doubles,
    recalls: Doubles,
    thresholds: NDArray[np.bool_],
    seeds: Sequence[int],
    test_share: float,
) -> pd.DataFrame:
    """The learned gate beside the fixed policies, on queries that it did not learn from (D.6).

    As D.6 has it: the first queries in the data set's order train and the rest test (400 and 189
    of PersonaMem 32k, 2000 and 727 of 128k); ties train nothing, but are tested; hidden layers of
    32 and 16 with ReLU and a sigmoid output; a fifth of the training queries validates. Left open
    there, and chosen here: the two signals are standardised by the training queries, as both vary
    by hundredths; of 1000 passes the one with the best accuracy in validation is kept (a
    patience of ten, the library's default, leaves a plain threshold unlearned); else the library's
    defaults (Adam, rate 0.001). Tables 13 and 14 do not say how many runs they average; means of
    counts such as 97.5 and 334.4 need a multiple of ten.

    Args:
        signals: the mean score and the entropy of each query, shape (n_queries, 2).
        recalls: recall@K by familiarity and by recollection, shape (n_queries, 2).
        thresholds: whether the gate with thresholds recollects, shape (n_queries,).
        seeds: each starts the network and draws the validation queries anew.
        test_share: the share of all queries that tests, the last ones.

    Returns:
        `COLUMNS`, a row a policy, 'learned' once a seed: `accuracy` is the share of the `n_decided`
        test queries (no ties) sent the better way, `recollected` and `recall` are of all test
        queries. Where the `n_train` queries to learn from (no ties) are fewer than ten, or fewer
        than two of a label, nothing can be learned: one row without seed has NaN.

    Raises:
        MemreproError: if there is no query to test on.
    """
    labels = label(recalls[:, 0], recalls[:, 1])
    n_test = round(test_share * len(labels))
    n_train = len(labels) - n_test
    known = np.flatnonzero(labels[:n_train] != TIE)
    if n_test < 1 or n_train < 0:
        raise MemreproError(
            f"a test share of {test_share} of {len(labels)} queries leaves {n_test} to test on and "
            f"{n_train} to learn from: choose a share between 0 and 1"
        )
    wanted, found = labels[n_train:], recalls[n_train:]
    decided = wanted != TIE
    counts = (len(known), n_test, int(decided.sum()))

    def row(policy: str, seed: int | None, recollects: NDArray[np.bool_]) -> tuple[object, ...]:
        right = (recollects == (wanted == RECOLLECTION))[decided]
        reached = np.where(recollects, found[:, 1], found[:, 0])
        accuracy = float(right.mean()) if len(right) else np.nan
        return policy, seed, *counts, accuracy, float(recollects.mean()), float(reached.mean())

    rows = [
        row("familiarity", None, np.zeros(n_test, bool)),
        row("recollection", None, np.ones(n_test, bool)),
        row("thresholds", None, thresholds[n_train:]),
        row("oracle", None, wanted == RECOLLECTION),
    ]
    few = min((labels[known] == path).sum() for path in (FAMILIARITY, RECOLLECTION)) < 2
    if few or len(known) < _FEWEST:
        rows.append(("learned", None, *counts, np.nan, np.nan, np.nan))
        seeds = ()
    for seed in seeds:
        model = _learn(signals[known], labels[known], seed)
        rows.append(row("learned", seed, model.predict(signals[n_train:]) == RECOLLECTION))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"seed": "Int64"})


class _Network(MLPClassifier):  # type: ignore[misc]
    """The library's network, which validates after each pass.

    More than half of its time goes into checks of what it validates on, which this leaves out; the
    accuracy is the same.
    """

    def _score(self, X: Doubles, y: NDArray[np.int64], sample_weight: None = None) -> float:
        found = self._forward_pass_fast(X, check_input=False).ravel() > 0.5
        return float((self.classes_[found.astype(np.int64)] == y).mean())


def _learn(signals: Doubles, labels: NDArray[np.int64], seed: int) -> Pipeline:
    network = _Network(
        (32, 16),
        max_iter=_PASSES,
        early_stopping=True,
        validation_fraction=0.2,
        n_iter_no_change=_PASSES,
        random_state=seed,
        # All at once, so that their order in a pass is nothing that the result depends on.
        shuffle=len(labels) > _AT_ONCE,
    )
    with warnings.catch_warnings():
        # All passes are made, by intent: the library calls that no convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(StandardScaler(), network).fit(signals, labels)


@lru_cache(maxsize=1)
def learned(grids: tuple[Grid, ...]) -> pd.DataFrame:
    """`COLUMNS, encoder, k`: every policy on the test questions, the learned one once a seed."""
    tables = []
    for grid in grids:
        signals, recalls = grid.signals, (grid.familiarity, grid.recollection)
        found = train_and_test(
            signals[["mean", "entropy"]].to_numpy(float), np.stack(recalls, axis=1),
            ~signals["familiar"].to_numpy(bool), SEEDS, TEST_SHARE,
        )  # fmt: skip
        tables.append(found.assign(encoder=grid.encoder.short, k=grid.k))
    return pd.concat(tables, ignore_index=True)


def labels(_: Runs, table: Spec) -> Iterator[Cell]:
    """Table 12's columns, of the questions that train and of those that test."""
    for grid in grids_of(OPEN):
        found = label(grid.familiarity, grid.recollection)
        n_train = len(found) - round(TEST_SHARE * len(found))
        for part, of in (("train", found[:n_train]), ("test", found[n_train:])):
            wins = {"Fami. win": FAMILIARITY, "Recol. win": RECOLLECTION, "Tie": TIE}
            texts = {column: str(int((of == value).sum())) for column, value in wins.items()}
            yield from row_cells(f"{grid}, {part}", "count", texts, len(of), table["note"],
                                 grid.sources(*BOTH))  # fmt: skip


def policies(_: Runs, table: Spec) -> Iterator[Cell]:
    """Recall, accuracy and routing of each policy; of the learned one mean ± deviation."""
    grids = grids_of(OPEN)
    for grid in grids:
        found = learned(grids)
        found = found[(found["encoder"] == grid.encoder.short) & (found["k"] == grid.k)]
        for policy, name in _POLICIES.items():
            part = found[found["policy"] == policy]
            for column, field, n in (
                ("recall", "recall", "n_test"),
                ("decided questions sent the better way", "accuracy", "n_decided"),
                ("share recollected", "recollected", "n_test"),
            ):
                values = part[field]
                text = "" if values.isna().any() else number(values.mean())
                if text and len(values) > 1:
                    text += f" ± {number(values.std())}"
                yield from row_cells(f"{grid}, {name}", column, {column: text},
                                     int(part[n].iloc[0]), table["note"],
                                     grid.sources(*BOTH))  # fmt: skip


def write_seeds(grids: tuple[Grid, ...], folder: Path) -> list[Path]:
    """Write the learned gate seed by seed; return the path."""
    path = folder / "learned_gate_seeds.csv"
    write_table(path, learned(grids).round(6))
    return [path]
