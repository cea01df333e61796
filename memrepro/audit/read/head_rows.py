"""Which rows of a grid are heads: those above its numbers, which may be numbers themselves."""

import re
from collections.abc import Sequence

from memrepro.audit.read.grid import Cell, NoNumbers, is_number, is_section
from memrepro.audit.read.labels import MOST, STEP, alone, are_steps
from memrepro.errors import MemreproError

_COUNTED = re.compile(r"[(\[]\s*(?:\d{1,3}(?:,\d{3})+|\d+|[IVX]+)\s*[)\]]")
# What a cell says in place of a number, which makes no row of it a head.
_ANSWER = re.compile(r"yes|no|✓|✗|[xX]|oom|oot|all|none|true|false|n\.?s\.?", re.I)


def rows_of_heads(
    rows: Sequence[Sequence[Cell]], numeric: Sequence[int], ruled: frozenset[int] | None
) -> int:  # fmt: skip
    """How many rows from the top are heads.

    Raises:
        MemreproError: if none is.
    """
    if ruled and 2 in ruled and 1 not in ruled and not rows[0][0].text and _is_head_of_names(rows):
        return 2
    # Years or steps above words of all columns are heads.
    body = [
        i for i, row in enumerate(rows)
        if _is_body(row, numeric)
    ]  # fmt: skip
    if body and _is_above_words(rows, body[0], numeric, ruled):
        body.pop(0)
    first = next((i for i in body if not _is_counted(rows[i], numeric)), None)
    if first is None and body and not _is_numbered(rows[body[0]], numeric):
        first = body[0]  # numbers in brackets, above which no other stand
    if first is None:
        raise NoNumbers("it prints no row of numbers: nothing can be checked")
    if ruled and len(ruled) <= MOST * len(rows):
        # A row of words below the rule, with a name of its own, is none of the heads.
        rule = min((i for i in ruled if i), default=first)
        after = next((i for i in range(rule, first) if not is_section(rows[i])), first)
        named = all(row[0].text and not row[0].filled for row in (rows[0], rows[after]))
        named &= not any(cell.filled == "left" for cell in rows[0])  # heads of two levels
        # Below one head of each column such a row has the only name.
        every = all(alone(cell) or cell.dash for cell in (*rows[0][1:], *rows[after]))
        once = rule == 1 and first not in ruled and not rows[0][0].text and every
        first = rule if after < first and (named or once) else first
    first = _before_named(rows, first, ruled)
    while first + 1 < len(rows) and _is_numeric_head(rows, first, numeric, ruled):
        first += 1
    if first:
        return first
    if len(rows) > 1 and are_steps([rows[0][c].text for c in numeric]):
        return 1
    if _is_headless(rows, ruled):
        return 0
    if ruled is not None and 1 in ruled and len(rows) > 1:
        return 1
    raise MemreproError("it has no row of heads: its first row is numbers already")


