"""Wholes against their parts, within rounding: weighted means where sizes are stated, else sums."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, TELLS, WEAK, Finding
from memrepro.audit.granularity import possible
from memrepro.audit.ledger import entry_of
from memrepro.audit.printed import Printed, kind_of, parse
from memrepro.audit.tables import Table

_WHOLE = re.compile(r"\b(overall|average|avg\.?|mean|total|all|sum)\b", re.I)
_ADDED = re.compile(r"\b(total|sum)\b", re.I)
_MOST_ORDERS = 6
_FEW = 4
_NEAR = 1e-9


class Whole(NamedTuple):
    """A whole and its parts in one row or column.

    Attributes:
        name: of the whole, for people.
        shown: the whole.
        parts: name → number of each part.
        sizes: of the parts, or None where one is not stated.
        assumed: whether the parts go by their names alone.
        counted: whether each question counts 0 or 1.
        row, column: where it stands.
    """

    name: str
    shown: str
    parts: Mapping[str, str]
    sizes: Sequence[int] | None
    assumed: bool
    counted: bool
    row: str
    column: str


def columns_of(table: Table) -> dict[str, list[str]]:
    """Column of a whole → columns of its parts, as stated or by their names.

    A whole by its name is one of 'overall', 'average', 'total' and so on; its parts are the columns
    that have the rest of its name.
    """
    stated: Mapping[str, list[str]] = table.reading.get("whole", {})
    found = {}
    for column in table.columns:
        if column in stated:
            parts = list(stated[column])
        elif _WHOLE.search(column) and not re.search("Δ|token|time", column, re.I):
            rest = [w for w in _WHOLE.sub(" ", column).split() if w.strip("()/-")]
            others = [c for c in table.columns if c != column and not _WHOLE.search(c)]
            parts = [c for c in others if all(w in c.split() for w in rest)]
            parts = [c for c in parts if _kinds(table, c) <= {"share", "percent"}]
        else:
            continue
        if len(parts) > 1:
            found[column] = parts
    return found


def _kinds(table: Table, column: str) -> set[str]:
    shown = [cells[column] for cells in table.rows.values()]
    return {kind_of(s, column) for s in shown if s.strip() not in ("", "-", "–")}


def is_whole(table: Table, row: str, column: str) -> bool:
    """Whether a cell stands in a column or a row of wholes."""
    return column in columns_of(table) or bool(_WHOLE.fullmatch(row))


class WholeCheck(NamedTuple):
    """A whole whose parts' sizes are stated: their mean, whether that is it, and if not, why."""

    whole: Whole
    value: float
    holds: bool
    why: str


def each_whole(table: Table) -> Iterator[WholeCheck]:
    """Every whole whose parts' sizes are stated, with the mean of its parts."""
    for whole in (*in_rows(table), *in_columns(table)):
        if whole.sizes:
            parts = list(whole.parts.values())
            right = _right(parts, whole.sizes) if whole.counted else None
            if right is None:
                means = zip(parts, whole.sizes, strict=True)
                right = sum(float(_number(part).value) * n for part, n in means)  # type: ignore[assignment]
            holds = _holds(whole)
            why = "" if holds else "; ".join(_explanations(whole))
            yield WholeCheck(whole, float(right or 0) / sum(whole.sizes), holds, why)


def in_rows(table: Table) -> Iterator[Whole]:
    """The wholes of each row, where whole and parts are numbers."""
    for column, parts in columns_of(table).items():
        for row, cells in table.rows.items():
            if table.runs(row) > 1 or "±" in cells[column] or not parse(cells[column]):
                continue
            shown = {part: cells[part] for part in parts if parse(cells[part])}
            sizes = [table.size(row, part) for part in shown]
            known = [n for n in sizes if n]
            whole = len(known) == len(shown)
            yield Whole(
                f"{row}, {column}", cells[column], shown, known if whole else None,
                column not in table.reading.get("whole", {}), not table.reading.get("partial"),
                row, column,
            )  # fmt: skip


