"""Whether a formula is meant: it is guessed from names, and the table's other numbers must follow.

Nothing that is guessed is certain. A guess is believed where most places follow it and chance would
not give as many, over all the formulas that were tried.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scipy.stats import binom

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.printed import Printed, parse
from memrepro.audit.tables import Table

_CHANCE = 0.01  # that so many follow, over all formulas tried; a name says that one is meant
_RARELY = 1e-3
_MOST = 0.66  # of the places must follow


class Held(NamedTuple):
    """A printed cell and what follows for it.

    Attributes:
        row, column: where it stands.
        shown: as printed.
        low, high: the least and the most that follow, with what rounding leaves open.
        holds: whether the cell lies between.
        by_chance: how often a number would, drawn from what its line prints.
    """

    row: str
    column: str
    shown: str
    low: float
    high: float
    holds: bool
    by_chance: float


def ends(number: Printed) -> tuple[float, float]:
    """The least and the most that a number can stand for; a count is exact."""
    exact = float(number.value)
    whole = number.step == 1 and not number.unit
    return (exact, exact) if whole else (number.low, number.high)


def held(
    row: str, column: str, shown: str, low: float, high: float, width: float, room: float = 0.0
) -> Held | None:
    """A cell against what follows; None where it prints no number.

    Args:
        row: of the cell.
        column: of the cell.
        shown: the cell.
        low: the least that follows.
        high: the most.
        width: how far apart the numbers of its line lie.
        room: steps of its last digit that it may be off besides, as where digits were cut off.
    """
    number = parse(shown)
    if number is None or number.bound:
        return None
    slack = room * float(number.step) + 1e-9 * max(1.0, abs(low), abs(high))
    holds = low - slack <= number.high and high + slack >= number.low
    open_ = (high - low) + float(number.step) + 2 * slack
    by_chance = min(1.0, open_ / width) if width > 0 else 1.0
    return Held(row, column, shown, low, high, holds, by_chance)


def width_of(cells: Iterable[str]) -> float:
    """How far apart the numbers of a line lie."""
    values = [float(n.value) for cell in cells if (n := parse(cell))]
    return max(values) - min(values) if values else 0.0


def how_sure(made: Sequence[Held], tried: int = 1) -> str:
    """How sure it is that a formula is meant: 'likely', 'weak', or '' where it is not believed."""
    good, n = sum(one.holds for one in made), len(made)
    if good < 2 or good < _MOST * n:
        return ""
    p = sum(one.by_chance for one in made) / n
    chance = float(binom.sf(good - 1, n, p)) * tried
    few = good < 3  # of two, chance must be rarer still
    likely = chance <= (_RARELY if few else _CHANCE)
    return LIKELY if likely else WEAK if chance <= 0.05 else ""


def best_of(
    candidates: Iterable[tuple[str, Sequence[Held]]],
) -> tuple[str, Sequence[Held], int]:
    """The formula that most places follow, the first of several, and how many were tried."""
    found: tuple[str, Sequence[Held]] = ("", ())
    tried = 0
    for name, made in candidates:
        tried += 1
        if (sum(o.holds for o in made), -len(made)) > (
            sum(o.holds for o in found[1]),
            -len(found[1]),
        ):
            found = name, made
    return *found, tried


def tally_and_exceptions(
    table: Table, rule: str, formula: str, made: Sequence[Held], why: str, sure: str,
    where: Callable[[Held], str] = lambda one: f"{one.row}, {one.column}",
) -> Iterator[Finding]:  # fmt: skip
    """In how many places a believed formula holds, and where it does not."""
    good = sum(one.holds for one in made)
    if not made or not sure:
        return
    yield tally(table, rule, "all places", formula, good, len(made), why)._replace(sure=sure)
    for one in made:
        if not one.holds:
            yield Finding(
                table.document, table.name, rule, where(one), one.shown,
                expected(one), one.shown, FAILS, sure,
                f"{good} of {len(made)} follow {formula}; {why}", 3,
            )  # fmt: skip


def expected(one: Held) -> str:
    """What follows, for people: with its ends where rounding leaves it open."""
    middle = f"{(one.low + one.high) / 2:.4g}"
    return middle if one.high - one.low < 1e-9 else f"{middle} ({one.low:.4g} to {one.high:.4g})"
