"""What all readers give: a grid of cells, every span filled, with what is bold and underlined."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memrepro.errors import MemreproError

MOST_CELLS = 100_000  # of one table
MOST_SPANNED = 1_000  # columns or rows of one cell


class Cell(NamedTuple):
    """A cell as printed; `columns` and `rows` are how many places it fills, rows also upward."""

    text: str
    bold: bool = False
    underlined: bool = False
    columns: int = 1
    rows: int = 1
    filled: str = ""  # 'left' or 'above': where the cell is that fills this place
    starred: bool = False  # with the mark that significance has
    stars: int = 0
    dash: str = ""  # what it prints in place of a number: '-', 'n/a'
    indented: bool = False
    grey: bool = False


class Place(NamedTuple):
    """Where a table stands, for people.

    Attributes:
        file: its name, within the folder that was given.
        line: from 1, or 0 where a file has no lines.
        part: such as 'table 2' or 'sheet Results'.
        label: what the document calls it.
        caption: '' where none is found.
    """

    file: str
    line: int = 0
    part: str = ""
    label: str = ""
    caption: str = ""

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        return ", ".join(part for part in (self.file, line, self.part) if part)


class Grid(NamedTuple):
    """A table as it stands in a file.

    Attributes:
        place: where.
        rows: of cells, all as long.
        ruled: the rows above which a rule runs through the whole table; None where a format has
            no rules.
    """

    place: Place
    rows: Sequence[Sequence[Cell]]
    ruled: frozenset[int] | None = None


class Sentences(NamedTuple):
    """What stands in a file beside its tables, and where, such as 'paper.pdf, page 3'."""

    source: str
    text: str


class Unread(NamedTuple):
    """What could not be read, and why.

    Attributes:
        source: the file and the place in it, for people.
        why: the reason.
        caption: '' where none is found.
        counts: whether it is a table that prints numbers, or may be: what prints words alone, and
            what another file is read for, is told and not counted.
    """

    source: str
    why: str
    caption: str = ""
    counts: bool = True


def unread(place: Place, why: object, *, counts: bool = True) -> Unread:
    """What could not be read at a place."""
    return Unread(str(place), str(why), place.caption, counts)


class NoNumbers(MemreproError):
    """A table of words, or an empty one, which nothing can be checked in."""


_SIGNS = str.maketrans(
    {"—": "-", "–": "-", "−": "-", "‐": "-", "‑": "-", "\u00a0": " ", "\u202f": "\u2009",
     "∗": "*", "∼": "~"} | dict.fromkeys("\u200b\u200c\u200d\ufeff\u00ad", "")
)  # fmt: skip
_STAR = re.compile(r"(?<=[\d%)\]])\s*[*⋆†‡]+")
_MARK = "*†‡§¶⋆★✩↑↓▲▼△▽"
_MARKS = re.compile(
    rf"(?<=[\d)\]])(%?)\s*[{_MARK}]+(?=\s*(?:$|[±\[(/]))|^[{_MARK}]+\s*(?=[-+]?[$€£]?[\d.])"
)
_IN_DOLLARS = re.compile(r"(?:\$\s|\\\$)([^$]+?)(?:\s|\\)\$")  # maths that a program escaped
_THOUSANDS = re.compile(r"(?<![\d.,\u2009])\d{1,3}(?:\u2009\d{3})+(?![\d\u2009])")
_POWER = re.compile(r"(?:(\d)\s?[×·⋅*x]\s?|(?<![\w.,×·⋅*]))10\s?\^\s?\{?([-+]?\d{1,3})\}?(?!\d)")
SCRIPT_MARK = re.compile(r"\s*(?:[a-z]|[A-Z]{1,2}|\d{1,2})(?:\s*,\s*(?:[a-z]|[A-Z]|\d{1,2}))*\s*")
_TEXT_UNIT = re.compile(r"(?:^|[\s(/])(?:R|[kcm]?m|CO|H|r|χ|η|η[a-z]?|ω|s)$")
_TEN = re.compile(r"(?:^|[×·⋅*x(<>=≤≥~≈\s])10$")
_WHOLE = re.compile(r"[-−–+]?\d{1,3}")
_NOTHING = re.compile(r"(?:n\.?/?a\.?|-+|none|nan|/|\.{3}|…|\(\.\)|[,;\s]+)?", re.I)
BOUND = "\u00a0"  # between a number and a word that is its unit, see `with_units`
_AMOUNT = re.compile(r"[-+~<>]?\s?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)? ([A-Za-zµ][^\s\d]*)")
_UNIT = (
    "m/s|km/h|A|V|mV|mA|[kMmnpµμ]?J|[kMG]?Pa|[kMG]?eV|dB|rpm|mmHg|bpm|mL|[µμ]m|"
    "%|‰|[kKMBTG]|ms|[µμn]s|s|sec|min|mins|h|hrs?|d|[KMGT]i?B|B|FPS|fps|[xX×]|bn|m|cm|mm|nm|km|kg|"
    "g|mg|[GM]?Hz|[kM]?W|°C?|pp|pts?|million|billion|thousand|hours?|days?|weeks?|months?|years?|yrs?"
)
_ONE = (
    r"(?<![A-Za-z\d])[-+]?\s?[$€£¥]?\s?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
    rf"(?:\s?(?:{_UNIT})(?![A-Za-z\d])|{BOUND}\S+)?(?![A-Za-z\d])"
)
_BETWEEN = re.compile(
    r"(?:[\s±~≈≃<>≤≥=+\-/|,;:()\[\]{}$€£¥%↑↓→·×*†‡§^]|"
    r"\b(?:to|vs|and|or|of|[pPnNMtzr]|SD|SE|CI|df|[TF][PN])\b)*"
)
_LETTERS = re.compile(r"(\d\.\d{1,3})\s?(?:a?bc?d?|b?cd?e?|a|d?e|d)$")  # of significance
NUMBER = re.compile(_ONE)
_COMMA = re.compile(r"[-+<>~≈]?\s?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,}))\s?%?")
_MASKED = re.compile(r"\d{3,}")
_LEAST = 3
_DATE = re.compile(r"\d{4}[-/]\d{1,2}(?:[-/]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}")


def cell_of(
    text: str, bold: bool = False, underlined: bool = False, columns: int = 1, rows: int = 1,
    *, filled: str = "",
) -> Cell:  # fmt: skip
    """A cell of what it prints, its marks still on it."""
    mark = _STAR.search(text.translate(_SIGNS))
    stars = mark[0].count("*") + mark[0].count("⋆") if mark else 0
    said = cleaned(text)
    dash = "" if said else text.strip()
    return Cell(said, bold, underlined, columns, rows, filled, bool(mark), stars, dash)


def cleaned(text: str) -> str:
    """A cell's text: signs and spaces of one kind, no footnote's mark, '' for 'n/a' or a dash.

    Digits in threes with thin or fixed spaces between are one number ('12 345' is '12,345'), as is
    a number times a power of ten: '1.2 × 10^-3' is '1.2e-3'.
    """
    text = re.sub("(?<=\\d)\u00a0(?=\\d{3}(?!\\d))", "\u2009", unicodedata.normalize("NFC", text))
    text = text.translate(_SIGNS)
    text = _THOUSANDS.sub(lambda one: one[0].replace("\u2009", ","), text)
    text = _MARKS.sub(_without_mark, _IN_DOLLARS.sub(r"\1", " ".join(text.split())))
    text = re.sub(r"(?<![\w.])\.(?=\d)", "0.", text)
    text = _POWER.sub(lambda one: f"{one[1] or 1}e{one[2]}", text)
    return "" if _NOTHING.fullmatch(text) else text


def _without_mark(found: re.Match[str]) -> str:
    """A mark is dropped; but an arrow behind a name, as in 'R2 ↑', says which way is better."""
    arrow = found[0].strip() in ("↑", "↓") and not is_number(found.string[: found.start()])
    return found[0] if arrow and found.start() else found[1] or ""


def raised(text: str, before: str) -> str:
    """A raised text as it is read behind another; '' for the mark of a footnote."""
    text, before = text.strip(), before.rstrip()
    if text in ("th", "st", "nd", "rd"):
        return text
    if _TEN.search(before) and _WHOLE.fullmatch(text):
        return f"^{text}"
    if SCRIPT_MARK.fullmatch(text):
        return text if text.isdigit() and _TEXT_UNIT.search(before) else ""
    return text if re.search(r"[*†‡±+\-−–∗⋆()\d]", text) else ""


def is_number(text: str) -> bool:
    """Whether a cell prints a number, or several: a deviation, an interval, a share of a count."""
    left, found = NUMBER.subn("", _LETTERS.sub(r"\1", text))
    return bool(found) and _BETWEEN.fullmatch(left) is not None and not _DATE.fullmatch(text)


def check_cells(count: int) -> None:
    """Refuse a table of more cells than is read.

    Raises:
        MemreproError: saying how many are.
    """
    if count > MOST_CELLS:
        raise MemreproError(
            f"it has more than {MOST_CELLS:,} cells; it is a table of data, which is not "
            "checked: give the table that the paper prints"
        )


def filled(rows: Iterable[Sequence[Cell]], kept_free: bool = False) -> list[list[Cell]]:
    """Rows with every span filled by its cell, all as long; a row may be empty.

    Args:
        rows: of cells.
        kept_free: whether a row has an empty cell where one from above stands, as in LaTeX.

    Raises:
        MemreproError: if a table, or what one of its cells fills, is larger than any that is read,
            or if it has no cells.
    """
    made: list[list[Cell]] = []
    below: dict[tuple[int, int], Cell] = {}
    size = 0
    for i, row in enumerate(rows):
        line: list[Cell] = []
        for cell in row:
            while not kept_free and (i, len(line)) in below:
                line.append(below.pop((i, len(line))))
            if max(cell.columns, abs(cell.rows)) > MOST_SPANNED:
                raise MemreproError(
                    f"a cell spans {cell.columns} columns and {cell.rows} rows; at most "
                    f"{MOST_SPANNED:,} of each are read"
                )
            at = len(line)
            if kept_free and not cell.text and (i, at) in below:
                line += [below.pop((i, at + k), Cell("")) for k in range(cell.columns)]
                continue
            copy = cell._replace(columns=1, rows=1, filled="left")
            line += [cell, *[copy] * (cell.columns - 1)]
            if cell.rows != 1:
                _spread(cell, i, at, made, below)
        while (i, len(line)) in below:
            line.append(below.pop((i, len(line))))
        made.append(line)
        size += len(line)
        check_cells(max(size, len(below)))
    width = max(map(len, made), default=0)
    if not any(cell.text for line in made for cell in line):
        raise NoNumbers("it is empty: no cell prints anything")
    if width * len(made) > MOST_CELLS:
        raise MemreproError(
            f"it has {len(made):,} rows of up to {width:,} cells; at most {MOST_CELLS:,} cells are "
            "read"
        )
    return [[*line, *[Cell("")] * (width - len(line))] for line in made]


def _spread(
    cell: Cell, i: int, at: int, made: list[list[Cell]], below: dict[tuple[int, int], Cell]
) -> None:
    """Fill the rows below a cell, or above it where its rows are negative."""
    copy = cell._replace(columns=1, rows=1, filled="above")
    for k in range(cell.columns):
        for down in range(1, cell.rows):
            below[i + down, at + k] = copy
        for row in made[max(0, i + 1 + cell.rows) : i] if cell.rows < 0 else []:
            if at + k < len(row) and not row[at + k].text:
                row[at + k] = copy


def without_fillers(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Rows without the columns that print nothing but what numbers left of them fill."""
    for c in range(len(rows[0]) - 1, 0, -1):
        own = [row[c] for row in rows if row[c].text or row[c].dash]
        numbers = any(is_number(cell.text) for cell in own)
        if own and not (numbers and all(cell.filled == "left" for cell in own)):
            continue
        for row in rows:
            at = next(k for k in range(c, -1, -1) if row[k].filled != "left" or not row[k].text)
            if row[c].text:
                row[at] = row[at]._replace(columns=row[at].columns - 1)
            del row[c]
    return rows


