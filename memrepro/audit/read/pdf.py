"""Tables of a PDF: by their ruled cells, else by where the words stand between two rules.

A caption of a table that neither finds is listed.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from memrepro.errors import MemreproError

_MOST_PAGES, _MOST_CHARACTERS = 500, 60_000  # of a file, of a page
_MOST_NUMBERS = 8  # of a cell
_NUMBERED = re.compile(r"(?:\d+|[A-Z]\.?\d*|[IVX]+)[.:]?")
_BOLD = re.compile(r"bold|black|cmbx|medi\b|-bx|heavy", re.I)
_SAME, _SHORTEST = 3.0, 60.0  # points: what counts as one place, and as a rule


class _Word(NamedTuple):
    text: str
    left: float
    right: float
    top: float
    bottom: float
    bold: bool


class _Region(NamedTuple):
    left: float
    right: float
    rules: tuple[float, ...]  # from the top


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
            yield from _of_page(page, path.name, number)
            yield Sentences(f"{path.name}, page {number}", _text(page))
            page.close()


def _of_page(page: Any, file: str, number: int) -> Iterator[Grid | Unread]:
    words = [
        _Word(w["text"], w["x0"], w["x1"], w["top"], w["bottom"], bool(_BOLD.search(w["fontname"])))
        for w in page.extract_words(extra_attrs=["fontname"], x_tolerance=1.5)
    ]
    lines = _lines(words)
    captions = [(line, i) for line in lines if (i := _caption_at(line)) is not None]
    said = [" ".join(w.text for w in _run(line, i)) for line, i in captions]
    places = [(line[i].left, line[i].top) for line, i in captions]
    found: list[tuple[float, float, Any]] = []
    for table in page.find_tables():
        rows = table.extract()
        if len(rows) > 1 and max(map(len, rows)) > 1:
            cells = [[cell_of(text or "") for text in row] for row in rows]
            found.append((table.bbox[0], table.bbox[1], (cells, None)))
    boxes = [table.bbox for table in page.find_tables()]
    for region in _regions(page, [top for _, top in places]):
        if any(b[1] - _SAME <= region.rules[0] <= b[3] + _SAME for b in boxes):
            continue
        if made := _between(words, region):
            found.append((region.left, region.rules[0], made))
    left = list(range(len(said)))
    for i, (x, y, (cells, ruled)) in enumerate(sorted(found, key=lambda one: (one[1], one[0])), 1):
        near = min(left, key=lambda k: _distance(places[k], x, y), default=None)
        caption = ""
        if near is not None and (_distance(places[near], x, y) < 400 or len(found) == len(said)):
            caption = said[near]
            left.remove(near)
        place = Place(file, 0, f"page {number}, table {i}", "", caption)
        most = max(sum(map(is_number, cell.text.split())) for row in cells for cell in row)
        if most > _MOST_NUMBERS:
            yield unread(place, f"its rows run together: a cell holds {most} numbers; give its "
                         "LaTeX or HTML, or type it")  # fmt: skip
            continue
        try:
            yield Grid(place, filled(cells), ruled)
        except MemreproError as error:
            yield unread(place, error, counts=not isinstance(error, NoNumbers))
    for k in left:
        place = Place(file, 0, f"page {number}, '{said[k][:60]}'", "", said[k])
        yield unread(
            place, "its cells are not told apart: it has neither ruled cells nor rules above and "
            "below; give its LaTeX or HTML, or type it",
        )  # fmt: skip


def _text(page: Any) -> str:
    """A page's words in the order in which it draws them, which is that of its columns."""
    made, last = "", 0.0
    for word in page.extract_words(use_text_flow=True, x_tolerance=1.5):
        apart = "\n" if abs(word["bottom"] - last) > _SAME else " "
        made, last = f"{made}{apart}{word['text']}", word["bottom"]
    return made.strip()


def _distance(caption: tuple[float, float], x: float, y: float) -> float:
    return abs(caption[1] - y) + abs(caption[0] - x) / 4


def _lines(words: Sequence[_Word]) -> list[list[_Word]]:
    """Words by line, from the left."""
    lines: list[list[_Word]] = []
    for word in sorted(words, key=lambda w: (w.bottom, w.left)):
        if lines and abs(lines[-1][0].bottom - word.bottom) < _SAME:
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda w: w.left) for line in lines]