def in_columns(table: Table) -> Iterator[Whole]:
    """The shares of a row that is the whole of the others, where all sizes are stated."""
    for row in table.rows:
        if not _WHOLE.fullmatch(row) or row in table.reading.get("whole_rows", {}):
            continue
        for column in table.columns:
            entry = entry_of(table, row, column, table.rows[row][column])
            shown = {r: c[column] for r, c in table.rows.items() if r != row and parse(c[column])}
            sizes = [table.size(r, column) for r in shown]
            if entry.kind == "share" and all(sizes) and len(shown) > 1:
                known = [n for n in sizes if n]
                counted = not table.reading.get("partial")
                yield Whole(
                    f"{row}, {column}", entry.printed, shown, known, False, counted, row, column
                )


def weighted(table: Table) -> Iterator[Finding]:
    """Wholes whose parts' sizes are stated, against the weighted mean of the parts."""
    made = [whole for whole in (*in_rows(table), *in_columns(table)) if whole.sizes]
    failed = [whole for whole in made if not _holds(whole)]
    if made:
        assumed = any(whole.assumed for whole in made)
        why = "the sizes are stated" + ("; the parts go by their names" if assumed else "")
        yield Finding(
            table.document, table.name, "whole and parts", "all wholes", "",
            "each whole is the weighted mean of its parts, with what rounding leaves open",
            f"{len(made) - len(failed)} of {len(made)}", TELLS if failed else HOLDS, CERTAIN, why,
            len(made),
        )  # fmt: skip
    for whole in failed:
        low, high = _mean(list(whole.parts.values()), whole.sizes or ())
        others = _explanations(whole)
        yield Finding(
            table.document, table.name, "whole and parts", whole.name, whole.shown,
            f"{(low + high) / 2:.4f} ({low:.5f} to {high:.5f}), the weighted mean of its parts",
            "; ".join([whole.shown, *others]), FAILS, CERTAIN if not whole.assumed else LIKELY,
            "the sizes are stated" + ("; the parts go by their names" if whole.assumed else ""),
            len(whole.parts) + 1,
        )  # fmt: skip


def _number(shown: str) -> Printed:
    number = parse(shown)
    assert number is not None  # parts without a number are left out
    return number


def _mean(parts: Sequence[str], sizes: Sequence[int]) -> tuple[float, float]:
    """The least and the most that a weighted mean can be, its parts rounded or cut off."""
    numbers, total = [_number(part) for part in parts], sum(sizes)
    low = sum(x.low * n for x, n in zip(numbers, sizes, strict=True)) / total
    # A number that was cut off lies up to a whole step above.
    high = sum((float(x.value + x.step)) * n for x, n in zip(numbers, sizes, strict=True)) / total
    return low, high


def _holds(whole: Whole) -> bool:
    return _gives(whole, list(whole.parts.values()))


def _gives(whole: Whole, parts: Sequence[str]) -> bool:
    """Whether parts can give a whole. Where all are counts of their sizes, to the last question."""
    number, sizes = _number(whole.shown), whole.sizes or ()
    top = float(number.value + number.step)
    counted = _right(parts, sizes) if whole.counted else None
    if counted is not None:
        value = counted / sum(sizes)
        return number.low - _NEAR <= value < top + _NEAR
    low, high = _mean(parts, sizes)
    # Parts that are not counts were rounded; the mean of what they stand for is one step wide.
    high -= float(number.step) / 2
    return low <= number.high + _NEAR and high >= number.low - _NEAR


def _right(parts: Sequence[str], sizes: Sequence[int]) -> int | None:
    """How many questions are right in all, where each part is a share of its size."""
    total = 0
    for shown, n in zip(parts, sizes, strict=True):
        number = _number(shown)
        bare = f"{number.value:f}"
        if not 0 <= number.value <= 1 or not possible(bare, n) or n >= 1 / float(number.step):
            return None
        total += round(float(number.value) * n)
    return total


