"""What sets a LaTeX table from elsewhere: environments of the source's own, heads set apart."""

import re
from collections.abc import Callable, Sequence

from memrepro.audit.read.tex_source import Source, arguments, closing, expand, filled_in

Row = tuple[bool, list[str], str]  # whether a rule stands above; cells; what ended it


def of_deluxetable(body: str) -> str:
    """The rows of an AAS table: its heads, then its data."""
    head = re.search(r"\\tablehead\s*(?=\{)", body)
    heads = body[head.end() + 1 : closing(body, head.end()) - 1] if head else ""
    data = re.search(r"\\startdata([\s\S]*?)(?:\\enddata|$)", body)
    return f"{heads} \\\\ \\midrule {data[1] if data else ''}"


def head_set_before(text: str, before: int) -> str:
    """What supertabular's head was set to last."""
    for name in ("tablefirsthead", "tablehead"):
        found = list(re.finditer(rf"\\{name}\s*(?=\{{)", text[:before]))
        if found and before - found[-1].end() < 10_000:
            at = found[-1].end()
            return text[at + 1 : closing(text, at) - 1] + " "
    return ""


def of_longtable(rows: Sequence[Row]) -> list[Row]:
    """A long table's rows: its first head, its body and its last foot, each once."""
    parts: dict[str, list[Row]] = {}
    body: list[Row] = []
    for row in rows:
        if row[2] in ("row", ""):
            body.append(row)
            continue
        parts[row[2]] = [*body, row]
        body = []
    head = parts.get("endfirsthead") or parts.get("endhead") or []
    if body:
        body[0] = (body[0][0] or bool(head), *body[0][1:])
    return [*head, *body, *parts.get("endlastfoot", [])]


def _stands_between(body: str, of_style: bool) -> bool:
    """Whether a macro ends a table before it begins one, or, of a style, does one of both alone."""
    begin, end = "\\begin{tab", "\\end{tab"
    alone = of_style and body.count(begin) != body.count(end)
    return alone or -1 < body.find(end) < body.find(begin)


def with_environments(source: Source, text: str, makes_tables: Callable[[str], bool]) -> str:
    """The text with the source's own environments and macros of tables replaced by their bodies."""
    for name, one in source.environments.items():
        if not makes_tables(one.body + one.end):
            continue
        begin = re.compile(rf"\\begin\s*\{{{re.escape(name)}\}}")
        at = 0
        while found := begin.search(text, at):
            given, end = arguments(text, found.end(), one.form)
            if one.form.startswith("[") and not text[found.end() :].lstrip().startswith("["):
                given[0] = one.first
            body = filled_in(one.body, given)
            text = text[: found.start()] + body + text[end:]
            at = found.start() + len(body)
        ends = re.compile(rf"\\end\s*\{{{re.escape(name)}\}}")
        text = one.end.join(ends.split(text))
    own = {
        name: one for name, one in source.macros.items()
        if makes_tables(one.body) and not _stands_between(one.body, name in source.of_styles)
    }  # fmt: skip
    return expand(text, own) if own else text
