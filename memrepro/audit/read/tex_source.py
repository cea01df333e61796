"""A LaTeX source as one text: files it includes in their places, no comments, macros apart.

`arguments` and `expand` are the two ways in which a text of TeX is taken apart, here and for cells.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memrepro.audit.read.grid import Place, Unread, unread
from memrepro.audit.read.tex_hidden import conditions, decided, hidden
from memrepro.audit.read.text import text_of_file
from memrepro.errors import MemreproError

_DEEPEST, _MOST_FILES, _MOST_TEXT = 20, 1_000, 2 * 10**7
_MOST_EXPANDED, _MOST_STEPS = 200_000, 20_000
_INCLUDE = re.compile(
    r"\\(?:(?:input|include|subfile|InputIfFileExists|loadglsentries)(?![A-Za-z])\s*(?:\{(?P<braced>[^{}]*)\}|"
    r"(?P<bare>[^\s{}\\\[]+))"
    r"|(?:sub)?(?:import|includefrom|inputfrom)\*?\s*\{(?P<folder>[^{}]*)\}\{(?P<file>[^{}]*)\}"
    r"|(?P<style>usepackage|RequirePackage|documentclass)\s*(?:\[[^\]]*\])?\s*\{(?P<names>[^{}]*)\})"
)
_NAME = r"\{?\s*\\(?P<name>[A-Za-z@]+)\s*\}?"
_DEFINED = re.compile(
    r"\\(?:(?P<kind>(?:re)?newcommand|providecommand|DeclareRobustCommand|newrobustcmd|"
    r"DeclareMathOperator|(?:New|Renew|Provide|Declare)(?:Expandable)?DocumentCommand|[gex]?def|let)"
    rf"\*?\s*{_NAME}"
    r"|(?P<begun>(?:re)?newenvironment|(?:New|Renew)DocumentEnvironment)\*?\s*\{(?P<env>[^{}]+)\})"
)
_WORD = re.compile(  # of the glossaries package
    r"\\(?:newacronym\s*(?:\[[^\]]*\])?\s*\{(?P<short>[^{}]*)\}|newglossaryentry\s*\{(?P<entry>[^{}]*)\})\s*(?=\{)"
)
_USED = re.compile(
    r"\\(?P<kind>gls|Gls|acrshort|Acrshort|glsxtrshort)(?P<more>pl)?\*?\s*\{(?P<label>[^{}]*)\}"
)
_LET = re.compile(r"\s*=?\s*(\\[A-Za-z@]+|\\.|[^\s\\])")
_MACRO = re.compile(r"\\(?:([A-Za-z@]+)|.|$)", re.S)
_IN_MATHS = re.compile(r"\\ifmmode(?![A-Za-z@])(.*?)(?:\\else.*?)?\\fi(?![A-Za-z@])", re.S)
_OPEN_NAME = re.compile(r"\\[A-Za-z@]+$")  # to which a letter behind it would belong
# A macro that stands for a number, or for a formula with one.
_NUMBERS = re.compile(r"^[-+−$]*\d*\.?\d[\d.,]*(?:\\?%)?\$?$|[=<>][^=<>]*(?:#\d|\d)")
_BLANKS = re.compile(r"[ \t]*\n?[ \t]*")


class Macro(NamedTuple):
    """What a source defines: how its arguments are given (`arguments`), and what it stands for.

    Attributes:
        form: one character an argument.
        body: with #1, #2, ….
        first: the first argument where it is optional and not given.
        end: what the end of an environment stands for.
    """

    form: str
    body: str
    first: str = ""
    end: str = ""


@dataclass
class Source:
    """A document's text, and what its files define.

    Attributes:
        text: of all files, comments and definitions blanked.
        macros: name → what it stands for.
        environments: the same of environments.
        words: label → name, of the glossary.
        texts: file → the same of it alone, on as many lines, its numbers and formulas written out.
        files: all that were read.
        unread: files that are included and are not there.
        of_styles: macros that a style file defines, such as how it sets a title.
        starts: where in the text each piece of a file begins: position, file, line.
    """

    text: str = ""
    macros: dict[str, Macro] = field(default_factory=dict)
    environments: dict[str, Macro] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    files: set[Path] = field(default_factory=set)
    unread: list[Unread] = field(default_factory=list)
    of_styles: set[str] = field(default_factory=set)
    starts: list[tuple[int, str, int]] = field(default_factory=list)

    def place(self, at: int) -> tuple[str, int]:
        """The file and line of a position of the text."""
        i = bisect_right(self.starts, at, key=lambda start: start[0]) - 1
        start, file, line = self.starts[max(i, 0)]
        return file, line + self.text.count("\n", start, at)

    def written(self, text: str) -> str:
        """A text with the source's macros, and words of its glossary, as what they stand for.

        Raises:
            MemreproError: if that becomes longer than any table is.
        """

        def word(used: re.Match[str]) -> str:
            said = self.words.get(used["label"], "")
            capital = said[:1].upper() + said[1:] if used["kind"][0] in "AG" else said
            return f"{capital}{'s' * bool(used['more'] and said)}" or used[0]

        return expand(_USED.sub(word, text), self.macros)


def arguments(text: str, at: int, form: str) -> tuple[list[str], int]:
    """A macro's arguments and the position behind them.

    Args:
        text: of TeX.
        at: the position behind the macro's name.
        form: one character an argument: `{` one that must be there (a group, a macro or a
            character), `[`, `(` and `<` ones that may be, in such brackets, and `*` a star.

    Returns:
        (list, int): '' for what is not given.
    """
    found = []
    for kind in form:
        start = at
        while at < len(text) and text[at].isspace():
            at += 1
        here = text[at : at + 1]
        if kind == "*":
            found.append(here if here == "*" else "")
            at = at + 1 if here == "*" else start
        elif kind == "{":
            if here == "{":
                end = closing(text, at)
                found.append(text[at + 1 : end - 1])
                at = end
            elif here in ("", "}", "&"):
                found.append("")
                at = start
            else:
                end = match.end() if (match := _MACRO.match(text, at)) else at + 1
                found.append(text[at:end].strip())
                at = end
        elif here == kind:
            end = closing(text, at, kind)
            found.append(text[at + 1 : end - 1])
            at = end
        else:
            found.append("")
            at = start
    return found, at


def closing(text: str, at: int, opening: str = "{") -> int:
    """The position behind the bracket that closes the one at a position; the end if none does."""
    end = {"{": "}", "[": "]", "(": ")", "<": ">"}[opening]
    depth, start = 0, at
    while at < len(text):
        one = text[at]
        if one == "\\":
            at += 1
        elif one == "{":
            depth += 1
        elif one == "}":
            depth -= 1
            if depth < 0:  # a bracket that is not closed within its group is no bracket
                return start + 1
            if opening == "{" and not depth:
                return at + 1
        elif one == end and not depth and at > start:
            return at + 1
        at += 1
    return len(text) if opening == "{" else start + 1


def expand(text: str, macros: Mapping[str, Macro]) -> str:
    """The text with all macros that are given replaced by what they stand for.

    Raises:
        MemreproError: if that becomes longer than any table is.
    """
    made: list[str] = []
    size = steps = at = 0
    while found := _MACRO.search(text, at):
        at = found.end()
        if not (macro := macros.get(found[1] or "")):
            continue
        name, steps, size = found[1], steps + 1, size + len(macro.body)
        if size > _MOST_EXPANDED or steps > _MOST_STEPS:
            raise MemreproError(
                f"its macros, such as \\{name}, stand for more than {_MOST_EXPANDED:,} characters "
                f"or for more than {_MOST_STEPS:,} others; write the cells out"
            )
        given, end = arguments(text, at, macro.form)
        if not macro.form:  # blanks behind a name are not printed
            end = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
        elif macro.form[0] == "[" and not text[at:end].lstrip().startswith("["):
            given[0] = macro.first
        body = filled_in(macro.body, given)
        made.append(text[: found.start()])
        # A macro within itself would never end.
        body = re.sub(rf"\\{re.escape(name)}(?![A-Za-z@])", "", body)
        apart = " " if _OPEN_NAME.search(body) and text[end : end + 1].isalpha() else ""
        text = body + apart + text[end:]
        at = 0
    return "".join([*made, text])


def filled_in(body: str, given: list[str]) -> str:
    """What a macro stands for with its arguments."""
    return re.sub(r"#([1-9])", lambda n: "".join(given[int(n[1]) - 1 : int(n[1])]), body)


def read_source(path: Path, top: Path) -> Source:
    """A LaTeX file and all that it includes.

    Args:
        path: of the file.
        top: the folder that files are named within, and where included ones are looked for too.

    Raises:
        MemreproError: if it includes more than any document does.
    """
    made = Source()
    pieces: list[str] = []
    length = 0

    def add(text: str, file: str, line: int) -> None:
        nonlocal length
        if text:
            made.starts.append((length, file, line))
            pieces.append(text)
            length += len(text)
            if length > _MOST_TEXT:
                raise MemreproError(
                    f"{path} and what it includes are longer than {_MOST_TEXT:,} characters"
                )

    def walk(file: Path, within: tuple[Path, ...]) -> None:
        made.files.add(file)
        if len(made.files) > _MOST_FILES:
            raise MemreproError(f"{path} includes more than {_MOST_FILES:,} files")
        name = _name(file, top)
        text = _define(hidden(text_of_file(file)), made)
        if "\\endinput" in text:
            text = text[: text.index("\\endinput")]
        made.texts[name] = text
        at = 0
        for found in _INCLUDE.finditer(text):
            if found["style"]:
                for one in found["names"].split(","):
                    for suffix in (".sty", ".cls"):
                        if style := _there(one.strip() + suffix, file, path, top, suffix):  # noqa: SIM102
                            if style not in made.files:
                                made.files.add(style)
                                known = set(made.macros)
                                _define(hidden(text_of_file(style)), made)
                                made.of_styles |= set(made.macros) - known
                continue
            wanted = found["braced"] or found["bare"] or ""
            if found["file"]:
                wanted = f"{found['folder'].rstrip('/') or '.'}/{found['file']}"
            wanted = wanted.strip().strip('"')
            line = text.count("\n", 0, found.start()) + 1
            add(text[at : found.start()], name, text.count("\n", 0, at) + 1)
            at = found.end()
            if not wanted or "#" in wanted or Path(wanted).stem == "glyphtounicode":  # is TeX's own
                continue
            wanted = expand(wanted, made.macros).strip()
            other = _there(wanted, file, path, top, ".tex")
            if other is None or len(within) > _DEEPEST or other in within:
                why = "is not here" if other is None else "includes itself"
                if not wanted.endswith((".pgf", ".tikz", ".pdf_tex", ".bbl", ".sty")):
                    made.unread.append(
                        unread(Place(name, line), f"it includes {wanted!r}, which {why}: "
                               "tables in it are not read")
                    )  # fmt: skip
                continue
            walk(other, (*within, other))
        add(text[at:], name, text.count("\n", 0, at) + 1)

    walk(path, (path,))
    known = conditions("".join(pieces), (macro.body for macro in made.macros.values()))
    made.text = decided("".join(pieces), known)
    made.texts = {name: decided(text, known) for name, text in made.texts.items()}
    made.macros = {name: one._replace(body=decided(one.body, known))
                   for name, one in made.macros.items()}  # fmt: skip
    made.texts = {name: _with_numbers(text, made.macros) for name, text in made.texts.items()}
    made.starts = made.starts or [(0, _name(path, top), 1)]
    return made


def _with_numbers(text: str, macros: Mapping[str, Macro]) -> str:
    """A text whose own macros for numbers and formulas stand as what they print, line by line."""
    names = [name for name, one in macros.items() if _NUMBERS.search(one.body)]
    if not names:
        return text
    used = re.compile(rf"\\({'|'.join(map(re.escape, names))})(?![A-Za-z@])")
    pieces, at = [], 0
    while found := used.search(text, at):
        _, end = arguments(text, found.end(), macros[found[1]].form)
        try:
            said = expand(text[found.start() : end], macros).replace("\n", " ")
        except MemreproError:  # it prints more than any sentence has
            said = ""
        lines = "\n" * text.count("\n", found.start(), end)
        pieces += [text[at : found.start()], said, lines]
        at = end
    return "".join([*pieces, text[at:]])


def _name(file: Path, top: Path) -> str:
    return str(file.relative_to(top)) if file.is_relative_to(top) else file.name


def _there(wanted: str, file: Path, main: Path, top: Path, suffix: str) -> Path | None:
    """The file that a source includes, by the main file's folder, its own, and the top one."""
    if Path(wanted).is_absolute():
        return None
    folders = dict.fromkeys((main.parent, file.parent, top, *list(file.parents)[:3]))
    # What a folder was packed without its sub-folders has, is there by its name alone.
    by_name = [(main.parent, Path(wanted).name)] if suffix == ".tex" else []
    for folder, name_ in [*((folder, wanted) for folder in folders), *by_name]:
        for name in (name_, name_ + suffix):
            path = folder / name
            try:
                if path.suffix in (".tex", ".ltx", ".sty", ".cls", ".txt", "") and path.is_file():
                    return Path(path.resolve())
            except (OSError, ValueError):  # a name that no file can have
                return None
    return None