def _caption_at(line: Sequence[_Word]) -> int | None:
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


def _run(line: Sequence[_Word], at: int) -> list[_Word]:
    """The words from a place up to a gap."""
    made = [line[at]]
    for word in line[at + 1 :]:
        if word.left - made[-1].right > 12:
            break
        made.append(word)
    return made


def _regions(page: Any, captions: Sequence[float]) -> Iterator[_Region]:
    """What stands between the first and the last of several rules of one width."""
    rules = [
        (one["x0"], one["x1"], (one["top"] + one["bottom"]) / 2)
        for one in (*page.lines, *page.rects)
        if one["x1"] - one["x0"] > _SHORTEST and abs(one["bottom"] - one["top"]) < _SAME
    ]
    groups: list[list[tuple[float, float, float]]] = []
    for rule in sorted(rules, key=lambda r: (r[2], r[0])):
        for group in groups:
            last = group[-1]
            alike = abs(last[0] - rule[0]) < _SAME and abs(last[1] - rule[1]) < _SAME
            between = any(last[2] < top < rule[2] for top in captions)
            if alike and not between and rule[2] - last[2] < 400:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        tops = [group[0][2]]
        tops += [y for _, _, y in group if y - tops[-1] > _SAME]
        if len(tops) > 1:
            yield _Region(group[0][0], group[0][1], tuple(tops))


def _between(
    words: Sequence[_Word], region: _Region
) -> tuple[list[list[Cell]], frozenset[int]] | None:
    """The cells between a region's rules, and the rows that a rule stands above."""
    top, bottom = region.rules[0], region.rules[-1]
    inside = [
        w for w in words
        if top - 1 < (w.top + w.bottom) / 2 < bottom + 1
        and region.left - 2 < (w.left + w.right) / 2 < region.right + 2
    ]  # fmt: skip
    lines = [_cells(line) for line in _lines(inside)]
    body = [
        line for line in lines if line and line[0].top > region.rules[min(1, len(region.rules) - 2)]
    ]
    columns = _columns(body or lines)
    if len(columns) < 2 or len(lines) < 2:
        return None
    rows: list[list[Cell]] = []
    ruled = set()
    above = top - 1.0
    for line in lines:
        if any(above < rule < line[0].bottom for rule in region.rules):
            ruled.add(len(rows))
        above = line[0].bottom
        rows.append(_row_cells(line, columns))
    if not any(is_number(cell.text) for row in rows for cell in row):
        return None
    return rows, frozenset(ruled)


def _cells(line: Sequence[_Word]) -> list[_Word]:
    """Words of a line joined to cells where no more than a blank is between them."""
    made: list[_Word] = []
    for word in line:
        blank = 0.5 * (word.bottom - word.top)
        if made and word.left - made[-1].right < blank:
            last = made[-1]
            between = " " if word.left - last.right > 0.8 else ""
            made[-1] = last._replace(
                text=f"{last.text}{between}{word.text}",
                right=max(last.right, word.right), bold=last.bold or word.bold,
            )  # fmt: skip
        else:
            made.append(word)
    return made


def _columns(lines: Sequence[Sequence[_Word]]) -> list[tuple[float, float]]:
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


def _row_cells(line: Sequence[_Word], columns: Sequence[tuple[float, float]]) -> list[Cell]:
    """A line's cells, each in the columns that it stands in."""
    row: list[Cell] = []
    for word in line:
        over = [
            c for c, (left, right) in enumerate(columns) if word.left < right and word.right > left
        ]
        if not over:
            middle = (word.left + word.right) / 2
            over = [min(range(len(columns)), key=lambda c: abs(sum(columns[c]) / 2 - middle))]
        at = sum(cell.columns for cell in row)
        if over[-1] < at:
            if row:
                row[-1] = row[-1]._replace(text=f"{row[-1].text} {word.text}".strip())
            continue
        row += [Cell("")] * (over[0] - at)
        first = max(over[0], at)
        row.append(cell_of(word.text, word.bold, columns=over[-1] - first + 1))
    return row
