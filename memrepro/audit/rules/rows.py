"""Rows and columns that are a sum or a mean of others, as stated or by their names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.heads import is_matrix
from memrepro.audit.printed import Printed, parse
from memrepro.audit.rules.granularity import CHANCE
from memrepro.audit.rules.wholes import NEAR, WHOLE, columns_of
from memrepro.audit.tables import Table, matches

_ADDED = re.compile(r"\b(total|sum)\b", re.I)
_TELLING = 2  # sums that hold, from which on a name is believed
_PERCENT = re.compile(
    r"%|percent|\bpct\b|\brate\b|\bshare\b|ratio|\bmean\b|\bavg|average|median", re.I
)


class _Made(NamedTuple):
    """A row or column, 'sum' or 'mean' of which others, and whether the table states that."""

    name: str
    how: str
    parts: Sequence[str]
    stated: bool


def rows(table: Table) -> Iterator[Finding]:
    """Rows that are a sum or a mean of other rows, as stated or by their names; counts exactly."""
    for made in _row_wholes(table):
        cells = {
            (made.name, column): ([table.rows[part][column] for part in made.parts], shown)
            for column, shown in table.rows[made.name].items()
        }
        yield from _added(table, made, "rows", "columns", cells)


def columns(table: Table) -> Iterator[Finding]:
    """The same of columns of counts and scores; shares have rules of their own, see `wholes`."""
    for column, parts in columns_of(table, {"count", "number"}).items():
        if column in table.reading.get("whole", {}) or is_matrix(table):
            continue
        made = _Made(column, "sum" if _ADDED.search(column) else "mean", parts, False)
        cells = {(row, column): ([own[part] for part in parts], own[column])
                 for row, own in table.rows.items()}  # fmt: skip
        yield from _added(table, made, "columns", "rows", cells)


def _added(
    table: Table, made: _Made, of: str, along: str,
    cells: Mapping[tuple[str, str], tuple[Sequence[str], str]],
) -> Iterator[Finding]:  # fmt: skip
    """A sum or mean at each place; by its name alone it is one only where most places agree."""
    found, chance = [], 1.0
    for (row, column), (parts, shown) in cells.items():
        numbers = [number for cell in parts if (number := parse(cell))]
        if not (target := parse(shown)) or len(numbers) < 2:
            continue
        # A total is of counts: percentages and means do not add up.
        if (
            not made.stated
            and made.how == "sum"
            and not _adds(f"{row} {column}", [*numbers, target])
        ):
            continue
        share = len(numbers) if made.how == "mean" else 1
        low, high = (sum(ends) / share for ends in zip(*map(_ends, numbers), strict=True))
        holds = low <= target.high + NEAR and high >= target.low - NEAR
        found.append((f"{row}, {column}", shown, f"{(low + high) / 2:g}", holds))
        values = [float(number.value) for number in numbers]
        width = max(values) - min(values) if made.how == "mean" else sum(map(abs, values))
        open_ = high - low + float(target.step)
        chance *= min(1.0, open_ / width if width else 1.0) if holds else 1.0
    good, n = sum(holds for *_, holds in found), len(found)
    sure = CERTAIN if made.stated else _sure(made.how, good, n, chance)
    if not n or (not sure and not good):
        return
    for where, shown, expected, holds in found:
        if sure and not holds:
            yield Finding(
                table.document, table.name, f"{made.how} of {of}", where, shown, expected, shown,
                FAILS, sure, f"arithmetic; {good} of {n} {along} follow", 1,
            )  # fmt: skip
    yield tally(
        table, f"{made.how} of {of}", made.name, f"the {made.how} of {len(made.parts)} {of}", good,
        n, f"arithmetic on the {'column' if of == 'rows' else 'row'}", f" {along}",
    )  # fmt: skip


def _adds(heads: str, numbers: Sequence[Printed]) -> bool:
    """Whether numbers are counts, or amounts of one unit, that a total may be of."""
    if _PERCENT.search(heads) or any(n.unit == "%" or n.signed or n.ranged for n in numbers):
        return False
    return all(n.step >= 1 for n in numbers) or any(n.value > 1 for n in numbers)


def _sure(how: str, good: int, n: int, chance: float) -> str:
    """How sure it is that a name means what it says, by the places where it does; '' where not.

    `chance` is how often the places that follow would by chance.
    """
    if good >= _TELLING and 3 * good >= 2 * n and chance <= CHANCE:
        return LIKELY
    return WEAK if (good and 2 * good >= n) or (how == "sum" and n == 1) else ""


def _ends(number: Printed) -> tuple[float, float]:
    """The least and the most that a number can stand for; a count is exact."""
    exact = float(number.value)
    return (exact, exact) if number.step == 1 else (number.low, number.high)


def _row_wholes(table: Table) -> Iterator[_Made]:
    """How rows are made of others; by name where no size is stated for their cells."""
    stated: Mapping[str, Any] = table.reading.get("whole_rows", {})
    plain = [row for row in table.rows if not WHOLE.fullmatch(row) and row not in stated]
    # Of a matrix only counts have a total.
    matrix = is_matrix(table) and not stated
    if matrix and not all(
        n is None or n.step == 1 for _, _, s in table.cells() for n in [parse(s)]
    ):
        return
    for row in table.rows:
        if row in stated:
            if stated[row]:
                how, patterns = stated[row]
                parts = [r for r in plain if any(matches(str(p), r) for p in patterns)]
                yield _Made(row, how, parts, True)
        elif WHOLE.fullmatch(row) and not any(table.size(row, c) for c in table.columns):
            how = "sum" if _ADDED.fullmatch(row) else "mean"
            if how == "sum" or not matrix:
                yield _Made(row, how, plain, False)
