"""What all readers give: a grid of cells, every span filled, with what is bold and underlined."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memrepro.errors import MemreproError


class Cell(NamedTuple):
    """A cell as printed; `columns` and `rows` are how many places it fills."""

    text: str
    bold: bool = False
    underlined: bool = False
    columns: int = 1
    rows: int = 1
    filled: bool = False  # from a cell to its left or above
    starred: bool = False  # with the mark that significance has


class Grid(NamedTuple):
    """A table as it stands in a file.

    Attributes:
        source: the file and the table's place in it, for people.
        caption: '' where none is found.
        rows: of cells, all as long.
    """

    source: str
    caption: str
    rows: Sequence[Sequence[Cell]]


class Unread(NamedTuple):
    """What could not be read, and why."""

    source: str
    why: str


_DASHES = {"—": "-", "–": "-", "−": "-", "\u00a0": " ", "\u2009": " "}
_STAR = re.compile(r"(?<=[\d%)\]])\s*[*∗⋆†‡]")
_MARKS = re.compile(
    r"(?<=[\d%)\]])\s*[*∗†‡§¶⋆★✩↑↓▲▼]+(?=\s*(?:$|[±\[(/]))|^[*†‡§¶⋆★✩↑↓▲▼]+\s*(?=[\d.])"
)
_NOTHING = re.compile(r"(?:n\.?/?a\.?|-+|none|nan|/|✗|×)?", re.I)
NUMBER = re.compile(
    r"[~≈<>≤≥]?\s*[-+]?\d[\d,]*(?:\.\d+)?\s*(?:%|[kKM]\b|ms\b|s\b|x\b)?\s*(?:[±(\[/].*)?"
)


def cell_of(
    text: str, bold: bool = False, underlined: bool = False, columns: int = 1, rows: int = 1,
    *, filled: bool = False,
) -> Cell:  # fmt: skip
    """A cell of what it prints, its marks still on it."""
    starred = bool(_STAR.search(text))
    return Cell(cleaned(text), bold, underlined, columns, rows, filled, starred)


def cleaned(text: str) -> str:
    """A cell's text: signs and spaces of one kind, no footnote's mark, '' for 'n/a' or a dash."""
    text = unicodedata.normalize("NFC", text)
    for old, new in _DASHES.items():
        text = text.replace(old, new)
    text = _MARKS.sub("", " ".join(text.split()))
    text = re.sub(r"(?<![\d.])\.(?=\d)", "0.", text)
    return "" if _NOTHING.fullmatch(text) else text


def is_number(text: str) -> bool:
    """Whether a cell prints a number, with what may follow it: ±, an interval, a unit."""
    return NUMBER.fullmatch(text) is not None


def filled(
    rows: Iterable[Iterable[Cell]], source: str, kept_free: bool = False
) -> list[list[Cell]]:  # fmt: skip
    """Rows with every span filled by its cell, all as long.

    Args:
        rows: of cells.
        source: for people.
        kept_free: whether a row has an empty cell where one from above stands, as in LaTeX.

    Raises:
        MemreproError: if a row is longer than the others or two cells fill one place.
    """
    made: list[list[Cell]] = []
    below: dict[tuple[int, int], Cell] = {}
    for i, row in enumerate(rows):
        line: list[Cell] = []
        for cell in row:
            if kept_free and (i, len(line)) in below and not cell.text:
                line += [below.pop((i, len(line))) for _ in range(cell.columns)
                         if (i, len(line)) in below]  # fmt: skip
                continue
            while (i, len(line)) in below and not kept_free:
                line.append(below.pop((i, len(line))))
            copy = cell._replace(columns=1, rows=1)
            for place in range(cell.columns):
                for down in range(1, cell.rows):
                    below[i + down, len(line)] = copy._replace(filled=True)
                line.append(copy if not place else copy._replace(filled=True))
        while (i, len(line)) in below:
            line.append(below.pop((i, len(line))))
        made.append(line)
    made = [line for line in made if any(cell.text for cell in line)]
    width = max(map(len, made), default=0)
    if not width:
        raise MemreproError(f"{source} is an empty table: it must have cells")
    if ragged := next((line for line in made if len(line) < width and len(line) > 1), None):
        shown = ", ".join(cell.text for cell in ragged)[:80]
        if any(is_number(cell.text) for cell in ragged) and len(ragged) < width - 1:
            raise MemreproError(
                f"{source}: the row '{shown}' has {len(ragged)} cells; it must have {width}"
            )
    return [[*line, *[Cell("")] * (width - len(line))] for line in made]


def joined(names: Sequence[str]) -> str:
    """Nested heads as one, what repeats told once."""
    return ", ".join(dict.fromkeys(name for name in names if name))


def distinct(names: Iterable[str]) -> Iterator[str]:
    """Names, those that stand again numbered."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"
