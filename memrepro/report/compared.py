"""Two runs on the same questions: the difference, its p-value, and what a claim on it is worth.

Intervals and p-values are by the unit of the data set (`evaluate.comparison`). A claim is tested by
itself: its own comparisons are one family, corrected by Holm's method, and nothing corrects for how
many claims a document makes. It 'holds here' where each comparison is above 0 by its interval and
after the correction; it 'does not hold here' where one is below 0 so; otherwise it is 'undecided'.
With g groups no p is below 2 / 2^g: ten conversations can decide a claim of 25 comparisons at
most, six persons one of a single comparison.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memrepro.audit.verdicts import NOT_COMPARABLE, UNDECIDED
from memrepro.evaluate.comparison import Comparison
from memrepro.evaluate.multiple import holm
from memrepro.report.sources import Source, write_sources
from memrepro.report.tables import Cell

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
