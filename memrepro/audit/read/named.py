"""Rows of a table by their names, and the mapping that the ledger reads."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memrepro.audit.read.grid import Cell, Place, distinct, is_number, is_section, joined

_SIZE = re.compile(r"\(?\b[nN]\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)\)?")
_QUESTIONS = re.compile(
    r"\b(\d{1,3}(?:,\d{3})+|\d+)\s+(?:test\s+|evaluation\s+)?"
    r"(?:questions|queries|examples|instances|samples|problems)\b"
)
_SIZES_ROW = re.compile(r"#\s*(?:questions|queries|examples|samples)?|n|count|support|size", re.I)
_OPEN = re.compile(r"(?:\s[+&x×]|,|\b(?:and|of|with))$")  # a name that goes on in the next line
# A category that a regression leaves out, and no section.
_OMITTED = re.compile(r"\((?:omit(?:ted)?|ref(?:erence)?|base)\.?(?: category| group)?\)\s*$", re.I)
_COUNT = re.compile(r"(\d+)\. (?=\D)")
_WHOLE = re.compile(r"total|sum|overall|all|average|avg\.?|mean", re.I)
_LONGEST = 120  # characters of a name
_NOTE = re.compile(r"\(.*\)")
_BESIDE = re.compile(r"[(\[{<].*[)\]}>]|±.*|[pP]\s*[<=>].*")


def _int(shown: str) -> int:
    return int(shown.replace(",", ""))


def named_rows(
    body: Sequence[Sequence[Cell]], labels: Sequence[int], kept: Sequence[int],
    settings: Sequence[str],
) -> Iterator[tuple[str, list[Cell]]]:  # fmt: skip
    """Names and cells of rows: what stands beneath an estimate in brackets is joined to it.

    Where several numbers name a row, `settings` are their heads.
    """
    group, fresh, once, within, above = "", False, False, False, ""
    last = [""] * len(labels)
    names: list[str] = []
    wides: list[int] = []  # where the row above has a number as wide as several columns
    lines: list[list[Cell]] = []
    firsts = [row[labels[0]].text for row in body if not is_section(row)] if labels else []
    every = firsts.count("") == 1  # each row has a first name, but for one of all of them
    numbers = all(is_number(row[c].text) for row in body for c in labels if row[c].text)
    for row, below in zip(body, [*body[1:], ()], strict=True):
        texts = [cell.text for cell in row]
        # A number as wide as several columns is of each, a name that reaches into them of none.
        cells = [
            row[c] if row[c].filled != "left" or is_number(row[c].text) else Cell("") for c in kept
        ]
        if not any(texts):
            continue
        shown = [c for c, cell in enumerate(row) if cell.text and not cell.filled]
        # One that stands right of the first name is a name or, where it is wider, a note.
        second = len(shown) == 1 and shown[0] in labels[1:]
        wide = second and row[shown[0]].columns > 1
        if second and lines and len(texts[shown[0]]) > _LONGEST:
            continue  # a sentence
        if second and lines and last[k := labels.index(shown[0])].endswith(","):
            names[-1] += f" {texts[shown[0]]}"
            last[k] = texts[shown[0]]
            continue
        full = shown == [0] and row[0].columns >= len(row)
        again = bool(lines) and shown == [1] == wides and row[1].columns > 1
        is_group = (
            is_section(row)
            and not again
            and (full or not any(is_number(cell.text) for cell in cells))
        )
        wides = [c for c in shown if row[c].columns > 1 and re.match(r"[-+]?\d", row[c].text)]
        if is_group and (_OMITTED.search(joined(texts)) or _is_counted_on(texts, below)):
            continue
        if is_group and (wide or not second):
            if not wide and not _NOTE.fullmatch(joined(texts)):  # a note on the row above
                # Two such rows, one below the other, name what follows together.
                group = joined([group, joined(texts)] if fresh else texts)
                last, fresh, once = [""] * len(labels), True, bool(_OPEN.search(group))
                within = False
            continue
        # A section's indented names, or those below a row that is not, end where one is not.
        first = row[labels[0]] if labels else Cell("")
        if first.text and not first.filled:
            if not first.indented:
                group, above = "" if within else group, "" if is_number(first.text) else first.text
            group = group or (above if first.indented else "")
            within = first.indented and bool(group)
        fresh = False
        own = [
            "" if row[c].filled == "left" else texts[c] or _named_by_dash(row[c], last[k])
            for k, c in enumerate(labels)
        ]
        if lines and any(own) and _continues(row, labels, kept):
            names[-1] = f"{names[-1]} {joined(own)}"
            continue
        # A row of errors may have a note on the name above: '(n = 531)'.
        noted = (
            lines
            and _beside(lines[-1], cells)
            and (all(not n or _NOTE.fullmatch(n) for n in own) or _OPEN.search(names[-1]))
        )
        if noted or (lines and not any(own) and _goes_on(lines[-1], cells)):
            lines[-1] = [_beneath(one, other) for one, other in zip(lines[-1], cells, strict=True)]
            names[-1] = f"{names[-1]} {joined(own)}".strip()
            continue
        # A name that is not printed again reaches down.
        whole = len(own) > 1 and _WHOLE.fullmatch(own[1]) and (every or last[0].isdigit())
        if len(own) > 1 and any(own) and not whole and (numbers or not settings):
            down = next(k for k, one in enumerate(own) if one)
            own[:down] = last[:down]
        last = own or last
        pairs = zip(settings, own, strict=True) if settings else []
        parts = [f"{head} {one}".strip() for head, one in pairs if one] or own
        name = ", ".join(part for part in parts if part)
        names.append(joined([group if group != name else "", name]) or f"row {len(names) + 1}")
        lines.append(cells)
        group, once = "" if once else group, False
    yield from zip(distinct(names), lines, strict=True)


def _is_counted_on(texts: Sequence[str], below: Sequence[Cell]) -> bool:
    """Whether a row's name has a number, '1. Age', and the next one that which follows."""
    own, other = (_COUNT.match(joined(one)) for one in (texts, [cell.text for cell in below]))
    return own is not None and other is not None and int(own[1]) + 1 == int(other[1])


