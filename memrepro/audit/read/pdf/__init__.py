"""Tables of a PDF: by where the words stand between rules, else below or above a caption.

A caption of a table that is not found is listed, and so are lines in columns that none covers.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pdfplumber

from memrepro.audit.read.grid import (
    Cell,
    Grid,
    NoNumbers,
    Place,
    Sentences,
    Unread,
    cell_of,
    filled,
    is_number,
    unread,
)
from memrepro.audit.read.pdf.words import (
    SAME,
    Drawn,
    Rule,
    Word,
    cells_of,
    drawn,
    lines_of,
    text_of,
)
from memrepro.errors import MemreproError

_MOST_PAGES, _MOST_CHARACTERS = 500, 60_000  # of a file, of a page
_MOST_NUMBERS = 8  # of a cell
_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*|[A-Z]\.?\d*(?:\.\d+)?|[IVX]+)[.:]?")
_POWER = re.compile(r"(\d(?:\.\d+)?)(?:e|\s*[×·]\s*10)\s*([-−–])\s*(\d+)(?![\d.])")
_FEWEST = 4  # lines in columns that are told as a table
_SHORTEST, _FAR = 60.0, 400.0  # points: a rule, and how far a caption is from its table


class _Region(NamedTuple):
    """What stands between the first and the last of several rules, from the top, of one width."""

    left: float
    right: float
    rules: tuple[float, ...]


_Box = tuple[float, float, float, float]  # left, top, right, bottom
_Table = tuple[list[list[Cell]], frozenset[int] | None]


def grids(path: Path) -> Iterator[Grid | Unread | Sentences]:
    """The tables of a file and each page's text; captions of tables that were not found, unread."""
    with pdfplumber.open(path) as pages:
        if len(pages.pages) > _MOST_PAGES:
            raise MemreproError(
                f"{path} has {len(pages.pages):,} pages; at most {_MOST_PAGES} are read"
            )
        for number, page in enumerate(pages.pages, 1):
            if len(page.chars) > _MOST_CHARACTERS:
                place = Place(path.name, 0, f"page {number}")
                yield unread(place, f"the page has {len(page.chars):,} characters; at most "
                             f"{_MOST_CHARACTERS:,} are read")  # fmt: skip
                continue
            if 2 * sum(not one["upright"] for one in page.chars) > len(page.chars):
                place = Place(path.name, 0, f"page {number}")
                yield unread(place, "its text stands sideways; give its LaTeX or HTML, or type it")
            yield from _of_page(drawn(page), path.name, number)
            yield Sentences(f"{path.name}, page {number}", text_of(page))
            page.close()


def _of_page(page: Drawn, file: str, number: int) -> Iterator[Grid | Unread]:
    lines = lines_of(page.words)
    captions = [(line, i) for line in lines if (i := _caption_at(line)) is not None]
    said = [" ".join(w.text for w in _run(line, i)) for line, i in captions]
    places = [(line[i].left, line[i].top) for line, i in captions]
    found: list[tuple[float, float, _Box, _Table]] = []
    for region in _outer(_regions(page.across, [top for _, top in places])):
        if made := _between(page, region):
            box = region.left, region.rules[0], region.right, region.rules[-1]
            found.append((region.left, region.rules[0], box, made))
    pairs = [
        (_distance(place, x, y), k, i)
        for i, (x, y, _, _) in enumerate(found) for k, place in enumerate(places)
    ]  # fmt: skip
    of_table: dict[int, int] = {}
    for far, k, i in sorted(pairs):
        if far < _FAR and k not in of_table.values() and i not in of_table:
            of_table[i] = k
    kept = [i for i, (*_, (cells, _)) in enumerate(found) if i in of_table or _is_full(cells)]
    for k in set(range(len(said))) - set(of_table.values()):
        if below := _unruled(lines, *captions[k]):
            of_table[len(found)] = k
            kept.append(len(found))
            found.append((*places[k], *below))
    kept.sort(key=lambda i: (found[i][1], found[i][0]))
    for n, i in enumerate(kept, 1):
        cells, ruled = found[i][3]
        caption = said[of_table[i]] if i in of_table else ""
        place = Place(file, 0, f"page {number}, table {n}", "", caption)
        most = max(sum(map(is_number, cell.text.split())) for row in cells for cell in row)
        if most > _MOST_NUMBERS:
            yield unread(place, f"its rows run together: a cell holds {most} numbers; give its "
                         "LaTeX or HTML, or type it")  # fmt: skip
            continue
        try:
            yield Grid(place, filled(cells), ruled)
        except MemreproError as error:
            yield unread(place, error, counts=not isinstance(error, NoNumbers))
    for k in sorted(set(range(len(said))) - set(of_table.values())):
        place = Place(file, 0, f"page {number}, '{said[k][:60]}'", "", said[k])
        yield unread(
            place, "its cells are not told apart: neither rules above and below nor columns of "
            "words tell them; give its LaTeX or HTML, or type it",
        )  # fmt: skip
    boxes = [found[i][2] for i in kept]
    free = [word for word in page.words if not any(_is_in(word, box) for box in boxes)]
    if aligned := _aligned(lines_of(free)):
        first = " ".join(word.text for word in aligned[0])
        place = Place(file, 0, f"page {number}, '{first[:40]}'")
        yield unread(
            place, f"{len(aligned)} lines in columns that no rules or caption call a table; give "
            "its LaTeX or HTML, or type it",
        )  # fmt: skip