def _explanations(whole: Whole) -> list[str]:
    """Orders of the parts that give the whole, and the one part that could be wrong."""
    names, shown, sizes = list(whole.parts), list(whole.parts.values()), list(whole.sizes or ())
    found = []
    if len(set(shown)) > 1:
        orders = _orders(shown)
        fitting = [o for o in orders if list(o) != shown and _gives(whole, o)]
        if whole.counted:
            fitting = [
                o for o in fitting
                if all(possible(s, n) for s, n in zip(o, sizes, strict=True) if s.startswith("0"))
            ]  # fmt: skip
        moved = [_moved(names, shown, order) for order in fitting]
        if moved:
            fewest = min(moved, key=lambda one: (one.count("="), one))
            found.append(f"as printed in another order it would hold: {fewest}")
            if len(moved) > 1:
                found[-1] += f" ({len(moved)} orders of {len(orders)} do)"
        else:
            found.append(f"no order of its parts gives it ({len(orders)} tried)")
    if alone := _alone(whole, names, shown, sizes):
        found.append(f"if one part alone is wrong, it would be {alone}")
    return found


def _alone(whole: Whole, names: list[str], shown: list[str], sizes: list[int]) -> str:
    """The parts that would give the whole with another number in their place, the nearest first."""
    target, total, needs = float(_number(whole.shown).value), sum(sizes), []
    for i, (name, n) in enumerate(zip(names, sizes, strict=True)):
        others = [float(_number(s).value) * m for s, m in zip(shown, sizes, strict=True)]
        value = float(_number(shown[i]).value)
        need = (target * total - sum(others) + value * n) / n
        right = round(need * n)
        if not 0 <= right <= n:
            continue
        said = f"{name} about {need:.4f}"
        if whole.counted:
            digits = -int(_number(shown[i]).value.as_tuple().exponent)
            share = f"{right / n:.{digits}f}"
            if not _gives(whole, [*shown[:i], share, *shown[i + 1 :]]):
                continue
            said = f"{name} {share} ({right} of {n})"
        needs.append((abs(need - value), said))
    return " or ".join(said for _, said in sorted(needs)[:_FEW])


def _orders(shown: Sequence[str]) -> list[tuple[str, ...]]:
    """All orders of a few parts; of many, those with two of them exchanged."""
    if len(shown) <= _MOST_ORDERS:
        return sorted(set(itertools.permutations(shown)))
    swapped = set()
    for i, j in itertools.combinations(range(len(shown)), 2):
        order = list(shown)
        order[i], order[j] = order[j], order[i]
        swapped.add(tuple(order))
    return sorted(swapped)


def _moved(names: Sequence[str], shown: Sequence[str], order: Sequence[str]) -> str:
    changed = zip(names, shown, order, strict=True)
    return ", ".join(f"{name} = {new}" for name, old, new in changed if old != new)


def searched(table: Table) -> Iterator[Finding]:
    """Wholes whose parts' sizes are not stated: within their parts, and by one set of weights."""
    groups: dict[tuple[str, ...], list[Whole]] = {}
    for whole in in_rows(table):
        if not whole.sizes and len(whole.parts) > 1:
            groups.setdefault(tuple(whole.parts), []).append(whole)
    for parts, wholes in groups.items():
        outside = [w for w in wholes if not _between(w)]
        for whole in outside:
            yield Finding(
                table.document, table.name, "whole and parts", whole.name, whole.shown,
                "a value between the least and the most of its parts", whole.shown, FAILS,
                LIKELY if whole.assumed else CERTAIN, "a mean lies between its parts", 1,
            )  # fmt: skip
        inside = [w for w in wholes if w not in outside]
        if len(inside) > len(parts):
            yield from _by_weights(table, parts, inside)


def _between(whole: Whole) -> bool:
    numbers, number = [_number(s) for s in whole.parts.values()], _number(whole.shown)
    return min(x.low for x in numbers) <= number.high and number.low <= max(
        float(x.value + x.step) for x in numbers
    )


def _by_weights(table: Table, parts: Sequence[str], wholes: Sequence[Whole]) -> Iterator[Finding]:
    """One set of weights for all rows; the row that is furthest off is left out until it fits."""
    kept, weights = list(wholes), np.zeros(len(parts))
    while len(kept) > len(parts):
        weights, gaps = _weights(kept)
        if gaps.max() <= _NEAR:
            break
        kept.pop(int(gaps.argmax()))
    off = [whole for whole in wholes if whole not in kept]
    shown = ", ".join(f"{p} {x:.3f}" for p, x in zip(parts, weights, strict=True))
    sure = LIKELY if len(kept) > len(parts) + len(off) else WEAK
    why = f"{len(parts)} weights were chosen to fit {len(kept)} rows"
    yield Finding(
        table.document, table.name, "whole and parts", "all wholes", "",
        "one set of weights for all rows", f"{len(kept)} of {len(wholes)} with {shown}",
        TELLS if off else HOLDS, sure, why, len(wholes),
    )  # fmt: skip
    for whole in off:
        fitted = float(_values([whole])[0] @ weights)
        yield Finding(
            table.document, table.name, "whole and parts", whole.name, whole.shown,
            f"{fitted:.4f} by the weights that explain the other rows", whole.shown, FAILS, sure,
            why, 1,
        )  # fmt: skip