def _define(text: str, made: Source) -> str:
    """Keep what a text defines, and blank it: what a macro stands for prints nothing yet."""
    pieces, at = [], 0
    for word in _WORD.finditer(text):
        (said,), _ = arguments(text, word.end(), "{")
        if word["entry"] and (name := re.search(r"name\s*=\s*([^,{}\n]*)", said)):
            said = name[1].strip() or arguments(said, name.end(), "{")[0][0]
        made.words[word["short"] or word["entry"]] = said
    while found := _DEFINED.search(text, at):
        end = _definition(text, found, made)
        pieces += [text[at : found.start()], "\n" * text.count("\n", found.start(), end)]
        at = end
    return "".join([*pieces, text[at:]])


def _that_prints(macro: Macro) -> Macro:
    r"""A macro without what prints nothing: a font size, and what `\\ifmmode` has for text."""
    if re.search(r"\\@set(?:font)?size", macro.body):
        return Macro("", "")
    return macro._replace(body=_IN_MATHS.sub(r"\1", macro.body))


def _definition(text: str, found: re.Match[str], made: Source) -> int:
    """Keep one definition; the position behind it."""
    at, kind, name = found.end(), found["kind"] or found["begun"], found["name"]
    if kind == "let":
        if same := _LET.match(text, at):
            made.macros[name] = Macro("", same[1])
            at = same.end()
    elif kind.endswith("def"):
        start = text.find("{", at)
        if start > 0 and not re.sub(r"(?:#\d)+|\s", "", text[at:start]):
            form = "{" * text.count("#", at, start)
            (body,), at = arguments(text, start, "{")
            made.macros[name] = _that_prints(Macro(form, body))
    elif kind.endswith("DocumentCommand"):
        (letters, body), at = arguments(text, at, "{{")
        made.macros[name] = _that_prints(_of_form(letters, body))
    elif kind.endswith("DocumentEnvironment"):
        (letters, begin, end), at = arguments(text, at, "{{{")
        made.environments[found["env"]] = _of_form(letters, begin)._replace(end=end)
    else:
        (n,), at = arguments(text, at, "[")
        optional = text[at:].lstrip()[:1] == "[" if n else False
        (first, body), at = arguments(text, at, "[{")
        form = ("[" if optional else "{") + "{" * (int(n) - 1) if n.isdigit() and n != "0" else ""
        macro = Macro(form, body, first)
        if found["env"]:
            (end,), at = arguments(text, at, "{")
            made.environments[found["env"]] = macro._replace(end=end)
        else:
            made.macros[name] = _that_prints(macro)
    return at


def _of_form(form: str, body: str) -> Macro:
    r"""A macro by the argument letters of `\\NewDocumentCommand`."""
    kinds, first, at = "", "", 0
    while at < len(form):
        letter = form[at]
        at += 1
        if letter in "OD":
            given, at = arguments(form, at, "{")
            first = first if kinds else given[0]
        kinds += {"m": "{", "o": "[", "O": "[", "s": "*", "d": "[", "D": "["}.get(letter, "")
    return Macro(kinds, body, first)