def _is_in(word: Word, box: _Box) -> bool:
    x, y = (word.left + word.right) / 2, (word.top + word.bottom) / 2
    return box[0] - SAME < x < box[2] + SAME and box[1] - SAME < y < box[3] + SAME


def _aligned(lines: Sequence[Sequence[Word]]) -> list[Sequence[Word]]:
    """The lines of runs of those that print a name and numbers in columns."""
    runs: list[list[Sequence[Word]]] = [[]]
    for line in lines:
        cells = cells_of(line, ())
        numbers = sum(is_number(cell.text) for cell in cells[1:])
        if numbers >= max(2, 0.5 * len(cells)):
            runs[-1].append(cells)
        elif len(cells) < 2 or runs[-1]:
            runs.append([])
    found = []
    for run in runs:
        named = sum(not is_number(line[0].text) for line in run)
        if len(run) >= _FEWEST and (named > 0.5 * len(run) or len(run) > 2 * _FEWEST):
            found += run
    return found


def _is_full(cells: Sequence[Sequence[Cell]]) -> bool:
    """Whether what no caption calls a table looks like one, and not like the axes of a plot."""
    rows = [row for row in cells if sum(bool(cell.text) for cell in row) > 1]
    width = max(sum(cell.columns for cell in row) for row in cells)
    shown = sum(bool(cell.text) for row in rows for cell in row)
    named = sum(bool(row[0].text) and not is_number(row[0].text) for row in rows)
    numbers = sum(is_number(cell.text) for row in rows for cell in row[1:])
    full = len(rows) > max(1, 0.5 * len(cells)) and numbers > 0.3 * shown
    return full and shown > 0.6 * width * len(rows) and named > 0.5 * len(rows)


def _distance(caption: tuple[float, float], x: float, y: float) -> float:
    return abs(caption[1] - y) + abs(caption[0] - x) / 4


def _caption_at(line: Sequence[Word]) -> int | None:
    """Where in a line a table's caption begins."""
    for i, word in enumerate(line[:-1]):
        starts = i == 0 or word.left - line[i - 1].right > 8
        if (  # noqa: SIM102
            starts
            and word.text in ("Table", "TABLE", "Tab.")
            and _NUMBERED.fullmatch(line[i + 1].text)
        ):
            # 'Table 3 shows …' begins a sentence.
            if line[i + 1].text[-1] in ".:" or len(line) < i + 3 or line[i + 2].text[:1].isupper():
                return i
    return None


def _run(line: Sequence[Word], at: int) -> list[Word]:
    """The words from a place up to a gap."""
    made = [line[at]]
    for word in line[at + 1 :]:
        if word.left - made[-1].right > 12:
            break
        made.append(word)
    return made


def _regions(across: Sequence[Rule], captions: Sequence[float]) -> Iterator[_Region]:
    """What stands between the first and the last of several rules of one width."""
    groups: list[list[Rule]] = []
    for rule in sorted(across):
        if rule.end - rule.begin < _SHORTEST:
            continue
        for group in groups:
            last = group[-1]
            alike = abs(last.begin - rule.begin) < SAME and abs(last.end - rule.end) < SAME
            between = any(last.at < top < rule.at for top in captions)
            if alike and not between and rule.at - last.at < _FAR:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        tops = [group[0].at]
        tops += [rule.at for rule in group if rule.at - tops[-1] > SAME]
        if len(tops) > 1:
            yield _Region(group[0].begin, group[0].end, tuple(tops))


def _outer(regions: Iterable[_Region]) -> list[_Region]:
    """Regions that are no part of a wider one, as what bars under heads make."""
    made = list(regions)
    return [
        one for one in made
        if not any(
            other.left <= one.left + SAME and one.right - SAME <= other.right
            and other.right - other.left > one.right - one.left + SAME
            and other.rules[0] - 1 < one.rules[0] < other.rules[-1]
            for other in made
        )
    ]  # fmt: skip


