"""Tables of a LaTeX source: every environment that sets one, where it stands, and its rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memrepro.audit.read.grid import Cell, Grid, NoNumbers, Place, Unread, filled, unread
from memrepro.audit.read.tex_cells import line_of
from memrepro.audit.read.tex_heads import (
    Row,
    head_set_before,
    of_deluxetable,
    of_longtable,
    with_environments,
)
from memrepro.audit.read.tex_source import (
    Source,
    arguments,
    read_source,
)
from memrepro.audit.read.tex_text import is_known, plain
from memrepro.errors import MemreproError, cut

# Environment → the form of its arguments.
_TABLES: Mapping[str, str] = {
    "tabular": "[{", "tabular*": "{[{", "tabularx": "{[{", "tabulary": "{[{", "tabularew": "[{",
    "longtable": "[{", "longtable*": "[{", "xltabular": "[{{", "xtabular": "[{", "xtabular*": "[{{",
    "supertabular": "[{", "supertabular*": "{[{", "mpsupertabular": "[{", "tabu": "", "longtabu": "",  # noqa: E501
    "tblr": "[{", "talltblr": "[{", "longtblr": "[{", "booktabs": "[{", "NiceTabular": "[{[",
    "NiceTabular*": "{[{[", "NiceTabularX": "{[{[", "deluxetable": "{", "deluxetable*": "{",
    "widetable": "{{", "tabulararray": "[{", "array": "[{",
}  # fmt: skip
_BEGIN = re.compile(
    r"\\(?:(?P<what>begin|end)\s*\{(?P<env>[A-Za-z]+\*?)\}|(?P<ctable>ctable)(?![A-Za-z]))"
)
_KEPT_FREE = ("tblr", "talltblr", "longtblr", "NiceTabular", "NiceTabular*", "NiceTabularX")
_FLOAT = re.compile(r"\\(begin|end)\s*\{(?:wrap|sideways|sc|long|threepart)?(?:table|figure)\*?\}")
_FIGURES = re.compile(r"\\begin\s*\{(?:sub)?figure\*?\}")
_RULE = re.compile(
    r"\\(?P<full>toprule|midrule|bottomrule|hline|Xhline|hdashline|specialrule|noalign|thickhline|"
    r"Midrule|Toprule|Bottomrule|heavyrule|tabucline|doublerule|hrule|colrule|botrule|topline|"
    r"midline|bottomline|tableline)(?![A-Za-z@])"
    r"|\\(?P<part>cmidrule|cline|cdashline|cdashlinelr|clineB|hhline|morecmidrules|addlinespace|"
    r"rowcolor|arrayrulecolor|SetRow|SetHline|SetCline|rowfont|tabulinesep|noalign|aboverulesep|"
    r"belowrulesep|rowstyle|smallskip|medskip|bigskip|pagebreak|nopagebreak|newpage|"
    r"everyrow|taburowcolors)(?![A-Za-z@])"
)
_FORMS = {"specialrule": "{{{", "hhline": "{", "Xhline": "{", "noalign": "{", "rowcolor": "[{[[",
          "arrayrulecolor": "[{", "SetRow": "[{", "SetHline": "[[{", "SetCline": "[{{",
          "rowfont": "[{", "rowstyle": "{", "cline": "{", "cdashline": "{[", "tabucline": "[{",
          "cmidrule": "[({", "cdashlinelr": "{", "clineB": "{{", "addlinespace": "["}  # fmt: skip
_WIDE = re.compile(r"\\multicolumn\s*\{(?!1\})")
_REACH = re.compile(r"\s*(\d{1,3})\s*-\s*(\d{1,3})\s*")
_TRIM = re.compile(r"\((?:[lr](?:\{[^{}]*\})?)*\)")  # a trimmed rule, which is no name of a row
_SPLIT = re.compile(
    r"\\(?:(?P<row>\\|tabularnewline(?![A-Za-z@])|cr(?![A-Za-z@]))|begin\s*\{(?P<begin>[^{}]*)\}|"
    r"end\s*\{[^{}]*\}|(?P<mark>endfirsthead|endhead|endfoot|endlastfoot)(?![A-Za-z@])|.)"
    r"|(?P<open>\{)|(?P<close>\})|(?P<cell>&)", re.S,
)  # fmt: skip
_LENGTH = re.compile(r"\s*\[\s*-?\s*(?:[\d.]+\s*(?:pt|ex|em|cm|mm|in|bp|sp|\\)|\\)[^\]\n]*\]|\[\]")
# Rows as \\ctable ends them, each with the rule below.
_CTABLE_ROWS = {"FL": r"\toprule ", "NN": r"\\ ", "ML": r"\\ \midrule ", "LL": r"\\ \bottomrule "}
_CTABLE_ROW = re.compile(r"\\(FL|NN|ML|LL)(?![A-Za-z@])(?:\s*\[[^\]]*\])?")
_PROGRAM = re.compile(
    r"@|\\(?:[egx]?def|let|if[a-z]*|noalign|futurelet|csname|expandafter|[hv]skip|advance|setbox"
    r"|[hv]rule|global|kern|penalty|begingroup|aftergroup)(?![A-Za-z])"
)


class _Found(NamedTuple):
    """An environment of a table: where it begins and ends, and where its rows do."""

    name: str
    begin: int
    start: int
    stop: int
    end: int
    options: str


def of_file(path: Path, top: Path) -> tuple[list[Grid | Unread], Source]:
    """The tables of a document, and those that could not be read with the reason.

    Args:
        path: of its main file.
        top: the folder that files are named within.
    """
    source = read_source(path, top)
    for name in set(source.environments) & set(_TABLES):
        del source.environments[name]  # what this reader knows of them is enough
    for name in source.of_styles & set(source.macros):
        # Of a style, what a reader knows, or what is programmed, is no text of a cell.
        if is_known(name) or _RULE.match(f"\\{name}") or _PROGRAM.search(source.macros[name].body):
            del source.macros[name]
    return [*grids(source), *source.unread], source


def grids(source: Source) -> Iterator[Grid | Unread]:
    """The same of a source."""
    text = source.text
    try:
        text = with_environments(source, text, lambda body: bool(_table_within(body)))
    except MemreproError as error:
        yield unread(Place(*source.place(0)), error)
    same = text is source.text
    number = last = 0
    for one, inner in _outer(_environments(text)):
        # Lines hold where no environment of the source's own was replaced, else about.
        at = one.begin if same else source.text.find(text[one.start : one.start + 60], last)
        file, line = source.place(max(at, 0) if same or at >= 0 else one.begin)
        last = max(last, at + 1)
        for part in _parts(text, one, inner):
            number += 1
            place = Place(file, line, f"table {number}")
            try:
                place = _named(text, part, place, source)
                yield _grid(text, part, place, source, inner)
            except NoNumbers as error:
                yield unread(place, error, counts=False)
            except MemreproError as error:
                yield unread(place, error)
            # A source that no TeX would take must not end the others.
            except (ValueError, IndexError, RecursionError) as error:
                yield unread(place, f"its source is not understood ({cut(error)})")


def _table_within(body: str) -> bool:
    return any((found["env"] or "") in _TABLES for found in _BEGIN.finditer(body))


def _environments(text: str) -> Iterator[_Found]:
    """Every environment of a table, inner ones before the outer."""
    open_ones: list[tuple[str, int, int, str]] = []
    at = 0
    while found := _BEGIN.search(text, at):
        at = found.end()
        if found["ctable"]:
            given, end = arguments(text, at, "[{{{")
            if given[1]:
                start = end - 1 - len(given[3])
                yield _Found("ctable", found.start(), start, end - 1, end, given[0])
                at = end
            continue
        env = found["env"]
        if env not in _TABLES:
            continue
        if found["what"] == "begin":
            start, options = _start(text, at, env)
            open_ones.append((env, found.start(), start, options))
        elif any(name == env for name, *_ in open_ones):
            while open_ones:
                name, begin, start, options = open_ones.pop()
                if name == env:
                    one = _Found(env, begin, start, max(start, found.start()), at, options)
                    # Without a rule and a float it is a matrix, or a formula of several lines.
                    ruled = env == "array" and _RULE.search(text, start, one.stop)
                    if env != "array" or (ruled and _float(text, one)[0] < begin):
                        yield one
                    break
                yield _Found(name, begin, start, -1, at, "")
    for name, begin, start, _ in open_ones:
        yield _Found(name, begin, start, -1, len(text), "")


def _start(text: str, at: int, env: str) -> tuple[int, str]:
    """Where the rows of an environment begin, and what stands in its first brackets."""
    if env in ("tabu", "longtabu"):
        to = re.match(r"\s*(?:to|spread)\s*[^{\[]*", text[at : at + 80])
        given, at = arguments(text, at + (to.end() if to else 0), "[{")
        return at, given[0]
    given, at = arguments(text, at, _TABLES[env])
    return at, next((one for one, kind in zip(given, _TABLES[env], strict=True) if kind == "["), "")


def _outer(found: Iterator[_Found]) -> list[tuple[_Found, list[_Found]]]:
    """Outermost tables by their place, each with those within it."""
    made: list[tuple[_Found, list[_Found]]] = []
    for one in sorted(found, key=lambda one: (one.begin, -one.end)):
        if made and one.begin < made[-1][0].end and made[-1][0].stop >= 0:
            made[-1][1].append(one)
        else:
            made.append((one, []))
    return made


def _parts(text: str, outer: _Found, inner: Sequence[_Found]) -> list[_Found]:
    """The table, and those within it that are tables of their own; what only holds those is none.

    A tabular of one column in a cell breaks the cell's lines.
    """
    own = [one for one in inner if _is_table(text, one)]
    if not own:
        return [outer]
    left = text[outer.start : outer.stop]
    for one in sorted(own, key=lambda one: -one.begin):
        left = left[: one.begin - outer.start] + left[one.end - outer.start :]
    layout = not any(
        re.search(r"\d", _without_rules(cell)[0]) for row in _rows(left) for cell in row[1]
    )
    return own if layout else [outer, *own]


def _is_table(text: str, one: _Found) -> bool:
    rows = _rows(text[one.start : one.stop])
    return sum(len(cells) > 1 for _, cells, _ in rows) > 1


def _named(text: str, one: _Found, place: Place, source: Source) -> Place:
    """The place with the table's caption and label."""
    begin, end = _float(text, one)
    around = text[begin:end]
    caption = label = ""
    if found := re.search(r"caption\s*=\s*", one.options):
        given, _ = arguments(one.options, found.end(), "{")
        caption = given[0]
    if found := re.search(r"label\s*=\s*", one.options):
        label = one.options[found.end() :].split(",")[0].strip(" {}")
    at = one.begin - begin
    captions = [
        (found.start(), found.end())
        for found in re.finditer(
            r"\\(?:table)?caption(?:of)?(?:above|below)?(?![A-Za-z])\*?", around
        )
    ]
    if captions and not caption:
        near = min(captions, key=lambda c: abs(c[0] - at) if len(captions) > 1 else 0)
        form = "{[{" if "captionof" in around[near[0] : near[1]] else "[{"
        caption = arguments(around, near[1], form)[0][-1]
    labels = list(re.finditer(r"\\label\s*\{([^{}]*)\}", around))
    if labels and not label:
        label = min(labels, key=lambda found: abs(found.start() - at))[1]
    said = plain(source.written(caption[:20_000])) if caption else ""
    return place._replace(caption=said, label=label.strip())


