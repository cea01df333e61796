"""What of a LaTeX source prints nothing: comments, false conditions, sources shown as text."""

import re
import statistics

_HIDDEN = re.compile(
    r"(?P<comment>(?<!\\)(?:\\\\)*%.*)"
    r"|\\begin\{(?P<env>comment|verbatim\*?|Verbatim|lstlisting|minted|filecontents\*?)\}"
    r"[\s\S]*?\\end\{(?P=env)\}"
    r"|(?P<iffalse>\\iffalse\b)"
)
# One with its cases in braces, such as \\ifthenelse, has no \\fi.
_IF = re.compile(r"\\(?:if(?!f\b)[A-Za-z@]*(?!\s*\{)|fi|else)(?![A-Za-z@])|(?<!\\)(?:\\\\)*%.*")
_CUT = re.compile(r"(?<!\\)%")
_CELL = re.compile(r"(?<!\\)&")
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
