"""Percentages as shares: '45.2' in a column of percentages is 0.452 to every rule on shares."""

import re
from decimal import Decimal

from memrepro.audit.ledger import entry_of
from memrepro.audit.printed import Printed, parse
from memrepro.audit.tables import PROSE, Table

_COUNTED = re.compile(
    r"\bacc\b|accuracy|recall|\bR@|\bhits?\b|success|\bpass@|\bEM\b|exact match", re.I
)
_NO_LEVEL = re.compile(
    r"Δ|[↑↓]|\bdrop|\bgain|\bchange|improve|token|time|cost|latenc|memory|\(ms\)|#", re.I
)


def in_shares(table: Table) -> Table:
    """The table with its columns of percentages as shares; the same table where it has none.

    A column is one where all numbers lie from 0 to 100, some above 1, with decimals or '%', and
    where it counts questions: their number is stated, or its head or caption names the metric.
    """
    found = {column for column in table.columns if _is_percent(table, column)}
    if not found:
        return table
    rows = {
        row: {c: _share(shown) if c in found else shown for c, shown in cells.items()}
        for row, cells in table.rows.items()
    }
    return Table(table.document, table.name, rows, table.reading)


def _is_percent(table: Table, column: str) -> bool:
    numbers = [n for cells in table.rows.values() if (n := parse(cells.get(column, "")))]
    arrows = any("↓" in cells.get(column, "") for cells in table.rows.values())
    if (
        column == PROSE
        or arrows
        or _NO_LEVEL.search(column)
        or table.reading.get("set")
        or not numbers
    ):
        return False
    if not all(map(_level, numbers)) or max(n.value for n in numbers) <= 1:
        return False
    if all(n.step == 1 for n in numbers) and not any(n.unit == "%" for n in numbers):
        return False
    first = next(iter(table.rows))
    counted = entry_of(table, first, column, "").metric in ("recall", "accuracy")
    # A number up to ten may be a rating, a length or a loss as well.
    sized = (
        any(table.size(row, column) for row in table.rows) and max(n.value for n in numbers) > 10
    )
    return counted or sized or bool(_COUNTED.search(column))


def _level(number: Printed) -> bool:
    plain = not (number.signed or number.bound or number.ranged)
    return plain and number.unit in ("", "%") and 0 <= number.value <= 100


def _share(shown: str) -> str:
    """The string with each of its numbers, a deviation or the ends of an interval too, over 100."""
    if parse(shown) is None:
        return shown
    return re.sub(r"\d+(?:\.\d+)?", lambda one: _over_100(one[0]), shown.replace("%", ""))


def _over_100(shown: str) -> str:
    share = Decimal(shown).scaleb(-2)
    return f"{share:.{-int(share.as_tuple().exponent)}f}"
