"""Which columns of a table name its rows, names over several lines, and tables side by side."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from memrepro.audit.read.grid import Cell, is_number, is_section, joined

MOST = 0.5
STEP = re.compile(r"@?(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)\s*(?:-\s*\d[\d.,]*\s*)?(?:%|[kKMB]|shots?)?")
_VALUE = re.compile(r"(\d+(?:\.\d+)?(?:e-?\d+)?)(?:\s*/\s*(\d+(?:\.\d+)?))?")
_FROM_TO = re.compile(r"\d+\s*→\s*\d+")
_CHANCE = 0.02
_TICK = re.compile(r"[✓✗●○◐]|yes|no|[yn]", re.I)
_COST = re.compile(r"O\(.+\)")  # a bound in place of a number
_TO_DO = re.compile(r"[\[(]*(?:TODO|TBD|FIXME|XXX?|\?\?+)\b.*")  # a draft's place for a number
_MEASURED = re.compile(r"(?<![\w.-])\d+\.\d+(?![\w.])|\d\s?%")
_AMOUNT = re.compile(r"[\d.,/\s]*\d\s+([A-Za-z]{2,})")
_PLAIN = re.compile(r"[\d,]+\s?[kKMBT%]?B?|[(#].*")  # a size or a setting, which names rows
_LEAST = 3  # groups of rows, of which a broken name can be told


def labels_of(
    heads: Sequence[Sequence[Cell]], body: Sequence[Sequence[Cell]], numeric: Sequence[int]
) -> list[int]:  # fmt: skip
    """The columns that name rows.

    What rows have or not, and what is still to be measured, is none of them where other columns
    name the rows.
    """
    found = _leading(body, numeric)
    found = [c for c in found if not _among_numbers(heads, c, found)]
    named = [
        c for c in found
        if not (_is_ticked(body, c) or _is_to_do(body, c) or _is_measured(heads, body, c))
        and not (c and _is_in_part(body, c))
    ]  # fmt: skip
    return named if named and tells_apart(body, named) else found


def _is_ticked(body: Sequence[Sequence[Cell]], c: int) -> bool:
    shown = [row[c].text for row in body if alone(row[c])]
    ticks = sum(bool(_TICK.fullmatch(text)) for text in shown)
    return bool(shown) and ticks > MOST * len(shown)


def _is_in_part(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a third of a column, and two of its cells, are measured: ranges, bounds, decimals."""
    shown = [row[c].text for row in body if alone(row[c])]
    found = [text for text in shown if is_number(text) and not _PLAIN.fullmatch(text)]
    return len(found) > 1 and 3 * len(found) >= len(shown)


