"""Rows that are a sum or a mean of other rows, as stated or by their names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memrepro.audit.finding import CERTAIN, FAILS, Finding, tally
from memrepro.audit.printed import Printed, parse
from memrepro.audit.rules.wholes import NEAR, WHOLE
from memrepro.audit.tables import Table, matches

_ADDED = re.compile(r"\b(total|sum)\b", re.I)


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
            low, high = (sum(ends) / share for ends in zip(*map(_ends, numbers), strict=True))
            holds = low <= target.high + NEAR and high >= target.low - NEAR
            n, good = n + 1, good + holds
            if not holds:
                yield Finding(
                    table.document, table.name, f"{how} of rows", f"{row}, {column}", shown,
                    f"{(low + high) / 2:g}", shown, FAILS, CERTAIN, "arithmetic on the column", 1,
                )  # fmt: skip
        if n:
            yield tally(
                table, f"{how} of rows", row, f"the {how} of {len(parts)} rows", good, n,
                "arithmetic on the column", " columns",
            )  # fmt: skip


def _ends(number: Printed) -> tuple[float, float]:
    """The least and the most that a number can stand for; a count is exact."""
    exact = float(number.value)
    return (exact, exact) if number.step == 1 else (number.low, number.high)


def _row_wholes(table: Table) -> dict[str, tuple[str, list[str]]]:
    """Row → how it is made of which rows; by name where no size is stated for its cells."""
    stated: Mapping[str, Any] = table.reading.get("whole_rows", {})
    found = {}
    plain = [row for row in table.rows if not WHOLE.fullmatch(row) and row not in stated]
    for row in table.rows:
        if row in stated:
            if stated[row]:
                how, patterns = stated[row]
                found[row] = (how, [r for r in plain if any(matches(str(p), r) for p in patterns)])
        elif WHOLE.fullmatch(row) and not any(table.size(row, c) for c in table.columns):
            how = "sum" if _ADDED.fullmatch(row) else "mean"
            found[row] = (how, plain)
    return found
