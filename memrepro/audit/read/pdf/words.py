"""What a page of a PDF draws: its words by line and cell, and its rules."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_BOLD = re.compile(r"bold|black|cmbx|medi\b|-bx|heavy", re.I)
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"})
# Accents that are drawn as characters of their own, beside what follows a letter in Unicode.
_ACCENTS = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306",
    "˙": "\u0307", "¨": "\u0308", "˚": "\u030a", "ˇ": "\u030c", "¸": "\u0327",
}  # fmt: skip
_COMMA = re.compile(r"[-−–+<>~≈]?\d+,")  # as of 0,5 in mathematics, where a space follows
_BLANK = 1.5  # points that are a blank between letters
SAME = 3.0  # points that count as one place


class Word(NamedTuple):
    """A word, or a cell of words, and where it stands, in points from the page's top left."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    bold: bool
    script: str = ""  # '^' or '_' of a smaller one above or below its line


class Rule(NamedTuple):
    """A line across, at a height, or down, at a distance from the left: from where to where."""

    at: float
    begin: float
    end: float


class Drawn(NamedTuple):
    """What a page draws."""

    words: list[Word]
    across: list[Rule]
    down: list[Rule]


def drawn(page: Any) -> Drawn:
    """What a page of pdfplumber draws; the sides of a box are rules."""
    cut = page.extract_words(
        extra_attrs=["fontname", "size"], x_tolerance=_BLANK, return_chars=True
    )
    words = [
        Word(
            _accented(w).translate(_LIGATURES), w["x0"], w["x1"], *_height(w),
            bool(_BOLD.search(w["fontname"])),
        )
        for w in cut
    ]  # fmt: skip
    across, down = [], []
    for one in (*page.lines, *page.rects, *page.curves):
        wide, high = one["x1"] - one["x0"], one["bottom"] - one["top"]
        x, y = (one["x0"] + one["x1"]) / 2, (one["top"] + one["bottom"]) / 2
        if high < SAME <= wide:
            across.append(Rule(y, one["x0"], one["x1"]))
        elif wide < SAME <= high:
            down.append(Rule(x, one["top"], one["bottom"]))
        elif one["object_type"] == "rect" and one.get("stroke") and min(wide, high) > SAME:
            across += [Rule(one[end], one["x0"], one["x1"]) for end in ("top", "bottom")]
            down += [Rule(one[end], one["top"], one["bottom"]) for end in ("x0", "x1")]
    return Drawn(_touching(words), _joined_rules(across), _joined_rules(down))


def _touching(words: Iterable[Word]) -> list[Word]:
    """Words, those that touch as one: a minus or a point may be of another font than its number."""
    made: list[Word] = []
    for word in sorted(words, key=lambda w: (round(w.bottom, 1), round(w.top, 1), w.left)):
        last = made[-1] if made else word
        alike = abs(last.bottom - word.bottom) < 0.2 and abs(last.top - word.top) < 0.2
        if made and alike and -0.5 < word.left - last.right < 0.16 * (word.bottom - word.top):
            made[-1] = last._replace(
                text=last.text + word.text, right=word.right, bold=last.bold or word.bold
            )
        else:
            made.append(word)
    return made


def _height(word: Any) -> tuple[float, float]:
    """Top and bottom of a word, by its base line: fonts say otherwise of how far they reach."""
    first = word["chars"][0]
    if not first["upright"]:
        return word["top"], word["bottom"]
    bottom = first["bottom"] + first["y0"] - first["matrix"][5] + 0.2 * first["size"]
    return bottom - first["size"], bottom


def _accented(word: Any) -> str:
    """The text of a word of pdfplumber, an accent behind the letter that it stands over."""
    if not _ACCENTS.keys() & set(word["text"]):
        return str(word["text"])
    letters = [one for one in word["chars"] if one["text"] not in _ACCENTS]
    if not letters:
        return str(word["text"])
    behind: dict[int, str] = {}
    for one in word["chars"]:
        if mark := _ACCENTS.get(one["text"]):
            middle = (one["x0"] + one["x1"]) / 2
            k = min(
                range(len(letters)),
                key=lambda i: abs((letters[i]["x0"] + letters[i]["x1"]) / 2 - middle),
            )
            behind[k] = behind.get(k, "") + mark
    text = "".join(f"{one['text']}{behind.get(i, '')}" for i, one in enumerate(letters))
    return unicodedata.normalize("NFC", text.replace("ı\u0301", "í"))