def _is_to_do(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a column is of numbers that a draft does not have yet."""
    shown = [row[c].text for row in body if alone(row[c]) and not is_number(row[c].text)]
    return c > 0 and bool(shown) and all(map(_TO_DO.fullmatch, shown))


def _is_measured(heads: Sequence[Sequence[Cell]], body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a column is of amounts in one unit, or of decimals under a head of numbers."""
    units = [_AMOUNT.fullmatch(row[c].text) for row in body]
    if c > 0 and all(units) and len({found[1] for found in units if found}) == 1:
        return True
    own = set(joined([row[c].text for row in heads]).split())
    alike = any(
        kind(body, k) == "numbers" and own & set(joined([row[k].text for row in heads]).split())
        for k in range(c + 1, len(body[0]))
    )
    shown = [row[c].text for row in body if alone(row[c])]
    return alike and c > 0 and sum(map(bool, map(_MEASURED.search, shown))) > MOST * len(shown)


def _leading(body: Sequence[Sequence[Cell]], numeric: Sequence[int]) -> list[int]:
    """The columns that name rows: the leading ones, and those that tell rows of one name apart."""
    width = len(body[0])
    kinds = [kind(body, c) for c in range(width)]
    first = kinds.index("numbers") if "numbers" in kinds else max(1, *numeric[:1], 1)
    full = (c for c in range(1, width - 1) if all(row[c].text for row in body))
    if not first and (steps := next(full, 0)) and _repeats(body, steps):
        return list(range(steps + 1))  # numbers that are printed once and reach down
    found = list(range(first))
    if not first:
        # A number before the name, such as a rank, a k or a year.
        named = next((c for c in range(1, min(3, width)) if kinds[c] == "words"), 0)
        whole = all(row[0].text.isdigit() for row in body if row[0].text)
        of_set = whole or all(_is_set(body, c) for c in range(named))
        if named and "numbers" in kinds[named:] and of_set:
            return list(range(named + kinds[named:].index("numbers")))
        # One row of counts alone has no name, as has one that begins with a decimal.
        counts = width > 2 and all(cell.text.isdigit() for cell in body[0])
        nameless = len(body) == 1 and (counts or not body[0][0].text.isdigit())
        found = [0] if width > 1 and not nameless else []
    elif first < width and _repeats(body, first):
        found.append(first)
    # Names may be numbers, such as k or a rate, and several columns may name a row together.
    more = list(found)
    for c in range(len(found), min(5, width - 1)):
        if tells_apart(body, more):
            return more
        of_set = _is_set(body, c, few=bool(first)) or (c == len(more) and _is_step(body, c))
        if (first and (kinds[c] == "words" or _is_mixed(body, c))) or of_set:
            more.append(c)
        elif not first:
            break
    return more if tells_apart(body, more) else _with_settings(body, found, more)


def _with_settings(
    body: Sequence[Sequence[Cell]], found: list[int], more: list[int]
) -> list[int]:  # fmt: skip
    """The columns of names with a setting's, where names repeat: with it they tell rows apart.

    Numbers left of another column of names, or values beside the names that rise, or fall, below
    each name that repeats, as chance gives in one of fifty tables.
    """
    between = list(range(max(more, default=0) + 1))
    fresh = [c for c in between if c not in more]
    repeat = all(2 * len({row[c].text for row in body}) <= len(body) for c in fresh)
    if len(more) > len(found) and fresh and repeat and tells_apart(body, between):
        return between
    c = max(found, default=-1) + 1
    values: dict[tuple[str, ...], list[float]] = {}
    for row in body:
        name = tuple(row[k].text for k in found)
        if not row[c].text and any(name) and not is_section(row):
            continue
        value = _VALUE.fullmatch(row[c].text)
        if row[c].filled == "left" or (row[c].text and not value):
            return found
        if value and any(name):
            over = float(value[2]) if value[2] else 1.0
            values.setdefault(name, []).append(float(value[1]) / over if over else 0.0)
    runs = [run for run in values.values() if len(run) > 1]
    ordered = any(
        all(run == sorted(set(run), reverse=down) for run in runs) for down in (False, True)
    )
    chance = 2.0
    for run in runs:
        chance /= math.factorial(len(run))
    steady = all(len(run) > 2 and _is_progression(run) for run in runs)
    if runs and ordered and (chance <= _CHANCE or steady) and tells_apart(body, [*found, c]):
        return [*found, c]
    return found


def _is_progression(run: Sequence[float]) -> bool:
    """Whether values grow by one step or one factor throughout, not both by nothing."""
    steps = [b - a for a, b in pairwise(run)]
    factors = [b / a for a, b in pairwise(run) if a]
    return any(
        len(one) == len(run) - 1 and max(one) - min(one) <= 1e-6 * abs(max(one, key=abs))
        for one in (steps, factors)
    )


def _among_numbers(heads: Sequence[Sequence[Cell]], c: int, labels: Sequence[int]) -> bool:
    """Whether one head spans a column and others that name no row."""
    for row in heads:
        first = last = c
        while first and row[first].filled == "left":
            first -= 1
        while last + 1 < len(row) and row[last + 1].filled == "left":
            last += 1
        if first and row[c].text and any(k not in labels for k in range(first, last + 1)):
            return True
    return False


def tells_apart(body: Sequence[Sequence[Cell]], columns: Sequence[int]) -> bool:
    """Whether no two rows of a section have the same names."""
    section, names = 0, []
    for i, row in enumerate(body):
        section = i if is_section(row) else section
        name = tuple(row[c].text for c in columns)
        if any(name) and not is_section(row):
            names.append((section, name))
    return len(set(names)) == len(names)


def kind(body: Sequence[Sequence[Cell]], c: int) -> str:
    """What a column prints: 'numbers', 'words', or '' for nothing of its own."""
    shown = [row[c].text for row in body if alone(row[c])]
    if not shown:
        return ""
    numbers = sum(is_number(text) or bool(_COST.fullmatch(text)) for text in shown)
    return "numbers" if numbers >= MOST * len(shown) else "words"


def are_steps(texts: Sequence[str]) -> bool:
    """Whether texts are numbers that rise or fall throughout, as settings do."""
    found = [STEP.fullmatch(text) for text in texts if text]
    if len(found) < 2 or not all(found):
        return False
    values = [float(m[1].replace(",", "")) for m in found if m]
    again = len(values) // 2  # the same steps under each of two heads
    rising = [values, values[:again]] if values[:again] == values[again:] else [values]
    return any(one == sorted(set(one)) or one == sorted(set(one), reverse=True) for one in rising)


def alone(cell: Cell) -> bool:
    """Whether a cell prints something in this column and no other."""
    return bool(cell.text) and not cell.filled and cell.columns == 1


def _is_set(body: Sequence[Sequence[Cell]], c: int, *, few: bool = False) -> bool:
    """Whether a column of numbers is of what was set: few values, each in several rows, or whole."""  # noqa: E501
    shown = [row[c].text for row in body if row[c].text]
    if c and any(row[c].filled for row in body):
        return False  # one number for several rows was measured on them together
    whole = all(re.fullmatch(r"[#(]?\d[\d,]*[.)]?", text) for text in shown)
    plain = all(STEP.fullmatch(text) or _FROM_TO.fullmatch(text) for text in shown)
    return (whole and not few) or (plain and len(set(shown)) <= MOST * len(shown))


def _is_step(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a column of whole numbers stands before numbers with decimals alone, as an H or k."""
    shown = [row[c].text for row in body if row[c].text and not row[c].filled]
    right = [cell.text for row in body for cell in row[c + 1 :] if is_number(cell.text)]
    return bool(right) and all(map(str.isdigit, shown)) and all("." in text for text in right)


def _repeats(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether rows without a name print the same steps in a column below each of several names."""
    groups: list[list[str]] = []
    for row in body:
        if any(cell.text and cell.filled != "above" for cell in row[:c]) or not groups:
            groups.append([])
        groups[-1].append(row[c].text)
    steps = groups[0]
    alike = len(groups) > 1 and all(group == steps for group in groups)
    return alike and len(steps) > 1 and len(set(steps)) == len(steps) and all(steps)


def _is_mixed(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a column has words and small whole numbers, as the levels of several variables."""
    shown = [row[c].text for row in body if alone(row[c])]
    whole = [text for text in shown if is_number(text)]
    return len(shown) == len(body) and len(whole) < len(shown) and all(
        re.fullmatch(r"\d{1,2}", text) for text in whole
    )  # fmt: skip


def with_whole_names(
    rows: Sequence[Sequence[Cell]], ruled: frozenset[int] | None
) -> tuple[list[list[Cell]], frozenset[int] | None]:
    """Rows and rules of a table in which no name is broken into lines, where rules end groups.

    Lines of a name are those of a group with one row of numbers, and those that a bracket joins.
    """
    made = [list(row) for row in rows]
    if not ruled:
        return made, ruled
    starts = sorted({0, *ruled} - {len(rows)})
    groups = [range(a, b) for a, b in zip(starts, [*starts[1:], len(rows)], strict=True)]
    body = [g for g in groups[1:] if any(is_number(c.text) for i in g for c in rows[i][1:])]
    single = [[i for i in group if not _is_line(made[i])] for group in body]
    gone: set[int] = set()
    if len(body) >= _LEAST and all(len(own) == 1 for own in single):
        for group, (own,) in zip(body, single, strict=True):
            # A line above the numbers alone may be a section's.
            if _is_line(made[group[-1]]):
                name = " ".join(made[i][0].text for i in group if made[i][0].text)
                made[own][0] = made[own][0]._replace(text=name, rows=1, filled="")
                gone |= set(group) - {own}
    elif len(body) >= _LEAST and all(_is_bracketed([made[i] for i in group]) for group in body):
        for group in body:
            name = " ".join(made[i][0].text for i in group if made[i][0].text)
            gone |= {i for i in group if _is_line(made[i])}
            for i in group:
                made[i][0] = Cell(name, filled="above" if i > group[0] else "")
    kept = [i for i in range(len(made)) if i not in gone]
    rules = frozenset(k for k, i in enumerate(kept) if i in ruled)
    return [made[i] for i in kept], rules


def _is_bracketed(group: Sequence[Sequence[Cell]]) -> bool:
    """Whether a name runs down a group's rows, from its second line on in brackets."""
    names = [row[0].text for row in group]
    lines = [name for name in names if name]
    return (
        len(lines) > 1
        and names[: len(lines)] == lines
        and lines[1].startswith("(") > lines[0].startswith("(")
        and not _is_open(" ".join(lines))
        and all(_is_line(row) or (row[1].text and not is_number(row[1].text)) for row in group)
    )


def _is_line(row: Sequence[Cell]) -> bool:
    """Whether a row prints a line of a name alone: what else it has reaches down from above."""
    own = row[0]
    return bool(own.text) and not own.filled and own.columns == own.rows == 1 and not any(
        cell.text and cell.filled != "above" for cell in row[1:]
    )  # fmt: skip


def _is_open(text: str) -> bool:
    return text.count("(") > text.count(")")


Part = tuple[str, list[Sequence[Cell]], list[Sequence[Cell]]]  # a title, heads, rows


def side_by_side(heads: list[Sequence[Cell]], body: list[Sequence[Cell]]) -> list[Part]:
    """The tables that lie side by side in one, as one or several; else the table itself.

    They are as wide, begin with names, and have the same heads, or titles, or no heads. With the
    same heads they are one, with titles as sections; with other heads of names each is its own.
    """
    width = len(body[0])
    for n in range(2, width // 2 + 1):
        firsts = range(0, width, n)
        if width % n or not all(_names(body, c) for c in firsts):
            continue
        if any(row[c].filled == "left" for row in body for c in firsts):
            continue
        titled = [row for row in heads if all(_is_title(row, c, n) for c in firsts)]
        titles = [joined([row[c].text for row in titled]) for c in firsts]
        own = [row for row in heads if row not in titled]
        names = [[joined([row[c + k].text for row in own]) for k in range(n)] for c in firsts]
        parts = [
            ([row[c : c + n] for row in own], [row[c : c + n] for row in body]) for c in firsts
        ]
        alike = all(one[1:] == names[0][1:] for one in names)
        if alike and (titled or not own or (names[0][0] and names[0] == names[1])):
            rows: list[Sequence[Cell]] = []
            for title, (_, part) in zip(titles, parts, strict=True):
                rows += [[Cell(title, columns=n), *[Cell("")] * (n - 1)]] if title else []
                rows += part
            return [("", list(parts[0][0]), rows)]
        if own and (titled or (alike and all(one[0] for one in names))):
            return [(title, list(h), list(b)) for title, (h, b) in zip(titles, parts, strict=True)]
    return [("", heads, body)]


def _names(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a column names rows by itself, and a number stands right of it."""
    shown = [row[c].text for row in body if row[c].text]
    numbers = any(is_number(row[c + 1].text) for row in body if c + 1 < len(row))
    return kind(body, c) == "words" and len(set(shown)) == len(shown) and numbers


def _is_title(row: Sequence[Cell], c: int, n: int) -> bool:
    """Whether one cell stands above all of a table that begins in a column."""
    return (
        bool(row[c].text)
        and row[c].filled != "left"
        and all(cell.filled == "left" for cell in row[c + 1 : c + n])
        and (c + n == len(row) or row[c + n].filled != "left")
    )
