"""What a page of a PDF draws: its words by line and cell, and its rules."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_BOLD = re.compile(r"bold|black|cmbx|medi\b|-bx|heavy", re.I)
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"})
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
    words = [
        Word(
            w["text"].translate(_LIGATURES),
            w["x0"],
            w["x1"],
            w["top"],
            w["bottom"],
            bool(_BOLD.search(w["fontname"])),
        )
        for w in page.extract_words(extra_attrs=["fontname", "size"], x_tolerance=1.5)
    ]
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
    return Drawn(words, _joined_rules(across), _joined_rules(down))


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
    for word in page.extract_words(use_text_flow=True, x_tolerance=1.5):
        apart = "\n" if abs(word["bottom"] - last) > SAME else " "
        made, last = f"{made}{apart}{word['text']}", word["bottom"]
    return made.strip()


def lines_of(words: Sequence[Word]) -> list[list[Word]]:
    """Words by line, from the left; smaller ones that stand across a line are scripts of it."""
    lines: list[list[Word]] = []
    high = sorted(word.bottom - word.top for word in words)[len(words) // 2] if words else 0.0
    small = [word for word in words if word.bottom - word.top < 0.82 * high]
    for word in sorted(set(words) - set(small), key=lambda w: (w.bottom, w.left)):
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
            between = " " if word.left - last.right > 0.8 else ""
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
        return f"{power[1] or 1}e{word.text}" if power else text  # else the mark of a footnote
    if word.script == "^" and re.fullmatch(r"[a-z](?:,[a-z])*", word.text):
        return text
    return f"{text}{word.text}" if re.fullmatch(r"[*∗†‡]+", word.text) else f"{text} {word.text}"
