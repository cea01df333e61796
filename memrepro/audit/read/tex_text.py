# ruff: noqa: E501 — tables of macros
"""What the text of a LaTeX cell prints: its characters, whether it is bold, underlined, a mark."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from pylatexenc import latex2text

from memrepro.audit.read.grid import SCRIPT_MARK, raised
from memrepro.audit.read.tex_source import arguments, closing

_TOKEN = re.compile(r"\\(?:[A-Za-z@]+|.|$)|[{}$&~^_]|[^\\{}$&~^_]+", re.S)
_BOLD = {"textbf", "mathbf", "bm", "boldsymbol", "best", "pmb", "mathbfit", "textbfit", "symbf"}
_UNDER = {"underline", "uline", "ul", "underbar", "dashuline", "uuline"}
_BOLD_ON = {"bf", "bfseries", "boldmath", "mathversion"}
_BOLD_OFF = {"mdseries", "normalfont", "rm", "unboldmath"}
# What prints nothing, by the form of its arguments.
_SILENT: Mapping[str, str] = {
    **dict.fromkeys(
        ("label", "ref", "cref", "Cref", "autoref", "eqref", "pageref", "vref", "hypertarget",
         "phantom", "hphantom", "vphantom", "tablefootnote", "thanks", "index", "nocite", "todo",
         "vspace", "hspace", "columncolor", "linespread", "captionsetup", "sisetup", "hyphenation",
         "rowfont", "noalign", "tablewidth", "tabletypesize", "tablenotemark", "tablecolumns",
         "rowstyle", "fontfamily", "message", "cline", "hhline", "cmidrule"), "*{"),
    **dict.fromkeys(("footnote", "color", "cellcolor", "rowcolor", "arrayrulecolor",
                     "includegraphics"), "*[[{"),
    **dict.fromkeys(("FPadd", "FPsub", "FPmul", "FPdiv", "FPround", "FPpow"), "{{{"),  # computes
    **dict.fromkeys(("FPeval", "FPset", "let", "addtocounter"), "{{"),
    **dict.fromkeys(("stepcounter", "refstepcounter"), "{"),
    **dict.fromkeys(("sout", "st", "xout", "deleted", "DIFdel", "DIFdelFL"), "[{"),  # struck out
    **dict.fromkeys(("footnotemark", "pagebreak", "nopagebreak", "linebreak", "bigstrut"), "["),
    **dict.fromkeys(("setlength", "addtolength", "fontsize", "setcounter", "tablenotetext"), "{{"),
    **dict.fromkeys(("newcommand", "renewcommand", "providecommand"), "*{[[{"),
    "caption": "*[{", "captionof": "{[{", "rule": "[{{", "footnotetext": "[{", "tikz": "[{",
    "rowcolors": "*[{{{", "definecolor": "{{{",
}  # fmt: skip
# What prints its last argument.
_LAST: Mapping[str, str] = {
    "textcolor": "[{{", "colorbox": "[{{", "fcolorbox": "{{{", "resizebox": "*{{{",
    "scalebox": "{[{", "rotatebox": "[{{", "adjustbox": "{{", "parbox": "[[[{{", "raisebox": "{[[{",
    "makebox": "[[{", "framebox": "[[{", "href": "[{{", "hyperref": "[{", "hyperlink": "{{",
    "multirow": "[{[{[{", "multirowcell": "{[{", "makecell": "*[{", "thead": "*[{", "shortstack": "[{",
    "multicolumn": "{{{", "foreignlanguage": "[{{", "texorpdfstring": "{{", "stackon": "[{{",
    "colhead": "{", "tablenum": "[{", "ensuremath": "{",
}  # fmt: skip
_FALLBACK = {
    "CIRCLE": "●", "Circle": "○", "LEFTcircle": "◐", "checkmark": "✓", "cmark": "✓", "xmark": "✗",
    "pm": "±", "textpm": "±", "mp": "∓", "sim": "~",
    "textasciitilde": "~", "approx": "≈", "ddagger": "‡", "dag": "†", "ddag": "‡", "dagger": "†",
    "textdagger": "†", "textdaggerdbl": "‡", "euro": "€", "EUR": "€", "texteuro": "€", "pounds": "£",
    "ast": "*", "star": "⋆", "sun": "⊙", "textasteriskcentered": "*", "circ": "°", "degree": "°",
    "infty": "∞", "degr": "°",
    "arcdeg": "°", "arcmin": "′", "arcsec": "″",
    "cdot": "·", "quad": " ", "qquad": " ", "enspace": " ", "newline": " ", "par": " ", "xspace": "\ue000",
    "thinspace": "\u2009", "space": " ", "linebreak": " ", "slash": "/", "textbar": "|", "vert": "|",
    "mid": "|", "lvert": "|", "rvert": "|", "textless": "<", "textgreater": ">", "lt": "<",
    "gt": ">", "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥", "geqslant": "≥",
    "ll": "≪", "gg": "≫", "downarrow": "↓", "uparrow": "↑", "rightarrow": "→", "to": "→",
    "leftarrow": "←", "nodata": "-", "ldots": "…", "dots": "…", "cdots": "…", "textendash": "–",
    "textemdash": "—", "percent": "%", "textpercent": "%", "textdollar": "$", "tabularnewline": " ",
    "S": "§", "P": "¶", "Checkmark": "✓", "XSolidBrush": "✗", "second": "s", "milli": "m",
    "micro": "µ", "nano": "n", "kilo": "k", "mega": "M",
    "giga": "G", "tera": "T", "centi": "c", "metre": "m", "meter": "m", "gram": "g", "byte": "B",
    "bit": "bit", "hour": "h", "minute": "min", "day": "d", "hertz": "Hz", "watt": "W", "joule": "J",
    "volt": "V", "kelvin": "K", "celsius": "°C", "per": "/", "squared": "²", "cubed": "³",
}  # fmt: skip
_SMALLER = {"tiny", "scriptsize", "footnotesize", "small"}
_CHAR = re.compile(r"\s*(?:'([0-7]{1,3})|\"([0-9A-F]{1,4})|(\d{1,4}))")
_BASES = {1: 8, 2: 16, 3: 10}
_SPACES = {",": "\u2009", ":": " ", ";": " ", ">": " ", " ": " ", "\n": " ", "!": "", "/": "", "-": "",
           "\\": " ", "@": "", "(": "", ")": "", "[": "", "]": "", "*": ""}  # fmt: skip
_DINGBATS = {"51": "✓", "52": "✓", "53": "✗", "54": "✗", "55": "✗", "56": "✗"}
_CITES = re.compile(r"[Cc]ite|[Cc]itet?p?\*?$|^(?:text|paren|foot|auto|full)cite")
_FOOTNOTED = re.compile(r"(?<=[A-Za-z.)])\$\^\{?([a-h](?:,[a-h])*)\}?\$")  # a mark behind a word
_WHITE = re.compile(r"\\textcolor\s*\{white\}\s*\{[^{}]*\}")  # which fills a place unseen
_OF_WORDS = re.compile(r"\([^()\d]*[A-Za-z][^()\d]*\)$")  # a power of what stands in brackets
_XSPACE = re.compile("\ue000(?P<tight>(?=[-–.,:;/'’?!)]))?")  # no space before a hyphen or a stop


class Printed(NamedTuple):
    """What a text of TeX prints, and whether any of it is bold or underlined."""

    text: str
    bold: bool
    underlined: bool


def printed(source: str) -> Printed:
    """What a text prints, its macros expanded before."""
    reader = _Reader()
    source = _FOOTNOTED.sub(r"\\textsuperscript{\1}", _WHITE.sub("", source))
    reader.read(source, bold=False, under=False, maths=False)
    return Printed(
        _XSPACE.sub(lambda one: " " if one["tight"] is None else "", "".join(reader.made)),
        reader.bold,
        reader.under,
    )


def plain(source: str) -> str:
    """The text alone, with single blanks."""
    return " ".join(printed(source).text.split())


@cache
def _symbol(name: str) -> str | None:
    """What a macro without arguments prints, by pylatexenc's table."""
    spec = latex2text.get_default_latex_context_db().get_macro_spec(name)
    known = getattr(spec, "simplify_repl", None)
    return known if isinstance(known, str) and "%" not in known else None


