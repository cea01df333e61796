"""Rows and columns that are a sum or a mean of others, as stated or by their names."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.heads import counts_questions, group_of, is_matrix
from memrepro.audit.printed import Printed, parse
from memrepro.audit.rules.granularity import CHANCE
from memrepro.audit.rules.wholes import NEAR, columns_of
from memrepro.audit.tables import Table, matches

_ADDED = re.compile(r"\b(total|sum)\b", re.I)
_AVERAGED = re.compile(r"\b(average|avg\.?|mean)(?![A-Za-z])", re.I)
# A row's name says that it is of all others; what stands behind in brackets says how many.
_OF_ALL = re.compile(
    r"(?:(?:grand|column|macro|task)[ -])?(?:overall|average|avg\.?|mean|total|all|sum)"
    r"(?:\s*[(\[].*[)\]])?",
    re.I,
)
_UNIT = re.compile(r"\((ms|µs|s|sec|min|h|hours?|days?|[kKMG]?B|[kKMG]iB|J|W|[€$]|USD|kg)\)$")
_SEVERAL = re.compile(r"\d\s*/\s*\d+\s*/")
_SPREAD = re.compile(r"\b(?:s\.?d|s\.?e|std|p|ci|error|variance|range|min|max)\b", re.I)
_RELATIVE = re.compile(
    r"(?:Δ|(?:change|gain|impr\w*|reduction|increase|decrease|drop|diff\w*)\b)[^,]*%"
    r"|\bratio\b|\brelative\b|speed-?up",
    re.I,
)
_BETWEEN = 3  # places whose mean lies between its parts, from which on one is told that does not
_FAR = 4
_TELLING = 2  # sums that hold, from which on a name is believed
_PLAINLY = 4  # places whose overall is the plain mean, from which on the one that is not is told
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
        yield from _added(table, made, _places(made, cells), "rows", "columns")


def columns(table: Table) -> Iterator[Finding]:
    """The same of columns of counts and scores; shares have rules of their own, see `wholes`.

    Those of scores and shares together are tried too, and shares alone in a table of few rows.
    """
    scores = columns_of(table, {"count", "number"})
    all_, shares = columns_of(table, {"count", "number", "share", "percent"}), columns_of(table)
    for column, parts in all_.items():
        if column in table.reading.get("whole", {}) or is_matrix(table):
            continue
        # A whole of stated size is tried by those of its parts, in `wholes`, where they are stated.
        sized = all(any(table.size(row, c) for row in table.rows) for c in (column, parts[0]))
        plain = not sized and (len(table.rows) <= len(parts) or _AVERAGED.search(column))
        tried = [scores.get(column, []), parts if column not in shares or plain else []]
        how = "sum" if _ADDED.search(column) else "mean"
        made = [_Made(column, how, one, False) for one in tried if len(one) > 1]
        places = [(one, _places(one, {
            (row, column): ([own[part] for part in one.parts], own[column])
            for row, own in table.rows.items()
        })) for one in made]  # fmt: skip
        if places:
            best = max(places, key=lambda one: sum(place.holds for place in one[1]))
            yield from _added(table, *best, "columns", "rows")
    yield from _amounts(table)


def _amounts(table: Table) -> Iterator[Finding]:
    """A total of amounts, such as times, against the columns that have its unit in brackets."""
    units = {c: unit[1] for c in table.columns if (unit := _UNIT.search(c))}
    for column in (c for c in units if _ADDED.search(c)):
        parts = [c for c in units if c != column and units[c] == units[column]]
        made = _Made(column, "sum", parts, False)
        places = _places(made._replace(stated=True), {  # its unit says that it adds up
            (row, column): ([own[part] for part in parts], own[column])
            for row, own in table.rows.items()
        })  # fmt: skip
        if sum(place.holds for place in places) > _TELLING:
            yield from _added(table, made, places, "columns", "rows")


class _Place(NamedTuple):
    """A whole: where, as printed, what follows, whether it is that, or lies between its parts."""

    where: str
    shown: str
    expected: str
    holds: bool
    inside: bool
    all_shown: bool  # whether each of its parts prints a number
    chance: float  # that it is that, whatever it is
    off: float  # how far from it


def _places(
    made: _Made, cells: Mapping[tuple[str, str], tuple[Sequence[str], str]]
) -> list[_Place]:
    """A sum or mean at each place that prints it and at least two of its parts."""
    found = []
    for (row, column), (parts, shown) in cells.items():
        # Of '7/22/10' none is a part.
        numbers = [n for cell in parts if not _SEVERAL.search(cell) and (n := parse(cell))]
        if not (target := parse(shown)) or len(numbers) < 2:
            continue
        # Of averages a change in percent is that of the averages.
        if not made.stated and _RELATIVE.search(column):
            continue
        # A total is of counts: percentages and means do not add up.
        if (
            not made.stated
            and made.how == "sum"
            and not _adds(f"{row} {column}", [*numbers, target])
        ):
            continue
        inside = made.how != "mean" or _between(made.name, f"{row} {column}", numbers, target)
        share = len(numbers) if made.how == "mean" else 1
        low, high = (sum(ends) / share for ends in zip(*map(_ends, numbers), strict=True))
        holds = low <= target.high + NEAR and high >= target.low - NEAR
        values = [float(number.value) for number in numbers]
        width = max(values) - min(values) if made.how == "mean" else sum(map(abs, values))
        open_ = high - low + float(target.step)
        chance = min(1.0, open_ / width if width else 1.0)
        expected = f"{(low + high) / 2:g}"
        off = abs(float(target.value) - (low + high) / 2)
        every = len(numbers) == len(parts)
        where = f"{row}, {column}"
        found.append(_Place(where, shown, expected, holds, inside, every, chance, off))
    return found


def _added(
    table: Table, made: _Made, found: Sequence[_Place], of: str, along: str
) -> Iterator[Finding]:
    """A sum or mean at each place; by its name alone it is one only where most places agree."""
    good, n = sum(one.holds for one in found), len(found)
    chance = math.prod(one.chance for one in found if one.holds)
    sure = CERTAIN if made.stated else _sure(made.how, good, n, chance)
    outside = not made.stated and _is_one_outside(found)
    if not n or (not sure and not good and not outside):
        return
    for one in found:
        expected, level = one.expected, sure
        why = f"arithmetic; {good} of {n} {along} follow"
        if outside and not one.inside:
            expected = f"a value between the least and the most of its parts, about {one.expected}"
            why, level = f"a mean lies between its parts, as {n - 1} of {n} {along} do", LIKELY
        alone = good == n - 1 >= _PLAINLY and chance <= CHANCE**2
        if level == LIKELY and made.how == "mean" and not (alone or _AVERAGED.search(made.name)):
            level = WEAK  # an overall may be weighted, or be a sum in some places
        if level == LIKELY and made.how == "mean" and not one.all_shown:
            level = WEAK  # it may be of what is not shown too
        if level and not one.holds:
            yield Finding(
                table.document, table.name, f"{made.how} of {of}", one.where, one.shown, expected,
                one.shown, FAILS, level, why, 1,
            )  # fmt: skip
    if not sure and not good:
        return
    yield tally(
        table, f"{made.how} of {of}", made.name, f"the {made.how} of {len(made.parts)} {of}", good,
        n, f"arithmetic on the {'column' if of == 'rows' else 'row'}", f" {along}",
    )  # fmt: skip


def _is_one_outside(found: Sequence[_Place]) -> bool:
    """Whether one mean alone lies outside of its parts, far off beside the others.

    One of other weights lies between its parts all the same; one of parts that are not shown may
    not, but is then as far off elsewhere.
    """
    outside = [one for one in found if not one.inside]
    others = [one.off for one in found if one.inside]
    return len(outside) == 1 and len(others) >= _BETWEEN and outside[0].off > _FAR * max(others)


def _between(name: str, heads: str, numbers: Sequence[Printed], target: Printed) -> bool:
    """Whether what may be a mean lies between its parts; so where it may be none."""
    if _SPREAD.search(heads) or any(n.bound or n.signed for n in (*numbers, target)):
        return True
    percent = all(n.unit == "%" for n in numbers) or counts_questions(heads)
    if not _AVERAGED.search(name) and not percent:
        return True
    if all(n.step >= 1 for n in (*numbers, target)) and target.value > max(
        n.value for n in numbers
    ):
        return True  # a total
    return min(n.low for n in numbers) <= target.high and target.low <= max(
        float(n.value + n.step) for n in numbers
    )


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
    plain = [row for row in table.rows if not _is_of_all(row) and row not in stated]
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
        elif _is_of_all(row) and not any(table.size(row, c) for c in table.columns):
            # One in a section is of the rows of that.
            group = group_of(row)
            parts = [one for one in plain if not group or group_of(one) == group]
            how = "sum" if _ADDED.search(row) or _counted(table, row, parts) else "mean"
            if how == "sum" or not matrix:
                yield _Made(row, how, parts, False)


def _is_of_all(row: str) -> bool:
    """Whether a row's name, behind that of its section, says that it is of all others."""
    return bool(_OF_ALL.fullmatch(row.rpartition(", ")[2]))


def _counted(table: Table, row: str, plain: Sequence[str]) -> bool:
    """Whether 'All' or 'Overall' is of counts alone, most of them above all they are of."""
    shown = [parse(s) for r in (row, *plain) for s in table.rows[r].values()]
    if _AVERAGED.search(row) or not all(n is None or (n.step >= 1 and not n.unit) for n in shown):
        return False
    above = []
    for column, cell in table.rows[row].items():
        parts = [n.value for r in plain if (n := parse(table.rows[r][column]))]
        if parts and (own := parse(cell)):
            above.append(own.value > max(parts))
    return 2 * sum(above) > len(above)
