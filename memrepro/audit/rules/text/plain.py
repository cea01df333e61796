"""The sentences of LaTeX, HTML and Markdown as plain text, line by line where they stand.

Comments, tables, code and drawings are no prose and leave their lines empty, so that a place in the
plain text has the line of its source.
"""

import html
import re
from functools import lru_cache

_SKIPPED = (
    "comment|tabular\\*?|tabularx|tabulary|longtable|tblr|talltblr|longtblr|tabu|array|verbatim"
    "|lstlisting|minted|tikzpicture|algorithmic|thebibliography"
)
_BLOCK = re.compile(rf"\\begin\{{({_SKIPPED})\}}.*?\\end\{{\1\}}", re.S)
_OFF = re.compile(r"\\iffalse\b.*?\\fi\b", re.S)
_COMMENT = re.compile(r"(?<!\\)%.*")
_STYLED = re.compile(
    r"\\(?:emph|textit|textbf|textrm|textsf|texttt|textsc|textup|text|mathrm|mathit|mathbf|mathsf"
    r"|operatorname|mbox|num|underline|ensuremath|textsubscript|textsuperscript|small|uline"
    r"|hl|textnormal)\*?\s*\{([^{}]*)\}"
)
_TEX = (
    (r"\\chi\s*\^\s*(?:\{\s*2\s*\}|2)", "χ2"),
    (r"\\chi(?![A-Za-z])", "χ"), (r"\\eta(?![A-Za-z])", "η"),
    (r"\\textless\s*(?:\{\})?|\\lt\b", "<"), (r"\\textgreater\s*(?:\{\})?|\\gt\b", ">"),
    (r"\\leq?(?:slant)?\b", "≤"), (r"\\geq?(?:slant)?\b", "≥"), (r"\\pm\b", "±"),
    (r"\\approx\b|\\sim\b", "≈"), (r"\\times\b", "×"), (r"\\to\b|\\rightarrow\b", "→"),
    (r"\\%", "%"), (r"\\&", "&"), (r"\\[,;:! ]|~|\\quad\b|\\qquad\b", " "), (r"\{,\}", ","),
    (r"\\[()\[\]]|\$", ""), (r"\\(?:left|right|displaystyle|it|bf|rm|em)\b", ""),
    (r"_\s*\{\s*\(?([\d.,\s]+)\)?\s*\}", r"(\1)"), (r"(?<=[tFrχ2])_\s*(\d+)", r"(\1)"),
    (r"\^\s*\{?\s*2\s*\}?", "2"), (r"[_^]\s*\{([^{}]*)\}", r"\1"),
    (r"\\(?:cite\w*|ref|eqref|autoref|cref|label|footnotemark)\s*(?:\[[^\]]*\])*\{[^{}]*\}", " "),
)  # fmt: skip
_INLINE = re.compile(r"</?(?:em|i|b|strong|span|var|u|font|a|mi|mn|mo|mrow|math)\b[^>]*>", re.I)
_SCRIPTED = re.compile(r"</?(?:sub|sup)\b[^>]*>", re.I)
# Degrees of freedom below a statistic; a square may stand before or behind them.
_SQUARED = re.compile(
    r"χ\s*(?:(?:<sup>\s*2\s*</sup>|²)\s*(<sub>[^<>]*</sub>)"
    r"|(<sub>[^<>]*</sub>)\s*(?:<sup>\s*2\s*</sup>|²))"
)
_DEGREES = re.compile(r"(?<![A-Za-z])([tFrzQ]|χ2)\s*<sub>\s*\(?\s*(\d[\d.,;\s]*?)\s*\)?\s*</sub>")
_MATHS = re.compile(r"<math\b[^>]*?\balttext=\"([^\"]*)\"[^>]*>.*?</math\s*>", re.S | re.I)
_STRUCK = re.compile(r"\\(?:sout|st|xout|deleted|DIFdel)\s*(?:\[[^\]]*\])?\{[^{}]*\}")
_NO_PROSE = re.compile(r"<(script|style|table|pre|code|del|strike)\b.*?</\1\s*>", re.S | re.I)
_CAPTION = re.compile(r"<caption\b.*?</caption\s*>", re.S | re.I)
_LOOKS_TEX = re.compile(r"\\(?:begin|section|documentclass|textit|emph|cite|item)\b|\\[(%]")


@lru_cache(maxsize=64)
def plain(text: str, name: str = "") -> str:
    """What a source says, with as many lines as it has."""
    if name.endswith((".html", ".htm", ".xhtml")):
        text = _NO_PROSE.sub(_captions, text)
        text = _INLINE.sub("", _MATHS.sub(_of_maths, text))
        text = _DEGREES.sub(r"\1(\2)", _SQUARED.sub(r"χ2\1\2", text))
        text = re.sub(r"<[^<>]+>", _lines_or_blank, _SCRIPTED.sub("", text))
        return _one_sign(html.unescape(text))
    if name.endswith((".md", ".markdown")):
        text = re.sub(r"```.*?```|~~[^~]+~~", _lines, text, flags=re.S)
        text = re.sub(r"^\s*\|.*\|\s*$", "", text, flags=re.M)
        text = re.sub(r"(?<!\w)_([A-Za-z]\w*)_(?![A-Za-z])|\\(?=[<>=*])", r"\1", text)
    if name.endswith(".tex") or _LOOKS_TEX.search(text) or "$" in text:
        text = _of_latex(text, comments=name.endswith(".tex"))
    return _one_sign(html.unescape(text))


def _one_sign(text: str) -> str:
    """The text with one minus sign and one blank, and without stars of emphasis."""
    text = re.sub(r"(?<=[=<>])(\s?)(?:--|–)(?=[\d.])", r"\1-", text)
    text = re.sub(r"(?<!\d)\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?!\d)|\^", "", text)
    return text.replace("−", "-").replace("\u00a0", " ").replace("\u2009", " ")


def _of_maths(found: re.Match[str]) -> str:
    """A formula of a web page as LaTeXML says it in LaTeX, on as many lines."""
    said = _of_latex(html.unescape(found[1]), comments=False)
    return " ".join(said.split()) + _lines(found)


def _of_latex(text: str, comments: bool) -> str:
    if comments:
        text = _COMMENT.sub("", text)
    text = _STRUCK.sub(_lines, _BLOCK.sub(_lines, _OFF.sub(_lines, text)))
    for _ in range(3):  # as deep as styles are nested
        text, changed = _STYLED.subn(r"\1", text)
        if not changed:
            break
    for pattern, shown in _TEX:
        text = re.sub(pattern, shown, text)
    return text


def _captions(found: re.Match[str]) -> str:
    """The captions of a table, on as many lines as the table has; of a script nothing."""
    said = " ".join(_CAPTION.findall(found[0])) if found[1].lower() == "table" else ""
    return " ".join(said.split()) + _lines(found)


def _lines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _lines_or_blank(found: re.Match[str]) -> str:
    return _lines(found) or " "


def line_of(text: str, at: int) -> int:
    """The line, from 1, of a place in a text."""
    return text.count("\n", 0, at) + 1


def place(text: str, found: re.Match[str], longest: int = 80) -> str:
    """A found sentence with its line, for people."""
    return f"line {line_of(text, found.start())}: {' '.join(found[0].split())[:longest]}"
