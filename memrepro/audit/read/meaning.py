"""A grid to tables of the ledger: heads and row names, sizes, what is marked as best.

What is a head, a name and a number is decided by columns: a column is of numbers where most of what
it prints are. So names may stand right of numbers, and a head may be numbers itself (k = 1, 5, 10).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memrepro.audit.read.grid import (
    BOUND,
    Cell,
    Grid,
    NoNumbers,
    distinct,
    is_number,
    is_section,
    joined,
    with_masks,
    with_points,
    with_units,
    without_fillers,
)
from memrepro.audit.read.head_rows import is_head_again, rows_of_heads
from memrepro.audit.read.labels import MOST, Part, alone, are_all_measured, labels_of, side_by_side
from memrepro.audit.read.named import entry_of, named_rows
from memrepro.errors import MemreproError

_SET = re.compile(r"[✓✗×xX]?|@?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?\s*(?:%|[kKMB])?")
_NOTED = re.compile(r"notes?\s?[:.]?", re.I)
_LEGEND = re.compile(r"\*\s*p\s*[<≤]\s*=?\s*0?\.\d")


def entries_of_grid(grid: Grid) -> list[dict[str, Any]]:
    """The mappings that `tables.table_of` reads, in the order in which a person would write them.

    One, or one for each part of a table that has heads of its own.

    Raises:
        NoNumbers: if it prints none.
        MemreproError: if it has no heads.
    """
    rows = without_fillers(with_masks(with_points(grid.rows)))
    made = []
    try:
        tables = list(_tables(rows, grid.ruled))
    except NoNumbers:
        tables = list(_tables(with_units(rows), grid.ruled))
    for title, heads, body, note in tables:
        numeric = [c for c in range(len(body[0])) if any(is_number(row[c].text) for row in body)]
        place = grid.place
        if title and title not in place.caption:
            place = place._replace(caption=f"{place.caption} {title}".strip())
        width = len(body[0])
        names = [joined([row[c].text or _word(row[c]) for row in heads]) for c in range(width)]
        labels = [] if are_all_measured(body, names) else labels_of(body, numeric)
        kept = [
            c for c, name in enumerate(names)
            if c not in labels and any(r[c].text and r[c].filled != "left" for r in (*heads, *body))
        ]  # fmt: skip
        columns = distinct(names[c] or f"column {c + 1}" for c in kept)
        # Numbers and marks name a row only with what they are of.
        set_ = len(labels) > 1 and all(_SET.fullmatch(r[c].text) for r in body for c in labels)
        body = [[cell._replace(text=cell.text.replace(BOUND, " ")) for cell in r] for r in body]
        named = dict(named_rows(body, labels, kept, [names[c] for c in labels] if set_ else []))
        entry = entry_of(place, list(columns), named)
        made.append(entry | ({"note": note} if note else {}))
    return made


def _tables(
    rows: Sequence[Sequence[Cell]], ruled: frozenset[int] | None
) -> Iterator[tuple[str, list[Sequence[Cell]], list[Sequence[Cell]], str]]:
    """Title, heads, rows and note of each table: of parts below and beside each other."""
    for above, heads, body in _parts(rows, _numeric(rows), ruled):
        note, body = _note(body)
        for title, own, part in side_by_side(heads, body):
            yield joined([above, title]), own, part, note


def _parts(
    rows: Sequence[Sequence[Cell]], numeric: Sequence[int], ruled: frozenset[int] | None
) -> Iterator[Part]:
    """The table's parts: one, or several where rows of heads stand between those of numbers."""
    title, over = "", rows[0]
    while len(rows) > 1 and _spans_all(rows[0]):
        title, over = joined([title, rows[0][0].text]), rows[0]
        rows, ruled = rows[1:], ruled and frozenset(i - 1 for i in ruled if i)
    first = rows_of_heads(rows, numeric, ruled)
    starts, last = [0], 0
    for i in range(first + 1, len(rows) - 1):
        if i > last + 1 and is_head_again(rows, i, starts[-1], first, numeric, ruled):
            above = first > 1 and _is_wide(rows[i - 1])
            titled = above and (_is_wide(rows[first - 2]) or _is_wide(rows[0]))
            starts.append(i - titled)
            last = i
    ends = [*starts[1:], len(rows)]
    heads: list[Sequence[Cell]] = []
    for start, end in zip(starts, ends, strict=True):
        part = rows[start:end]
        own = frozenset(i - start for i in ruled if start <= i < end) if ruled is not None else None
        behind = first if not start else rows_of_heads(part, numeric, own)
        heads, body = list(part[:behind]), list(part[behind:])
        if title and not first:  # the row above all of it is its only head
            heads, title = [over], ""
        # What names the rows below a head may stand before it, at the end of the part above.
        following = ""
        while len(body) > 1 and is_section(body[-1]) and end < len(rows):
            following = joined([joined([c.text for c in body[-1]]), following])
            body.pop()
        while len(heads) > 1 and is_section(heads[-1]) and not _is_of_head(heads, own):
            body.insert(0, heads.pop())
        if len(heads) == 1 and own and 1 not in own and len(numeric) > 1 and _is_first(heads[0]):
            body.insert(0, heads.pop())
        body = [*_corner(heads[-1], body), *body] if heads else body
        yield title, [_spread(row, i, heads, own) for i, row in enumerate(heads)], body
        title = following