def with_points(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Rows whose decimal commas are points, where three cells, and a third, can be nothing else."""
    shown = [c.text for row in rows for c in row if not c.filled and is_number(c.text)]
    commas = sum(bool(_COMMA.fullmatch(text)) for text in shown)
    points = any(re.search(r"\d\.\d+(?![\d,])", text) for text in shown)
    if points or commas < max(_LEAST, len(shown) / 3):
        return [list(row) for row in rows]

    def turned(cell: Cell) -> Cell:
        if not is_number(cell.text):
            return cell
        text = re.sub(r"(?<=\d)\.(?=\d{3})", "", cell.text)
        return cell._replace(text=re.sub(r"(?<=\d),(?=\d)", ".", text))

    return [[turned(cell) for cell in row] for row in rows]


def with_masks(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Rows in which a star that every whole number of a column has is a masked digit, no mark."""
    made = [list(row) for row in rows]
    for c in range(len(made[0])):
        shown = [i for i, row in enumerate(made) if not row[c].filled and is_number(row[c].text)]
        masked = all(made[i][c].stars == 1 and _MASKED.fullmatch(made[i][c].text) for i in shown)
        if masked and len(shown) >= _LEAST:
            for i in shown:
                text = f"{made[i][c].text}*"
                made[i][c] = made[i][c]._replace(text=text, stars=0, starred=False)
    return made


def with_units(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Rows in which the word behind all amounts of a column, two or more, is their unit.

    The first column's words are of names.
    """
    made = [list(row) for row in rows]
    for c in range(1, len(made[0])):
        own = [row for row in made if not row[c].filled and _AMOUNT.fullmatch(row[c].text)]
        words = {row[c].text.rpartition(" ")[2].rstrip("s.") for row in own}
        if len(own) > 1 and len(words) == 1:
            for row in own:
                row[c] = row[c]._replace(text=BOUND.join(row[c].text.rsplit(" ", 1)))
    return made


def is_section(row: Sequence[Cell]) -> bool:
    """A row that names those below it: one cell, no dash, and a number only as wide as all."""
    shown = [cell for cell in row if cell.text and not cell.filled]
    if len(shown) != 1 or any(cell.dash for cell in row):
        return False
    return not is_number(shown[0].text) or shown[0].columns >= len(row) > 2


def joined(names: Sequence[str]) -> str:
    """Nested heads as one, what repeats told once."""
    return ", ".join(dict.fromkeys(name for name in names if name))


def distinct(names: Iterable[str]) -> Iterator[str]:
    """Names, those that stand again numbered."""
    seen: set[str] = set()
    counts: dict[str, int] = {}
    for name in names:
        made = name
        while made in seen:
            counts[name] = counts.get(name, 1) + 1
            made = f"{name} ({counts[name]})"
        seen.add(made)
        yield made