def _float(text: str, one: _Found) -> tuple[int, int]:
    """The float that a table stands in, or the table itself."""
    depth, begin = 0, one.begin
    window = max(0, one.begin - 20_000)
    for found in reversed(list(_FLOAT.finditer(text, window, one.begin))):
        depth += 1 if found[1] == "end" else -1
        if depth < 0:
            begin = found.start()
            break
    depth, end = 0, one.end
    if begin < one.begin:
        for found in _FLOAT.finditer(text, one.end, one.end + 20_000):
            depth += 1 if found[1] == "begin" else -1
            if depth < 0:
                end = found.end()
                break
    return begin, end


def _grid(text: str, one: _Found, place: Place, source: Source, inner: Sequence[_Found]) -> Grid:
    if one.stop < 0:
        raise MemreproError(f"its \\begin{{{one.name}}} has no \\end{{{one.name}}}")
    body = text[one.start : one.stop]
    own = [i for i in inner if one.begin < i.begin < one.end and _is_table(text, i)]
    for other in sorted(own, key=lambda other: -other.begin):
        body = body[: other.begin - one.start] + body[other.end - one.start :]
    if _FIGURES.search(body):
        raise NoNumbers("it lays out figures: nothing can be checked")
    body = source.written(body)
    if one.name == "ctable":
        body = _CTABLE_ROW.sub(lambda found: _CTABLE_ROWS[found[1]], body)
    if one.name.startswith("deluxetable"):
        body = of_deluxetable(body)
    head = ""
    if one.name.startswith(("supertabular", "xtabular", "mpsupertabular")):
        head = source.written(head_set_before(text, one.begin))
    rows: list[list[Cell]] = []
    ruled = set()
    for rule, cells, last in of_longtable(_rows(head + body)):
        line = line_of(cells, one.name in _KEPT_FREE)
        if rule:
            ruled.add(len(rows))
        if any(cell.text or cell.columns > 1 for cell in line) or not last:
            rows.append(line)
    rows, ruled = _shown(rows, ruled)
    if not rows:
        raise NoNumbers("it is empty: no cell prints anything")
    return Grid(place, filled(rows, kept_free=True), frozenset(ruled))


