"""Published answers to LongMemEval: accuracy by type as its own script has it, with intervals."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from memrepro.audit.documents import tables as printed_tables
from memrepro.data.labelled_answers import CONDITIONS, LLAMA
from memrepro.evaluate.bootstrap import Interval
from memrepro.evaluate.clustered import interval
from memrepro.evaluate.comparison import Comparison, questions, resampled_sums
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.reading.shares import ALL, IN_BRACKETS, ByUnit, not_run, share_cells
from memrepro.report.tables import Cell, with_ends

_PATH = paths.labelled("")
_MISSING = (
    "the published answers to LongMemEval are not here: longmemeval-answers in downloads.yaml"
)
_BY = ByUnit(lambda ids: questions(len(ids)))
# What LongMemEval prints under the nearest condition: table, row and column.
_PRINTED = {
    (LLAMA, "oracle sessions, Chain-of-Note"):
        ("figure3b", "With Chain-of-Note, Llama 3.1 Instruct 8B", "Oracle"),
}  # fmt: skip
# Of what is shown to a reader, how much of the evidence is in it.
_SHOWN = {
    "oracle sessions, Chain-of-Note": "all, by construction",
    "evidence turns alone": "all, by construction",
}
_NOTE = (
    f"answers that others published, each labelled by a model; {IN_BRACKETS}; every accuracy "
    "follows from counts by type and outcome, which alone are kept"
)
_TYPES = (
    "task-averaged: the mean of the six types; overall: of all questions; both as LongMemEval's "
    "own script has them, an abstention counted in its type"
)


def read_labelled(profile: str) -> pd.DataFrame | None:
    """The counts of `labelled_answers.counts`, or None where they are not there."""
    path = paths.labelled(profile)
    return read_table(path) if path.is_file() else None


def answers_of(counted: pd.DataFrame, reader: str) -> pd.DataFrame:
    """A row a question, in no order of the data's: `type`, `abstention`, and each condition."""
    rows = counted[counted["reader"] == reader]
    rows = rows.loc[rows.index.repeat(rows["questions"].astype(int))].reset_index(drop=True)
    outcomes = {
        shown: rows["right"].astype(str).str.zfill(len(CONDITIONS[reader])).str[place] == "1"
        for place, shown in enumerate(CONDITIONS[reader])
    }
    abstains = rows["abstention"].astype(str) == "True"
    return pd.DataFrame({"type": rows["type"], "abstention": abstains, **outcomes})


def task_averaged(right: pd.Series, types: pd.Series) -> Interval:
    """The mean of the types' accuracies, with its interval over resampled questions."""
    of_types = pd.get_dummies(types).to_numpy(np.float64)
    columns = np.hstack([of_types * right.to_numpy(np.float64)[:, None], of_types])
    k = of_types.shape[1]
    drawn = resampled_sums(columns, questions(len(right)))
    with np.errstate(invalid="ignore"):  # a resample may lack a type
        means = np.nanmean(drawn[:, :k] / drawn[:, k:], axis=1)
    return interval(float(right.groupby(types).mean().mean()), means)


def accuracy_cells(counted: pd.DataFrame) -> Iterator[Cell]:
    """By reader and condition: each type, task-averaged, overall, abstentions; and as printed."""
    printed = {table.name: table for table in printed_tables("longmemeval")}
    for reader, conditions in CONDITIONS.items():
        for inside in (True, False):
            found = answers_of(counted, reader)
            kept = found if inside else found[~found["abstention"]]
            for shown in conditions:
                right, types = kept[shown], kept["type"]
                texts = {str(kind): _BY.mean(part) for kind, part in right.groupby(types)}
                texts["task-averaged"] = with_ends(task_averaged(right, types))
                texts["overall"] = _BY.mean(right)
                if inside:
                    texts["abstentions"] = _BY.mean(found[shown][found["abstention"]])
                    texts["evidence shown"] = _SHOWN.get(shown, "not published")
                    if place := _PRINTED.get((reader, shown)):
                        table, row, column = place
                        said = printed[table].rows[row][column]
                        texts["LongMemEval prints"] = f"{said} ({printed[table].source}: {row})"
                name = f"{reader}; {shown}" + ("" if inside else "; without abstentions")
                yield from share_cells(
                    name, "accuracy", texts, len(kept), f"{_NOTE}; {_TYPES}", _PATH,
                    questions(len(kept)),
                )  # fmt: skip


def difference_cells(counted: pd.DataFrame) -> Iterator[Cell]:
    """Each two conditions of a reader on the same questions: of all, and of each type."""
    for reader, conditions in CONDITIONS.items():
        found = answers_of(counted, reader)
        for first, second in combinations(conditions, 2):
            parts = {ALL: found, **{str(t): part for t, part in found.groupby("type")}}
            texts: dict[str, str | Comparison] = {
                kind: _BY.gain(part[first], part[second]) for kind, part in parts.items()
            }
            yield from share_cells(
                f"{reader}; {second} \u2212 {first}", "accuracy", texts, len(found), _NOTE, _PATH,
                questions(len(found)),
            )  # fmt: skip


def tables(counted: pd.DataFrame | None) -> dict[str, Iterator[Cell]]:
    """The tables by name; where there are no counts, with the reason."""
    if counted is None:
        return {
            name: not_run("LongMemEval's published answers", "accuracy", "accuracy", _MISSING)
            for name in ("longmemeval_answers", "longmemeval_differences")
        }
    return {
        "longmemeval_answers": accuracy_cells(counted),
        "longmemeval_differences": difference_cells(counted),
    }