def _values(wholes: Sequence[Whole]) -> NDArray[np.float64]:
    return np.array([[float(_number(s).value) for s in w.parts.values()] for w in wholes])


def _weights(wholes: Sequence[Whole]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights of least total deviation beyond rounding, and how far each whole is off."""
    values = _values(wholes)
    targets = np.array([float(_number(w.shown).value) for w in wholes])
    step = max(float(_number(w.shown).step) for w in wholes)
    rows, columns = values.shape
    # Variables: a weight a part, and how far each row is off, the sum of which is least.
    cost = np.concatenate([np.zeros(columns), np.ones(rows)])
    bounds = np.vstack([np.hstack([values, -np.eye(rows)]), np.hstack([-values, -np.eye(rows)])])
    limits = np.concatenate([targets + step, -targets + step])
    equal = np.concatenate([np.ones(columns), np.zeros(rows)])[None]
    solved = linprog(cost, A_ub=bounds, b_ub=limits, A_eq=equal, b_eq=[1.0], bounds=(0, None))
    return solved.x[:columns], solved.x[columns:]


def rows(table: Table) -> Iterator[Finding]:
    """Rows that are a sum or a mean of other rows, as stated or by their names; counts exactly."""
    for row, (how, parts) in _row_wholes(table).items():
        good, n = 0, 0
        for column, shown in table.rows[row].items():
            cells = [table.rows[part][column] for part in parts]
            numbers = [number for cell in cells if (number := parse(cell))]
            if not (target := parse(shown)) or len(numbers) < 2:
                continue
            share = len(numbers) if how == "mean" else 1
            low = sum(_least(x) for x in numbers) / share
            high = sum(_most(x) for x in numbers) / share
            holds = low <= target.high + _NEAR and high >= target.low - _NEAR
            n, good = n + 1, good + holds
            if not holds:
                yield Finding(
                    table.document, table.name, f"{how} of rows", f"{row}, {column}", shown,
                    f"{(low + high) / 2:g}", shown, FAILS, CERTAIN, "arithmetic on the column", 1,
                )  # fmt: skip
        if n:
            yield Finding(
                table.document, table.name, f"{how} of rows", row, "",
                f"the {how} of {len(parts)} rows", f"{good} of {n} columns",
                HOLDS if good == n else TELLS, CERTAIN, "arithmetic on the column", n,
            )  # fmt: skip


def _least(number: Printed) -> float:
    return float(number.value) if number.step == 1 else number.low


def _most(number: Printed) -> float:
    return float(number.value) if number.step == 1 else number.high


def _row_wholes(table: Table) -> dict[str, tuple[str, list[str]]]:
    """Row → how it is made of which rows; by name where no size is stated for its cells."""
    stated: Mapping[str, list[object]] = table.reading.get("whole_rows", {})
    found = {}
    plain = [row for row in table.rows if not _WHOLE.fullmatch(row) and row not in stated]
    for row in table.rows:
        if row in stated:
            if stated[row]:
                how, patterns = stated[row]
                fits = [r for r in plain if _named(patterns, r)]
                found[row] = (str(how), fits)
        elif _WHOLE.fullmatch(row) and not any(table.size(row, c) for c in table.columns):
            how = "sum" if _ADDED.fullmatch(row) else "mean"
            found[row] = (how, plain)
    return found


def _named(patterns: object, row: str) -> bool:
    assert isinstance(patterns, list)
    return any(
        re.fullmatch(".*".join(map(re.escape, str(one).split("*"))), row) for one in patterns
    )
