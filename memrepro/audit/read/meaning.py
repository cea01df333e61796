"""A grid to a table of the ledger: heads and row names, sizes, what is marked as best."""

import re
from collections.abc import Sequence
from typing import Any

from memrepro.audit.read.grid import Cell, Grid, distinct, is_number, joined
from memrepro.errors import MemreproError

_SIZE = re.compile(r"\(?\b[nN]\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)\)?")
_QUESTIONS = re.compile(
    r"\b(\d{1,3}(?:,\d{3})+|\d+)\s+(?:test\s+|evaluation\s+)?"
    r"(?:questions|queries|examples|instances|samples|problems)\b"
)
_SIZES_ROW = re.compile(r"#\s*(?:questions|queries|examples|samples)?|n|count|support|size", re.I)
_MOST = 0.5


def entry_of_grid(grid: Grid) -> dict[str, Any]:
    """The mapping that `tables.table_of` reads, in the order in which a person would write it.

    Raises:
        MemreproError: if the grid has no numbers, no heads or no names of rows.
    """
    rows = [list(row) for row in grid.rows]
    head = next((i for i, row in enumerate(rows) if _is_body(row)), None)
    if head is None:
        raise MemreproError(f"{grid.source} prints no row of numbers: nothing can be checked")
    if not head:
        raise MemreproError(f"{grid.source} has no row of heads: the first row is numbers already")
    while head > 1 and _is_section(rows[head - 1]):
        head -= 1
    body = rows[head:]
    labels = _labels(body)
    if not labels:
        raise MemreproError(f"{grid.source} has no names of rows: the first column is numbers")
    width = len(rows[0])
    heads = [joined([row[c].text for row in rows[:head]]) for c in range(labels, width)]
    columns = list(distinct(name or f"column {i + labels + 1}" for i, name in enumerate(heads)))
    group = ""
    names: list[str] = []
    lines: list[Sequence[Cell]] = []
    for row in body:
        texts = [cell.text for cell in row]
        name = joined(texts[:labels])
        if not any(is_number(text) for text in texts[labels:]):
            group = joined(texts)
            continue
        above = group if name != group else ""
        names.append(joined([above, name]) or f"row {len(names) + 1}")
        lines.append(row[labels:])
    named: dict[str, Sequence[Cell]] = dict(zip(distinct(names), lines, strict=True))
    return _entry(grid, columns, named)


def _is_body(row: Sequence[Cell]) -> bool:
    """A row of the body: most of what stands behind its first cell are numbers."""
    shown = [cell.text for cell in row[1:] if cell.text and not cell.filled]
    return len(shown) > 0 and sum(map(is_number, shown)) > _MOST * len(shown)


def _is_section(row: Sequence[Cell]) -> bool:
    """A row that names those below it: one cell, which begins at the left."""
    shown = [i for i, cell in enumerate(row) if cell.text and not cell.filled]
    return shown == [0]


def _labels(body: Sequence[Sequence[Cell]]) -> int:
    """How many columns from the left are names: most of their cells are no numbers."""
    for c in range(len(body[0])):
        shown = [row[c].text for row in body if row[c].text]
        if shown and sum(map(is_number, shown)) > _MOST * len(shown):
            # Names of rows may be numbers too, such as k or a rate.
            return c if c else int(len(body[0]) > 2 and len(set(shown)) == len(body))
    return 0


def _entry(
    grid: Grid, columns: Sequence[str], named: dict[str, Sequence[Cell]]
) -> dict[str, Any]:  # fmt: skip
    sizes: dict[str, int] = {}
    for column in columns:
        if found := _SIZE.search(column):
            sizes[column] = _number(found[1])
    for name in [name for name in named if _SIZES_ROW.fullmatch(name)]:
        shown = {c: cell.text for c, cell in zip(columns, named[name], strict=True)}
        if all(text.replace(",", "").isdigit() for text in shown.values() if text):
            sizes |= {c: _number(text) for c, text in shown.items() if text}
            del named[name]
    entry: dict[str, Any] = {"source": grid.source}
    if grid.caption:
        entry["caption"] = grid.caption
    entry["columns"] = list(columns)
    entry["rows"] = {row: [cell.text for cell in cells] for row, cells in named.items()}
    wholes = [c for c in columns if re.search(r"\b(overall|average|avg|all|total|mean)\b", c, re.I)]
    told = {_number(n) for pattern in (_SIZE, _QUESTIONS) for n in pattern.findall(grid.caption)}
    if len(told) == 1 and told == {sum(sizes.values())} and len(sizes) > 1:
        sizes |= dict.fromkeys((c for c in wholes if c not in sizes), told.pop())
    elif not sizes and len(told) == 1 and min(told) > 1:
        # The number in a caption is of the whole where a whole is printed.
        sizes = dict.fromkeys(wholes or columns, told.pop())
        entry["n_source"] = "the caption"
    if sizes := {column: n for column, n in sizes.items() if n > 0}:
        entry["n"] = sizes
    for key in ("bold", "underlined", "starred"):
        marked = {
            row: own for row, cells in named.items()
            if (own := [c for c, cell in zip(columns, cells, strict=True)
                          if getattr(cell, key) and is_number(cell.text)])
        }  # fmt: skip
        if marked:
            entry[key] = marked
    return entry


def _number(shown: str) -> int:
    return int(shown.replace(",", ""))
