"""What of a LaTeX source prints nothing: comments, false conditions, sources shown as text."""

import re

_HIDDEN = re.compile(
    r"(?P<comment>(?<!\\)(?:\\\\)*%.*)"
    r"|\\begin\{(?P<env>comment|verbatim\*?|Verbatim|lstlisting|minted|filecontents\*?)\}"
    r"[\s\S]*?\\end\{(?P=env)\}"
    r"|(?P<iffalse>\\iffalse\b)"
)
_IF = re.compile(r"\\(?:if[A-Za-z@]*|fi|else)(?![A-Za-z@])|(?<!\\)(?:\\\\)*%.*")
_NO_IF = {"\\ifthenelse", "\\iff"}
_CUT = re.compile(r"(?<!\\)%")
_CELL = re.compile(r"(?<!\\)&")
_ENDS = re.compile(r"\\\\\s*(?:\[[^\]]*\])?\s*(?:\\\w+\s*)*$")


def hidden(text: str) -> str:
    r"""The text without comments, `\\iffalse` and environments that print no table; as many lines.

    A percent sign takes the line's end with it, so that a blank line does not come of it.
    """
    text = _with_percents(text)
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
        if "%" in word or word in _NO_IF:
            continue
        if word == "\\else":
            if depth == 1:
                other = found.end()
        else:
            depth += -1 if word == "\\fi" else 1
        if not depth:
            return found.end(), hidden(text[other : found.start()]) if other else ""
    return len(text), ""


def _with_percents(text: str) -> str:
    r"""The text with the percent signs escaped that a writer forgot to escape.

    Such a one stands in a row of a table that without what follows it would have no end, `\\\\`,
    and fewer cells than the next row of the table, which with it has as many.
    """
    if not _CELL.search(text):
        return text
    lines = text.split("\n")
    for i, line in enumerate(lines):
        cut = _CUT.search(line)
        if not cut or not line[: cut.start()].strip() or not _ENDS.search(line):
            continue
        cells, left = len(_CELL.findall(line)), len(_CELL.findall(line[: cut.start()]))
        if left == cells or _ENDS.search(line[: cut.start()]):
            continue
        near = (other for other in (*lines[i + 1 : i + 4], *lines[i - 1 : i - 4 : -1])
                if _ENDS.search(other) and _CELL.search(other))  # fmt: skip
        if len(_CELL.findall(_CUT.split(next(near, ""))[0])) == cells:
            lines[i] = _CUT.sub(r"\\%", line)
    return "\n".join(lines)