def _numeric(rows: Sequence[Sequence[Cell]]) -> list[int]:
    """The columns that print numbers: most of what stands below their first row.

    Raises:
        NoNumbers: if there is none.
        MemreproError: if the table is one row.
    """
    found = []
    for c in range(len(rows[0])):
        shown = [row[c].text for row in rows[1:] if alone(row[c])]
        numbers = sum(map(is_number, shown))
        if shown and numbers >= MOST * len(shown):
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


def _corner(head: Sequence[Cell], body: Sequence[Sequence[Cell]]) -> Iterator[Sequence[Cell]]:
    """The first section where it stands in the corner: bold, as the others are, and no head is."""
    sections = [i for i, row in enumerate(body) if is_section(row) and row[0].text]
    if not sections or not head[0].bold or any(cell.bold for cell in head[1:]):
        return
    first, last = sections[0], sections[-1]
    names = [[row[0].text for row in own] for own in (body[:first], body[last + 1 :])]
    if names[0] and names[0] == names[1] and all(body[i][0].bold for i in sections):
        yield [head[0], *[Cell("")] * (len(head) - 1)]


def _is_first(row: Sequence[Cell]) -> bool:
    """Whether a row prints in its first column alone."""
    return is_section(row) and bool(row[0].text) and row[0].columns == 1


def _spread(
    row: Sequence[Cell], i: int, heads: Sequence[Sequence[Cell]], ruled: frozenset[int] | None
) -> Sequence[Cell]:  # fmt: skip
    """A row of heads, in which one that is centred by hand stands above all columns that it heads.

    Those are the heads that repeat below, or, of one alone above a rule, all.
    """
    if i + 1 < len(heads) and (own := _centred(row, [cell.text for cell in heads[i + 1]])):
        return own
    shown = [cell for cell in row if cell.text]
    if i + 1 >= len(heads) or i + 1 not in (ruled or ()) or len(shown) != 1 or row[0].text:
        return row
    below = [cell.text for cell in heads[i + 1][1:]]
    if not all(below) or len(set(below)) < len(below) or len(below) < 2:
        return row
    return [row[0], *[shown[0]._replace(filled="left")] * len(below)]


def _word(head: Cell) -> str:
    """'None' where it names a column: in a cell it prints nothing."""
    return head.dash if head.dash.casefold() == "none" else ""


def _centred(row: Sequence[Cell], below: Sequence[str]) -> list[Cell]:
    """The row with one head above each group, where groups of the same heads stand below it."""
    width = len(row)
    for start, n in ((a, n) for a in range(width) for n in range(2, (width - a) // 2 + 1)):
        group = below[start : start + n]
        if (width - start) % n or not all(group) or len(set(group)) < n:
            continue
        blocks = [row[c : c + n] for c in range(start, width, n)]
        shown = [[cell for cell in block if cell.text] for block in blocks]
        if list(group) * len(blocks) == list(below[start:]) and all(
            len(own) == 1 and own[0].columns == 1 for own in shown
        ):
            return [*row[:start], *(own[0]._replace(filled="left") for own in shown for _ in group)]
    return []


def _is_of_head(heads: Sequence[Sequence[Cell]], ruled: frozenset[int] | None) -> bool:
    """Whether the last row goes on with one column's head: a rule runs below it, none above."""
    last = len(heads)
    ends = ruled is not None and last in ruled and last - 1 not in ruled
    shown = [c for c, cell in enumerate(heads[-1]) if cell.text]
    return ends and len(shown) == 1 and (not shown[0] or bool(heads[-2][shown[0]].text))


def _spans_all(row: Sequence[Cell]) -> bool:
    """Whether a row is one cell as wide as the table."""
    return len(row) > 1 and bool(row[0].text) and not row[0].filled and all(
        cell.filled and cell.text == row[0].text for cell in row[1:]
    )  # fmt: skip


def _is_wide(row: Sequence[Cell]) -> bool:
    """Whether a row is one cell as wide as all columns but the first."""
    return not row[0].text and len(row) > 2 and row[1].columns == len(row) - 1 and bool(row[1].text)


def _is_legend(row: Sequence[Cell]) -> bool:
    """Whether a row says what stars mean, in its first cell alone or behind the word 'Note'."""
    below = not row[0].text and len(row) > 2 and row[1].columns > 2 and not is_number(row[1].text)
    if below or _NOTED.fullmatch(row[0].text):
        return len(row) > 2 and all(cell.filled or not cell.text for cell in row[2:])
    shown = dict.fromkeys(cell.text for cell in row if cell.text)
    others = [text for text in shown if not _LEGEND.search(text)]
    return len(others) < min(2, len(shown)) and not any(map(is_number, others))


def _note(body: list[Sequence[Cell]]) -> tuple[str, list[Sequence[Cell]]]:
    """What stands below the last row, as wide as the table; the rows without it."""
    last = len(body)
    while last > 1 and (_spans_all(body[last - 1]) or _is_legend(body[last - 1])):
        last -= 1
    return " ".join(joined([cell.text for cell in row]) for row in body[last:]), body[:last]
