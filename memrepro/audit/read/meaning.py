"""A grid to tables of the ledger: heads and row names, sizes, what is marked as best.

What is a head, a name and a number is decided by columns: a column is of numbers where most of what
it prints are. So names may stand right of numbers, and a head may be numbers itself (k = 1, 5, 10).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memrepro.audit.read.grid import (
    Cell,
    Grid,
    NoNumbers,
    distinct,
    is_number,
    is_section,
    joined,
    with_points,
)
from memrepro.audit.read.named import entry_of, named_rows
from memrepro.errors import MemreproError

_MOST = 0.5
_SET = re.compile(r"[✓✗×xX]?|@?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?\s*(?:%|[kKMB])?")
_COUNTED = re.compile(r"[(\[]\s*(\d+|[IVX]+)\s*[)\]]")
_LEGEND = re.compile(r"\*\s*p\s*[<≤]\s*=?\s*0?\.\d")
_TICK = re.compile(r"✓|✗|yes|no", re.I)
_COST = re.compile(r"O\(.+\)")  # a bound in place of a number
_STEP = re.compile(r"@?(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)\s*(?:-\s*\d[\d.,]*\s*)?(?:%|[kKMB]|shots?)?")
# What a cell says in place of a number, which makes no row of it a head.
_ANSWER = re.compile(r"yes|no|✓|✗|[xX]|oom|oot|all|none|true|false|n\.?s\.?", re.I)


# A title, heads and rows: of a table, or of a part of one with heads of its own.
_Body = tuple[str, list[Sequence[Cell]], list[Sequence[Cell]]]


def entries_of_grid(grid: Grid) -> list[dict[str, Any]]:
    """The mappings that `tables.table_of` reads, in the order in which a person would write them.

    One, or one for each part of a table that has heads of its own.

    Raises:
        NoNumbers: if it prints none.
        MemreproError: if it has no heads.
    """
    rows = with_points(grid.rows)
    made = []
    numeric = _numeric(rows)
    for title, heads, body in _parts(rows, numeric, grid.ruled):
        note, body = _note(body)
        heads, body = _stacked(heads, body)
        labels = _labels(body, [c for c in numeric if c < len(body[0])])
        labels = [c for c in labels if not _among_numbers(heads, c, labels)]
        labels = _without_ticks(body, labels)
        place = grid.place
        if title and title not in place.caption:
            place = place._replace(caption=f"{place.caption} {title}".strip())
        width = len(body[0])
        names = [joined([row[c].text for row in heads]) for c in range(width)]
        kept = [
            c for c, name in enumerate(names)
            if c not in labels and any(r[c].text and r[c].filled != "left" for r in (*heads, *body))
        ]  # fmt: skip
        columns = distinct(names[c] or f"column {c + 1}" for c in kept)
        # Numbers and marks name a row only with what they are of.
        set_ = len(labels) > 1 and all(_SET.fullmatch(r[c].text) for r in body for c in labels)
        named = dict(named_rows(body, labels, kept, [names[c] for c in labels] if set_ else []))
        entry = entry_of(place, list(columns), named)
        made.append(entry | ({"note": note} if note else {}))
    return made


def _parts(
    rows: Sequence[Sequence[Cell]], numeric: Sequence[int], ruled: frozenset[int] | None
) -> Iterator[_Body]:
    """The table's parts: one, or several where rows of heads stand between those of numbers."""
    title = ""
    while len(rows) > 1 and _spans_all(rows[0]):
        title = joined([title, rows[0][0].text])
        rows, ruled = rows[1:], ruled and frozenset(i - 1 for i in ruled if i)
    first = _behind_heads(rows, numeric, ruled)
    starts = [0]
    for i in range(first + 1, len(rows) - 1):
        if i > starts[-1] + 1 and _is_head_again(rows, i, starts[-1], first, numeric, ruled):
            starts.append(i)
    ends = [*starts[1:], len(rows)]
    heads: list[Sequence[Cell]] = []
    for start, end in zip(starts, ends, strict=True):
        part = rows[start:end]
        own = frozenset(i - start for i in ruled if start <= i < end) if ruled is not None else None
        behind = first if not start else _behind_heads(part, numeric, own)
        heads, body = list(part[:behind]), list(part[behind:])
        # What names the rows below a head may stand before it, at the end of the part above.
        following = ""
        while len(body) > 1 and is_section(body[-1]) and end < len(rows):
            following = joined([joined([c.text for c in body[-1]]), following])
            body.pop()
        while len(heads) > 1 and is_section(heads[-1]) and not _is_unit(heads, own):
            body.insert(0, heads.pop())
        yield title, heads, body
        title = following


