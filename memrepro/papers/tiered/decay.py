"""The tiered document's decay: printed half-lives against true ones, and what recency does.

Source: "Time decay formulas that work". All of it is arithmetic of the printed formulas; the
formulas are those that the retriever runs.
"""

from collections.abc import Iterator
from math import log, log1p
from typing import NamedTuple

from memrepro.audit.documents import printed_rows
from memrepro.audit.tables import reference
from memrepro.audit.verdicts import AGREES, DIFFERS, NOT_IN_PAPER
from memrepro.report.tables import Cell
from memrepro.retrieve.tiered.scoring import additive_recency, half_life

HOUR, DAY, WEEK = 1.0, 24.0, 168.0
MONTH = 365.25 * DAY / 12  # a year's twelfth
_UNITS = {"hour": HOUR, "day": DAY, "week": WEEK, "month": MONTH}
_WINDOW = 7 * DAY  # WARM


class HalfLife(NamedTuple):
    """A half-life as printed, `units` (a count) of `unit` (hours), beside the true `hours`.

    `rate` is the decay rate, of an hour.
    """

    rate: float
    said: str
    unit: float
    units: int
    hours: float

    @property
    def holds(self) -> bool:
        """Whether the true one is the printed one, rounded to whole units as that is."""
        return round(self.hours / self.unit) == self.units

    @property
    def rate_for_said(self) -> float:
        """The rate whose half-life is the printed one."""
        return rate_for(self.units * self.unit)


def rate_for(hours: float) -> float:
    """The decay rate of an hour whose half-life is so many hours: 1 - 2^(-1 / hours)."""
    return 1 - 2 ** (-1 / hours)


def age_at(level: float, rate: float) -> float:
    """The hours since the last access after which recency has fallen to a level."""
    return log(level) / log1p(-rate)


def half_lives() -> list[HalfLife]:
    """Each row of the printed table, whose half-lives read like '~7 hours'."""
    found = []
    for row, cells in printed_rows("tiered", "decay").items():
        said, rate = cells["Half-life"], float(row)
        units, unit = said.removeprefix("~").split()
        hours = _UNITS[unit.removesuffix("s")]
        found.append(HalfLife(rate, said, hours, int(units), half_life(rate)))
    return found


def span(hours: float) -> str:
    """Hours, and from two days on days."""
    return f"{hours:.1f} h" + (f" = {hours / DAY:.1f} days" if hours >= 2 * DAY else "")


def cells() -> Iterator[Cell]:
    """The printed table beside the arithmetic."""
    note = (
        "half-life: ln 2 / −ln(1 − rate) hours; it holds where it rounds to the printed number of "
        "units, a month being a twelfth of a year; recency is (1 − rate)^hours"
    )
    printed = printed_rows("tiered", "decay")
    for one, (row, shown) in zip(half_lives(), printed.items(), strict=True):
        in_units = one.hours / one.unit
        term = f"{in_units:.2f} of the printed unit rounds to {round(in_units)}"
        verdict = AGREES if one.holds else DIFFERS
        true = span(one.hours)
        yield Cell(row, "half-life", "arithmetic", one.said, true, 1, verdict, term, note,
                   printed=reference("decay", row, "Half-life"))  # fmt: skip
        further = {
            "rate with the printed half-life": f"{one.rate_for_said:.4g}",
            "left after WARM's 7 days": f"{additive_recency(_WINDOW, one.rate):.3f}",
            "below 0.1 after": span(age_at(0.1, one.rate)),
            "below 0.05 after": span(age_at(0.05, one.rate)),
        }
        for column, text in further.items():
            yield Cell(row, column, "arithmetic", "", text, 1, NOT_IN_PAPER, note=note)
        yield Cell(row, "use case", "as printed", shown["Use Case"], "", 0, "", note=note,
                   printed=reference("decay", row, "Use Case"))  # fmt: skip


def outweighed() -> Iterator[Cell]:
    """How old a memory may be before one that was just accessed, of cosine 0, is above it.

    Additive: cosine × weight of the channel + recency against 0 + 1, at the document's rate.
    """
    note = (
        "a memory just accessed has recency 1 and, with cosine 0, a score of 1; one of the "
        "cosine and channel of the row is below it from that age on, at the rate of 0.01; no "
        "importance and no accesses"
    )
    rate = 0.01
    for similarity in (0.3, 0.5, 0.7, 0.8, 0.9, 1.0):
        for channel, weight in (("telegram", 1.0), ("ide, cli", 0.9), ("others", 0.8)):
            value = similarity * weight
            text = "never" if value >= 1 else span(age_at(1 - value, rate))
            row = f"cosine {similarity}"
            yield Cell(row, channel, "arithmetic", "", text, 1, NOT_IN_PAPER, note=note)
