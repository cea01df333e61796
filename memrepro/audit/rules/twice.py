"""What is printed more than once: rows that repeat, and one setting with different values.

Rows are compared by their numbers, whatever they are called; settings by what the ledger tells of
them, over tables and documents.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scipy.stats import binom

from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, TELLS, WEAK, Finding
from memrepro.audit.ledger import Entry, entries
from memrepro.audit.printed import parse
from memrepro.audit.rules.granularity import CHANCE
from memrepro.audit.tables import Table

_LOOSE = 0.05  # for rows that are the same throughout
_LEAST = 2
_CROWDED, _MOST = 30, 400  # findings of a document; rows of which every two are compared
_MANY_APART = -3  # rows of one name that differ in two tables, less those that are the same
_MOST_PAIRS = 2_000_000  # which take half a minute
_SAME = 0.005  # two cells of one table by chance at least: few questions have few shares
_KINDS = ("share", "percent", "number", "time")


class Line(NamedTuple):
    """A row or a column of a table: its numbers by head, the head without what all heads share."""

    table: str
    name: str
    cells: dict[str, str]


def _lines(table: Table, named: bool = True) -> list[Line]:
    """The rows of a table whose cells are measured; settings and counts repeat by nature.

    Where no metric is named, shares and percentages alone.
    """
    kinds = _KINDS if named else ("share", "percent")
    by_row: dict[str, dict[str, str]] = {}
    if table.reading.get("set"):
        return []
    for entry in entries([table]):
        known = entry.metric not in ("", "tokens", "time") if named else not entry.metric
        if entry.kind in kinds and known:
            head = re.sub(r"[\s_-]+", " ", entry.column.lower())
            by_row.setdefault(entry.row, {})[head] = entry.printed.rstrip("*")
    return [Line(table.name, row, cells) for row, cells in by_row.items() if len(cells) >= _LEAST]


def _block(head: str, heads: Sequence[str]) -> str:
    """A head's last part where another table's heads are those alone: 'data set, recall@5'."""
    tail = head.rsplit(", ", 1)[-1]
    return tail if tail in heads else head


def repeated(tables: Sequence[Table]) -> Iterator[Finding]:
    """Rows of a document that have the same numbers: all of them, or all but a few.

    Where no metric is named, rows of one name in two tables alone.

    Args:
        tables: of one document.
    """
    for named in (True, False):
        lines = [line for table in tables for line in _lines(table, named)]
        groups: dict[str, list[int]] = {}
        for place, line in enumerate(lines):
            groups.setdefault("" if named else line.name, []).append(place)
        count = sum(math.comb(len(group), 2) for group in groups.values())
        if count > _MOST_PAIRS:
            yield Finding(
                tables[0].document, lines[0].table, "printed twice", "not checked", "",
                f"at most {_MOST_PAIRS:,} pairs of rows", f"{count:,} pairs of rows", TELLS, WEAK,
                "rows are held against each other, and these are too many: audit fewer", 0,
            )  # fmt: skip
            continue
        places = sorted(
            pair for group in groups.values() for pair in itertools.combinations(group, 2)
        )
        pairs = [(lines[one], lines[two]) for one, two in places]
        every = named and len(lines) <= _MOST
        if named and not every:
            yield Finding(
                tables[0].document, "all tables", "printed twice", "not checked", "",
                f"at most {_MOST} rows", f"{len(lines):,} rows: of more than {_MOST} only those "
                "of one name in two tables are held against each other", TELLS, WEAK,
                "every two of so many are too many pairs: audit fewer tables at a time", 0,
            )  # fmt: skip
        pairs = [
            (one, two) for one, two in pairs
            if every or (one.name == two.name and one.table != two.table)
        ]  # fmt: skip
        # Of tables that were read nobody has said that two rows are of one setting.
        read = any("file" in table.reading for table in tables)
        for found in _repeated(tables[0].document, lines, pairs):
            yield found._replace(sure=WEAK) if read and found.words == FAILS else found


def _repeated(
    document: str, lines: Sequence[Line], pairs: Sequence[tuple[Line, Line]]
) -> Iterator[Finding]:
    """The pairs of lines with more equal cells than chance gives over all pairs.

    Two tables most of whose rows of one name differ are of two things that lie near each other.
    """
    found: list[tuple[tuple[str, str] | None, Finding, set[str]]] = []
    others: Counter[tuple[tuple[str, str] | None, str]] = Counter()
    alike: Counter[tuple[str, str] | None] = Counter()
    for first, second in pairs:
        both = first.name == second.name and first.table != second.table
        tables = (first.table, second.table) if both else None
        for one, two in _aligned(first, second):
            shared = [head for head in one if head in two]
            same = [head for head in shared if one[head] == two[head]]
            apart = {head for head in shared if one[head] != two[head]}
            others.update((tables, head) for head in apart | (set(one) ^ set(two)))
            near = [head for head in shared if _near(one[head], two[head])]
            alike[tables] += (1 if len(same) == len(shared) else -1) if len(shared) >= _LEAST else 0
            close = len(near) == len(shared) and len(shared) > _LEAST and len(same) > 0
            if not close and (len(same) < _LEAST or not _telling(first, second, shared, same)):
                continue
            p = _of_equal(lines, [one[head] for head in shared])
            p = max(p, _SAME) if first.table == second.table else p
            # Within one unit of the last digit are three strings.
            k, each = (len(near), min(1.0, 3 * p)) if close else (len(same), p)
            chance = float(binom.sf(k - 1, len(shared), each)) * max(1, len(pairs))
            if chance <= (CHANCE if len(same) < len(shared) else _LOOSE):
                told = _repeats(document, first, second, one, two, shared, chance)
                found.append((tables, told, apart))
    slips = sum(one_found.words == FAILS for _, one_found, _ in found)
    # Where many rows are alike and not the same, numbers lie nearer than was reckoned.
    crowded = slips > max(_CROWDED, len({line.table for line in lines}))
    for tables, one_found, apart in found:
        # Or a column is of another thing in each table: other rows differ there too.
        of_two = tables is not None and (
            alike[tables] <= _MANY_APART
            or all(others[tables, head] >= -_MANY_APART for head in apart)
        )
        if one_found.words != FAILS or not (crowded or of_two):
            yield one_found


def _near(one: str, two: str) -> bool:
    first, second = parse(one), parse(two)
    if first is None or second is None:
        return one == two
    return abs(first.value - second.value) <= max(first.step, second.step)


def _telling(first: Line, second: Line, shared: Sequence[str], same: Sequence[str]) -> bool:
    """Whether equal cells tell more than that two rows are alike.

    All are equal, or half of those in two tables, or, in one, just a whole block of nested heads.
    """
    if len(same) == len(shared):
        return True
    if first.table != second.table:
        return 2 * len(same) >= len(shared)
    blocks = {re.sub(r"(?:@|\btop-)\d+$", "", head) for head in same}
    block = [head for head in shared if re.sub(r"(?:@|\btop-)\d+$", "", head) in blocks]
    return len(blocks) == 1 and block == list(same)


def _of_equal(lines: Sequence[Line], shown: Sequence[str]) -> float:
    """How likely two cells are equal by chance: one over the strings between the least and most."""
    numbers = [n for line in lines for s in line.cells.values() if (n := parse(s))]
    steps = [n.step for s in shown if (n := parse(s))]
    if not steps:
        return 1.0
    values = sorted(n.value for n in numbers if n.step == max(steps))
    # The middle half, since a few far values say nothing of how crowded the others are.
    quarter = len(values) // 4
    width = values[-1 - quarter] - values[quarter] if values else 0
    return 1.0 / max(1.0, float(width / max(steps)))


def _aligned(first: Line, second: Line) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """The cells of two lines under heads that they share, a block of nested heads at a time."""
    if set(first.cells) & set(second.cells):
        yield first.cells, second.cells
        return
    for long, short, turned in ((first, second, False), (second, first, True)):
        blocks: dict[str, dict[str, str]] = {}
        for head, shown in long.cells.items():
            if _block(head, list(short.cells)) != head:
                blocks.setdefault(head.rsplit(", ", 1)[0], {})[head.rsplit(", ", 1)[1]] = shown
        for block in blocks.values():
            yield (short.cells, block) if turned else (block, short.cells)


def _repeats(
    document: str, first: Line, second: Line, one: dict[str, str], two: dict[str, str],
    shared: Sequence[str], chance: float,
) -> Finding:  # fmt: skip
    apart = [f"{head}: {one[head]} and {two[head]}" for head in shared if one[head] != two[head]]
    where = f"{first.table}: {first.name} and {second.table}: {second.name}"
    tables = ", ".join(dict.fromkeys([first.table, second.table]))
    within = first.table == second.table
    if apart:
        expected = "the same numbers, as most of them are"
        found = f"{len(shared) - len(apart)} of {len(shared)} are the same; {'; '.join(apart)}"
    else:
        expected = "different numbers" if within else "the same numbers, if it is the same setting"
        found = f"all {len(shared)} are the same: {', '.join(one[head] for head in shared)}"
    sure = LIKELY if chance <= CHANCE else WEAK
    words = FAILS if apart or within else TELLS
    return Finding(
        document, tables, "printed twice", where, "", expected, found, words, sure,
        f"by chance with p < {min(1.0, max(chance, 1e-12)):.0e}, over all pairs of rows",
        len(shared),
    )  # fmt: skip


def settings(tables: Sequence[Table]) -> Iterator[Finding]:
    """One setting with different values in two tables, within a document and across documents.

    Within a document the ledger must tell the same of both. Across documents what one says of the
    setting must be a part of what the other says, since few say all.
    """
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries(tables):
        if entry.kind == "share" and entry.metric and entry.dataset and entry.encoder:
            key = (entry.dataset, entry.metric, entry.k, entry.encoder)
            groups.setdefault(key, []).append(entry)
    names: tuple[str, ...]
    within: dict[tuple[str, ...], list[tuple[Entry, Entry]]] = {}
    across: dict[tuple[str, ...], list[tuple[Entry, Entry]]] = {}
    for group in groups.values():
        for first, second in itertools.combinations(group, 2):
            here = first.document == second.document
            if (here and first.table == second.table) or not _same_setting(first, second, here):
                continue
            one, two = sorted((first, second), key=lambda entry: len(entry.setting))
            if here:
                names = (first.document, first.table, second.table, one.encoder, two.setting)
                within.setdefault(names, []).append((first, second))
            else:
                names = (one.document, one.table, two.document)
                names += (one.encoder, one.setting, one.dataset)
                across.setdefault(names, []).append((one, two))
    yield from _within(within)
    yield from _across(across)


def _same_setting(first: Entry, second: Entry, here: bool) -> bool:
    one, two = (set(filter(None, e.setting.split("; "))) for e in (first, second))
    return one == two if here else bool(one and two) and (one <= two or two <= one)


def _within(pairs: Mapping[tuple[str, ...], list[tuple[Entry, Entry]]]) -> Iterator[Finding]:
    equal: dict[tuple[str, str, str], int] = {}
    for (document, one, two, encoder, setting), group in pairs.items():
        apart = [(a, b) for a, b in group if not _equal(a.printed, b.printed)]
        names = (document, one, two)
        equal[names] = equal.get(names, 0) + len(group) - len(apart)
        if apart:
            shown = "; ".join(f"{a.metric}@{a.k}: {a.printed} and {b.printed}" for a, b in apart)
            yield Finding(
                document, f"{one}, {two}", "same setting",
                f"{encoder}, {setting}, {group[0][0].dataset}", "", "the same numbers",
                f"{len(apart)} of {len(group)} differ: {shown}", FAILS, LIKELY,
                "the ledger tells the same of both", len(group),
            )  # fmt: skip
    for (document, one, two), n in equal.items():
        if n:
            yield Finding(
                document, f"{one}, {two}", "same setting", "all others", "", "the same numbers",
                f"{n} pairs of cells", HOLDS, CERTAIN, "the ledger tells the same of both", n,
            )  # fmt: skip


def _across(pairs: Mapping[tuple[str, ...], list[tuple[Entry, Entry]]]) -> Iterator[Finding]:
    for (document, table, other, encoder, setting, dataset), group in pairs.items():
        by_cell: dict[str, list[Entry]] = {}
        for one, two in group:
            by_cell.setdefault(f"{one.metric}@{one.k} {one.printed}", []).append(two)
        shown = []
        for cell, theirs in by_cell.items():
            values = sorted({e.printed for e in theirs})
            shown.append(f"{cell} against {', '.join(values)}")
        met = any(_equal(one.printed, two.printed) for one, two in group)
        yield Finding(
            document, f"{table}, {other}", "same setting", f"{encoder}, {setting}, {dataset}", "",
            f"one of the numbers that {other} prints", "; ".join(shown), HOLDS if met else FAILS,
            WEAK, "what a doc is, which questions count and which edition is used may differ",
            len(group),
        )  # fmt: skip


def _equal(one: str, two: str) -> bool:
    """Whether two strings can be of one value, at the coarser of their precisions."""
    first, second = parse(one), parse(two)
    if first is None or second is None:
        return one == two
    return first.low <= second.high and second.low <= first.high
