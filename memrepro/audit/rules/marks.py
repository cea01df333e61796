"""What is set in bold or underlined against the numbers: best and second best of their column."""

from collections.abc import Iterator, Mapping, Sequence

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.printed import parse
from memrepro.audit.tables import Table

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
