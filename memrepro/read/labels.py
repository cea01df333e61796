"""People's labels of answers, and how far a judge agrees with them, by kind of question.

The design is LongMemEval's Table 6 (A.4), the share of equal verdicts by kind; here with Cohen's κ
and a 95 % interval by the data set's unit, since a judge that says yes to all often agrees
about good answers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import Interval
from memrepro.evaluate.comparison import Groups, mean_interval, resampled_sums
from memrepro.files.given import form_of, named_rows, numbered_json_lines

_SAID = {
    **dict.fromkeys(("yes", "true", "1", "right", "correct"), True),
    **dict.fromkeys(("no", "false", "0", "wrong", "incorrect"), False),
}
COLUMNS = ("question_id", "label")
# What may be wrong with a label; it is left out, but for a question's first one.
UNKNOWN, TWICE, UNREADABLE, UNJUDGED, MISSING = (
    "unknown question", "question labelled twice", "label that is neither right nor wrong",
    "question without a verdict of the judge", "question without a label",
)  # fmt: skip
ALL = "all kinds"
_NO_ROOM = 1e-12  # for agreement beyond chance


class Labels(NamedTuple):
    """Question → what a person says, and what was wrong with the file → the questions."""

    right: dict[str, bool]
    problems: dict[str, tuple[str, ...]]


def read_labels(path: Path, verdicts: Mapping[str, bool | None]) -> Labels:
    """Read `question_id` and `label` (yes or no, true or false, 1 or 0, right or wrong) of a file.

    Args:
        path: a csv file with these columns, or JSON Lines with these names.
        verdicts: question → the judge's verdict, None where it said neither.

    Raises:
        MemreproError: if the file is missing or has no such column.
    """
    right: dict[str, bool] = {}
    found: dict[str, list[str]] = {}
    for query_id, label in _pairs(path):
        said = _SAID.get(label.strip().casefold())
        problem = (
            UNKNOWN if query_id not in verdicts
            else TWICE if query_id in right
            else UNREADABLE if said is None
            else UNJUDGED if verdicts[query_id] is None
            else ""
        )  # fmt: skip
        if problem:
            found.setdefault(problem, []).append(query_id)
        elif said is not None:
            right[query_id] = said
    unlabelled = set(verdicts) - set(right) - {q for ids in found.values() for q in ids}
    if unlabelled:
        found[MISSING] = [query_id for query_id in verdicts if query_id in unlabelled]
    return Labels(right, {problem: tuple(ids) for problem, ids in found.items()})


def _pairs(path: Path) -> Iterable[tuple[str, str]]:
    if form_of(path) in (".csv", ".tsv"):
        return [(row[COLUMNS[0]], row[COLUMNS[1]]) for _, row in named_rows(path, COLUMNS)]
    lines = numbered_json_lines(path)
    for number, line in lines:
        if not isinstance(line, dict) or any(name not in line for name in COLUMNS):
            raise MemreproError(f"{path}, line {number}: an object with {' and '.join(COLUMNS)}")
    # JSON's true is Python's True: `str` of it is one of the words above.
    return [(str(line[COLUMNS[0]]), str(line[COLUMNS[1]])) for _, line in lines]


def kappa(first: pd.Series, second: pd.Series) -> float:
    """Cohen's κ of two lists of verdicts; 1 where both say the same one thing of all answers."""
    if first.nunique() == second.nunique() == 1:
        return float((first == second).all())
    from sklearn.metrics import cohen_kappa_score  # half a second, for each command otherwise

    return float(cohen_kappa_score(first, second))


def kappa_interval(first: pd.Series, second: pd.Series, groups: Groups) -> Interval:
    """κ of two lists of verdicts, with its 95 % bootstrap interval by group.

    A resample depends only on how often each pair of verdicts was drawn; where both sides say the
    same one thing of all of its answers, its κ is that of `kappa`.
    """
    if groups.n < 2:
        return Interval(kappa(first, second), nan, nan)
    pairs = 2 * first.to_numpy(np.int64) + second.to_numpy(np.int64)
    drawn = resampled_sums(np.eye(4)[pairs], groups)
    table = (drawn / drawn.sum(axis=1, keepdims=True)).reshape(-1, 2, 2)
    observed = np.trace(table, axis1=1, axis2=2)
    expected = (table.sum(axis=1) * table.sum(axis=2)).sum(axis=1)
    beyond, room = observed - expected, 1 - expected
    values = np.where(room > _NO_ROOM, beyond / np.maximum(room, _NO_ROOM), observed)
    low, high = np.percentile(values, [2.5, 97.5])
    return Interval(kappa(first, second), float(low), float(high))


def agreement(
    labels: Mapping[str, bool],
    verdicts: Mapping[str, bool | None],
    kinds: Mapping[str, str],
    groups_of: Callable[[Sequence[str]], Groups],
) -> pd.DataFrame:
    """How often judge and people say the same, by kind of question and over all.

    Columns: kind, n, equal (how many), share, low, high (95 % interval), kappa, and what each side
    calls right.

    Args:
        labels: question → what a person says.
        verdicts: question → the judge's, None where it said neither.
        kinds: question → its kind.
        groups_of: what is resampled of some questions.
    """
    table = pd.DataFrame(
        [(q, kinds[q], said, bool(verdicts[q])) for q, said in labels.items()],
        columns=["query_id", "kind", "people", "judge"],
    )
    rows = []
    for kind, part in [*table.groupby("kind", sort=False), (ALL, table)]:
        equal = (part["people"] == part["judge"]).to_numpy(np.float64)
        if not len(equal):
            continue
        found = mean_interval(equal, groups_of(part["query_id"].tolist()))
        beyond = kappa(part["people"], part["judge"])
        rows.append((kind, len(part), int(equal.sum()), *found, beyond,
                     int(part["people"].sum()), int(part["judge"].sum())))  # fmt: skip
    columns = ["kind", "n", "equal", "share", "low", "high", "kappa", "right by people",
               "right by judge"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
