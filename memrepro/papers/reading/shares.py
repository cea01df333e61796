"""What the tables on answers share: means and differences with intervals, agreement, cells."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.evaluate.bootstrap import Interval, paired_difference, unpaired_difference
from memrepro.read.labels import kappa_interval
from memrepro.report.tables import Cell, number

ALL = "all kinds"


def interval(values: pd.Series) -> Interval:
    """A mean with its 95 % bootstrap interval, over questions."""
    numbers = values.to_numpy(np.float64)
    return paired_difference(np.zeros_like(numbers), numbers)


def mean_interval(values: pd.Series) -> str:
    """The same as text."""
    return _in_brackets(interval(values))


def _in_brackets(found: Interval) -> str:
    return f"{number(found.mean)} [{number(found.low)}, {number(found.high)}]"


def kappa_in_words(first: pd.Series, second: pd.Series) -> str:
    """Cohen's κ of two lists of verdicts, with its interval."""
    return _in_brackets(kappa_interval(first, second))


def judges_beside(first: pd.Series, second: pd.Series) -> dict[str, str]:
    """Two judges' verdicts on the same answers: what each lets pass, and how far they agree."""
    return {
        "the first passes": mean_interval(first),
        "the second passes": mean_interval(second),
        "the first alone": mean_interval(first & ~second),
        "the second alone": mean_interval(second & ~first),
        "equal": mean_interval(first == second),
        "κ": kappa_in_words(first, second),
    }


def in_words(found: Interval) -> str:
    """A difference as narratives read it."""
    return f"{found.mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"


def gain(first: pd.Series, second: pd.Series) -> str:
    """The mean of second − first over the same questions, in their order."""
    return in_words(paired_difference(first.to_numpy(np.float64), second.to_numpy(np.float64)))


def gap(first: pd.Series, second: pd.Series) -> str:
    """The mean of the second less that of the first, which are of other questions; '' if none."""
    if first.empty or second.empty:
        return ""
    return in_words(unpaired_difference(first.to_numpy(np.float64), second.to_numpy(np.float64)))


def against(found: Interval, level: float) -> str:
    """Where a mean lies against a level, by its interval: 'over', 'under' or 'about'."""
    return "under" if found.high < level else "over" if found.low > level else "about"


def by_kind(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """All rows, then those of each kind of question."""
    yield ALL, rows
    for kind, part in rows.groupby("kind", sort=False, observed=True):
        yield str(kind), part


def share_cells(
    row: str, metric: str, texts: Mapping[str, str], n: int, note: str, path: Path
) -> Iterator[Cell]:
    """A row of numbers that no document prints, from a table of the profile."""
    for column, text in texts.items():
        if text:
            source = f"file {path.name}"
            yield Cell(row, column, metric, "", text, n, NOT_COMPARABLE, note=note, sources=source)


def not_run(row: str, column: str, metric: str, reason: str) -> Iterator[Cell]:
    """The one cell of a table that could not be made."""
    yield Cell(row, column, metric, "", "", 0, NOT_RUN, note=reason)