def _numeric(rows: Sequence[Sequence[Cell]]) -> list[int]:
    """The columns that print numbers: most of what stands below their first row.

    Raises:
        NoNumbers: if there is none.
        MemreproError: if the table is one row.
    """
    found = []
    for c in range(len(rows[0])):
        shown = [row[c].text for row in rows[1:] if _alone(row[c])]
        numbers = sum(map(is_number, shown))
        if shown and numbers >= _MOST * len(shown):
            found.append(c)
    if found:
        return found
    texts = [cell.text for row in rows for cell in row if cell.text and not cell.filled]
    if not any(map(is_number, texts)):
        raise NoNumbers("it prints no number: nothing can be checked")
    if len(rows) == 1:
        raise MemreproError("it is one row: no heads say what its numbers are")
    if any(is_number(cell.text) for row in rows[1:] for cell in row[1:]):
        return [
            c for c in range(1, len(rows[0])) if any(is_number(row[c].text) for row in rows[1:])
        ]
    raise NoNumbers("it prints no column of numbers: nothing can be checked")


def _behind_heads(
    rows: Sequence[Sequence[Cell]], numeric: Sequence[int], ruled: frozenset[int] | None
) -> int:  # fmt: skip
    """How many rows from the top are heads.

    Raises:
        MemreproError: if none is.
    """
    body = (i for i, row in enumerate(rows) if _is_body(row, numeric))
    first = next((i for i in body if not _is_counted(rows[i], numeric)), None)
    if first is None:
        raise NoNumbers("it prints no row of numbers: nothing can be checked")
    if ruled and len(ruled) <= _MOST * len(rows):
        # A row of words below the rule, with a name of its own, is none of the heads.
        rule = min((i for i in ruled if i), default=first)
        after = next((i for i in range(rule, first) if not is_section(rows[i])), first)
        named = all(row[0].text and not row[0].filled for row in (rows[0], rows[after]))
        first = rule if after < first and named else first
    while first + 1 < len(rows) and _is_numeric_head(rows, first, numeric, ruled):
        first += 1
    if first:
        return first
    if ruled is not None and 1 in ruled and len(rows) > 1:
        return 1
    shown = [row[c] for row in rows[:1] for c in numeric]
    if len(rows) > 1 and _steps([cell.text for cell in shown]):
        return 1
    raise MemreproError("it has no row of heads: its first row is numbers already")


def _is_unit(heads: Sequence[Sequence[Cell]], ruled: frozenset[int] | None) -> bool:
    """Whether the last head is the unit of the first column: a rule runs below it, none above."""
    own, last = heads[-1][0], len(heads)
    ends = ruled is not None and last in ruled and last - 1 not in ruled
    return ends and bool(own.text) and own.columns == 1


def _is_body(row: Sequence[Cell], numeric: Sequence[int]) -> bool:
    """A row of the body: most of what it prints in columns of numbers are numbers."""
    shown = [row[c].text for c in numeric if row[c].text and not row[c].filled]
    if not shown:  # a row whose numbers all reach down from above
        return any(is_number(row[c].text) for c in numeric if row[c].filled != "left")
    return sum(map(is_number, shown)) >= _MOST * len(shown) and any(map(is_number, shown))


def _is_counted(row: Sequence[Cell], numeric: Sequence[int]) -> bool:
    """Whether a row numbers the columns: (1), (2), (3)."""
    found = [_COUNTED.fullmatch(row[c].text) for c in numeric if row[c].text and not row[c].filled]
    named = [m[1] for m in found if m]
    return len(named) == len(found) and named[:2] in (["1", "2"], ["I", "II"], ["1"], ["I"])