def _named_by_dash(cell: Cell, above: str) -> str:
    """'none' and 'n/a' name a row, as does a minus of several; dots say the name above again."""
    if cell.dash in ("...", "…"):
        return above
    return cell.dash if cell.dash[:1].isalpha() or cell.rows != 1 or cell.filled else ""


def _continues(row: Sequence[Cell], labels: Sequence[int], kept: Sequence[int]) -> bool:
    """Whether a row is another line of the name above: all its numbers reach down from there."""
    shown = [row[c] for c in kept if row[c].text]
    new = any(row[c].text and not row[c].filled for c in labels)
    return new and len(shown) > 1 and all(cell.filled == "above" for cell in shown)


def _beside(above: Sequence[Cell], below: Sequence[Cell]) -> bool:
    """Whether a row without a name is what belongs to the one above: errors, intervals, t."""
    shown = [(one, other) for one, other in zip(above, below, strict=True) if other.text]
    return bool(shown) and all(
        _BESIDE.fullmatch(other.text) and is_number(other.text) and one.text
        and not _BESIDE.fullmatch(one.text)
        for one, other in shown
    )  # fmt: skip


def _goes_on(above: Sequence[Cell], below: Sequence[Cell]) -> bool:
    """Whether all that a row without a name prints is the next line of a list above it."""
    shown = [(one, other) for one, other in zip(above, below, strict=True) if other.text]
    return bool(shown) and all(one.text.endswith((",", ";", "/", "+")) for one, _ in shown)


def _beneath(one: Cell, other: Cell) -> Cell:
    if not other.text:
        return one
    return one._replace(
        text=f"{one.text} {other.text}", bold=one.bold or other.bold,
        starred=one.starred or other.starred, stars=max(one.stars, other.stars),
    )  # fmt: skip


def _is(key: str, cell: Cell) -> bool:
    """Whether a number is marked so; 'wide' is one that stands left, and reaches here too."""
    wide = cell.filled == "left"
    return is_number(cell.text) and (wide if key == "wide" else getattr(cell, key) and not wide)


def entry_of(
    place: Place, columns: Sequence[str], named: dict[str, list[Cell]]
) -> dict[str, Any]:  # fmt: skip
    """A table as `tables.table_of` reads it: where it stands, cells, sizes, and what is marked."""
    sizes: dict[str, int] = {}
    of_row = False
    for column in columns:
        if found := _SIZE.search(column):
            sizes[column] = _int(found[1])
    # Beside counts alone, a row n is a count as they are.
    counts = all(re.fullmatch(r"[\d,]*", cell.text) for row in named.values() for cell in row)
    # One that stands again is of its part of the table alone.
    own = [n for n in named if _SIZES_ROW.fullmatch(n) and f"{n} (2)" not in named]
    for name in own if not counts else []:
        shown = {c: cell.text for c, cell in zip(columns, named[name], strict=True)}
        if all(text.replace(",", "").isdigit() for text in shown.values() if text):
            sizes |= {c: _int(text) for c, text in shown.items() if text}
            del named[name]
            of_row = True
    entry: dict[str, Any] = {"source": str(place), "file": place.file}
    if of_row:
        entry["n_source"] = "a row of the table"
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
    for key in ("bold", "underlined", "grey", "starred", "wide"):
        marked = {
            row: own
            for row, cells in named.items()
            if (own := [c for c, cell in zip(columns, cells, strict=True) if _is(key, cell)])
        }
        if marked:
            entry[key] = marked
    stars = {
        row: has for row, cells in named.items()
        if (has := {c: cell.stars for c, cell in zip(columns, cells, strict=True) if cell.stars})
    }  # fmt: skip
    return entry | ({"stars": stars} if stars else {})