class _Reader:
    """Text, and its marks, of one cell."""

    def __init__(self, depth: int = 0) -> None:
        self.made: list[str] = []
        self.bold = self.under = False
        self.depth = depth

    def say(self, text: str, bold: bool, under: bool) -> None:
        self.made.append(text)
        if text.strip():
            self.bold |= bold
            self.under |= under

    @property
    def before(self) -> str:
        """What stands before, without blanks at its end."""
        return "".join(self.made[-4:]).rstrip()

    def inner(self, source: str, *, maths: bool) -> str:
        """What a part prints, by itself."""
        reader = _Reader(self.depth + 1)
        reader.read(source, bold=False, under=False, maths=maths)
        self.bold |= reader.bold
        self.under |= reader.under
        return "".join(reader.made)

    def read(self, source: str, *, bold: bool, under: bool, maths: bool) -> None:
        """Read a text into what it prints."""
        self.depth += 1
        at = 0
        while self.depth < 60 and (found := _TOKEN.match(source, at)):
            token, at = found[0], found.end()
            if token[0] == "\\" and len(token) > 1:
                name = token[1:]
                if name in _BOLD_ON or name in _BOLD_OFF:
                    bold = name in _BOLD_ON
                elif name in ("(", ")", "[", "]"):
                    maths = name in "(["
                else:
                    at = self.macro(name, source, at, bold, under, maths)
            elif token == "{":
                end = closing(source, at - 1)
                self.read(source[at : end - 1], bold=bold, under=under, maths=maths)
                at = end
            elif token == "$":
                maths = not maths
            elif token == "_" and not maths:
                self.say("_", bold, under)
            elif token in "^_":
                # What is raised in the maths of its number is a power, and else a mark of a note.
                tight = maths and source[at - 2 : at - 1] != "$"
                (script,), at = arguments(source, at, "{")
                self.script(token, script, bold, under, tight)
            elif token in "~&":
                self.say(" ", bold, under)
            elif token != "}":
                text = token if maths else token.replace("---", "—").replace("--", "–")
                self.say(text.replace("``", "“").replace("''", "”"), bold, under)
        self.depth -= 1

    def script(self, kind: str, source: str, bold: bool, under: bool, tight: bool) -> None:
        """A sub- or superscript: a deviation is kept, a mark of a footnote is not."""
        text = self.inner(source, maths=True).strip()
        before = self.before
        number = before[-1:].isdigit() or before[-1:] in "%)]"
        if not text:
            return
        if kind == "^" and before.endswith("10") and re.fullmatch(r"[-−–+]?\d+", text):
            self.power(text, bold, under)
        elif kind == "^" and re.fullmatch(r"[*†‡⋆§¶∗#'′,\s]+|∘|°", text):
            self.say(text.replace("∘", "°").replace("∗", "*"), bold, under)
        elif kind == "^" and (
            (text in ("2", "3") and _OF_WORDS.search(before))
            or (tight and text.isdigit() and text != "1" and before.strip().isdigit())
        ):
            self.say(f"^{text}", bold, under)
        elif kind == "^" and number and SCRIPT_MARK.fullmatch(text):
            return
        elif not number:
            # Behind an opening bracket it is raised above nothing: ends of an interval.
            above = kind == "^" and before[-1:] not in ("", "(", "[")
            joint = "^" if above and not SCRIPT_MARK.fullmatch(text) else ""
            short = len(text) <= 3 or kind == "^"
            self.say(f"{joint}{text}" if short else f" {text}", bold, under)
        else:
            self.say(f" {text}", bold, under)

    def power(self, exponent: str, bold: bool, under: bool) -> None:
        """Ten to a power: 1.2 × 10 becomes 1.2e-3, and 10 alone 1e-3."""
        said = "".join(self.made).rstrip()
        said = said[: -len("10")]
        exponent = exponent.replace("−", "-").replace("–", "-")
        base = re.sub(r"\s*[×·]\s*$", "", said)
        self.made = [base if base != said else said + "1"]
        self.say(f"e{exponent}", bold, under)

    def macro(
        self, name: str, source: str, at: int, bold: bool, under: bool, maths: bool
    ) -> int:  # fmt: skip
        """What a macro prints; the position behind it and its arguments."""
        if name in _SPACES:
            star = name == "\\" and source[at : at + 1] == "*"
            self.say(_SPACES[name], bold, under)
            if name == "\\":
                _, at = arguments(source, at + star, "[")
            return at
        if len(name) == 1 and not name.isalpha() and name in "%$&#_{}|":
            self.say(name, bold, under)
            return at
        if name in _BOLD or name in _UNDER:
            (inner,), at = arguments(source, at, "{")
            self.read(inner, bold=bold or name in _BOLD, under=under or name in _UNDER, maths=maths)
            return at
        if special := _SPECIAL.get(name):
            form, say = special
            given, at = arguments(source, at, form)
            self.say(say(self, given), bold, under)
            return at
        if name in _SMALLER and re.search(r"[\d%]$", self.before):
            self.say(" ", bold, under)
        if name == "char" and (code := _CHAR.match(source, at)):
            self.say(
                chr(int(code[1] or code[2] or code[3], _BASES[code.lastindex or 3])), bold, under
            )
            return code.end()
        if name in _LAST:
            maths = maths or name == "ensuremath"
            given, at = arguments(source, at, _LAST[name])
            if given:
                # Lines within a cell.
                self.read(given[-1], bold=bold, under=under, maths=maths)
            return at
        if name in _SILENT or _CITES.search(name):
            form = _SILENT.get(name, "*[[{")
            return arguments(source, at, form)[1]
        if name in ("begin", "end"):
            (env,), at = arguments(source, at, "{")
            if name == "begin" and env in ("minipage", "tabular"):
                _, at = arguments(source, at, "[{")
            return at
        return self.symbol(name, source, at, bold, under, maths)

    def symbol(
        self, name: str, source: str, at: int, bold: bool, under: bool, maths: bool
    ) -> int:  # fmt: skip
        """A symbol, an accent, or a macro that is not known: what stands in its braces is kept."""
        if name in _FALLBACK:
            self.say(_FALLBACK[name], bold, under)
        elif (known := _symbol(name)) is not None:
            self.say(known, bold, under)
        elif name in _ACCENTS:
            (letter,), at = arguments(source, at, "{")
            self.say(_accented(name, letter), bold, under)
        else:
            # An option of a macro that is not known is no part of what it prints.
            given, end = arguments(source, at, "*[")
            if any(given) and source[end : end + 1] == "{":
                at = end
            if source[at : at + 1] == "{":
                return self.groups(source, at, bold, under, maths)
        if name.isalpha():
            while source[at : at + 1] in (" ", "\t", "\n") and source[at : at + 1]:
                at += 1
                if name in _WORDS:
                    self.say(" ", bold, under)
        return at

    def groups(self, source: str, at: int, bold: bool, under: bool, maths: bool) -> int:
        """Groups behind a macro that is not known, whose numbers are numbers of their own."""
        while source[at : at + 1] == "{":
            end, first, before = closing(source, at), len(self.made), self.before
            self.read(source[at + 1 : end - 1], bold=bold, under=under, maths=maths)
            if before[-1:].isdigit() and "".join(self.made[first:])[:1].isdigit():
                self.made.insert(first, " ")
            at = end
        return at


