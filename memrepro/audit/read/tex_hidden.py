"""What of a LaTeX source prints nothing: comments, false conditions, sources shown as text."""

import re
import statistics
from collections.abc import Iterable, Mapping

_HIDDEN = re.compile(
    r"(?P<comment>(?<!\\)(?:\\\\)*%.*)"
    r"|\\begin\{(?P<env>comment|verbatim\*?|Verbatim|lstlisting|minted|filecontents\*?)\}"
    r"[\s\S]*?\\end\{(?P=env)\}"
    r"|(?P<iffalse>\\iffalse\b)"
)
# One with its cases in braces, such as \\ifthenelse, has no \\fi.
_IF = re.compile(r"\\(?:if(?!f\b)[A-Za-z@]*(?!\s*\{)|fi|else)(?![A-Za-z@])|(?<!\\)(?:\\\\)*%.*")
_NEW = re.compile(r"\\newif\s*\\if([A-Za-z@]+)")
_CUT = re.compile(r"(?<!\\)%")
_CELL = re.compile(r"(?<!\\)&")
_BLANK = re.compile(r"[^\n]")
_TIGHT = re.compile(r"(?<=[A-Za-z])&(?=[A-Z])")
_ENDS = re.compile(r"\\\\\s*(?:\[[^\]]*\])?\s*(?:\\\w+\s*)*$")


def hidden(text: str) -> str:
    r"""The text without comments, `\\iffalse` and environments that print no table; as many lines.

    A percent sign takes the line's end with it, so that a blank line does not come of it.
    """
    text = _with_escapes(text)
    made, at = [], 0
    while found := _HIDDEN.search(text, at):
        end = found.end()
        if found["iffalse"]:
            end, left = _behind_if(text, end)
            made += [text[at : found.start()], "\n" * text.count("\n", found.start(), end), left]
        elif found["comment"]:
            kept = found[0].index("%")
            made.append(text[at : found.start() + kept])
        else:
            made += [text[at : found.start()], "\n" * found[0].count("\n")]
        at = end
    return "".join([*made, text[at:]])


def _behind_if(text: str, at: int) -> tuple[int, str]:
    r"""The position behind the `\\fi` of a false condition, and what stands behind its `\\else`."""
    depth, other = 1, None
    for found in _IF.finditer(text, at):
        word = found[0]
        if "%" in word:
            continue
        if word == "\\else":
            if depth == 1:
                other = found.end()
        else:
            depth += -1 if word == "\\fi" else 1
        if not depth:
            return found.end(), hidden(text[other : found.start()]) if other else ""
    return len(text), ""


def conditions(text: str, bodies: Iterable[str]) -> dict[str, bool]:
    r"""Conditions of a source, such as `\\ifdraft`, that it sets in one way alone: name → value.

    One that a macro sets, or no one, is left open: a table must not be lost by a guess.
    """
    made, within = {}, " ".join(bodies)
    for name in dict.fromkeys(_NEW.findall(text)):
        sets = re.compile(rf"\\{name}(true|false)(?![A-Za-z@])")
        if len(told := set(sets.findall(text))) == 1 and not sets.search(within):
            made[name] = told == {"true"}
    return made


def decided(text: str, known: Mapping[str, bool]) -> str:
    """The text with the branches of such conditions that print nothing blanked; as long."""
    own = re.compile(rf"(\\newif\s*)?\\if({'|'.join(known)})(?![A-Za-z@])")
    at = 0
    while known and (begun := own.search(text, at)):
        at = begun.end()
        end, other = _ends(text, at)
        if begun[1] or not end or "{document}" in text[at:end]:  # which is no branch
            continue
        branches = ((at, other or end), (other or end, end))
        start, stop = branches[not known[begun[2]]]
        shown = re.sub(r"^\\else", "     ", text[start:stop])
        kept = [_BLANK.sub(" ", part) for part in (text[begun.start() : start], text[stop:end])]
        behind = _BLANK.sub(" ", text[end : end + len(r"\fi")])
        text = text[: begun.start()] + kept[0] + shown + kept[1] + behind + text[end + 3 :]
    return text


def _ends(text: str, at: int) -> tuple[int, int]:
    r"""Where the `\\fi` and the `\\else` of a condition begin; 0 for none."""
    depth, other = 1, 0
    for found in _IF.finditer(text, at):
        if "%" in found[0]:
            continue
        if found[0] == "\\else":
            other = found.start() if depth == 1 else other
            continue
        depth += -1 if found[0] == "\\fi" else 1
        if not depth:
            return found.start(), other
    return 0, 0


def _with_escapes(text: str) -> str:
    r"""The text with the percent signs and ampersands escaped that a writer forgot to escape.

    Such a percent sign stands in a row of a table that without what follows it would have no end,
    `\\\\`, and fewer cells than the next row, which with it has as many. Such an ampersand stands
    between two letters of a row that without it has as many cells as most others.
    """
    if not _CELL.search(text):
        return text
    lines = text.split("\n")
    for i, line in enumerate(lines):
        cut = _CUT.search(line)
        percent = cut is not None and bool(line[: cut.start()].strip()) and bool(_ENDS.search(line))
        if not percent and not _TIGHT.search(line):
            continue
        around = (*lines[i + 1 : i + 6], *lines[max(0, i - 5) : i][::-1])
        rows = [_CUT.split(o)[0] for o in around if _ENDS.search(o) and _CELL.search(o)]
        if percent and cut is not None:
            kept, cells = line[: cut.start()], len(_CELL.findall(line))
            short = len(_CELL.findall(kept)) < cells and not _ENDS.search(kept)
            if short and len(_CELL.findall(next(iter(rows), ""))) == cells:
                lines[i] = _CUT.sub(r"\\%", line)
        elif rows and [_loose(line)] == statistics.multimode(map(_loose, rows)):
            lines[i] = _TIGHT.sub(r"\\&", line)
    return "\n".join(lines)


def _loose(row: str) -> int:
    """Ampersands of a row that stand not between two letters."""
    return len(_CELL.findall(row)) - len(_TIGHT.findall(row))
