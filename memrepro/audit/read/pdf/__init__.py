"""Tables of a PDF: by where the words stand between rules, else below or above a caption.

A caption of a table that is not found is listed, and so are lines in columns that none covers.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pdfplumber

from memrepro.audit.read.grid import (
    Cell,
    Grid,
    NoNumbers,
    Place,
    Sentences,
    Unread,
    cell_of,
    cleaned,
    filled,
    is_number,
    unread,
)
from memrepro.audit.read.pdf.regions import (
    FAR,
    Region,
    caption_at,
    opened,
    outer,
    regions,
    run_of,
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
_PART = re.compile(r"\([a-z]\)")  # the caption of a part of a figure or table
_POWER = re.compile(r"(\d(?:\.\d+)?)(?:e|\s*[×·]\s*10)\s*([-−–])\s*(\d+)(?![\d.])")
_FEWEST = 4  # lines in columns that are told as a table

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
    captions = [(line, i) for line in lines if (i := caption_at(line)) is not None]
    runs = [run_of(line, i) for line, i in captions]
    said = [" ".join(w.text for w in run) for run in runs]
    places = [(run[0].left, run[0].top) for run in runs]
    found: list[tuple[float, float, _Box, _Table]] = []
    for region in outer(regions(page.across, runs)):
        made = _between(page, region)
        if not made and len(region.rules) == 2:
            region = opened(page, region, runs)
            made = _between(page, region)
            made = made if made and _is_full(made[0]) else None
        if made:
            box = region.left, region.rules[0], region.right, region.rules[-1]
            found.append((region.left, region.rules[0], box, made))
    pairs = [
        (_distance(place, x, y), k, i)
        for i, (x, y, _, _) in enumerate(found) for k, place in enumerate(places)
    ]  # fmt: skip
    of_table: dict[int, int] = {}
    for far, k, i in sorted(pairs):
        if far < FAR and k not in of_table.values() and i not in of_table:
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
    # A group's name stands once, in a column before that of names.
    names = [next((cell.text for cell in row[:2] if cell.text), "") for row in rows]
    named = sum(bool(name) and not is_number(name) for name in names)
    numbers = sum(is_number(cell.text) for row in rows for cell in row[1:])
    full = len(rows) > max(1, 0.5 * len(cells)) and numbers > 0.3 * shown
    return full and shown > 0.6 * width * len(rows) and named > 0.5 * len(rows)


def _distance(caption: tuple[float, float], x: float, y: float) -> float:
    return abs(caption[1] - y) + abs(caption[0] - x) / 4


def _between(page: Drawn, region: Region) -> _Table | None:
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
    within = _within_rows(bands, len(columns))
    for band in bands:
        ruled.add(len(rows))
        for one in _close(band, within) if not boxed else [band]:
            made = [_row_cells(line, columns, bars) for line in one]
            spanned = any(cell.columns > 1 for row in made for cell in row)
            numbers = sum(map(_counts, one))
            whole = made and numbers <= 1 and (boxed or numbers) and not spanned
            rows += [_as_one(made, len(columns))] if whole else made
    rows, ruled = _unbroken(rows, ruled)
    if not any(is_number(cell.text) for row in rows for cell in row):
        return None
    return rows, frozenset(ruled)


def _unbroken(rows: list[list[Cell]], ruled: set[int]) -> tuple[list[list[Cell]], set[int]]:
    """Rows, and those below rules; a line that goes on with the one above is part of it."""
    made: list[list[Cell]] = []
    below = set()
    for i, row in enumerate(rows):
        said = [c for c, cell in enumerate(row) if cell.text]
        above = made[-1] if made and i not in ruled else []
        if (
            said and all(row[c].text[0].islower() for c in said)
            and said[-1] < len(above) and all(above[c].text for c in said)
        ):  # fmt: skip
            made[-1] = [
                cell._replace(text=f"{cell.text} {row[c].text}") if c in said else cell
                for c, cell in enumerate(above)
            ]
            continue
        if i in ruled:
            below.add(len(made))
        made.append(row)
    return made, below


def _within_rows(bands: Sequence[Sequence[Sequence[Word]]], width: int) -> float:
    """How far apart at most the lines of one row stand; 0 where the distances do not tell."""
    body = [band for band in bands if any(map(_counts, band))]
    apart = [
        low[0].bottom - line[0].bottom for band in body for line, low in itertools.pairwise(band)
    ]
    least = 1.08 * min(apart, default=0.0)
    groups = [one for band in body for one in _close(band, least)]
    # Rows are farther apart than the lines of one: a group of lines has the cells of one row.
    told = all(
        sum(_counts(line) or len(line) > max(2, width / 2) for line in one) <= 1 for one in groups
    )
    return least if told and all(far < least or far > 1.06 * least for far in apart) else 0.0


def _close(band: Sequence[Sequence[Word]], within: float) -> list[list[Sequence[Word]]]:
    """The lines of a band by row, those of one at most so far apart."""
    made: list[list[Sequence[Word]]] = []
    for line in band:
        if made and line[0].bottom - made[-1][-1][0].bottom <= within:
            made[-1].append(line)
        else:
            made.append([line])
    return made


def _counts(line: Sequence[Word]) -> bool:
    return any(is_number(cleaned(word.text)) for word in line[1:])


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
    left, right = caption[at].left, run_of(caption, at)[-1].right
    start = next(i for i, line in enumerate(lines) if line == caption)
    for way in (1, -1):
        rows: list[list[Word]] = []
        i = start + way
        while 0 <= i < len(lines):
            near = [w for w in lines[i] if w.right > left - 40 and w.left < right + 120]
            if rows and near and _PART.fullmatch(near[0].text):
                break
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