_WORDS = {"to", "pm", "times", "rightarrow", "sim", "cdot"}
_ACCENTS = set("'`^\"~=.cvuHkrbdt")


@cache
def _accented(name: str, letter: str) -> str:
    return str(latex2text.LatexNodes2Text().latex_to_text(rf"\{name}{{{letter}}}"))


# Accents of maths, each the character that combines with the letter before it.
_OVER = {"tilde": "\u0303", "widetilde": "\u0303", "bar": "\u0304", "hat": "\u0302",
         "widehat": "\u0302", "vec": "\u20d7", "dot": "\u0307", "ddot": "\u0308", "check": "\u030c",
         "breve": "\u0306", "mathring": "\u030a", "acute": "\u0301", "grave": "\u0300"}  # fmt: skip


def _over(name: str) -> tuple[str, Callable[["_Reader", list[str]], str]]:
    """An accent over one letter; over several it is not printed."""

    def say(reader: _Reader, given: list[str]) -> str:
        text = reader.inner(given[0], maths=True).strip()
        return text + _OVER[name] if len(text) == 1 and text.isalpha() else text

    return "{", say


_ORDINALS = {"1": "st", "2": "nd", "3": "rd"}


def _number(reader: _Reader, source: str) -> str:
    """A number as siunitx takes it."""
    text = reader.inner(source, maths=True)
    text = text.replace("+-", " ± ").replace(" \\pm ", " ± ")
    return re.sub(r"(?<=\d)[eEdD](?=[-+]?\d)", "e", text)


