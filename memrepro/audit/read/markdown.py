"""Tables of a Markdown file, those of pipes whatever their rows' length, and those of HTML."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import mistune

from memrepro.audit.read import html
from memrepro.audit.read.grid import MOST_CELLS, Grid, Unread
from memrepro.audit.read.tex_text import printed
from memrepro.audit.read.text import text_of_file

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_CELL = re.compile(r"(?:\\.|`[^`]*`|\$[^$|]*\$|[^|\\]|\\$)*")
_MATHS = re.compile(r"\$([^$]+)\$")
_NOTE = re.compile(r"\[\^[^\]\s]+\]")


def of_file(path: Path) -> Iterator[Grid | Unread]:
    """The same of a file's text as `grids`."""
    return grids(text_of_file(path), path.name)


def grids(text: str, file: str) -> Iterator[Grid | Unread]:
    """The tables of a file, and those that could not be read with the reason."""
    page: list[str] = []
    lines = text.split("\n")
    fence, at = "", 0
    while at < len(lines):
        line = lines[at]
        found = _FENCE.match(line)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        begins = "|" in line and at + 1 < len(lines) and "|" in lines[at + 1] + line
        if (
            not fence
            and not found
            and begins
            and "-" in lines[at + 1]
            and _RULE.fullmatch(lines[at + 1])
        ):
            end = at + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            page.append(_as_html(lines[at:end], at + 1))
            at = end
            continue
        page.append("" if fence or found else line)
        at += 1
    whole = "\n".join(page)
    if "<table" in whole.lower():
        yield from html.grids(f"<div>{whole}</div>", file)


def _as_html(lines: list[str], number: int) -> str:
    """A table of pipes as one of HTML, on as many lines."""
    rows = [_cells(line) for k, line in enumerate(lines) if k != 1]
    # One of too many cells is not read, whatever their marks say.
    read = _inline if sum(map(len, rows)) <= MOST_CELLS else escape
    head, *body = ["".join(f"<td>{read(cell)}</td>" for cell in row) for row in rows]
    made = [f'<table data-line="{number}"><thead><tr>{head}</tr></thead>', "<tbody>"]
    made += [f"<tr>{row}</tr>" for row in body]
    return "\n".join(made) + "</tbody></table>"


def _cells(line: str) -> list[str]:
    line = line.strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    made, at = [], 0
    while at <= len(line):
        found = _CELL.match(line, at)
        made.append((found[0] if found else "").strip())
        at = (found.end() if found else at) + 1
    return made


def _inline(cell: str) -> str:
    cell = _MATHS.sub(_maths, _NOTE.sub("", cell.replace("\\|", "|")))
    # A number at a cell's beginning is no list, and a sign no quotation.
    said = mistune.html(f"x {cell}")
    return re.sub(r"^<p>x ?|</p>\s*$", "", str(said).strip()).replace("\n", " ")


def _maths(found: re.Match[str]) -> str:
    shown = printed(found[1])
    text = shown.text.replace("*", "\\*")
    return f"**{text}**" if shown.bold else text