def _is_numeric_head(
    rows: Sequence[Sequence[Cell]], i: int, numeric: Sequence[int], ruled: frozenset[int] | None
) -> bool:  # fmt: skip
    """Whether a row of numbers is one of heads: k = 1, 5, 10 above a rule."""
    row, below = rows[i], next((r for r in rows[i + 1 :] if not is_section(r)), rows[i + 1])
    shown = [row[c].text for c in numeric if row[c].text and not row[c].filled]
    if not _is_body(below, numeric) or len(shown) < len(numeric) * _MOST:
        return False
    # A word among them, such as the head of an average, is another sign of heads.
    shown = [text for text in shown if is_number(text)]
    above_rule = ruled is not None and i + 1 in ruled
    named = bool(row[0].text) and not row[0].filled and row[0].rows > 0
    if not above_rule or len(shown) < 2 or not _steps(shown):
        return False
    # With a head above, a row that has a name is one of the body, as is one of decimals; but
    # below a head of several columns the name may be the head of the names.
    first_name = not any(one[0].text for one in rows[:i])
    named &= not (first_name and any(cell.filled == "left" for cell in rows[i - 1]))
    return i == 0 or (not named and i not in (ruled or ())) or _same_steps(rows, i, numeric)


def _same_steps(rows: Sequence[Sequence[Cell]], i: int, numeric: Sequence[int]) -> bool:
    """Whole steps above numbers with decimals alone, in a row whose name spells what they are."""
    shown = [c for c in numeric if is_number(rows[i][c].text)]
    below = [row[c].text for row in rows[i + 1 : i + 4] for c in shown if row[c].text]
    return all("." not in rows[i][c].text for c in shown) and all("." in one for one in below)


def _steps(texts: Sequence[str]) -> bool:
    """Whether texts are numbers that rise or fall throughout, as settings do."""
    found = [_STEP.fullmatch(text) for text in texts if text]
    if len(found) < 2 or not all(found):
        return False
    values = [float(m[1].replace(",", "")) for m in found if m]
    again = len(values) // 2  # the same steps under each of two heads
    rising = [values, values[:again]] if values[:again] == values[again:] else [values]
    return any(one == sorted(set(one)) or one == sorted(set(one), reverse=True) for one in rising)


def _spans_all(row: Sequence[Cell]) -> bool:
    """Whether a row is one cell as wide as the table."""
    return len(row) > 1 and bool(row[0].text) and not row[0].filled and all(
        cell.filled and cell.text == row[0].text for cell in row[1:]
    )  # fmt: skip


def _is_head_again(
    rows: Sequence[Sequence[Cell]], i: int, start: int, first: int, numeric: Sequence[int],
    ruled: frozenset[int] | None,
) -> bool:  # fmt: skip
    """Whether a row within the body begins a part with heads of its own."""
    row = rows[i]
    words = [row[c].text for c in numeric if row[c].text and not row[c].filled]
    if len(numeric) < 2 and row[0].text != rows[0][0].text:
        return False
    if any(map(is_number, words)) or any(_ANSWER.fullmatch(word) for word in words):
        return False
    above, own = rows[:first], [cell.text for cell in row]
    same = any([cell.text for cell in head] == own for head in above)
    if not words or (len(set(words)) < 2 and len(numeric) > 1 and not same):
        return False
    behind = next((k for k in range(i + 1, len(rows)) if _is_body(rows[k], numeric)), None)
    if behind is None or any(is_section(one) for one in rows[i + 1 : behind] if i + 1 == behind):
        return False
    if same or row[0].text in {head[0].text for head in above if head[0].text}:
        return True
    if ruled is None or i not in ruled:
        return ruled is None and len(words) == len(numeric) and not any(rows[i - 1][1:])
    every = len(ruled) > _MOST * len(rows)
    return not every and any(k in ruled for k in range(i + 1, behind + 1))


def _labels(body: Sequence[Sequence[Cell]], numeric: Sequence[int]) -> list[int]:
    """The columns that name rows: the leading ones, and those that tell rows of one name apart."""
    width = len(body[0])
    kinds = [_kind(body, c) for c in range(width)]
    first = kinds.index("numbers") if "numbers" in kinds else max(1, numeric[0])
    found = list(range(first))
    if not first:
        # A number before the name, such as a rank, a k or a year.
        named = next((c for c in range(1, min(3, width)) if kinds[c] == "words"), 0)
        whole = all(row[0].text.isdigit() for row in body if row[0].text)
        of_set = whole or all(_is_set(body, c) for c in range(named))
        if named and "numbers" in kinds[named:] and of_set:
            return list(range(named + kinds[named:].index("numbers")))
        alone = len(body) == 1 and not re.fullmatch(r"\d+", body[0][0].text)
        found = [0] if width > 1 and not alone else []
    # Names may be numbers, such as k or a rate, and several columns may name a row together.
    more = list(found)
    for c in range(len(found), min(5, width - 1)):
        if _tells_apart(body, more):
            return more
        of_set = _is_set(body, c, few=bool(first)) or (c == len(more) and _is_step(body, c))
        if (kinds[c] == "words" and first) or of_set:
            more.append(c)
        elif not first:
            break
    return more if _tells_apart(body, more) else found


