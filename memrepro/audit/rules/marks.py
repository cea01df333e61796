"""What is bold, underlined or starred against the numbers: best, second best, significant."""

import re
from collections.abc import Iterator, Mapping, Sequence

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.printed import parse
from memrepro.audit.rules.statistics import interval_of
from memrepro.audit.tables import Table

_SIGNIFICANT = "marked significant"
_P = r"(?:^|[ ,])p(?:[- ]?values?)?$"
_CHANGE = r"Δ|(?i:\b(?:diff(?:erence)?|gain|change|improvement|delta)\b)"
# What rounding may do to the strength of a number.
_ROOM = 1.1
_TELLING = 3  # columns whose marks agree, from which on a mark means the best


def best(table: Table) -> Iterator[Finding]:
    """A bold number that is not the best of its column, in a table whose other bold ones are.

    Which end is best is told by an arrow in the head, else it is the end that the mark stands at. A
    row that is bold throughout is emphasised and no claim.
    """
    for place, key in enumerate(("bold", "underlined")):
        found = list(_marked(table, key))
        good = [one for one in found if one[2]]
        if len(found) < _TELLING or 2 * len(good) < len(found):
            continue
        name = ("best", "second best")[place]
        why = f"{len(good)} of {len(found)} columns mark the {name} so; the mark is read as that"
        yield tally(table, f"marked {name}", "all columns", f"each mark is the {name}", len(good),
                    len(found), why, " columns")._replace(sure=LIKELY)  # fmt: skip
        for column, rows, holds, better in found:
            if not holds:
                shown = table.rows[rows[0]][column]
                yield Finding(
                    table.document, table.name, f"marked {name}", f"{rows[0]}, {column}", shown,
                    f"the {name}: {better}", shown,
                    FAILS, LIKELY if len(good) >= _TELLING else WEAK, why, len(table.rows),
                )  # fmt: skip


def significant(table: Table) -> Iterator[Finding]:
    """A mark of significance against what is printed with it, in a table where most agree.

    A change's interval is clear of 0 where it is marked, and a p is below 0.05. Only where both
    marked and unmarked numbers stand does a mark say anything. As a mark may be of a stricter
    level, one is missing only where a weaker number has it. That mark, interval and p are of one
    test is an assumption.
    """
    starred: Mapping[str, Sequence[str]] = table.reading.get("starred", {})
    made = []
    for row, column, shown in table.cells():
        strong = _strength(row, column, shown)
        if strong is not None:
            made.append((row, column, shown, column in starred.get(row, ()), strong))
    # The level of the marks: what the weakest number has that is marked and clear.
    level = min((s for *_, mark, s in made if mark and s > 1), default=1.0) * _ROOM
    agree = [s > 1 if mark else s <= level for *_, mark, s in made]
    good = sum(agree)
    if len({mark for *_, mark, _ in made}) < 2 or 2 * good <= len(made) or len(made) < _TELLING:
        return
    why = "if the mark is of the printed test at its level"
    yield tally(table, _SIGNIFICANT, "all changes and p", "marked where clear of 0, or p < 0.05",
                good, len(made), why)._replace(sure=LIKELY)  # fmt: skip
    for (row, column, shown, mark, _), holds in zip(made, agree, strict=True):
        if not holds:
            expected = "no mark: 0 is in the interval, or p is 0.05 or more" if mark else (
                "a mark, as a weaker one has")  # fmt: skip
            yield Finding(
                table.document, table.name, _SIGNIFICANT, f"{row}, {column}", shown, expected,
                f"{shown}, {'' if mark else 'not '}marked", FAILS, LIKELY if mark else WEAK, why, 3,
            )  # fmt: skip


def _strength(row: str, column: str, shown: str) -> float | None:
    """How clear a change is of 0, or a p of 0.05: above 1 where it is; None for another cell.

    None too where rounding leaves open on which side of 0 an end is.
    """
    number = parse(shown)
    if number is None:
        return None
    if re.search(_P, column):
        high = min(number.high, float(number.value)) if number.bound == "less" else number.high
        return (1 + 1e-9) * 0.05 / max(high, 1e-12)
    if (ends := interval_of(shown)) and (
        number.signed or ends[1] < 0 or re.search(_CHANGE, f"{row}, {column}")
    ):
        value, low, high = ends
        return None if 0 in (low, high) else 2 * abs(value) / (high - low)
    return None


def _marked(table: Table, key: str) -> Iterator[tuple[str, list[str], bool, str]]:
    """Column, marked rows, whether they hold the place, and what does, for each marked column."""
    marks: Mapping[str, Sequence[str]] = table.reading.get(key, {})
    numbers = {
        c: {r: n.value for r, cells in table.rows.items() if (n := parse(cells[c]))}
        for c in table.columns
    }
    marks = {r: cs for r, cs in marks.items() if r in table.rows and len(cs) < len(table.columns)}
    for column, values in numbers.items():
        rows = [row for row, columns in marks.items() if column in columns and row in values]
        levels = sorted(set(values.values()))
        at = 0 if key == "bold" else 1
        if not rows or len(values) < 3 or len(levels) < at + 2:
            continue
        ends = ([levels[at]] if "↓" in column else [levels[-1 - at]] if "↑" in column
                else [levels[at], levels[-1 - at]])  # fmt: skip
        marked = {values[row] for row in rows}
        # Several of one column are the best of as many groups of rows, which are not known.
        if len(marked) > 1:
            continue
        high = next((r for r, v in values.items() if v == levels[-1 - at]), "")
        low = next((r for r, v in values.items() if v == levels[at]), "")
        told = " or ".join(f"{r} {table.rows[r][column]}" for r in dict.fromkeys((high, low)))
        yield column, rows, bool(marked & set(ends)), told
