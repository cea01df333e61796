"""Two runs on the same questions: the difference, its p-value, and what a claim on it is worth.

Intervals and p-values are by the unit of the data set (`evaluate.comparison`). A claim is tested by
itself: its own comparisons are one family, corrected by Holm's method, and nothing corrects for how
many claims a document makes. It 'holds here' where each comparison is above 0 by its interval and
after the correction; it 'does not hold here' where one is below 0 so; otherwise it is 'undecided'.
With g groups no p is below 2 / 2^g: ten conversations can decide a claim of 25 comparisons at
most, six persons one of a single comparison.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, UNDECIDED
from memrepro.evaluate.comparison import QUESTION, Comparison
from memrepro.evaluate.multiple import holm
from memrepro.report import figures
from memrepro.report.panels import draw_intervals
from memrepro.report.sources import Source, write_sources
from memrepro.report.tables import Cell

_DRAWN = 40  # comparisons, so that a figure is no longer than two screens
HOLDS, FAILS = "holds here", "does not hold here"
TESTED = (
    "'holds here': every comparison is above 0 by its 95 % interval and by sign flips of the data "
    "set's unit, after Holm's correction within this claim alone; 'does not hold here': one is "
    "below 0 so; else undecided, as with few groups it may have to be (p is at least 2 / 2^groups)"
)


class Compared(NamedTuple):
    """The better row of a claim against the worse one on the same questions, by one metric.

    Attributes:
        better: the row that a claim calls better.
        worse: the other.
        kind: of the questions; '' for all.
        metric: with its k.
        found: better − worse.
        sources: of the worse row, then of the better one.
    """

    better: str
    worse: str
    kind: str
    metric: str
    found: Comparison
    sources: tuple[Source, ...] = ()

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.better} \u2212 {self.worse}" + (f", {self.kind}" if self.kind else "")


def signs(found: Sequence[Comparison]) -> list[int]:
    """Of the comparisons of one claim 1 or −1 where significant after Holm's correction, else 0."""
    corrected = holm([one.p for one in found])
    return [one.sign(p) for one, p in zip(found, corrected, strict=True)]


def verdict(found: Sequence[Comparison]) -> str:
    """One of `HOLDS`, `FAILS` and `UNDECIDED`: whether each comparison of a claim is above 0."""
    known = signs(found)
    return FAILS if -1 in known else HOLDS if set(known) == {1} else UNDECIDED


def by_unit(found: Sequence[Comparison]) -> str:
    """What was resampled of these comparisons, such as 'by conversation, then question'."""
    units = [one.unit for one in found]
    return "by " + " or ".join(
        unit if unit == QUESTION else f"{unit}, then {QUESTION}" for unit in dict.fromkeys(units)
    )


def difference_cells(found: Sequence[Compared]) -> Iterator[Cell]:
    """Each comparison: its difference, and its p-value, not corrected."""
    for one in found:
        note = "p: sign flips of the data set's unit, two-sided, not corrected for their number"
        cell = Cell(
            one.name, one.metric, one.metric, "", "", one.found.n, NOT_COMPARABLE, note=note,
            sources=write_sources(one.sources), comparison=one.found,
        )  # fmt: skip
        yield cell
        yield cell._replace(column=f"{one.metric}, p").filled(f"{one.found.p:.4f}")


def draw_differences(found: Sequence[Compared], folder: Path, name: str) -> list[Path]:
    """Write every difference with its interval; draw those by the first metric, in groups."""
    rows = [(one.name, one.metric, *one.found.interval, one.found.n) for one in found]
    columns = ["comparison", "metric", "difference", "low", "high", "n"]
    data = pd.DataFrame(rows, columns=columns)
    if data.empty:
        return []
    drawn = [one for one in found if one.metric == found[0].metric]
    unit = by_unit([one.found for one in drawn])
    title = f"{found[0].metric}: differences with 95 % intervals,\nresampled {unit}"
    shown = _grouped(drawn).head(_DRAWN)
    if len(shown) < len(drawn):
        title += f"; {len(shown)} of {len(drawn)}, the others in the table"
    return figures.save(
        lambda: draw_intervals(shown, "row", "difference", "group", title=title),
        data, folder, name,
    )  # fmt: skip


def _grouped(found: Sequence[Compared]) -> pd.DataFrame:
    """Comparisons under the side that most of them share: `group, row, difference, low, high`."""
    better, worse = (Counter(getattr(one, side) for one in found) for side in ("better", "worse"))
    rows = []
    for one in found:
        kind = f", {one.kind}" if one.kind else ""
        group, row = f"… \u2212 {one.worse}", one.better + kind
        if better[one.better] > worse[one.worse]:
            group, row = f"{one.better} \u2212 …", one.worse + kind
        rows.append((group, row, one.name, *one.found.interval))
    table = pd.DataFrame(rows, columns=["group", "row", "name", "difference", "low", "high"])
    size = table["group"].map(table["group"].value_counts())
    # One by itself is named whole, below the groups.
    table.loc[size == 1, "row"] = table["name"]
    table.loc[size == 1, "group"] = "others"
    order = size.where(size > 1, 0)
    return table.iloc[(-order).argsort(kind="stable")]
