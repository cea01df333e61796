"""Numbers that one formula ties: harmonic means, deviations of whole numbers, p-values, changes.

Rules over rows take a table; rules over prose take a text, captions among them.
"""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from scipy import stats

from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.printed import Printed, parse
from memrepro.audit.tables import Table

_HEADS = {
    "p": r"\bP(?:rec(?:ision)?)?\b\.?",
    "r": r"\bR(?:ec(?:all)?)?\b\.?(?!@)",
    "f": r"\bF-?1?\b",
}
_HARMONIC = r"(?i:harmonic|\bh-?mean\b)|\bHM\b|(?:^|[ ,])H$"
_MEAN, _SD = r"\b(?:mean|M)\b", r"(?i:\bSD\b|\bstd\.?(?: dev\.?)?)"
_MEAN_AND_SD = rf"{_MEAN}\s*(?:±|\(±?)\s*{_SD}"
_ROWS = 3  # that must be there before a column's meaning is taken from them
_PLAIN = r"(?:\d+(?:\.\d+)?|\.\d+)"  # read in one way alone, however many digits there are
_INTERVAL = re.compile(
    rf"([-−+]?{_PLAIN})\s*%?\s*[\[(]\s*([-−+]?{_PLAIN})\s*%?\s*[,;–-]\s*"
    rf"([-−+]?{_PLAIN})\s*%?\s*[\])]"
)
_TEST = re.compile(
    r"\b(?P<kind>[tFzr]|χ2|χ²|chi2|\\chi\^2)\s*(?:\(\s*(?P<one>\d+(?:\.\d+)?)\s*"
    rf"(?:,\s*(?P<two>\d+(?:\.\d+)?|[nN]\s*=\s*\d+)\s*)?\))?\s*=\s*(?P<value>[-−]?{_PLAIN})"
    r"\s*[,;]\s*p\s*(?P<sign>[<>=])\s*(?P<p>0?\.\d+)"
)
_CHANGE = re.compile(
    r"from\s+(?P<old>\d+(?:\.\d+)?)\s*(?P<u1>%?)\s+to\s+(?P<new>\d+(?:\.\d+)?)\s*(?P<u2>%?)[^.\d]{0,40}?"
    r"\(?\s*(?P<sign>[+−-])?\s*(?P<by>\d+(?:\.\d+)?)\s*(?P<unit>%|points?|pp)"
)
_SHARE = re.compile(
    r"(?<![\d.,/])(?P<right>\d[\d,]*)\s*(?:/|of|out of)\s*(?:the\s+|all\s+)?(?P<all>\d[\d,]*)\b"
    r"(?!\.\d)(?:\s+[A-Za-z-]+){0,3}\s*\(\s*(?P<part>\d+(?:\.\d+)?)\s*%\s*\)"
    r"|(?<![\d.])(?P<part2>\d+(?:\.\d+)?)\s*%\s*\(\s*(?P<right2>\d[\d,]*)\s*(?:/|of|out of)\s*"
    r"(?P<all2>\d[\d,]*)\b"
)

# Row, column, cell, the least and most that follow, and whether the cell lies between.
_Held = tuple[str, str, str, float, float, bool]


def f1(table: Table) -> Iterator[Finding]:
    """F1 = 2PR / (P + R), with what rounding leaves open; a macro F1 need not be that."""
    made: list[_Held] = []
    for column in table.columns:
        head = re.sub(_HEADS["f"], "", column).strip(" ,")
        p, r = (_beside(table, column, head, _HEADS[key]) for key in "pr")
        if re.search(_HEADS["f"], column) and p and r:
            made += _harmonics(table, p, r, column)
    why = "arithmetic, if F1 is of these P and R and no mean of several"
    yield from _told(table, "F1 of P and R", "2PR / (P + R)", made, why)


