"""Tables of a LaTeX source: tabular, tabularx, longtable and their like; nested ones are listed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pylatexenc import latex2text, latexwalker, macrospec

from memrepro.audit.read.grid import Cell, Grid, Unread, cell_of, filled
from memrepro.errors import MemreproError

_TABLES = {"tabular": "[{", "tabular*": "{[{", "tabularx": "{[{", "tabulary": "{[{",
           "longtable": "[{", "array": "[{", "NiceTabular": "[{"}  # fmt: skip
_FLOATS = ("table", "table*", "longtable", "wraptable", "sidewaystable", "threeparttable")
_ARGUMENTS = {
    "multicolumn": "{{{", "multirow": "[{[{[{", "cmidrule": "[{", "cline": "{", "caption": "[{",
    "captionof": "{[{", "rowcolor": "[{", "cellcolor": "[{", "textcolor": "[{{", "color": "[{",
    "resizebox": "{{{", "scalebox": "{{", "makecell": "[{", "shortstack": "[{", "footnotemark": "[",
    "tablefootnote": "{", "footnote": "[{", "rotatebox": "[{{", "underline": "{", "uline": "{",
    "ul": "{", "bm": "{", "boldsymbol": "{", "hspace": "*{", "vspace": "*{", "addlinespace": "[",
    "label": "{", "textsuperscript": "{",
    "cite": "[[{", "citep": "[[{", "citet": "[[{", "ref": "{", "specialrule": "{{{",
    "arrayrulecolor": "{", "num": "[{", "SI": "[{{", "best": "{", "second": "{", "raisebox": "{[[{",
    "setlength": "{{", "tabcolsep": "", "thead": "[{", "parbox": "[{{", "colorbox": "{{",
}  # fmt: skip
_LAST = {"multicolumn", "multirow", "textcolor", "rotatebox", "resizebox", "scalebox", "parbox",
         "colorbox", "raisebox", "num", "SI"}  # fmt: skip
_SILENT = {"cmidrule", "cline", "rowcolor", "cellcolor", "color", "footnotemark", "tablefootnote",
           "footnote", "hspace", "vspace", "addlinespace", "label", "cite", "citep", "citet", "ref",
           "specialrule", "arrayrulecolor", "toprule", "midrule", "bottomrule", "hline",
           "setlength", "centering", "small", "footnotesize", "scriptsize", "tiny"}  # fmt: skip
_BOLD = {"textbf", "mathbf", "bm", "boldsymbol", "bf", "bfseries", "best"}
_UNDER = {"underline", "uline", "ul", "second"}
_DEFINED = re.compile(r"\\(?:new|renew|provide)command\*?\s*\{?\\([A-Za-z]+)\}?\s*(?:\[(\d)\])?\s*")


def _context(defined: Mapping[str, tuple[int, str]]) -> Any:
    context = latexwalker.get_default_latex_context_db()
    macros = [macrospec.std_macro(name, spec) for name, spec in _ARGUMENTS.items()]
    macros += [macrospec.std_macro(name, "{" * n) for name, (n, _) in defined.items()]
    environments = [
        macrospec.EnvironmentSpec(name, macrospec.MacroStandardArgsParser(spec))
        for name, spec in _TABLES.items()
    ]
    context.add_context_category("tables", macros=macros, environments=environments, prepend=True)
    return context


def grids(text: str, source: str) -> Iterator[Grid | Unread]:
    """The tables of a source, and those that could not be read with the reason."""
    text = re.sub(r"(?<!\\)%.*", "", text)
    defined, text = _definitions(text)
    walker = latexwalker.LatexWalker(text, latex_context=_context(defined), tolerant_parsing=True)
    reader = _Reader(defined)
    for number, (node, caption) in enumerate(_found(walker.get_latex_nodes()[0], ""), 1):
        name = f"{source}, table {number}"
        try:
            rows = reader.rows(node)
            yield Grid(name, reader.plain(caption), filled(rows, name, kept_free=True))
        except MemreproError as error:
            yield Unread(name, str(error))


def _definitions(text: str) -> tuple[dict[str, tuple[int, str]], str]:
    """Macros that the source defines: name → arguments and body; and the text without them."""
    found, kept, at = {}, [], 0
    for match in _DEFINED.finditer(text):
        start = match.end()
        if start < len(text) and text[start] == "{":
            depth, end = 0, start
            while end < len(text):
                depth += (text[end] == "{") - (text[end] == "}")
                end += 1
                if not depth:
                    break
            found[match[1]] = (int(match[2] or 0), text[start + 1 : end - 1])
            kept.append(text[at : match.start()])
            at = end
    return found, "".join([*kept, text[at:]])


def _children(node: Any) -> Sequence[Any]:
    own = list(getattr(node, "nodelist", None) or [])
    given = getattr(node, "nodeargd", None)
    return [*(a for a in (given.argnlist if given else []) or [] if a is not None), *own]


def _found(nodes: Sequence[Any], caption: Any) -> Iterator[tuple[Any, Any]]:
    """Environments of tables, each with its float's caption."""
    for node in nodes:
        name = getattr(node, "environmentname", "")
        if name in _TABLES and name != "array":
            own = _caption(node.nodelist) if name == "longtable" else None
            yield node, own or caption
        else:
            below = (_caption(_children(node)) or caption) if name in _FLOATS else caption
            yield from _found(_children(node), below)