def _joined_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Rules, those that touch in one line as one."""
    made: list[Rule] = []
    for rule in sorted(rules, key=lambda r: (round(r.at), r.begin)):
        last = made[-1] if made else None
        if last and abs(last.at - rule.at) < 1.5 and rule.begin - last.end < 1.5:
            made[-1] = last._replace(end=max(last.end, rule.end))
        else:
            made.append(rule)
    return made


def text_of(page: Any) -> str:
    """A page's words in the order in which it draws them, which is that of its columns."""
    made, last = "", 0.0
    for word in page.extract_words(use_text_flow=True, x_tolerance=_BLANK):
        apart = "\n" if abs(word["bottom"] - last) > SAME else " "
        made, last = f"{made}{apart}{word['text']}", word["bottom"]
    return made.strip()


def lines_of(words: Sequence[Word]) -> list[list[Word]]:
    """Words by line, from the left; smaller ones that stand across a line are scripts of it."""
    lines: list[list[Word]] = []
    high = sorted(word.bottom - word.top for word in words)[len(words) // 2] if words else 0.0
    small = {word for word in words if word.bottom - word.top < 0.82 * high}
    for word in sorted(set(words) - small, key=lambda w: (w.bottom, w.left)):
        if lines and abs(lines[-1][0].bottom - word.bottom) < SAME:
            lines[-1].append(word)
        else:
            lines.append([word])
    full = [line[0] for line in lines]
    for word in sorted(small, key=lambda w: (w.bottom, w.left)):
        middle = (word.top + word.bottom) / 2
        own = [k for k, one in enumerate(full) if one.top - 1 < middle < one.bottom + 1]
        beside = [k for k in own if any(-1 < word.left - w.right < 1.5 for w in lines[k])]
        if beside:
            kind = "^" if word.bottom < full[beside[0]].bottom - 1 else "_"
            lines[beside[0]].append(word._replace(script=kind))
            continue
        near = [line for line in lines if abs(line[0].bottom - word.bottom) < SAME]
        near[0].append(word) if near else lines.append([word])
    made = (sorted(line, key=lambda w: w.left) for line in lines)
    return sorted(made, key=lambda line: line[0].bottom)


def cells_of(line: Sequence[Word], walls: Sequence[float]) -> list[Word]:
    """Words of a line joined to cells where a blank at most, and no rule, is between them."""
    made: list[Word] = []
    for word in line:
        blank = 0.5 * (word.bottom - word.top)
        apart = made and any(made[-1].right - 1 < wall < word.left + 1 for wall in walls)
        if made and not apart and word.left - made[-1].right < max(blank, 1.5 * bool(word.script)):
            last = made[-1]
            far = word.left - last.right
            comma = _COMMA.fullmatch(last.text) and word.text[0].isdigit()
            between = " " if far > (0.25 * (word.bottom - word.top) if comma else 0.8) else ""
            made[-1] = last._replace(
                text=_with_script(last.text, word) or f"{last.text}{between}{word.text}",
                right=max(last.right, word.right), bold=last.bold or word.bold,
            )  # fmt: skip
        else:
            made.append(word)
    return made


def _with_script(text: str, word: Word) -> str:
    """A text with what is raised or lowered behind a number; '' where nothing is special."""
    if not word.script or text[-1:] not in "0123456789%)":
        return ""
    if word.script == "^" and re.fullmatch(r"[-−–]?\d+", word.text):
        power = re.fullmatch(r"(.*?)\s*[×·]?\s*10", text)
        if not power:
            return text  # the mark of a footnote
        return f"{power[1]}{'' if power[1][-1:].isdigit() else 1}e{word.text}"
    if word.script == "^" and re.fullmatch(r"[a-z](?:,[a-z])*", word.text):
        return text
    return f"{text}{word.text}" if re.fullmatch(r"[*∗†‡]+", word.text) else f"{text} {word.text}"