def harmonic(table: Table) -> Iterator[Finding]:
    """A column named so is the harmonic mean of two beside it: those that most rows follow."""
    for column in table.columns:
        if not re.search(_HARMONIC, column):
            continue
        group = column.rpartition(", ")[0]
        beside = [c for c in table.columns if c != column and c.rpartition(", ")[0] == group]
        pairs = [(_harmonics(table, a, b, column), a, b) for a, b in combinations(beside, 2)]
        made, a, b = max(
            pairs, key=lambda pair: sum(one[-1] for one in pair[0]), default=([], "", "")
        )
        if len(made) >= _ROWS and 2 * sum(one[-1] for one in made) > len(made):
            why = "arithmetic, if it is of these two columns, which most rows follow"
            yield from _told(table, "harmonic mean", f"2ab / (a + b) of {a} and {b}", made, why)


def _harmonics(table: Table, p: str, r: str, column: str) -> list[_Held]:
    """Each row's cell of a column against the harmonic mean of two others."""
    made = []
    for row, cells in table.rows.items():
        shown = [parse(cells[c]) for c in (p, r, column)]
        if all(n is not None and n.value > 0 for n in shown):
            low, high = (
                _harmonic(*(getattr(n, end) for n in shown[:2])) for end in ("low", "high")
            )
            f = shown[2]
            assert f is not None
            holds = low <= f.high + 1e-9 and high >= f.low - 1e-9
            made.append((row, column, cells[column], low, high, holds))
    return made


def _told(
    table: Table, rule: str, formula: str, made: Sequence[_Held], why: str
) -> Iterator[Finding]:  # fmt: skip
    """In how many rows it holds, and where it does not if it does in most."""
    good = sum(holds for *_, holds in made)
    if made:
        yield tally(table, rule, "all rows", formula, good, len(made), why)
    for row, column, cell, low, high, holds in made:
        if not holds and 2 * good > len(made):
            yield Finding(
                table.document, table.name, rule, f"{row}, {column}", cell,
                f"{(low + high) / 2:.4g} ({low:.4g} to {high:.4g})", cell, FAILS,
                LIKELY if good >= max(_ROWS, 0.75 * len(made)) else WEAK,
                f"{good} of {len(made)} rows follow {formula}", 3,
            )  # fmt: skip


def _beside(table: Table, column: str, head: str, pattern: str) -> str:
    """The column with the rest of a head and another metric, or ''."""
    for other in table.columns:
        rest = re.sub(pattern, "", other).strip(" ,")
        if other != column and rest == head and re.search(pattern, other):
            return other
    return ""


