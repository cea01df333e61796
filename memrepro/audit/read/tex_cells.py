"""The cells of one row of a LaTeX table: their text, spans and marks."""

import re
from collections.abc import Sequence

from memrepro.audit.read.grid import Cell, cell_of
from memrepro.audit.read.tex_source import arguments
from memrepro.audit.read.tex_text import printed


def line_of(cells: Sequence[str], spans_free: bool) -> list[Cell]:
    """A row's cells; where a span keeps its places free, those are dropped."""
    line: list[Cell] = []
    skip = 0
    for source in cells:
        if skip and not source.strip():
            skip -= 1
            continue
        skip = 0
        cell = _cell(source)
        if spans_free:
            skip = cell.columns - 1
        line.append(cell)
    return line


_GREY = re.compile(r"[\s{]*\\(?:text)?color\s*(?:\[\w+\]\s*)?\{[^{}]*gr[ae]y", re.I)
_INDENT = re.compile(r"[\s{]*(?:\\(?:q?quad|enspace|hspace|hskip|hphantom|phantom|;|,|\s)|~)")
_CITED = re.compile(r"\\\w*cite\w*\*?\s*(?:\[[^\]]*\])*\{([^{}]+)\}")
_SPAN = re.compile(r"\\(multicolumn|multirow|multirowcell|SetCell|Block)(?![A-Za-z@])\*?")


def _cell(source: str) -> Cell:
    """One cell: its text, spans and marks."""
    columns = rows = 1
    at = 0
    while found := _SPAN.search(source, at):
        at = found.end()
        if found[1] == "multicolumn":
            (n, _, text), end = arguments(source, at, "{{{")
            columns = _whole(n)
        elif found[1] == "multirow":
            (_, n, _, _, _, text), end = arguments(source, at, "[{[{[{")
            rows = _whole(n)
        elif found[1] == "multirowcell":
            (n, _, _, text), end = arguments(source, at, "{[[{")
            rows = _whole(n)
        elif found[1] == "Block":
            (_, n, text), end = arguments(source, at, "[{{")
            down, _, wide = n.partition("-")
            rows, columns = _whole(down or "1"), _whole(wide or "1")
        else:
            (given, _), end = arguments(source, at, "[{")
            text = ""
            for key, value in re.findall(r"([rc])\s*=\s*(\d+)", given):
                rows, columns = (_whole(value), columns) if key == "r" else (rows, _whole(value))
        source, at = source[: found.start()] + text + source[end:], found.start()
    said = printed(source)
    if not said.text.strip() and (cited := _CITED.search(source)):
        said = said._replace(text=cited[1])  # what only cites is named by the key
    made = cell_of(said.text, said.bold, said.underlined, columns=columns, rows=rows)
    indented, grey = (form.match(source) is not None for form in (_INDENT, _GREY))
    return made._replace(indented=indented, grey=grey)


def _whole(n: str) -> int:
    found = re.match(r"\s*(-?)\s*=?\s*(\d+)", n)
    if not found:
        return 1
    size = int(found[2][:9]) or 1
    return -size if found[1] and size > 1 else size
