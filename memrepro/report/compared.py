"""Two runs on the same questions: the difference, its p-value, and whether it is significant.

Comparisons that are made together are one family: p-values are of paired sign flips, corrected by
Holm's method. A claim of better 'holds here' where each comparison is above 0 by its interval and
after the correction; it 'does not hold here' where one is below 0 so; otherwise it is 'undecided'.
"""

from collections.abc import Iterator, Sequence
from math import isnan, nan
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.evaluate.bootstrap import Interval, paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.report import figures
from memrepro.report.profile import difference, paired_values
from memrepro.report.sources import Source, write_sources
from memrepro.report.tables import Cell

LEVEL = 0.05
HOLDS, FAILS, UNDECIDED = "holds here", "does not hold here", "undecided"


class Compared(NamedTuple):
    """The better row of a claim against the worse one on the same questions, by one metric.

    Attributes:
        better: the row that a claim calls better.
        worse: the other.
        kind: of the questions; '' for all.
        metric: with its k.
        shown: the difference, its interval and the questions won and lost.
        interval: of the difference.
        n: questions.
        p: of paired sign flips, two-sided; NaN where the claim is of equality and not tested.
        corrected: p after Holm's correction.
        together: comparisons that were corrected together; 0 where it is not tested.
        sources: of the worse row, then of the better one.
    """

    better: str
    worse: str
    kind: str
    metric: str
    shown: str
    interval: Interval
    n: int
    p: float
    corrected: float = nan
    together: int = 0
    sources: tuple[Source, ...] = ()

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.better} less {self.worse}" + (f", {self.kind}" if self.kind else "")

    @property
    def sign(self) -> int:
        """1 or −1 where the difference is significant, else 0."""
        if not self.corrected < LEVEL:
            return 0
        return int(self.interval.low > 0) - int(self.interval.high < 0)


def compare_rows(
    better: str,
    worse: str,
    metric: str,
    now: pd.DataFrame,
    before: pd.DataFrame,
    kind: str = "",
    sources: tuple[Source, ...] = (),
) -> Compared:
    """One comparison, before the correction; `query_id, kind, value` are `now` of the better row.

    Raises:
        MemreproError: if they are of different questions.
    """
    old, new = paired_values(before, now)
    shown, interval = difference(before, now), paired_difference(old, new)
    p = sign_flip(new - old)
    return Compared(better, worse, kind, metric, shown, interval, len(old), p, sources=sources)


def correct(family: Sequence[Compared]) -> list[Compared]:
    """Comparisons that are made together, each with its p-value after Holm's correction."""
    corrected = holm([one.p for one in family])
    n = len(family)
    return [one._replace(corrected=p, together=n) for one, p in zip(family, corrected, strict=True)]


def verdict(found: Sequence[Compared]) -> str:
    """One of `HOLDS`, `FAILS` and `UNDECIDED`: whether each better row does better."""
    signs = [one.sign for one in found]
    return FAILS if -1 in signs else HOLDS if set(signs) == {1} else UNDECIDED


def difference_cells(found: Sequence[Compared], called: str) -> Iterator[Cell]:
    """Each comparison: its difference, and its p-value before and after the correction.

    Args:
        found: the comparisons.
        called: what the note calls those that have a p-value, such as 'tested'.
    """
    for one in found:
        note = "p: paired sign flips, two-sided; Holm's correction over all "
        note = f"{note}{one.together} that are {called}" if one.together else "not tested"
        shown = {one.metric: one.shown}
        if not isnan(one.p):
            shown[f"{one.metric}, p → after Holm"] = f"{one.p:.4f} → {one.corrected:.4f}"
        for column, words in shown.items():
            yield Cell(
                one.name, column, one.metric, "", words, one.n, NOT_COMPARABLE, note=note,
                sources=write_sources(one.sources),
            )  # fmt: skip


def draw_differences(
    found: Sequence[Compared], panels: Sequence[str], title: str, folder: Path, name: str
) -> list[Path]:
    """Each comparison's difference with its interval, a panel a metric; nothing where none is."""
    rows = [(one.name, one.metric, *one.interval, one.n) for one in found]
    columns = ["comparison", "metric", "difference", "low", "high", "n"]
    data = pd.DataFrame(rows, columns=columns)
    if data.empty:
        return []

    def picture() -> Figure:
        names = list(dict.fromkeys(data["comparison"]))
        figure = Figure(figsize=(16, 0.34 * len(names) + 1.6), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        colour = sns.color_palette("colorblind", 1).as_hex()[0]
        for axis, metric in zip(axes, panels, strict=True):
            part = data[data["metric"] == metric]
            places = [names.index(one) for one in part["comparison"]]
            ends = [part["difference"] - part["low"], part["high"] - part["difference"]]
            axis.errorbar(part["difference"], places, xerr=ends, fmt="o", color=colour, capsize=3)
            axis.axvline(0, color="0.5", linestyle="--", linewidth=1)
            axis.set_title(metric, fontsize=11)
            axis.grid(axis="y", visible=False)
        axes[0].set_yticks(range(len(names)), names, fontsize=9)
        axes[0].invert_yaxis()
        figure.suptitle(f"{title}: differences with 95 % paired bootstrap intervals", fontsize=12)
        return figure

    return figures.save(picture, data, folder, name)