def _harmonic(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r > 0 else 0.0


def grimmer(table: Table) -> Iterator[Finding]:
    """Means and deviations of n whole numbers: n · mean and the sum of squares are whole numbers.

    Source: GRIM (Brown and Heathers, 2017) and GRIMMER (Anaya, 2016). Assumes whole-number answers;
    the deviations of a column are with n − 1, or with n where that explains more of them.
    """
    for column, sd, printed in _deviations(table):
        made = []
        for row, texts in printed.items():
            mean, deviation = map(parse, texts)
            n = table.size(row, column)
            if mean is None or deviation is None or not n or n * mean.step >= 1:
                continue
            sums = range(math.ceil(mean.low * n - 1e-9), math.floor(mean.high * n + 1e-9) + 1)
            fits = [any(_squares(one, n, less, deviation) for one in sums) for less in (1, 0)]
            made.append((row, n, bool(sums), fits))
        less = max((0, 1), key=lambda place: sum(fits[place] for *_, fits in made))
        for row, n, whole, fits in made:
            if fits[less]:
                continue
            of, told = (sd if whole else column), printed[row][whole]
            expected = "a sum of squares that is whole" if whole else f"a whole number over {n}"
            yield Finding(
                table.document, table.name, "mean and deviation", f"{row}, {of}", told, expected,
                f"{' ± '.join(printed[row])} of {n}", FAILS, LIKELY,
                "if each answer is a whole number (GRIM, GRIMMER)", 2,
            )  # fmt: skip


def _deviations(table: Table) -> Iterator[tuple[str, str, dict[str, tuple[str, str]]]]:
    """A column of means, its deviations' column, and row → both as printed.

    One column may print both, if its head says so ('M ± SD', 'M (SD)'): a ± alone is mostly over
    runs.
    """
    for column in table.columns:
        if re.search(_MEAN_AND_SD, column):
            parts = {row: re.split(r"\s*[±(]\s*", c[column]) for row, c in table.rows.items()}
            yield column, column, {row: (p[0], p[1]) for row, p in parts.items() if len(p) == 2}
        elif re.search(_MEAN, column):
            sd = _beside(table, column, re.sub(_MEAN, "", column).strip(" ,"), _SD)
            if sd:
                yield column, sd, {row: (c[column], c[sd]) for row, c in table.rows.items()}


def _squares(total: int, n: int, less: int, deviation: Printed) -> bool:
    """Whether a whole sum of squares of the sum's parity gives the deviation with n − `less`."""
    ends = [(n - less) * max(0.0, e) ** 2 + total**2 / n for e in (deviation.low, deviation.high)]
    low, high = math.ceil(ends[0] - 1e-9), math.floor(ends[1] + 1e-9)
    return any(one % 2 == total % 2 for one in range(low, min(high, low + 1) + 1))


def interval_of(shown: str) -> tuple[float, float, float] | None:
    """The value and the ends of '0.80 [0.70, 0.90]', or None."""
    found = _INTERVAL.match(shown.strip())
    if not found:
        return None
    value, low, high = (float(one.replace("−", "-")) for one in found.groups())
    return (value, low, high) if low < high else None


def inside(table: Table) -> Iterator[Finding]:
    """Values with an interval in one cell, '0.80 [0.70, 0.90]': the value lies in the interval."""
    for row, column, shown in table.cells():
        if (ends := interval_of(shown)) and not ends[1] <= ends[0] <= ends[2]:
            yield Finding(
                table.document, table.name, "value in its interval", f"{row}, {column}", shown,
                f"a value from {ends[1]:g} to {ends[2]:g}", f"{ends[0]:g}", FAILS, CERTAIN,
                "an interval has its value inside", 1,
            )  # fmt: skip


def widths(table: Table) -> Iterator[Finding]:
    """Intervals of shares against their n: half a width of 1.96 √(p(1−p)/n), within 2 times."""
    for row, column, shown in table.cells():
        ends, n = interval_of(shown), table.size(row, column)
        if not ends or not n or not 0.05 < ends[0] < 0.95:
            continue
        half, usual = (ends[2] - ends[1]) / 2, 1.96 * math.sqrt(ends[0] * (1 - ends[0]) / n)
        if n >= 10 and (half > 2 * usual or half < usual / 2):
            yield Finding(
                table.document, table.name, "interval and n", f"{row}, {column}", shown,
                f"about ±{usual:.3f} at n = {n}", f"±{half:.3f}", FAILS, WEAK,
                "if it is a 95 % interval of a share; another level or unit is as simple", 1,
            )  # fmt: skip


def p_values(document: str, name: str, text: str) -> Iterator[Finding]:
    """p-values against their statistics: 't(28) = 2.10, p = .045'. Source: as statcheck does.

    Two-sided, the statistic and p with what rounding leaves open; one-sided p is told, not found.
    """
    for found in _TEST.finditer(text.replace("$", "")):
        span = _p_of(found)
        if span is None:
            continue
        digits, p = len(found["p"].partition(".")[2]), float(found["p"])
        room = 0.5 * 10**-digits
        low, high = span
        holds = {"<": low < p, ">": high > p, "=": low <= p + room and high >= p - room}
        half = {"<": low / 2 < p, ">": high / 2 > p,
                "=": low / 2 <= p + room and high / 2 >= p - room}  # fmt: skip
        if not holds[found["sign"]]:
            one_sided = half[found["sign"]]
            yield Finding(
                document, name, "p of its statistic", found[0], found[0],
                f"p from {low:.4f} to {high:.4f}, two-sided", f"p {found['sign']} {found['p']}",
                FAILS, WEAK if one_sided else LIKELY,
                "one-sided it would hold" if one_sided else "neither two- nor one-sided", 1,
            )  # fmt: skip


def _p_of(found: re.Match[str]) -> tuple[float, float] | None:
    """The least and most two-sided p that a printed statistic can have."""
    shown = found["value"].replace("−", "-")
    room = 0.5 * 10.0 ** -len(shown.partition(".")[2])
    value, kind = abs(float(shown)), found["kind"]
    one, two = (
        re.sub(r"\D*", "", found[k] or "", count=1) if found[k] else "" for k in ("one", "two")
    )
    ends = (value + room, max(0.0, value - room))
    if kind == "z":
        made = [2 * stats.norm.sf(e) for e in ends]
    elif kind == "t" and one:
        made = [2 * stats.t.sf(e, float(one)) for e in ends]
    elif kind == "F" and one and two:
        made = [stats.f.sf(e, float(one), float(two)) for e in ends]
    elif kind == "r" and one and value < 1:
        scaled = [e * math.sqrt(float(one) / max(1e-12, 1 - min(e, 0.999999) ** 2)) for e in ends]
        made = [2 * stats.t.sf(e, float(one)) for e in scaled]
    elif kind not in "tFzr" and one:
        made = [stats.chi2.sf(e, float(one)) for e in ends]
    else:
        return None
    return float(made[0]), float(made[1])


def changes_in_words(document: str, name: str, text: str) -> Iterator[Finding]:
    """'from 0.483 to 0.583 (+20.7 %)': the change as a part of the old value, or in points."""
    for found in _CHANGE.finditer(text.replace(r"\%", "%").replace("$", "")):
        old, new, by = (parse(found[key]) for key in ("old", "new", "by"))
        if old is None or new is None or by is None or old.low <= 0:
            continue
        moved = [abs(b - a) / a * 100 for a, b in
                 ((old.low, new.high), (old.high, new.low))]  # fmt: skip
        factor = 1 if found["u1"] or found["u2"] or new.value > 1 else 100
        points = float(abs(new.value - old.value)) * factor
        room = float(old.step) * factor
        either = (moved, [points - room, points + room])
        if not any(min(ends) <= by.high and max(ends) >= by.low for ends in either):
            part = float(abs(new.value - old.value) / old.value) * 100
            yield Finding(
                document, name, "change in words", found[0][:80], found[0][:80],
                f"{part:.3g}% of the old value, or {points:.3g} points",
                f"{found['by']}{found['unit']}",
                FAILS, LIKELY if by.step < 1 else WEAK, "arithmetic on the sentence", 3,
            )  # fmt: skip


def shares_in_words(document: str, name: str, text: str) -> Iterator[Finding]:
    """'34 of 40 questions (85 %)' and '85 % (34/40)': the percentage, rounded or cut off."""
    for found in _SHARE.finditer(text.replace(r"\%", "%").replace("$", "")):
        part = parse(found["part"] or found["part2"])
        right, every = (
            int((found[key] or found[f"{key}2"]).replace(",", "")) for key in ("right", "all")
        )
        if part is None or not 0 < right <= every:
            continue
        made = 100 * right / every
        if abs(made - float(part.value)) >= float(part.step) + 1e-9:
            yield Finding(
                document, name, "share in words", found[0][:80], found[0][:80], f"{made:.4g}%",
                f"{part.value}%", FAILS, LIKELY, "arithmetic on the sentence", 2,
            )  # fmt: skip


OF_TEXT = (p_values, changes_in_words, shares_in_words)
