"""Percentages as shares: '45.2' in a column of percentages is 0.452 to every rule on shares."""

import re
from collections.abc import Sequence
from decimal import Decimal

from memrepro.audit.heads import NO_LEVEL, counts_questions
from memrepro.audit.ledger import entry_of
from memrepro.audit.printed import KINDS, Printed, parse
from memrepro.audit.rules.wholes import columns_of
from memrepro.audit.tables import PROSE, Table


def in_shares(table: Table) -> Table:
    """The table with its columns of percentages as shares; the same table where it has none.

    A column is one where all numbers lie from 0 to 100, some above 1, with decimals or '%', and
    where it counts questions: their number is stated, or its head or caption names the metric. A
    row of another unit (all its numbers are at most 1, or its name is of no level) stays.
    """
    rows = [row for row in table.rows if not _is_other_unit(table, row)]
    found = {column for column in table.columns if rows and _is_percent(table, column, rows)}
    # Beside its parts in percent a whole would be no mean of them.
    found -= {whole for whole, parts in columns_of(table, KINDS).items() if not {*parts} & found}
    if not found:
        return table
    made = {
        row: {c: _share(s) if c in found and row in rows else s for c, s in cells.items()}
        for row, cells in table.rows.items()
    }
    reading = {**table.reading, "as_shares": frozenset(found)}
    return Table(table.document, table.name, made, reading)


def _is_other_unit(table: Table, row: str) -> bool:
    if NO_LEVEL.search(row):
        return True
    shown = [n for cell in table.rows[row].values() if (n := parse(cell)) and n.unit != "%"]
    small = [n for n in shown if n.value <= 1]
    return len(shown) > 1 and len(small) == len(shown) and any(0 < n.value < 1 for n in small)


def _is_percent(table: Table, column: str, rows: Sequence[str]) -> bool:
    numbers = [n for row in rows if (n := parse(table.rows[row].get(column, "")))]
    arrows = any("↓" in cells.get(column, "") for cells in table.rows.values())
    if (
        column == PROSE
        or arrows
        or NO_LEVEL.search(column)
        or table.reading.get("set")
        or not numbers
    ):
        return False
    if not all(map(_level, numbers)) or max(n.value for n in numbers) <= 1:
        return False
    # Whole numbers are counts or ranks, also where one of them has a slip.
    decimal = sum(n.step < 1 or n.unit == "%" for n in numbers)
    if 3 * decimal < len(numbers):
        return False
    counted = entry_of(table, rows[0], column, "").metric in ("recall", "accuracy")
    # A number up to ten may be a rating, a length or a loss as well.
    sized = (
        any(table.size(row, column) for row in table.rows) and max(n.value for n in numbers) > 10
    )
    return counted or sized or counts_questions(column)


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
