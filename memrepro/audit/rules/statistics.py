"""Columns that one formula ties: F of precision and recall, and harmonic means."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.printed import parse
from memrepro.audit.tables import Table

# A letter before them says of what they are: labelled (LP, LR, LF), unlabelled (UP, UR, UF).
_F = re.compile(
    r"\b(?P<of>[A-Z]?)F(?:[-_ ]?(?P<beta>0?\.5|1|2))?(?:[-_ ]?(?i:score|measure))?\b(?!@)"
)
_P = r"\b(?:{of}P(?:(?:re|RE)(?:c|C)?(?:ision|ISION)?)?|PPV)\b\.?"
_R = r"\b(?:{of}R(?:(?:ec|EC)(?:all|ALL)?)?|TPR|(?i:sensitivity))\b\.?(?!@)"
_HARMONIC = r"(?i:harmonic|\bh-?mean\b)|\bHM\b|(?:^|[ ,])H$"
_SELDOM = 0.9  # of the rows, that lie between P and R where an F outside of them is told
_DEVIATION = re.compile(r"±\s?(\d*\.?\d+)")
_AVERAGED = re.compile(r"\b(?:average|avg|mean)\b", re.I)
_FAR = 0.1  # of what follows, which no mean over classes is off where two others are exact
_ROWS = 3  # that must be there before a column's meaning is taken from them


class _Held(NamedTuple):
    """A cell, the least and most that follow, whether it lies between, and within both parts."""

    row: str
    column: str
    shown: str
    low: float
    high: float
    holds: bool
    within: bool


def f1(table: Table) -> Iterator[Finding]:
    """F = (1 + β²)PR / (β²P + R), with what rounding leaves open; a macro F1 need not be that."""
    for column in table.columns:
        found = _F.search(column)
        if not found:
            continue
        head = f"{column[: found.start()]}{column[found.end() :]}".strip(" ,")
        # A micro F1 is of the P and R of all together, and one of a class may be.
        heads = (head, "") if head else ("",)
        names = [key.format(of=found["of"]) for key in (_P, _R)]
        pairs = [[_beside(table, column, one, name) for name in names] for one in heads]
        p, r = next((pair for pair in pairs if all(pair)), ("", ""))
        if not p or not r:
            continue
        beta = float(found["beta"] or 1)
        made = _harmonics(table, p, r, column, beta)
        other = head.lower() != "micro" and [p, r] != pairs[0]
        if other and 2 * sum(one.holds for one in made) <= len(made):
            continue
        formula = "2PR / (P + R)" if beta == 1 else f"(1 + {beta:g}²)PR / ({beta:g}²P + R)"
        why = "arithmetic, if F1 is of these P and R and no mean of several"
        yield from _tally_and_exceptions(table, "F1 of P and R", formula, made, why)
        good, within = sum(o.holds for o in made), sum(o.within for o in made)
        # A mean over classes may lie outside of both, which is seldom.
        for one in made if 2 * good <= len(made) and within >= _SELDOM * len(made) else []:
            if not one.within:
                yield Finding(
                    table.document, table.name, "F1 of P and R", f"{one.row}, {column}", one.shown,
                    f"between {table.rows[one.row][p]} and {table.rows[one.row][r]}", one.shown,
                    FAILS, WEAK, f"{within} of {len(made)} lie between P and R; a mean over "
                    "classes need not", 3,
                )  # fmt: skip


def harmonic(table: Table) -> Iterator[Finding]:
    """A column named so is the harmonic mean of two beside it: those that most rows follow."""
    for column in table.columns:
        if not re.search(_HARMONIC, column):
            continue
        group = column.rpartition(", ")[0]
        beside = [c for c in table.columns if c != column and c.rpartition(", ")[0] == group]
        pairs = [(_harmonics(table, a, b, column), a, b) for a, b in combinations(beside, 2)]
        made, a, b = max(
            pairs, key=lambda pair: sum(one.holds for one in pair[0]), default=([], "", "")
        )
        if len(made) >= _ROWS and 2 * sum(one.holds for one in made) > len(made):
            why = "arithmetic, if it is of these two columns, which most rows follow"
            yield from _tally_and_exceptions(
                table, "harmonic mean", f"2ab / (a + b) of {a} and {b}", made, why
            )


def _harmonics(table: Table, p: str, r: str, column: str, beta: float = 1) -> list[_Held]:
    """Each row's cell of a column against the harmonic mean of two others."""
    made = []
    for row, cells in table.rows.items():
        shown = [parse(cells[c]) for c in (p, r, column)]
        first, second, f = shown
        if first and second and f and min(first.value, second.value, f.value) > 0:
            low = _harmonic(first.low, second.low, beta)
            high = _harmonic(first.high, second.high, beta)
            holds = low <= f.high + 1e-9 and high >= f.low - 1e-9
            ends = min(first.low, second.low), max(first.high, second.high)
            within = ends[0] <= f.high + 1e-9 and ends[1] >= f.low - 1e-9
            made.append(_Held(row, column, cells[column], low, high, holds, within))
    return made


def _tally_and_exceptions(
    table: Table, rule: str, formula: str, made: Sequence[_Held], why: str
) -> Iterator[Finding]:  # fmt: skip
    """In how many rows it holds, and where it does not if it does in most."""
    good = sum(one.holds for one in made)
    if made:
        yield tally(table, rule, "all rows", formula, good, len(made), why)
    for one in made:
        if not one.holds and 2 * good > len(made):
            yield Finding(
                table.document, table.name, rule, f"{one.row}, {one.column}", one.shown,
                f"{(one.low + one.high) / 2:.4g} ({one.low:.4g} to {one.high:.4g})", one.shown,
                FAILS, LIKELY if (good >= max(_ROWS, 0.75 * len(made)) or _alone(one, good, made))
                and not _is_mean(one) else WEAK,
                f"{good} of {len(made)} rows follow {formula}", 3,
            )  # fmt: skip


def _alone(one: _Held, good: int, made: Sequence[_Held]) -> bool:
    """Whether one row of a few is far off, and all others, at least two, follow."""
    number = parse(one.shown)
    middle = (one.low + one.high) / 2
    far = number is not None and abs(float(number.value) - middle) > _FAR * middle
    return far and good == len(made) - 1 >= 2


def _is_mean(one: _Held) -> bool:
    """Whether it may be a mean over runs or rows: at most that of the means, as it is concave."""
    found, number = _DEVIATION.search(one.shown), parse(one.shown)
    if number is None or not (found or _AVERAGED.search(one.row)):
        return False
    below = float(found[1]) if found else _FAR * one.low
    return number.low <= one.high and number.high + below >= one.low


def _beside(table: Table, column: str, head: str, pattern: str) -> str:
    """The column with the rest of a head and another metric, or ''."""
    for other in table.columns:
        rest = re.sub(pattern, "", other).strip(" ,")
        if other != column and rest == head and re.search(pattern, other):
            return other
    return ""


def _harmonic(p: float, r: float, beta: float) -> float:
    square = beta * beta
    return (1 + square) * p * r / (square * p + r) if p + r > 0 else 0.0
