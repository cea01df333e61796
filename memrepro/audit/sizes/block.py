"""Columns of shares that belong together: parts, their whole, over rows and cut-offs."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memrepro.audit.heads import NO_LEVEL, counts_questions, is_matrix
from memrepro.audit.rules.shares import Share, shares_of
from memrepro.audit.rules.wholes import columns_of
from memrepro.audit.tables import Table

_DEPTH = re.compile(r"(?<=@)\d+|(?<=Top-)\d+", re.I)
_LEAST = 6  # cells, below which nothing can be told
MISSING = -1


class Block(NamedTuple):
    """Shares of one table whose columns have a number of questions each, over all lines.

    Attributes:
        table: where it stands.
        parts: the columns' heads without cut-offs.
        lines: row and cut-off of each line, '' where there is none.
        units: whole units of the last digit, shape (lines, parts); `MISSING` where none is printed.
        whole: the same of the whole of the parts, shape (lines,); all missing where there is none.
        digits: after the point.
        stated: the number of questions of each part, 0 where it is not stated.
        cells: (line, part) → the share there; part −1 is the whole.
    """

    table: Table
    parts: Sequence[str]
    lines: Sequence[tuple[str, str]]
    units: NDArray[np.int64]
    whole: NDArray[np.int64]
    digits: int
    stated: Sequence[int]
    cells: Mapping[tuple[int, int], Share]

    @property
    def has_whole(self) -> bool:
        """Whether a whole is printed."""
        return bool((self.whole != MISSING).any())


def blocks(table: Table) -> Iterator[Block]:
    """The blocks of a table: each whole with its parts, and the columns that are in none."""
    if any(table.reading.get(key) for key in ("partial", "set", "total")) or is_matrix(table):
        return
    by_column: dict[str, list[Share]] = {}
    for share in shares_of(table):
        if table.runs(share.entry.row) == 1 and _counts(table, share):
            by_column.setdefault(share.entry.column, []).append(share)
    groups: dict[tuple[str, ...], list[tuple[str, Sequence[str]]]] = {}
    taken: set[str] = set()
    for whole, parts in columns_of(table).items():
        if all(column in by_column for column in (whole, *parts)):
            stems = (_stem(whole), *map(_stem, parts))
            if len(set(stems)) == len(stems):
                groups.setdefault(stems, []).append((whole, parts))
                taken |= {whole, *parts}
    for heads, members in groups.items():
        yield from _block(table, heads[1:], members, by_column)
    alone = [c for c in by_column if c not in taken]
    names = list(dict.fromkeys(map(_stem, alone)))
    depths = list(dict.fromkeys(map(_depth, alone)))
    rest = [("", [c for s in names for c in alone if (_stem(c), _depth(c)) == (s, d)])
            for d in depths]  # fmt: skip
    if alone:
        yield from _block(table, names, rest, by_column)


def _counts(table: Table, share: Share) -> bool:
    """Whether a share is of questions: its number is stated, or its metric counts them."""
    entry = share.entry
    heads = (entry.row, entry.column)
    if NO_LEVEL.search(" | ".join(heads)):
        return False
    # Where heads name what is counted, the caption names it for no other column.
    named = any(counts_questions(column) for column in table.columns)
    caption = "" if named else str(table.reading.get("caption", ""))
    about = (str(table.reading.get("metric", "")), caption)
    return bool(share.steps) or bool(entry.metric) or counts_questions(*heads, *about)


def _stem(column: str) -> str:
    return _DEPTH.sub("", column)


def _depth(column: str) -> str:
    found = _DEPTH.search(column)
    return found[0] if found else ""


def _block(
    table: Table, parts: Sequence[str], members: Sequence[tuple[str, Sequence[str]]],
    by_column: Mapping[str, Sequence[Share]],
) -> Iterator[Block]:  # fmt: skip
    found = [s for whole, own in members for c in (whole, *own) for s in by_column.get(c, ())]
    digits = Counter(_digits(share) for share in found).most_common(1)[0][0]
    lines: dict[tuple[str, str], int] = {}
    cells: dict[tuple[int, int], Share] = {}
    for whole, own in members:
        for column in (*own, *filter(None, [whole])):
            part = -1 if column == whole else list(parts).index(_stem(column))
            for share in by_column[column]:
                if _digits(share) == digits:
                    line = lines.setdefault((share.entry.row, _depth(column)), len(lines))
                    cells[line, part] = share
    if len(cells) < _LEAST or not digits:
        return
    units = np.full((len(lines), len(parts) + 1), MISSING, np.int64)
    stated = [0] * len(parts)
    for (line, part), share in cells.items():
        units[line, part] = round(float(share.bare) * 10**digits)
        if part >= 0 and share.steps:
            stated[part] = share.steps
    yield Block(table, parts, list(lines), units[:, :-1], units[:, -1], digits, stated, cells)


def _digits(share: Share) -> int:
    return len(share.bare.partition(".")[2])