def _between(page: Drawn, region: _Region) -> _Table | None:
    """The cells between a region's rules, and the rows that a rule stands above."""
    top, bottom = region.rules[0], region.rules[-1]
    inside = [
        w for w in page.words
        if top - 1 < (w.top + w.bottom) / 2 < bottom + 1
        and region.left - 2 < (w.left + w.right) / 2 < region.right + 2
    ]  # fmt: skip
    walls = [
        rule.at for rule in page.down
        if region.left + SAME < rule.at < region.right - SAME
        and min(rule.end, bottom) - max(rule.begin, top) > 0.5 * (bottom - top)
    ]  # fmt: skip
    lines = [cells_of(line, walls) for line in lines_of(inside)]
    first = region.rules[min(1, len(region.rules) - 2)]
    body = [line for line in lines if line[0].bottom > first + 1]
    columns = _columns(body or lines)
    if len(columns) < 2 or len(lines) < 2:
        return None
    wide = region.right - region.left - SAME
    bars = [r for r in page.across if top < r.at < bottom and r.end - r.begin < wide]
    rows: list[list[Cell]] = []
    ruled: set[int] = set()
    bands = [[line for line in lines if above < (line[0].top + line[0].bottom) / 2 < below]
             for above, below in itertools.pairwise(region.rules)]  # fmt: skip
    # Where most rules have one line of numbers between them, what is broken there is one row.
    counted = [sum(_counts(line) for line in band) for band in bands if band]
    boxed = len(counted) > 2 and sum(n <= 1 for n in counted) > 0.7 * len(counted)
    for band in bands:
        ruled.add(len(rows))
        made = [_row_cells(line, columns, bars) for line in band]
        spanned = any(cell.columns > 1 for row in made for cell in row)
        whole = boxed and made and sum(map(_counts, band)) <= 1 and not spanned
        rows += [_as_one(made, len(columns))] if whole else made
    if not any(is_number(cell.text) for row in rows for cell in row):
        return None
    return rows, frozenset(ruled)


def _counts(line: Sequence[Word]) -> bool:
    return any(is_number(word.text) for word in line[1:])


def _as_one(rows: Sequence[Sequence[Cell]], width: int) -> list[Cell]:
    """The lines of one row, joined cell by cell."""
    made = []
    for c in range(width):
        own = [row[c] for row in rows if c < len(row) and row[c].text]
        text = " ".join(cell.text for cell in own)
        made.append(cell_of(text, any(cell.bold for cell in own)))
    return made


def _unruled(
    lines: Sequence[Sequence[Word]], caption: Sequence[Word], at: int
) -> tuple[_Box, _Table] | None:  # fmt: skip
    """Lines below a caption, else above it, in columns without rules: where, and their cells."""
    left, right = caption[at].left, _run(caption, at)[-1].right
    start = next(i for i, line in enumerate(lines) if line == caption)
    for way in (1, -1):
        rows: list[list[Word]] = []
        i = start + way
        while 0 <= i < len(lines):
            near = [w for w in lines[i] if w.right > left - 40 and w.left < right + 120]
            row = cells_of(near, ()) if near else []
            if len(row) > 1 and any(is_number(cell.text) for cell in row):
                rows.append(row)
            elif rows and (len(row) < 2 or len(rows) > 1) and way > 0:
                break
            elif len(row) > 1:
                rows.append(row)
            elif rows:
                break
            i += way
        rows = rows[::way]
        numbers = [row for row in rows if _counts(row)]
        columns = _columns(numbers) if numbers else []
        full = sum(len(row) == len(columns) for row in rows)
        if len(numbers) > 1 and len(columns) > 1 and full > 0.6 * len(rows):
            box = left - 40, rows[0][0].top, right + 120, rows[-1][0].bottom
            return box, ([_row_cells(row, columns, ()) for row in rows], None)
    return None


def _columns(lines: Sequence[Sequence[Word]]) -> list[tuple[float, float]]:
    """Where columns begin and end: what no line's cell bridges that has as many cells as most."""
    most = max((len(line) for line in lines), default=0)
    for least in (2, most):
        spans: list[tuple[float, float]] = []
        full = [word for line in lines if len(line) >= least for word in line]
        for word in sorted(full, key=lambda w: w.left):
            if spans and word.left < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(spans[-1][1], word.right))
            else:
                spans.append((word.left, word.right))
        if len(spans) >= most:
            return spans
    return spans


def _row_cells(
    line: Sequence[Word], columns: Sequence[tuple[float, float]], bars: Sequence[Rule]
) -> list[Cell]:  # fmt: skip
    """A line's cells, each in the columns that it, or a bar below it, stands in."""
    row: list[Cell] = []
    for word in line:
        middle, high = (word.left + word.right) / 2, word.bottom - word.top
        under = [
            bar for bar in bars
            if bar.begin < middle < bar.end and -2 < bar.at - word.bottom < 0.8 * high
        ]  # fmt: skip
        ends = (under[0].begin, under[0].end) if under else (word.left, word.right)
        over = [c for c, (left, right) in enumerate(columns) if ends[0] < right and ends[1] > left]
        if not over:
            over = [min(range(len(columns)), key=lambda c: abs(sum(columns[c]) / 2 - middle))]
        at = sum(cell.columns for cell in row)
        if over[-1] < at:
            if row:
                row[-1] = row[-1]._replace(text=f"{row[-1].text} {word.text}".strip())
            continue
        row += [Cell("")] * (over[0] - at)
        first = max(over[0], at)
        text = _POWER.sub(r"\1e\2\3", word.text)
        row.append(cell_of(text, word.bold, columns=over[-1] - first + 1))
    return row