def _is_head_of_names(rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether the second row prints the head of names alone, below the heads of all others."""
    return len(rows) > 2 and is_section(rows[1]) and bool(rows[1][0].text) and (
        rows[1][0].columns == 1 and all(cell.text for cell in rows[0][1:])
    )  # fmt: skip


def is_head_again(
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
    pairs = [k for k in range(1, len(rows))
             if all(_is_body(one, numeric) for one in rows[k - 1 : k + 1])]  # fmt: skip
    every = sum(k in ruled for k in pairs) > MOST * len(pairs)
    unnamed = not row[0].text and len(set(words)) == len(numeric) > 2
    return not every and (unnamed or any(k in ruled for k in range(i + 1, behind + 1)))


def _is_body(row: Sequence[Cell], numeric: Sequence[int]) -> bool:
    """A row of the body: most of what it prints in columns of numbers are numbers, not units."""
    own = [cell.text for cell in row if cell.text]
    if all(text[0] + text[-1] == "[]" for text in own) and not all(map(is_number, own)):
        return False
    shown = [row[c].text for c in numeric if row[c].text and not row[c].filled]
    if not shown:  # a row whose numbers all reach down from above
        return any(is_number(row[c].text) for c in numeric if row[c].filled != "left")
    return sum(map(is_number, shown)) >= MOST * len(shown) and any(map(is_number, shown))


def _is_headless(rows: Sequence[Sequence[Cell]], ruled: frozenset[int] | None) -> bool:
    """Whether names and numbers begin at once: no rule tells a row from the others."""
    if ruled is None or len(rows) < 2:
        return False
    within = ruled & set(range(1, len(rows)))
    alike = not within or len(within) == len(rows) - 1 > 1
    return alike and _has_names(rows)


def _before_named(
    rows: Sequence[Sequence[Cell]], first: int, ruled: frozenset[int] | None
) -> int:  # fmt: skip
    """How many of the rows above the first numbers are heads where rules stand between most rows.

    A row of words below such a rule, all of whose columns print something, has a name as a head of
    one row has, and is none of the heads.
    """
    if not ruled or 1 not in ruled or len(ruled) <= MOST * len(rows):
        return first
    for i in range(1, first):
        own = [cell.text for cell in rows[i] if not cell.filled]
        whole = len(own) == len(rows[i]) and all(own) and all(c.text for c in rows[i - 1])
        if i in ruled and whole and len(own) == 2 and not own[0].startswith("("):
            return i
    return first


def _has_names(rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether each row has a name of its own in the first column."""
    names = [row[0] for row in rows]
    own = all(cell.text and not cell.filled and not is_number(cell.text) for cell in names)
    return own and len({cell.text for cell in names}) == len(names)


def _is_above_words(
    rows: Sequence[Sequence[Cell]], i: int, numeric: Sequence[int], ruled: frozenset[int] | None
) -> bool:  # fmt: skip
    """Whether the next row, above a rule, has words above all numbers that have no other."""
    if i + 2 >= len(rows) or (ruled is not None and i + 2 not in ruled):
        return False
    if not _is_body(rows[i + 2], numeric) or (i and (ruled is None or i in ruled)):
        return False
    words = [rows[i + 1][c].text or rows[i][c].text for c in numeric]
    return len(_own(rows[i + 1], numeric)) > 1 and all(words) and not any(map(is_number, words))


def _is_counted(row: Sequence[Cell], numeric: Sequence[int]) -> bool:
    """Whether a row numbers the columns, or says their sizes: (1), (2), (3), or (1,024), (96)."""
    return all(map(_COUNTED.fullmatch, _own(row, numeric)))


def _is_numbered(row: Sequence[Cell], numeric: Sequence[int]) -> bool:
    """Whether a row numbers the columns."""
    return [text.strip("([ ])") for text in _own(row, numeric)][:1] in (["1"], ["I"])


def _own(row: Sequence[Cell], columns: Sequence[int]) -> list[str]:
    """What a row prints in some columns and has from no other cell."""
    return [row[c].text for c in columns if row[c].text and not row[c].filled]


def _is_numeric_head(
    rows: Sequence[Sequence[Cell]], i: int, numeric: Sequence[int], ruled: frozenset[int] | None
) -> bool:  # fmt: skip
    """Whether a row of numbers is one of heads: k = 1, 5, 10 above a rule."""
    row, below = rows[i], next((r for r in rows[i + 1 :] if not is_section(r)), rows[i + 1])
    shown = [row[c].text for c in numeric if row[c].text and not row[c].filled]
    if not _is_body(below, numeric) or len(shown) < len(numeric) * MOST:
        return False
    # A word among them, such as the head of an average, is another sign of heads.
    shown = [text for text in shown if is_number(text)]
    above_rule = ruled is not None and i + 1 in ruled
    named = bool(row[0].text) and not row[0].filled and row[0].rows > 0
    steps = are_steps(shown) or _steps_of_groups(rows, i, numeric)
    if not above_rule or len(shown) < 2 or not steps:
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


def _steps_of_groups(rows: Sequence[Sequence[Cell]], i: int, numeric: Sequence[int]) -> bool:
    """Whether numbers rise below each head of several columns."""
    if not i:
        return False
    groups: dict[str, list[str]] = {}
    for c in numeric:
        if rows[i][c].text and not rows[i][c].filled:
            groups.setdefault(rows[i - 1][c].text, []).append(rows[i][c].text)
    several = [group for group in groups.values() if len(group) > 1]
    return (
        "" not in groups and len(groups) > 1 and bool(several) and all(map(are_steps, several))
        and all(STEP.fullmatch(text) for group in groups.values() for text in group)
    )  # fmt: skip
