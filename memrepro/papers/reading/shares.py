"""What the tables on answers share: means and differences with intervals, agreement, cells."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.evaluate.bootstrap import Interval
from memrepro.evaluate.comparison import (
    Comparison,
    Groups,
    compare,
    gap_interval,
    mean_interval,
    resampled_sums,
    signed_ends,
)
from memrepro.read.labels import kappa_interval
from memrepro.report.tables import Cell, with_ends
from memrepro.study.groups import groups_of_questions
from memrepro.study.params import load_plan

ALL = "all kinds"
IN_BRACKETS = "in brackets: 95 % bootstrap interval by what the column 'resampled' names"
# A rule's column → whether it calls an answer right.
RULES: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "same words": lambda rows: rows["match"],
    "gold's words in it": lambda rows: rows["contains"],
    "F1 ≥ 0.5": lambda rows: rows["f1"] >= 0.5,
}


@dataclass(frozen=True)
class ByUnit:
    """Means and differences of answers, with intervals by the unit of their data set.

    Values are indexed by question, one of which may stand there several times.

    Attributes:
        groups_of: what is resampled of some questions.
    """

    groups_of: Callable[[Sequence[str]], Groups]

    @classmethod
    def of_dataset(cls, dataset: str) -> "ByUnit":
        """By the unit of a data set."""
        return cls(partial(groups_of_questions, dataset, plan=load_plan()))

    def groups(self, values: pd.Series | pd.DataFrame) -> Groups:
        """What is resampled of these values."""
        return self.groups_of(values.index.tolist())

    def interval(self, values: pd.Series) -> Interval:
        """A mean with its interval."""
        return mean_interval(values.to_numpy(np.float64), self.groups(values))

    def mean(self, values: pd.Series) -> str:
        """The same as text."""
        return with_ends(self.interval(values))

    def kappa(self, first: pd.Series, second: pd.Series) -> str:
        """Cohen's κ of two lists of verdicts, with its interval."""
        return with_ends(kappa_interval(first, second, self.groups(first)))

    def judges_beside(self, first: pd.Series, second: pd.Series) -> dict[str, str]:
        """Two judges' verdicts on the same answers: what each lets pass, and how far they agree."""
        return {
            "the first passes": self.mean(first),
            "the second passes": self.mean(second),
            "the first alone": self.mean(first & ~second),
            "the second alone": self.mean(second & ~first),
            "equal": self.mean(first == second),
            "κ": self.kappa(first, second),
        }

    def gain(self, first: pd.Series, second: pd.Series) -> Comparison:
        """The second against the first, of the same questions in the same order."""
        return compare(first.to_numpy(np.float64), second.to_numpy(np.float64), self.groups(first))

    def gap(self, first: pd.Series, second: pd.Series) -> str:
        """The mean of the second − that of the first, which are of other questions; '' if none."""
        if first.empty or second.empty:
            return ""
        both = pd.concat([first, second])
        chosen = np.arange(len(both)) >= len(first)
        found = gap_interval(both.to_numpy(np.float64), chosen, self.groups(both))
        return f"{found.mean:+.4f} {signed_ends(found)}"

    def rank_correlation(self, first: pd.Series, second: pd.Series) -> str:
        """Spearman's ρ with its interval; '' where a side is constant."""
        groups = self.groups(first)
        if first.nunique() < 2 or second.nunique() < 2 or groups.n < 2:
            return ""
        x, y = (rank - rank.mean() for rank in map(rankdata, (first, second)))
        columns = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y], axis=1)
        n, *sums = resampled_sums(columns, groups).T
        of_x, of_y, of_xx, of_yy, of_xy = (one / n for one in sums)
        with np.errstate(invalid="ignore"):  # a resample of one value has no correlation
            spread = np.sqrt((of_xx - of_x**2) * (of_yy - of_y**2))
            drawn = (of_xy - of_x * of_y) / spread
        low, high = np.nanpercentile(drawn, [2.5, 97.5])
        found = Interval(float(np.corrcoef(x, y)[0, 1]), float(low), float(high))
        return f"{found.mean:+.4f} {signed_ends(found)}"


def against(found: Interval, level: float) -> str:
    """Where a mean lies against a level, by its interval: 'over', 'under' or 'about'."""
    return "under" if found.high < level else "over" if found.low > level else "about"


def by_kind(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """All rows, then those of each kind of question."""
    yield ALL, rows
    for kind, part in rows.groupby("kind", sort=False, observed=True):
        yield str(kind), part


def share_cells(
    row: str,
    metric: str,
    found: Mapping[str, str | Comparison],
    n: int,
    note: str,
    path: Path,
    resampled: Groups | None = None,
) -> Iterator[Cell]:
    """A row of numbers that no document prints, from a table of the profile.

    Args:
        row: its name.
        metric: what the numbers are.
        found: column → text, left out where it is '', or comparison.
        n: answers.
        note: on them.
        path: of the table that they come from.
        resampled: behind its intervals, where it has some.
    """
    told = {**found, "resampled": str(resampled or "")}
    cell = Cell(row, "", metric, "", "", n, NOT_COMPARABLE, note=note, sources=f"file {path.name}")
    for column, one in told.items():
        if one:
            yield cell._replace(column=column).filled(one)


def not_run(row: str, column: str, metric: str, reason: str) -> Iterator[Cell]:
    """The one cell of a table that could not be made."""
    yield Cell(row, column, metric, "", "", 0, NOT_RUN, note=reason)
