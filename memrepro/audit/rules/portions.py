"""Counts with their share: '0.90 (27/30)', '66 (55.0%)' under its N, 30 of 40 in three columns.

Of what a percentage is, a table seldom says: the number that most cells of a column, a row or the
table follow is taken, and a cell is told that follows none.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.heads import group_of, is_matrix
from memrepro.audit.printed import Printed, parse
from memrepro.audit.rules.evidence import Held, best_of, held, how_sure, tally_and_exceptions
from memrepro.audit.rules.granularity import written
from memrepro.audit.tables import Table

_RATIO = re.compile(
    r"(?P<rate>[01]?\.\d+|[01]|(?P<percent>\d{1,3}(?:\.\d+)?)\s*%)\s*"
    r"[(\[](?P<right>\d+)\s*/\s*(?P<all>\d+)[)\]]"
)
_SUM = re.compile(r"(?P<whole>\d+)\s*\((?P<parts>\d+(?:\s*\+\s*\d+)+)\)")
_COUNT = r"(?P<count>\d{1,3}(?:,\d{3})+|\d+)"
_PART = r"(?P<part>\d{1,3}(?:\.\d+)?)"
_PORTIONS = (
    re.compile(rf"{_COUNT}\s*[(\[]\s*{_PART}\s*(?P<unit>%?)\s*[)\]]"),
    re.compile(rf"{_PART}\s*(?P<unit>%)\s*[(\[]\s*{_COUNT}\s*[)\]]"),
)
_N = re.compile(r"\b[nN]\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)")
_N_ROW = re.compile(
    r"(?:total|all|overall|sum)?\s*(?:n|no\.?|number|count|participants|patients|subjects|total"
    r"|sample size|observations)\b.*",
    re.I,
)
_ROUNDED = re.compile(r"\b0?00s|thousand|million", re.I)  # counts that are rounded
_PERCENT = re.compile(r"%|percent|\bpct\b|\bshare\b|\brate\b|accurac|\bacc\b|proportion", re.I)
_TELLING = 3  # cells from which on one number is believed
_MOST = 0.75


def ratios(table: Table) -> Iterator[Finding]:
    """Cells that print how they come about: '0.90 (27/30)', '75 (34+41)'.

    In a table most of whose cells follow, since '0.55 (3/15)' may be a rank as well.
    """
    made = []
    for row, column, shown in table.cells():
        if found := _RATIO.fullmatch(shown.strip()):
            right, every = int(found["right"]), int(found["all"])
            rate = found["percent"] or found["rate"]
            scale = 100 if found["percent"] else 1
            after = len(rate.partition(".")[2])
            said = f"{scale * right / every:.{after}f}" if every else "nothing"
            # Of more than there are, a ratio is above 1.
            units = int(Decimal(rate).scaleb(after))
            holds = every > 0 and units in written(scale * right, every, after).values()
        elif found := _SUM.fullmatch(shown.strip()):
            added = sum(map(int, found["parts"].split("+")))
            said, holds = str(added), added == int(found["whole"])
        else:
            continue
        made.append((f"{row}, {column}", shown, said, holds))
    good = sum(holds for *_, holds in made)
    sure = CERTAIN if good >= 2 and 2 * good > len(made) else WEAK if good else ""
    for where, shown, said, holds in made:
        if sure and not holds:
            yield Finding(
                table.document, table.name, "ratio in a cell", where, shown, said, shown, FAILS,
                sure, f"arithmetic on the cell, as {good} of {len(made)} follow it", 1,
            )  # fmt: skip
    if made and sure:
        why = "arithmetic on the cell"
        yield tally(table, "ratio in a cell", "all", "each number follows", good, len(made), why)


class _Portion(NamedTuple):
    """A cell with a count and its percentage, and the numbers that it can be of, both inclusive."""

    row: str
    column: str
    shown: str
    held: int
    part: float
    least: int
    most: int


def _portion(row: str, column: str, shown: str) -> _Portion | None:
    heads = f"{row} {column}"
    for form in _PORTIONS:
        found = form.fullmatch(shown.strip())
        if not found or not (found["unit"] or "." in found["part"] or re.search("%", heads)):
            continue
        count, part = int(found["count"].replace(",", "")), float(found["part"])
        # Rounded, or cut off: up to a whole step above.
        step = 10.0 ** -len(found["part"].partition(".")[2])
        if part > 100:
            return None
        low, high = max(part - step / 2, 1e-9), part + step - 1e-9
        least = math.ceil(100 * count / high - 1e-9)
        most = math.floor(100 * count / low + 1e-9) if count else 10**9
        return _Portion(row, column, shown, count, part, max(least, count), most)
    return None


def portions(table: Table) -> Iterator[Finding]:
    """'66 (55.0%)' against its N: a stated one, or the one that most cells of its line follow."""
    cells = {(r, c): p for r, c, s in table.cells() if (p := _portion(r, c, s))}
    lines: dict[tuple[str, str], list[_Portion]] = {}
    for one in cells.values():
        for line in _lines_of(one):
            lines.setdefault(line, []).append(one)
    believed: dict[tuple[str, str], tuple[int, int, int]] = {}
    for line, own in lines.items():
        if found := _number(table, line, own):
            believed[line] = found
    holds = 0
    for one in cells.values():
        own_lines = [(line, believed[line]) for line in _lines_of(one) if line in believed]
        fits = any(_fits(one, n) for _, (n, *_) in own_lines)
        holds += fits
        if fits or not own_lines or _adds_up(one, cells):
            continue
        (_, where), (n, good, of) = own_lines[0]
        yield Finding(
            table.document, table.name, "count and percent", f"{one.row}, {one.column}",
            one.shown,
            f"{100 * one.held / n:.4g}% of {n}, as {good} of {of} in {where or 'the table'} are",
            f"{one.held} is {one.part:g}% of "
            + (f"{one.least} to {one.most}" if one.least <= one.most else "no number"),
            FAILS, LIKELY if good >= _TELLING or _N.search(where) else WEAK,
            "if it is of the number that the other cells of its line follow", good + 1,
        )  # fmt: skip
    if believed:
        yield tally(table, "count and percent", "all", "each percentage is of one N a line",
                    holds, len(cells), "arithmetic on the cells")._replace(sure=LIKELY)  # fmt: skip


def _lines_of(one: _Portion) -> Iterator[tuple[str, str]]:
    """A cell's column, row, the table, and its group of rows within the column.

    'Sex, male' and 'Sex, female' share an N.
    """
    yield "column", one.column
    yield "row", one.row
    yield "table", ""
    if group := group_of(one.row):
        yield "column and group", f"{group}, {one.column}"


def _number(
    table: Table, line: tuple[str, str], own: Sequence[_Portion]
) -> tuple[int, int, int] | None:
    """The number that most cells of a line are of, how many are, and of how many cells."""
    told = [one for one in own if one.held]
    if not told:
        return None
    kind, name = line
    stated = [int(n.replace(",", "")) for n in _N.findall(name)]
    if kind in ("column", "table"):
        stated += _rows_of_n(table, name)
    tried = stated or sorted({n for o in told for n in (o.least, o.most)})
    best = max(tried, key=lambda n: (sum(_fits(o, n) for o in told), -n), default=0)
    good = sum(_fits(o, best) for o in told)
    needed, most = (2, 0.5) if stated else (_TELLING, _MOST)
    if good < needed or good < most * len(told) or (stated and 2 * good == len(told)):
        return None
    if not stated:
        # One number has to explain more than chance: cells that few numbers are possible for.
        narrow = sum(o.most - o.least <= 0.1 * o.least for o in told if _fits(o, best))
        if narrow < _TELLING - 1:
            return None
    return best, good, len(told)


def _rows_of_n(table: Table, column: str) -> Iterator[int]:
    for row, cells in table.rows.items():
        if column in cells and _N_ROW.fullmatch(row):
            number = parse(cells[column])
            if number and number.step == 1 and number.value > 1:
                yield int(number.value)


def _fits(one: _Portion, n: int) -> bool:
    return one.least <= n <= one.most or (not one.held and one.part == 0)


def _adds_up(one: _Portion, cells: Mapping[tuple[str, str], _Portion]) -> bool:
    """Whether a percentage is of the counts of its row, column or group together."""
    in_row = [o for o in cells.values() if o.row == one.row]
    in_column = [o for o in cells.values() if o.column == one.column]
    in_group = [o for o in in_column if group_of(o.row) == group_of(one.row)]
    for line in (in_row, in_column, in_group):
        total, largest = sum(o.held for o in line), max(o.held for o in line)
        # The whole of them may stand among its parts.
        if any(_fits(one, n) for n in (total, total - largest, total // 2)):
            return True
    return False


def columns(table: Table) -> Iterator[Finding]:
    """Three columns of which one is the share of the second in the third: 30, 40 and 75 %."""
    if is_matrix(table):
        return
    numbers = {c: {r: parse(cells[c]) for r, cells in table.rows.items()} for c in table.columns}
    counts = [c for c, own in numbers.items() if _are_counts(list(own.values()))]
    shares = [
        c for c in table.columns
        if c not in counts and any(_PERCENT.search(s) for s in (c, *_shown(table, c)))
    ]  # fmt: skip
    for column in shares:
        candidates = [
            (f"{right} / {every}", _held_portions(table, column, numbers[right], numbers[every]))
            for right, every in itertools.permutations(counts[:12], 2)
            if numbers[right] != numbers[every]
        ]
        for right in counts[:12]:
            for name, n in _totals(table, right, numbers[right]):
                whole: dict[str, Printed | None] = dict.fromkeys(table.rows, n)
                candidates.append(
                    (f"{right} / {name}", _held_portions(table, column, numbers[right], whole))
                )
        formula, made, tried = best_of(candidates)
        if sure := how_sure(made, max(1, tried)):
            # In papers it was seldom meant so: docs/audit.md has how often.
            sure = WEAK if "file" in table.reading else sure
            why = "if it is of these columns, which most rows follow"
            yield from tally_and_exceptions(table, "share of counts", formula, made, why, sure)


def _shown(table: Table, column: str) -> list[str]:
    return [cells[column] for cells in table.rows.values()]


def _are_counts(numbers: Sequence[Printed | None]) -> bool:
    shown = [n for n in numbers if n]
    # An estimate with its interval is no count.
    return len(shown) >= 2 and all(
        n.step == 1 and not (n.unit or n.ranged) and n.value >= 0 for n in shown
    )


def _totals(
    table: Table, column: str, numbers: Mapping[str, Printed | None]
) -> Iterator[tuple[str, Printed]]:
    """What a column of counts adds up to: in a row of its own, or not printed."""
    total = re.compile(r"total|all|overall|sum|n", re.I)
    own = [r for r in table.rows if total.fullmatch(r.split(", ")[-1])]
    for row in own:
        if n := numbers[row]:
            yield row, n
    if not own and (found := sum(int(n.value) for n in numbers.values() if n)):
        yield f"the sum of {column}", Printed(Decimal(found), Decimal(1), "", False, "", False)


def _held_portions(
    table: Table, column: str, right: Mapping[str, Printed | None],
    every: Mapping[str, Printed | None],
) -> list[Held]:  # fmt: skip
    made = []
    shown = [n for cells in table.rows.values() if (n := parse(cells[column]))]
    hundred = any(n.unit == "%" or n.value > 1 for n in shown)
    rounded = any(map(_ROUNDED.search, table.columns))
    each = len({n.value for n in every.values() if n}) > 1
    for row, cells in table.rows.items():
        a, b = right[row], every[row]
        # None is 0 % of any number, and all of one column are all of another: both say nothing.
        if a is None or b is None or b.value <= 0 or not a.value or (each and a.value == b.value):
            continue
        ends = (a.low / b.high, a.high / b.low) if rounded else [float(a.value / b.value)] * 2
        low, high = (float(end) * (100 if hundred else 1) for end in ends)
        one = held(row, column, cells[column], low, high, 100.0 if hundred else 1.0)
        if one:
            made.append(one)
    return made


def sums_of_n(table: Table) -> Iterator[Finding]:
    """Heads that say their n: that of the whole is the sum of the others'."""
    for heads in (table.columns, list(table.rows)):
        sizes = {h: int(found[1].replace(",", "")) for h in heads if (found := _N.search(h))}
        wholes = [
            h for h in sizes if re.match(r"(?:total|overall|all|whole|full|entire)\b", h, re.I)
        ]
        parts = [h for h in sizes if h not in wholes]
        if len(wholes) != 1 or len(parts) < 2:
            continue
        total, added = sizes[wholes[0]], sum(sizes[h] for h in parts)
        # Groups that overlap, or of which not all are shown, are far off.
        if added != total and abs(added - total) <= max(2, total // 10):
            yield Finding(
                table.document, table.name, "sum of n", wholes[0], str(total), str(added),
                " + ".join(str(sizes[h]) for h in parts), FAILS, WEAK,
                "if the groups are all of the whole, and none is in two", len(sizes),
            )  # fmt: skip
