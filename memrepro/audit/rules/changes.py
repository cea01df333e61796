"""Changes against what they are of: a column or a row named Δ, and '45.3 (+2.1)' in a cell.

Of which two a change is, its other places tell: the difference, or the change relative to the
second, that most of them follow.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.heads import group_of
from memrepro.audit.printed import parse
from memrepro.audit.rules.evidence import (
    Held,
    best_of,
    ends,
    held,
    how_sure,
    tally_and_exceptions,
    width_of,
)
from memrepro.audit.tables import Table

CHANGE = re.compile(
    r"(?<![Σ∑]\|)Δ|\\Delta|(?<![A-Za-z])(?:diff(?:erence)?s?|gains?|impr(?:ove-?ment)?s?|imp\.|changes?"
    r"|delta|uplift"
    r"|drops?|decrease|increase|reduction|shifts?|gaps?|lifts?|(?:abs|rel)(?:olute|ative|\.)?)"
    r"(?![A-Za-z\d]|_(?:plus|and)_)",
    re.I,
)
_LEVEL = re.compile(
    r"\b(?:before|after|pre|post)\b|(?<![A-Za-z])(?:with|without|w/o?)\s|standardi[sz]ed|\bSMD\b",
    re.I,
)
_SIZE = re.compile(
    r"(?:.*, )?(?:n|no\.? of .*|#.*|number of .*|obs(?:\.|ervations)?|sample size)", re.I
)
_OF_CELL = re.compile(
    r"\s*(?P<level>[-−+]?\d+(?:\.\d+)?)\s*%?\s*[({\[]?\s*(?P<sign>[-−+↑↓▲▼])\s*"
    r"(?P<by>\d+(?:\.\d+)?)\s*(?P<unit>%?)\s*[)}\]]?\s*"
)
_LARGE = 1000  # from which on a whole number may be a rounded mean, such as an income
_MOST = 24  # lines of which every two are tried
Line = Mapping[str, str]


def changes(table: Table) -> Iterator[Finding]:
    """Columns 'Δ X' against column X less its value in the row where the change is 0 or a dash.

    A 'Δ' by itself is of the column before it.
    """
    for at, column in enumerate(table.columns):
        if not column.startswith("Δ"):
            continue
        stem = column.removeprefix("Δ").strip()
        before = table.columns[at - 1] if at else ""
        of = next((c for c in table.columns if c != column and c.startswith(stem)), "")
        of = of if stem else before
        deltas = {row: parse(cells[column]) for row, cells in table.rows.items()}
        bases = [row for row, number in deltas.items() if number is None or not number.value]
        starts = {r: n for r in bases if of and (n := parse(table.rows[r][of]))}
        made = []
        for row, delta in deltas.items():
            level = parse(table.rows[row][of]) if starts else None
            if delta is None or level is None or row in bases:
                continue
            # Each group of rows may have a base of its own: the nearest above is told.
            above = [r for r in starts if list(deltas).index(r) < list(deltas).index(row)]
            base = above[-1] if above else next(iter(starts))
            changed = [level.value - start.value for start in starts.values()]
            holds = any(abs(by - delta.value) <= delta.step for by in changed)
            made.append((row, base, level.value - starts[base].value, holds))
        good, why = sum(holds for *_, holds in made), "if it is of this row, as most are"
        # Of which column and row a Δ is, its rows must tell.
        if not made or (2 * good <= len(made) if not stem else 2 * good < len(made)):
            continue
        sure = LIKELY if good >= 2 and 3 * good >= 2 * len(made) else WEAK
        for row, base, by, holds in made:
            if not holds:
                shown = table.rows[row][column]
                yield Finding(
                    table.document, table.name, "change in a column", f"{row}, {column}", shown,
                    f"{by:+}, {of} less that of {base}", shown, FAILS, sure, why, 1,
                )  # fmt: skip
        expects = f"{of} less that of {' or '.join(starts)}"
        yield tally(table, "change in a column", column, expects, good, len(made),
                    "arithmetic on the table")  # fmt: skip


def of_two(table: Table) -> Iterator[Finding]:
    """A column or a row named as a change against the two columns or rows that it is of."""
    columns = {c: {r: cells[c] for r, cells in table.rows.items()} for c in table.columns}
    for lines, across in ((columns, False), (table.rows, True)):
        own = [name for name in lines if _is_change(name, lines) and not _LEVEL.search(name)]
        for name in own:
            if own and 2 * len(own) > len(lines):
                continue
            others = [
                o for o in lines
                if o not in own and sum(parse(s) is not None for s in lines[o].values()) >= 2
            ]  # fmt: skip
            formula, made, tried = best_of(_candidates(name, others, lines, across))
            if sure := how_sure(made, max(1, tried)):
                # A row so named was seldom one in papers: docs/audit.md has how often.
                sure = WEAK if across and "file" in table.reading else sure
                why = f"of which {'two rows' if across else 'two columns'} it is, most places tell"
                yield from tally_and_exceptions(table, "change of two", formula, made, why, sure)


def _is_change(name: str, lines: Iterable[str]) -> bool:
    """Whether a name says so itself, or its group does and others have what the group is of.

    In 'Δ, Acc' beside 'Ours, Acc' the group is a change, in 'Harm Reduction, Q3' a subject.
    """
    group, _, last = name.rpartition(", ")
    if CHANGE.search(last):
        return True
    return bool(CHANGE.search(group)) and any(o != name and o.endswith(f", {last}") for o in lines)


def _candidates(
    name: str, others: Sequence[str], lines: Mapping[str, Line], across: bool
) -> Iterator[tuple[str, Sequence[Held]]]:
    """Differences, and relative ones, of every two lines; of a line and the best of the others."""
    if group := group_of(name):
        own = [o for o in others if group_of(o) == group]
        others = own if len(own) > 1 else others
    # The nearest first, so that of two that explain as much the nearer is told.
    at = list(lines).index(name)
    near = sorted(others, key=lambda o: abs(list(lines).index(o) - at))[:_MOST]
    percent = re.search("%|rel", name, re.I) is not None or any(
        "%" in shown for shown in lines[name].values()
    )
    for first, second in itertools.permutations(near, 2):
        for relative in (False, True) if percent else (False,):
            made = list(_differences(name, lines, lines[first], lines[second], relative, across))
            said = f"({first} − {second})" + (f" / {second}" if relative else "")
            yield said, made
    if not across:
        # The range of those before it, such as of several windows, is no change of two.
        before = [o for o in others if list(lines).index(o) < at]
        for n in range(3, min(len(before), _MOST) + 1):
            least, highest = (_ends_of(lines, before[-n:], which) for which in (min, max))
            made = list(_differences(name, lines, highest, least, False, across))
            yield f"the range of {before[-n]} to {before[-1]}", made
        return
    for first in near[:4]:
        for most in (max, min):
            best = _ends_of(lines, [o for o in others if o != first], most)
            for relative in (False, True) if percent else (False,):
                made = list(_differences(name, lines, lines[first], best, relative, across))
                said = f"({first} − the best of the others)" + " relative" * relative
                yield said, made


def _ends_of(lines: Mapping[str, Line], names: Sequence[str], most: Callable[..., str]) -> Line:
    """The largest, or least, number of several lines at each place."""
    return {
        place: most((lines[o][place] for o in names if parse(lines[o][place])),
                    key=lambda shown: parse(shown).value, default="")  # type: ignore
        for place in lines[names[0]]
    } if names else {}  # fmt: skip


def _differences(
    name: str, lines: Mapping[str, Line], first: Line, second: Line, relative: bool, across: bool
) -> Iterator[Held]:
    # A row's places may be of several scales: each is measured by its own column too.
    width = 2 * max(width_of(lines[name].values()), 1e-12)
    widths = {place: min(width, 2 * width_of(line.get(place, "") for line in lines.values()))
              for place in lines[name]} if across else {}  # fmt: skip
    # Whole numbers among others with decimals are means, and rounded.
    levels = [n for line in (first, second) for shown in line.values() if (n := parse(shown))]
    counts = all(n.step == 1 for n in levels)
    for place, shown in lines[name].items():
        a, b, change = parse(first.get(place, "")), parse(second.get(place, "")), parse(shown)
        if a is None or b is None or change is None or (relative and b.low <= 0):
            continue
        if _SIZE.fullmatch(place) or change.ranged:
            continue  # how many there are of all is no change
        if a.value == b.value == change.value == 0:
            continue  # 0 − 0 = 0 holds of any three lines
        (a_low, a_high), (b_low, b_high) = (
            ends(n) if counts and abs(n.value) < _LARGE else (n.low, n.high) for n in (a, b)
        )
        low, high = a_low - b_high, a_high - b_low
        if relative:
            low, high = (
                100 * min(low / b_high, low / b_low),
                100 * max(high / b_low, high / b_high),
            )
        if not change.signed and change.value >= 0 and high < 0:
            low, high = -high, -low  # a drop, printed without its sign
        row, column = (name, place) if across else (place, name)
        # What is computed before rounding may be one unit off.
        if one := held(row, column, shown, low, high, widths.get(place, width)):
            yield one


def in_cells(table: Table) -> Iterator[Finding]:
    """'45.3 (+2.1)': the change against the row of the same column that has none, or the first."""
    levels = {
        (row, column): found for row, column, shown in table.cells()
        if (found := _OF_CELL.fullmatch(shown))
    }  # fmt: skip
    if len(levels) < 3:
        return
    bases = [r for r in table.rows if not any((r, c) in levels for c in table.columns)]
    candidates = [(base, list(_against(table, base, levels))) for base in bases]
    candidates.append(("the row above", list(_against(table, "", levels))))
    base, made, tried = best_of(candidates)
    if sure := how_sure(made, tried):
        why = "against which row the changes are, most of them tell"
        yield from tally_and_exceptions(
            table, "change in a cell", f"the level less that of {base}", made, why, sure
        )


def _against(
    table: Table, base: str, levels: Mapping[tuple[str, str], re.Match[str]]
) -> Iterator[Held]:
    rows = list(table.rows)
    width = 2 * max((float(found["by"]) for found in levels.values()), default=0.0)
    for (row, column), found in levels.items():
        at = rows.index(row)
        below = base or next((r for r in reversed(rows[:at]) if (r, column) not in levels), "")
        start = parse(table.rows[below][column]) if below else None
        level = parse(found["level"])
        if start is None or level is None:
            continue
        low, high = level.low - start.high, level.high - start.low
        if found["unit"] and start.low > 0 and not re.search("%", column):
            step = 0.5 * 10.0 ** -len(found["by"].partition(".")[2])
            by = float(found["by"]) * (-1 if found["sign"] in "-−↓▼" else 1)
            parts = sorted((100 * low / start.high, 100 * high / start.low))
            if parts[0] - step <= by <= parts[1] + step:
                low, high = parts
        sign = "-" if found["sign"] in "-−↓▼" else "+"
        one = held(row, column, f"{sign}{found['by']}", low, high, width)
        if one:
            yield one._replace(shown=table.rows[row][column])