def _unit(reader: _Reader, source: str) -> str:
    """Units as siunitx takes them: one that is not known prints its own name."""
    named = re.sub(
        r"\\([A-Za-z]+)",
        lambda one: one[0] if one[1] in _FALLBACK or _symbol(one[1]) is not None else one[1],
        source,
    )
    return reader.inner(named, maths=False).strip()


_SPECIAL: Mapping[str, tuple[str, Callable[[_Reader, list[str]], str]]] = {
    "textsuperscript": ("{", lambda r, g: raised(r.inner(g[0], maths=False), r.before)),
    "textsubscript": ("{", lambda r, g: (" " if r.before[-1:].isdigit() else "")
                      + r.inner(g[0], maths=False)),
    "tnote": ("{", lambda r, g: raised(r.inner(g[0], maths=False), r.before)),
    "num": ("[{", lambda r, g: _number(r, g[1])),
    "SI": ("[{[{", lambda r, g: f"{_number(r, g[1])} {_unit(r, g[3])}"),
    "qty": ("[{{", lambda r, g: f"{_number(r, g[1])} {_unit(r, g[2])}"),
    "si": ("[{", lambda r, g: _unit(r, g[1])),
    "unit": ("[{", lambda r, g: _unit(r, g[1])),
    "SIrange": ("[{{{", lambda r, g: f"{g[1]}-{g[2]} {_unit(r, g[3])}"),
    "numrange": ("[{{", lambda r, g: f"{g[1]}-{g[2]}"),
    "replaced": ("[{{", lambda r, g: r.inner(g[1], maths=False)),
    "ding": ("{", lambda r, g: _DINGBATS.get(g[0].strip(), "")),
    "frac": ("{{", lambda r, g: f"{r.inner(g[0], maths=True)}/{r.inner(g[1], maths=True)}"),
    "nicefrac": ("[{{", lambda r, g: f"{r.inner(g[1], maths=True)}/{r.inner(g[2], maths=True)}"),
    "tfrac": ("{{", lambda r, g: f"{r.inner(g[0], maths=True)}/{r.inner(g[1], maths=True)}"),
    "dfrac": ("{{", lambda r, g: f"{r.inner(g[0], maths=True)}/{r.inner(g[1], maths=True)}"),
    "sqrt": ("[{", lambda r, g: f"√{r.inner(g[1], maths=True)}"),
    "overset": ("{{", lambda r, g: r.inner(g[1], maths=True)),
    "nth": ("{", lambda r, g: g[0] + _ORDINALS.get(g[0][-1:] * (g[0][-2:-1] != "1"), "th")),
    **{name: _over(name) for name in _OVER},
}  # fmt: skip


def is_known(name: str) -> bool:
    """Whether a macro is read here, so that what a style makes of it does not matter."""
    return bool(_CITES.search(name)) or name in _KNOWN


_KNOWN = {
    *_BOLD, *_UNDER, *_BOLD_ON, *_BOLD_OFF, *_SILENT, *_LAST, *_FALLBACK, *_SPECIAL,
    "tablehead", "tablefirsthead", "startdata", "enddata", "tablecaption",
}  # fmt: skip
