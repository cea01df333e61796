"""Which columns of a table name its rows, names over several lines, and tables side by side."""

import math
import re
from collections.abc import Sequence

from memrepro.audit.read.grid import Cell, is_number, is_section, joined

MOST = 0.5
STEP = re.compile(r"@?(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)\s*(?:-\s*\d[\d.,]*\s*)?(?:%|[kKMB]|shots?)?")
_VALUE = re.compile(r"(\d+(?:\.\d+)?(?:e-?\d+)?)(?:\s*/\s*(\d+(?:\.\d+)?))?")
_FROM_TO = re.compile(r"\d+\s*→\s*\d+")
_CHANCE = 0.02
_TICK = re.compile(r"[✓✗●○◐]|yes|no|[yn]", re.I)
_COST = re.compile(r"O\(.+\)")  # a bound in place of a number
_MEASURED = re.compile(r"(?<![\w.-])\d+\.\d+(?![\w.])|\d\s?%")
_AMOUNT = re.compile(r"[\d.,/\s]*\d\s+([A-Za-z]{2,})(?:,.*)?")
_PLAIN = re.compile(r"[\d,]+\s?[kKMBT%]?B?|[(#].*")  # a size or a setting, which names rows


def labels_of(body: Sequence[Sequence[Cell]], numeric: Sequence[int]) -> list[int]:
    """The columns that name rows.

    What rows have or not, and what was measured, is none of them where other columns name the rows.
    """
    found = _leading(body, numeric)
    named = [
        c for c in found
        if not (_is_ticked(body, c) or _is_measured(body, c))
        and not (c and (_is_in_part(body, c) or not any(row[c].text for row in body)))
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


def _is_measured(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a column right of names is of amounts in one unit, or most of it of decimals."""
    units = [found[1] if (found := _AMOUNT.fullmatch(row[c].text)) else "" for row in body]
    shown = [row[c].text for row in body if alone(row[c])]
    alike = all(units) and units.count(units[0]) > MOST * len(units)
    return c > 0 and (alike or sum(map(bool, map(_MEASURED.search, shown))) > MOST * len(shown))


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
        found = [0] if width > 1 and not (nameless or _is_one_of_many(body)) else []
    elif first < width and _repeats(body, first):
        found.append(first)
    # Names that are printed once reach down where a column of words right of numbers has all names.
    words = (c for c in range(first, width - 1) if first and kinds[c] == "words")
    own = next((c for c in words if all(row[c].text for row in body)), 0)
    down = own and any(not (is_section(row) or any(row[c].text for c in found)) for row in body)
    if down and tells_apart(body, [*found, own]):
        return [*found, own]
    # Names may be numbers, such as k or a rate, and several columns may name a row together.
    more = list(found)
    for c in range(len(found), min(5, width - 1)):
        if tells_apart(body, more):
            return more
        of_set = _is_set(body, c, few=bool(first)) or (c == len(more) and _is_step(body, c))
        if (first and kinds[c] == "words") or of_set:
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
    if runs and ordered and chance <= _CHANCE and tells_apart(body, [*found, c]):
        return [*found, c]
    return found


def _is_one_of_many(body: Sequence[Sequence[Cell]]) -> bool:
    """Whether the first column has decimals as all others have, in no order: rows have no names."""
    digits = [{_decimals(row[c].text) for row in body} for c in range(len(body[0]))]
    alike = len(body) > 3 and len(digits) > 3 and len(digits[0]) == 1 and digits[0] != {0}
    return alike and all(one == digits[0] for one in digits) and not are_steps(
        [row[0].text for row in body]
    )  # fmt: skip


def are_all_measured(body: Sequence[Sequence[Cell]], names: Sequence[str]) -> bool:
    """Whether steps head all columns, the first too, and all have as many decimals: no names."""
    digits = {_decimals(cell.text) for row in body for cell in row}
    return (
        len(names) > 2 and are_steps(names) and all(names) and len(digits) == 1 and 0 not in digits
    )


def _decimals(text: str) -> int:
    """How many digits stand behind the point of a plain number; 0 for any other text."""
    return len(text.partition(".")[2]) if re.fullmatch(r"-?\d+\.\d+", text) else 0


def tells_apart(body: Sequence[Sequence[Cell]], columns: Sequence[int]) -> bool:
    """Whether no two rows of a section have the same names; one printed once reaches down."""
    section, names, last = 0, [], [""] * len(columns)
    for i, row in enumerate(body):
        section = i if is_section(row) else section
        own = [row[c].text for c in columns]
        if any(own) and not is_section(row):
            down = next(k for k, one in enumerate(own) if one)
            last = last[:down] + own[down:]
            names.append((section, *last))
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


Part = tuple[str, list[Sequence[Cell]], list[Sequence[Cell]]]  # a title, heads, rows


def side_by_side(heads: list[Sequence[Cell]], body: list[Sequence[Cell]]) -> list[Part]:
    """The tables that lie side by side in one, as one or several; else the table itself.

    They are as wide, begin with names, and have the same heads, or titles, or no heads. With the
    same heads they are one, with titles as sections; with other heads of names each is its own.
    """
    width = len(body[0])
    for n in range(2, width // 2 + 1):
        firsts = range(0, width, n)
        again = n > 2 and _repeat(heads, n)
        if width % n or not (again or all(_names(body, c) for c in firsts)):
            continue
        if any(row[c].filled == "left" for row in body for c in firsts):
            continue
        if again:
            both = [row[c : c + n] for c in firsts for row in body]
            return [("", [r[:n] for r in heads], [r for r in both if any(c.text for c in r)])]
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


def _repeat(heads: Sequence[Sequence[Cell]], n: int) -> bool:
    """Whether heads of one row, all different, stand again in each n columns, that of names too."""
    if len(heads) != 1 or len(heads[0]) % n or len(heads[0]) == n:
        return False
    texts = [cell.text for cell in heads[0]]
    first = texts[:n]
    return all(first) and len(set(first)) == n and texts == first * (len(texts) // n)


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
