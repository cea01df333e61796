"""p-values against their statistics, wherever a text or a table puts them.

Source: the distributions; what is compared is what statcheck (Nuijten et al., 2016) documents: the
two-sided p of a statistic with its degrees of freedom, both with what rounding leaves open.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding
from memrepro.audit.rules.text.plain import place, plain

_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_KIND = r"(?P<kind>t|F|H|[zZ]|r|Q(?:[bwBW]|between|within)?|χ\s*2?|χ²|chi-?\s?squared?|chi2|X2)"
_START = rf"(?<![A-Za-z0-9_.\\]){_KIND}"
_DF = r"[(\[]\s*(?P<df>\d[\d,.\s]*(?:[,;]\s*[nN]\s*=\s*[\d,]+)?)\s*[)\]]"
# 'ns' says that p is above 0.05.
_P = (
    r"(?<![A-Za-z])[pP]\s*(?:-?\s?values?|s|\(?adj\)?)?\s*"
    r"(?P<sign><=|>=|[<>=≤≥])\s*(?:(?P<digits>\d(?:\.\d+)?|\.\d+)(?:\s*(?:×|x|\\cdot)\s*10\s*|[eE])"
    r"(?P<power>-\d+)|(?P<p>0?\.\d+|[01](?:\.0+)?(?![\d.])))"
    r"|(?<![A-Za-z.])(?P<ns>n\.?\s?s\.?)(?![A-Za-z])"
)
# What may stand between: an effect size, an interval, a mean square; no other statistic.
_BETWEEN = (
    r"(?:(?!(?<![A-Za-z])(?:[tFHzZQ]|χ2?|p)\s*(?:[(\[]\s*\d|[<>=≤≥]))"
    r"[^\n.]|\n(?!\s*\n)|\.(?!\s)){0,110}?"
)
_TEST = re.compile(
    rf"{_START}\s*(?:{_DF})?\s*(?P<is>[=<>≈])\s*(?P<value>[-+]?\s?{_PLAIN})(?P<between>{_BETWEEN})(?:{_P})"
)
_PAIRS = re.compile(r"(?<![A-Za-z])[nN]\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)(?![\d.])")
_ONE_SIDED = re.compile(r"one[- ]?(?:tailed|sided)|directional", re.I)
_ADJUSTED = re.compile(
    r"bonferroni|holm|fdr|false discovery|corrected|adjust|tukey|hochberg|permut|bootstrap", re.I
)
# A paragraph may name its correction at the end; a rank test's p may be exact, its z is not.
_SEVERAL = re.compile(
    r"bonferroni|holm\b|\bfdr\b|false discovery|hochberg|multiple (?:comparisons|test)", re.I
)
_RANKS = re.compile(r"\b[UWV]\s*=|mann[- ]?whitney|wilcoxon|exact\b", re.I)
_NEAR = 250  # characters in which a sentence says how it tests
_WORDS = re.compile(r"[A-Za-z]{4,}")
_EFFECT = re.compile(
    r"partial|cohen|hedges|adjusted|effect|size|odds|ratio|eta|omega|glass|cramer|beta|with|mean|sided|tailed"
    r"|difference|error|squared|confidence|interval|delta|epsilon|power|text|from|credible",
    re.I,
)
_LEAST_DF = 1.0  # of a t whose degrees of freedom are not told
_DIGITS = 1e-9


class Test(NamedTuple):
    """A statistic and its p as printed.

    Attributes:
        kind: of 't', 'F', 'z', 'r', 'chi2'.
        one: degrees of freedom, or None where they are not told.
        two: the second ones of F.
        value: as printed.
        p: as printed.
        sign: '=', '<' or '>' before the p.
        bound: '=', '<' or '>' before the value.
    """

    kind: str
    one: float | None
    two: float | None
    value: str
    p: str
    sign: str
    bound: str = "="


def p_of(test: Test) -> tuple[float, float] | None:
    """The least and most two-sided p that a printed statistic can have, None where it has none."""
    shown = test.value.replace(" ", "").replace(",", "").replace("−", "-")
    value, room = abs(float(shown)), 0.5 * 10.0 ** -len(shown.partition(".")[2])
    ends = {"=": (value + room, max(0.0, value - room)), "<": (value, 0.0), ">": (np.inf, value)}
    made = [
        _tail(test._replace(one=one, two=two), end) for end in ends[test.bound]
        for one in _around(test.one) for two in _around(test.two)
    ]  # fmt: skip
    told = [p for p in made if p is not None]
    return None if len(told) < len(made) else (min(told), max(told))


def _around(degrees: float | None) -> list[float | None]:
    """What degrees of freedom can stand for: a fraction of one was rounded."""
    if degrees is None or degrees == int(degrees):
        return [degrees]
    room = 0.5 * 10.0 ** -len(str(degrees).partition(".")[2])
    return [degrees - room, degrees + room]


def _tail(test: Test, value: float) -> float | None:
    kind, one, two = test.kind, test.one, test.two
    if kind == "z":
        return float(2 * stats.norm.sf(value))
    if kind == "t":
        return float(2 * (stats.t.sf(value, one) if one else stats.norm.sf(value)))
    if kind == "F" and one and two:
        return float(stats.f.sf(value, one, two))
    if kind == "chi2" and one:
        return float(stats.chi2.sf(value, one))
    if kind == "r" and one:
        r = min(value, 1 - 1e-12)
        return float(2 * stats.t.sf(r * np.sqrt(one / (1 - r * r)), one))
    return None


def agrees(test: Test) -> tuple[bool, bool, tuple[float, float]] | None:
    """Whether p is the two-sided one of its statistic; else the one-sided; and what it would be.

    None where the statistic has no p: an F without degrees of freedom, a correlation above 1.
    """
    span = p_of(test)
    if span is None or (test.kind == "r" and float(test.value.replace(" ", "").strip("-")) > 1):
        return None
    low, high = span
    if test.kind == "t" and test.one is None:
        high = max(high, float(2 * stats.t.sf(_least(test.value), _LEAST_DF)))
    return _meets(test, low, high), _meets(test, low / 2, high / 2), (low, high)


def _least(value: str) -> float:
    shown = value.replace(" ", "").replace(",", "").replace("−", "-")
    return max(0.0, abs(float(shown)) - 0.5 * 10.0 ** -len(shown.partition(".")[2]))


def _meets(test: Test, low: float, high: float) -> bool:
    p, digits = float(test.p), len(test.p.partition(".")[2].partition("e")[0])
    scale = float(f"1e{test.p.partition('e')[2] or 0}")
    room = 0.5 * 10.0**-digits * scale + _DIGITS
    if test.sign == "<":
        return low < p + _DIGITS
    if test.sign == ">":
        return high > p - _DIGITS
    # A power of ten is often cut off.
    return low <= p + room * (2 if scale < 1 else 1) and high >= p - room


def p_values(document: str, name: str, text: str, about: str = "") -> Iterator[Finding]:
    """p-values of a text against their statistics: 't(28) = 2.10, p = .045'.

    Two-sided; that a one-sided p would hold, or that the sentence speaks of a correction, is told.
    What is said `about` a text, as a caption is, may name its test too.
    """
    said = plain(text, name)
    one_sided_text = _ONE_SIDED.search(f"{said} {about}") is not None
    for found in _TEST.finditer(said):
        words = [w for w in _WORDS.findall(found["between"]) if not _EFFECT.fullmatch(w)]
        test = None if words else _test(found)
        result = agrees(test) if test else None
        if test is None or result is None or result[0]:
            continue
        _, half, (low, high) = result
        near = said[max(0, found.start() - _NEAR) : found.end() + _NEAR] + about
        above = low > float(test.p) if test.sign != ">" else False
        if (half and one_sided_text) or (not above and _ADJUSTED.search(near)):
            continue
        start, end = said.rfind("\n\n", 0, found.start()), said.find("\n\n", found.end())
        block = said[max(0, start) : end if end >= 0 else len(said)] + about
        if not above and _SEVERAL.search(block):
            continue
        unsure = half or (test.kind == "z" and _RANKS.search(block))
        flips = (float(test.p) < 0.05) != (high < 0.05) and test.sign != ">"
        why = "one-sided it would hold" if half else "neither two- nor one-sided"
        why += ", unless it is an exact p of ranks" * bool(unsure and not half)
        yield Finding(
            document, name, "p of its statistic", place(said, found), " ".join(found[0].split()),
            f"p = {low:.4g}" if high - low < 1e-6 else f"p from {low:.4g} to {high:.4g}",
            f"p {test.sign} {test.p}" + ", on the other side of .05" * flips, FAILS,
            WEAK if unsure else LIKELY, why, 1,
        )  # fmt: skip


def _test(found: re.Match[str]) -> Test | None:
    kind = re.sub(r"\s", "", found["kind"])
    kind = {"Z": "z"}.get(kind, kind if kind in "tFzr" else "chi2")
    one = two = None
    if found["df"]:
        one, two = _degrees(kind, found["df"])
    elif kind == "r" and (pairs := _PAIRS.search(found["between"])):
        one = float(pairs[1].replace(",", "")) - 2
    if found["is"] == "≈" or (kind in ("r", "F", "chi2") and one is None):
        return None
    if found["ns"]:
        return Test(kind, one, two, found["value"], ".05", ">", found["is"])
    p = found["p"] or f"{found['digits']}e{found['power']}"
    sign = {"≤": "<", "≥": ">", "<=": "<", ">=": ">"}.get(found["sign"], found["sign"])
    return Test(kind, one, two, found["value"], p, sign, found["is"])


def _degrees(kind: str, shown: str) -> tuple[float | None, float | None]:
    """Degrees of freedom: '1,028' is one number of a t, and '2, 1,028' two of an F."""
    shown = re.sub(r"[,;]?\s*[nN]\s*=.*", "", shown).strip().rstrip(",.")
    parts = [part.strip() for part in re.split(r"[,;]", shown)]
    if kind == "F":
        first, rest = parts[0], "".join(parts[1:])
        made = [first, rest]
    else:
        together = len(parts) > 1 and all(re.fullmatch(r"\d{3}(?:\.\d+)?", p) for p in parts[1:])
        made = ["".join(parts)] if together and not re.search(r",\s", shown) else [parts[0]]
    try:
        numbers = [float(part.replace(" ", "")) for part in made if part]
    except ValueError:
        return None, None
    return (numbers[0] if numbers else None), (numbers[1] if len(numbers) > 1 else None)