def _without_ticks(body: Sequence[Sequence[Cell]], labels: Sequence[int]) -> list[int]:
    """Those that name rows: what rows have or not is none, where something else names them."""
    named = [c for c in labels if not _is_ticked(body, c)]
    return named if named and _tells_apart(body, named) else list(labels)


def _is_ticked(body: Sequence[Sequence[Cell]], c: int) -> bool:
    shown = [row[c].text for row in body if _alone(row[c])]
    ticks = sum(bool(_TICK.fullmatch(text)) for text in shown)
    return bool(shown) and ticks > _MOST * len(shown)


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


def _tells_apart(body: Sequence[Sequence[Cell]], columns: Sequence[int]) -> bool:
    """Whether no two rows of a section have the same names."""
    section, names = 0, []
    for i, row in enumerate(body):
        section = i if is_section(row) else section
        name = tuple(row[c].text for c in columns)
        if any(name) and not is_section(row):
            names.append((section, name))
    return len(set(names)) == len(names)


def _kind(body: Sequence[Sequence[Cell]], c: int) -> str:
    """What a column prints: 'numbers', 'words', or '' for nothing of its own."""
    shown = [row[c].text for row in body if _alone(row[c])]
    if not shown:
        return ""
    numbers = sum(is_number(text) or bool(_COST.fullmatch(text)) for text in shown)
    return "numbers" if numbers >= _MOST * len(shown) else "words"


def _alone(cell: Cell) -> bool:
    """Whether a cell prints something in this column and no other."""
    return bool(cell.text) and not cell.filled and cell.columns == 1


def _is_set(body: Sequence[Sequence[Cell]], c: int, *, few: bool = False) -> bool:
    """Whether a column of numbers is of what was set: few values, each in several rows, or whole."""  # noqa: E501
    shown = [row[c].text for row in body if row[c].text]
    if any(row[c].filled for row in body):
        return False  # one number for several rows was measured on them together
    whole = all(re.fullmatch(r"[#(]?\d[\d,]*[.)]?", text) for text in shown)
    plain = all(_STEP.fullmatch(text) for text in shown)
    return (whole and not few) or (plain and len(set(shown)) <= _MOST * len(shown))


def _is_step(body: Sequence[Sequence[Cell]], c: int) -> bool:
    """Whether a column of whole numbers stands before numbers with decimals alone, as an H or k."""
    shown = [row[c].text for row in body if row[c].text and not row[c].filled]
    right = [cell.text for row in body for cell in row[c + 1 :] if is_number(cell.text)]
    return bool(right) and all(map(str.isdigit, shown)) and all("." in text for text in right)


def _stacked(
    heads: list[Sequence[Cell]], body: list[Sequence[Cell]]
) -> tuple[list[Sequence[Cell]], list[Sequence[Cell]]]:
    """Heads and rows, one below the other where a table stands twice side by side."""
    width = len(heads[-1])
    names = [joined([row[c].text for row in heads]) for c in range(width)]
    for n in range(2, width):
        times = width // n
        firsts = range(0, width, n)
        again = n * times == width and names[:n] * times == names and len(set(names)) == n
        if again and names[0] and all(_kind(body, c) == "words" for c in firsts):
            parts = [[row[c : c + n] for row in body] for c in firsts]
            return [row[:n] for row in heads], [row for part in parts for row in part]
    return heads, body


def _is_legend(row: Sequence[Cell]) -> bool:
    """Whether a row says what stars mean, in its first cell alone."""
    return bool(_LEGEND.search(row[0].text)) and not any(cell.text for cell in row[1:])


def _note(body: list[Sequence[Cell]]) -> tuple[str, list[Sequence[Cell]]]:
    """What stands below the last row, as wide as the table; the rows without it."""
    last = len(body)
    while last > 1 and (_spans_all(body[last - 1]) or _is_legend(body[last - 1])):
        last -= 1
    return " ".join(row[0].text for row in body[last:]), body[:last]
