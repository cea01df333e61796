"""A grid to tables of the ledger: heads and row names, sizes, what is marked as best.

What is a head, a name and a number is decided by columns: a column is of numbers where most of what
it prints are. So names may stand right of numbers, and a head may be numbers itself (k = 1, 5, 10).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memrepro.audit.read.grid import Cell, Grid, NoNumbers, Place, distinct, is_number, joined
from memrepro.errors import MemreproError

_SIZE = re.compile(r"\(?\b[nN]\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)\)?")
_QUESTIONS = re.compile(
    r"\b(\d{1,3}(?:,\d{3})+|\d+)\s+(?:test\s+|evaluation\s+)?"
    r"(?:questions|queries|examples|instances|samples|problems)\b"
)
_SIZES_ROW = re.compile(r"#\s*(?:questions|queries|examples|samples)?|n|count|support|size", re.I)
_MOST = 0.5
_SET = re.compile(r"[✓✗×xX]?|@?\d[\d,]*(?:\.\d+)?\s*(?:%|[kKMB])?")
_COUNTED = re.compile(r"[(\[]?\s*(\d+|[IVX]+)\s*[)\]]?")
_STEP = re.compile(r"@?(\d[\d,]*(?:\.\d+)?)\s*(?:%|[kKMB]|shots?)?")
_BESIDE = re.compile(r"[(\[{<].*[)\]}>]|±.*|[pP]\s*[<=>].*")
# What a cell says in place of a number, which makes no row of it a head.
_ANSWER = re.compile(r"yes|no|✓|✗|[xX]|oom|oot|all|none|true|false|n\.?s\.?", re.I)


def _int(shown: str) -> int:
    return int(shown.replace(",", ""))


# A title, heads and rows: of a table, or of a part of one with heads of its own.
_Body = tuple[str, list[Sequence[Cell]], list[Sequence[Cell]]]


def entries_of_grid(grid: Grid) -> list[dict[str, Any]]:
    """The mappings that `tables.table_of` reads, in the order in which a person would write them.

    One, or one for each part of a table that has heads of its own.

    Raises:
        NoNumbers: if it prints none.
        MemreproError: if it has no heads.
    """
    rows = [list(row) for row in grid.rows]
    made = []
    numeric = _numeric(rows)
    for title, heads, body in _parts(rows, numeric, grid.ruled):
        labels = _labels(body, numeric)
        place = grid.place
        if title and title not in place.caption:
            place = place._replace(caption=f"{place.caption} {title}".strip())
        width = len(rows[0])
        names = [joined([row[c].text for row in heads]) for c in range(width)]
        kept = [
            c for c, name in enumerate(names)
            if c not in labels and any(r[c].text and r[c].filled != "left" for r in (*heads, *body))
        ]  # fmt: skip
        columns = distinct(names[c] or f"column {c + 1}" for c in kept)
        # Numbers and marks name a row only with what they are of.
        set_ = len(labels) > 1 and all(_SET.fullmatch(r[c].text) for r in body for c in labels)
        named = dict(_named(body, labels, kept, [names[c] for c in labels] if set_ else []))
        entry = _entry(place, list(columns), named)
        note = _note(body, numeric)
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
        while len(body) > 1 and _is_section(body[-1]) and end < len(rows):
            following = joined([joined([c.text for c in body[-1]]), following])
            body.pop()
        while len(heads) > 1 and _is_section(heads[-1]):
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
    first = next((i for i, row in enumerate(rows) if _is_body(row, numeric)), None)
    if first is None:
        raise NoNumbers("it prints no row of numbers: nothing can be checked")
    if ruled and len(ruled) <= _MOST * len(rows):
        # A row of words below the rule, with a name of its own, is none of the heads.
        rule = min((i for i in ruled if i), default=first)
        named = all(row[0].text and not row[0].filled for row in (rows[0], rows[rule]))
        first = rule if rule < first and named and not _is_section(rows[rule]) else first
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


def _is_body(row: Sequence[Cell], numeric: Sequence[int]) -> bool:
    """A row of the body: most of what it prints in columns of numbers are numbers."""
    shown = [row[c].text for c in numeric if row[c].text and not row[c].filled]
    if not shown:  # a row whose numbers all reach down from above
        return any(is_number(row[c].text) for c in numeric)
    return sum(map(is_number, shown)) >= _MOST * len(shown) and any(map(is_number, shown))


def _is_numeric_head(
    rows: Sequence[Sequence[Cell]], i: int, numeric: Sequence[int], ruled: frozenset[int] | None
) -> bool:  # fmt: skip
    """Whether a row of numbers is one of heads: (1), (2), (3); or k = 1, 5, 10 above a rule."""
    row, below = rows[i], rows[i + 1]
    shown = [row[c].text for c in numeric if row[c].text and not row[c].filled]
    if not _is_body(below, numeric) or len(shown) < len(numeric) * _MOST:
        return False
    # A word among them, such as the head of an average, is another sign of heads.
    shown = [text for text in shown if is_number(text)]
    counted = [_COUNTED.fullmatch(text) for text in shown]
    if all(counted) and all("(" in text or "[" in text for text in shown):
        return [m[1] for m in counted if m][:2] in (["1", "2"], ["I", "II"], ["1"], ["I"])
    above_rule = ruled is not None and i + 1 in ruled
    named = bool(row[0].text) and not row[0].filled and row[0].rows > 0
    if not above_rule or len(shown) < 2 or not _steps(shown):
        return False
    # With a head above, a row that has a name is one of the body, as is one of decimals.
    return i == 0 or (not named and i not in (ruled or ())) or _same_steps(rows, i, numeric)


def _same_steps(rows: Sequence[Sequence[Cell]], i: int, numeric: Sequence[int]) -> bool:
    """Whole steps above numbers with decimals alone, in a row whose name spells what they are."""
    below = [row[c].text for row in rows[i + 1 : i + 4] for c in numeric if row[c].text]
    return all("." not in rows[i][c].text for c in numeric) and all("." in one for one in below)


def _steps(texts: Sequence[str]) -> bool:
    """Whether texts are numbers that rise or fall throughout, as settings do."""
    found = [_STEP.fullmatch(text) for text in texts if text]
    if len(found) < 2 or not all(found):
        return False
    values = [float(m[1].replace(",", "")) for m in found if m]
    again = len(values) // 2  # the same steps under each of two heads
    rising = [values, values[:again]] if values[:again] == values[again:] else [values]
    return any(one == sorted(set(one)) or one == sorted(set(one), reverse=True) for one in rising)


def _is_section(row: Sequence[Cell]) -> bool:
    """A row that names those below it: one cell, and no number."""
    shown = [cell for cell in row if cell.text and not cell.filled]
    return len(shown) == 1 and not is_number(shown[0].text)


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
    if behind is None or any(_is_section(one) for one in rows[i + 1 : behind] if i + 1 == behind):
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
        if named and "numbers" in kinds[named:] and all(_is_set(body, c) for c in range(named)):
            return list(range(named + kinds[named:].index("numbers")))
        found = [0] if width > 1 else []
    # Names may be numbers, such as k or a rate, and several columns may name a row together.
    more = list(found)
    for c in range(len(found), min(5, width - 1)):
        if _tells_apart(body, more):
            return more
        if (kinds[c] == "words" and first) or _is_set(body, c, few=bool(first)):
            more.append(c)
        elif not first:
            break
    return more if _tells_apart(body, more) else found


def _tells_apart(body: Sequence[Sequence[Cell]], columns: Sequence[int]) -> bool:
    """Whether no two rows have the same names."""
    names = [tuple(row[c].text for c in columns) for row in body if not _is_section(row)]
    names = [name for name in names if any(name)]
    return len(set(names)) == len(names)


def _kind(body: Sequence[Sequence[Cell]], c: int) -> str:
    """What a column prints: 'numbers', 'words', or '' for nothing of its own."""
    shown = [row[c].text for row in body if _alone(row[c])]
    if not shown:
        return ""
    return "numbers" if sum(map(is_number, shown)) >= _MOST * len(shown) else "words"


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


def _note(body: Sequence[Sequence[Cell]], numeric: Sequence[int]) -> str:
    """What stands below the last row of numbers, as wide as the table."""
    last = max((i for i, row in enumerate(body) if _is_body(row, numeric)), default=len(body))
    return " ".join(row[0].text for row in body[last + 1 :] if _spans_all(row))


def _named(
    body: Sequence[Sequence[Cell]], labels: Sequence[int], kept: Sequence[int],
    settings: Sequence[str],
) -> Iterator[tuple[str, list[Cell]]]:  # fmt: skip
    """Names and cells of rows: what stands beneath an estimate in brackets is joined to it.

    Where several numbers name a row, `settings` are their heads.
    """
    group = ""
    last = [""] * len(labels)
    names: list[str] = []
    lines: list[list[Cell]] = []
    for row in body:
        texts = [cell.text for cell in row]
        # A number as wide as several columns is printed once.
        cells = [row[c] if row[c].filled != "left" else Cell("") for c in kept]
        if not any(texts):
            continue
        if _is_section(row) and not any(is_number(cell.text) for cell in cells):
            if not re.fullmatch(r"\(.*\)", joined(texts)):  # a note on the row above
                group, last = joined(texts), [""] * len(labels)
            continue
        own = [texts[c] for c in labels]
        if lines and not any(own) and _beside(lines[-1], cells):
            lines[-1] = [_beneath(one, other) for one, other in zip(lines[-1], cells, strict=True)]
            continue
        # A name that is not printed again reaches down.
        if len(own) > 1 and any(own) and not own[0] and not settings:
            own[0] = last[0]
        last = own or last
        pairs = zip(settings, own, strict=True) if settings else []
        name = joined([f"{head} {one}".strip() for head, one in pairs if one] or own)
        names.append(joined([group if group != name else "", name]) or f"row {len(names) + 1}")
        lines.append(cells)
    yield from zip(distinct(names), lines, strict=True)


def _beside(above: Sequence[Cell], below: Sequence[Cell]) -> bool:
    """Whether a row without a name is what belongs to the one above: errors, intervals, t."""
    shown = [(one, other) for one, other in zip(above, below, strict=True) if other.text]
    return bool(shown) and all(
        _BESIDE.fullmatch(other.text) and is_number(other.text) and one.text
        and not _BESIDE.fullmatch(one.text)
        for one, other in shown
    )  # fmt: skip


def _beneath(one: Cell, other: Cell) -> Cell:
    if not other.text:
        return one
    return one._replace(
        text=f"{one.text} {other.text}", bold=one.bold or other.bold,
        starred=one.starred or other.starred, stars=max(one.stars, other.stars),
    )  # fmt: skip


def _entry(
    place: Place, columns: Sequence[str], named: dict[str, list[Cell]]
) -> dict[str, Any]:  # fmt: skip
    sizes: dict[str, int] = {}
    for column in columns:
        if found := _SIZE.search(column):
            sizes[column] = _int(found[1])
    # Beside counts alone, a row n is a count as they are.
    counts = all(re.fullmatch(r"[\d,]*", cell.text) for row in named.values() for cell in row)
    for name in [name for name in named if _SIZES_ROW.fullmatch(name) and not counts]:
        shown = {c: cell.text for c, cell in zip(columns, named[name], strict=True)}
        if all(text.replace(",", "").isdigit() for text in shown.values() if text):
            sizes |= {c: _int(text) for c, text in shown.items() if text}
            del named[name]
    entry: dict[str, Any] = {"source": str(place), "file": place.file}
    place_of = {"line": place.line, "label": place.label, "caption": place.caption}
    entry |= {key: value for key, value in place_of.items() if value}
    entry["columns"] = list(columns)
    entry["rows"] = {row: [cell.text for cell in cells] for row, cells in named.items()}
    wholes = [c for c in columns if re.search(r"\b(overall|average|avg|all|total|mean)\b", c, re.I)]
    told = {_int(n) for pattern in (_SIZE, _QUESTIONS) for n in pattern.findall(place.caption)}
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
    stars = {
        row: has for row, cells in named.items()
        if (has := {c: cell.stars for c, cell in zip(columns, cells, strict=True) if cell.stars})
    }  # fmt: skip
    return entry | ({"stars": stars} if stars else {})