def _shown(rows: list[list[Cell]], ruled: set[int]) -> tuple[list[list[Cell]], set[int]]:
    """Rows that print something, or that a cell above reaches into; and the rules above them."""
    kept: list[list[Cell]] = []
    rules = set()
    until = -1
    pending = False
    for i, row in enumerate(rows):
        pending |= i in ruled
        if any(cell.text for cell in row) or (i <= until and len(row) > 1):
            if pending:
                rules.add(len(kept))
            pending = False
            until = max([until, *(i + cell.rows - 1 for cell in row)])
            kept.append(row)
    return kept, rules


def _rows(body: str) -> list[Row]:
    """Rows and cells of a table's source, split where TeX does."""
    made: list[Row] = []
    cells: list[str] = []
    depth = at = start = 0
    while found := _SPLIT.search(body, at):
        at = found.end()
        if found["open"]:
            depth += 1
        elif found["close"]:
            depth = max(0, depth - 1)
        elif found["begin"] is not None:
            depth += 1
        elif found[0].startswith("\\end") and found["mark"] is None and "{" in found[0]:
            depth = max(0, depth - 1)
        elif not depth and found["cell"]:
            cells.append(body[start : found.start()])
            start = at
        elif not depth and (found["row"] or found["mark"]):
            cells.append(body[start : found.start()])
            made.append((False, cells, found["mark"] or "row"))
            cells = []
            if found["row"]:
                at += body[at : at + 1] == "*"
                if length := _LENGTH.match(body, at):
                    at = length.end()
            start = at
    cells.append(body[start:])
    made.append((False, cells, ""))
    out: list[Row] = []
    width = max(3, *(len(row) for _, row, _ in made))
    grouped = True
    for _, row, last in made:
        # Below heads of several columns a rule groups those that follow.
        first, rule = _without_rules(row[0], 10**6 if grouped else width)
        grouped = any(map(_WIDE.search, row))
        out.append((rule, [first, *row[1:]], last))
    return out


def _without_rules(cell: str, width: int = 10**6) -> tuple[str, bool]:
    """A row's first cell without rules and what else stands between rows; whether one was whole.

    A rule below all columns but the first is a whole one.
    """
    made, at, whole = [], 0, False
    while found := _RULE.search(cell, at):
        name = found["full"] or found["part"]
        whole |= found["full"] is not None and name != "noalign"
        made.append(cell[at : found.start()])
        form = _FORMS.get(name, "[" if found["full"] and name != "hline" else "")
        given, at = arguments(cell, found.end(), form) if form else ([""], found.end())
        reach = _REACH.fullmatch(given[-1]) if name in ("cline", "cmidrule") else None
        whole |= reach is not None and int(reach[1]) <= 2 and int(reach[2]) >= width
        if trim := _TRIM.match(cell, at):
            at = trim.end()
    return "".join([*made, cell[at:]]), whole