def _caption(nodes: Sequence[Any]) -> Any:
    for node in nodes:
        if getattr(node, "macroname", "") == "caption":
            return node.nodeargd.argnlist[-1]
        if (found := _caption(_children(node))) is not None:
            return found
    return None


class _Reader:
    """Cells of a table, macros of the source expanded."""

    def __init__(self, defined: Mapping[str, tuple[int, str]]) -> None:
        self.defined = defined
        self.marks = {name: self._mark(body) for name, (_, body) in defined.items()}
        self.texts = latex2text.LatexNodes2Text(math_mode="text", keep_braced_groups=False)

    def _mark(self, body: str) -> tuple[bool, bool]:
        names = set(re.findall(r"\\([A-Za-z]+)", body))
        return bool(names & _BOLD), bool(names & _UNDER)

    def rows(self, node: Any) -> list[list[Cell]]:
        """A table's rows of cells, spans unfilled.

        Raises:
            MemreproError: if a table stands in a cell.
        """
        made: list[list[Cell]] = [[]]
        nodes: list[Any] = []
        for one in node.nodelist:
            if getattr(one, "environmentname", "") in _TABLES:
                raise MemreproError("a table stands within the table: its heads are not clear")
            ends = getattr(one, "macroname", "") in ("\\", "tabularnewline")
            if ends or getattr(one, "specials_chars", "") == "&":
                made[-1].append(self.cell(nodes))
                nodes = []
                if ends:
                    made.append([])
            else:
                nodes.append(one)
        made[-1].append(self.cell(nodes))
        return [row for row in made if any(cell.text or cell.columns > 1 for cell in row)]

    def cell(self, nodes: Sequence[Any]) -> Cell:
        """One cell: its text, spans and marks."""
        columns = rows = 1
        for one in nodes:
            if getattr(one, "macroname", "") in ("multicolumn", "multirow"):
                arguments = one.nodeargd.argnlist
                spans = next(a for a in arguments if a is not None).latex_verbatim().strip("{}[]")
                if one.macroname == "multicolumn":
                    inner = self.cell(arguments[-1].nodelist)
                    return inner._replace(columns=int(spans))
                spans = next((a.latex_verbatim().strip("{} ") for a in arguments[1:2]), "1")
                rows = abs(int(float(spans))) or 1
        bold, under = self._marked(nodes)
        return cell_of(self.text(nodes), bold, under, columns=columns, rows=rows)

    def _marked(self, nodes: Sequence[Any]) -> tuple[bool, bool]:
        """Whether what a cell prints is bold, or underlined, in any part."""
        bold = under = False
        for one in nodes:
            name = getattr(one, "macroname", "")
            own = self.marks.get(name, (name in _BOLD, name in _UNDER))
            below = self._marked(_children(one))
            bold, under = bold or own[0] or below[0], under or own[1] or below[1]
        return bold, under

    def plain(self, node: Any) -> str:
        """The text of a node, '' for none."""
        return " ".join(self.text([node]).split()) if node else ""

    def text(self, nodes: Sequence[Any]) -> str:
        """What nodes print."""
        return "".join(map(self._text, nodes))

    def _text(self, node: Any) -> str:
        name = getattr(node, "macroname", "")
        if name in _SILENT:
            return ""
        arguments = node.nodeargd.argnlist if name and node.nodeargd else []
        if name in self.defined:
            body = self.defined[name][1]
            for i, argument in enumerate(arguments, 1):
                body = body.replace(f"#{i}", argument.latex_verbatim().removeprefix("{")
                                    .removesuffix("}"))  # fmt: skip
            if rf"\{name}" in body:
                return ""
            context = _context(self.defined)
            return self.text(latexwalker.LatexWalker(body, latex_context=context)
                             .get_latex_nodes()[0])  # fmt: skip
        if name in _LAST:
            return self._text([a for a in arguments if a is not None][-1])
        if name == "textsuperscript" and not re.search(r"[\d±*†‡]", self.text(arguments)):
            return ""
        if name == "pm":
            return "±"
        if name in ("makecell", "thead", "shortstack"):
            return self._text(arguments[-1])
        if name == "\\":
            return " "
        if name in _ARGUMENTS or name in _BOLD or name in _UNDER:
            return self.text([a for a in arguments[-1:] if a is not None])
        if _children(node) and not name:
            if getattr(node, "delimiters", ("",))[0] in ("$", "\\("):
                # Sub- and superscripts: a deviation is kept, a mark of a footnote is not.
                inner = self.text(node.nodelist)
                inner = re.sub(r"\^\s*(?:[a-z]|\\?circ)+", "", inner)
                inner = re.sub(r"\^\s*(?=[*†‡∗⋆])", "", inner)
                return inner.replace("_", " ").replace("^", " ").replace("∗", "*")
            return self.text(_children(node))
        return str(self.texts.nodelist_to_text([node]))
