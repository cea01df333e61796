"""Intervals in cells: the value inside, the width against n, what a 95 % interval says of p."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from scipy import stats

from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, WEAK, Finding
from memrepro.audit.printed import parse
from memrepro.audit.tables import Table

_PLAIN = r"(?:\d+(?:\.\d+)?|\.\d+)"  # read in one way alone, however many digits there are
_INTERVAL = re.compile(
    rf"([-−+]?\s?{_PLAIN})\s*%?\s*[*†‡]*\s*[\[({{]\s*([-−+]?\s?{_PLAIN})\s*%?\s*(?:[,;–-]|to)\s*"
    rf"([-−+]?\s?{_PLAIN})\s*%?\s*[\])}}]"
)
_NAMED = re.compile(
    r"\bC\.?I\.?s?\b|\bHDIs?\b|\bCrIs?\b|interval|\bIQR\b|quartile|\brange\b|\bmin\b|bounds?\b"
    r"|\b9[059] ?%",
    re.I,
)
_RATIO = re.compile(
    r"(?<![A-Za-z])(?:a|adj\.?\s?)?(?:OR|HR|RR|IRR|PR)s?(?![A-Za-z])|(?i:odds|hazard|risk|rate|prevalence)"
    r"\s+(?i:ratio)"
)
_LEVEL = 1.959964
_LOWER = re.compile(r"\b(?:lower|low|LL|LLCI|LCL|LB|2\.5)\b", re.I)
_UPPER = re.compile(r"\b(?:upper|high|UL|ULCI|UCL|UB|97\.5)\b", re.I)
_ENDS = re.compile(r"\b(?:LL|LLCI|LCL)\b")  # which say beside their upper ends what they are
_ROWS = 3  # that hold their value, from which on one is told that does not
_MANY = 20  # cells of one form that hold their value, from which on it is no guess


class Interval(NamedTuple):
    """A value with its interval as printed; `digits` after the point of value and ends."""

    value: float
    low: float
    high: float
    digits: int
    end_digits: int

    def middle(self, ratio: bool) -> tuple[float, float]:
        """The least and most middle of the ends, of their logarithms where it is a ratio."""
        room = 0.5 * 10.0**-self.end_digits
        ends = [(self.low + s, self.high + s) for s in (-room, room)]
        if ratio and self.low - room > 0:
            return math.sqrt(ends[0][0] * ends[0][1]), math.sqrt(ends[1][0] * ends[1][1])
        return sum(ends[0]) / 2, sum(ends[1]) / 2

    def p(self, ratio: bool) -> tuple[float, float] | None:
        """The least and most two-sided p that such a 95 % interval has, None where it is open."""
        room, own = 0.5 * 10.0**-self.end_digits, 0.5 * 10.0**-self.digits
        if ratio and self.low - room <= 0:
            return None

        def scale(value: float) -> float:
            return math.log(value) if ratio else value

        widths = [scale(self.high + s) - scale(self.low - s) for s in (-room, room)]
        if min(widths) <= 0 or (ratio and self.value - own <= 0):
            return None
        shifts = [abs(scale(self.value + s)) for s in (-own, own)]
        least = 0.0 if scale(self.value - own) <= 0 <= scale(self.value + own) else min(shifts)
        z = [2 * _LEVEL * shift / width for shift in (least, max(shifts)) for width in widths]
        return float(2 * stats.norm.sf(max(z))), float(2 * stats.norm.sf(min(z)))


def is_ratio(name: str) -> bool:
    """Whether a head names a ratio of odds, hazards or risks, whose null is 1."""
    return _RATIO.search(name) is not None


def interval_of(shown: str) -> Interval | None:
    """The value and the ends of '0.80 [0.70, 0.90]', or None."""
    found = _INTERVAL.match(shown.strip())
    if not found:
        return None
    texts = [one.replace("−", "-").replace(" ", "") for one in found.groups()]
    value, low, high = map(float, texts)
    digits = [len(text.partition(".")[2]) for text in texts]
    return Interval(value, low, high, digits[0], min(digits[1:])) if low < high else None


def inside(table: Table) -> Iterator[Finding]:
    """Values with an interval in one cell, '0.80 [0.70, 0.90]': the value lies in the interval.

    Certain where the head, the caption or the note calls it one; two whole numbers in brackets may
    be citations, and others a pair of values, so that the other cells must tell.
    """
    made = [
        (row, column, shown, ends, ends.low <= ends.value <= ends.high)
        for row, column, shown in table.cells() if (ends := interval_of(shown))
    ]  # fmt: skip
    about = f"{table.reading.get('caption', '')} {table.reading.get('note', '')}"
    good = sum(holds for *_, holds in made)
    for row, column, shown, ends, holds in made:
        if holds:
            continue
        named = bool(_NAMED.search(f"{row} {column} {about}"))
        plain = ends.end_digits > 0 and ends.end_digits == ends.digits
        most = good >= 2 and 4 * good >= 3 * len(made)
        if not named and not most and not (plain and 2 * good >= len(made)):
            continue
        named = named or (plain and good >= _MANY and 10 * good >= 9 * len(made))
        sure = CERTAIN if named and ends.end_digits else LIKELY if plain and good >= 2 else WEAK
        yield Finding(
            table.document, table.name, "value in its interval", f"{row}, {column}", shown,
            f"a value from {ends.low:g} to {ends.high:g}", f"{ends.value:g}", FAILS, sure,
            "an interval has its value inside" + f", as {good} of {len(made)} have" * (not named),
            1,
        )  # fmt: skip


def between(table: Table) -> Iterator[Finding]:
    """The same where the ends are columns, 'CI lower' and 'CI upper', and the value one before.

    Of which column they are, all rows but one must tell.
    """
    columns = table.columns
    for at, column in enumerate(columns):
        upper = next((c for c in columns if c != column and _as_upper(column, c)), "")
        about = f"{column} {table.reading.get('caption', '')} {table.reading.get('note', '')}"
        if not upper or not (_NAMED.search(about) or _ENDS.search(column)):
            continue
        made: list[tuple[str, str, str, bool]] = []
        for of in columns[:at]:
            own = []
            for row, cells in table.rows.items():
                value, low, high = (parse(cells[c]) for c in (of, column, upper))
                if value and low and high and low.value <= high.value:
                    holds = low.low <= value.high and value.low <= high.high
                    own.append((row, of, f"{low.value} to {high.value}", holds))
            made = max(own, made, key=lambda one: sum(holds for *_, holds in one))
        good = sum(holds for *_, holds in made)
        for row, of, ends, holds in made:
            if not holds and good == len(made) - 1 >= _ROWS:
                yield Finding(
                    table.document, table.name, "value in its interval", f"{row}, {of}",
                    table.rows[row][of], f"a value from {ends}", table.rows[row][of], FAILS, LIKELY,
                    f"{column} and {upper} have it between, as in {good} of {len(made)} rows", 1,
                )  # fmt: skip


def _as_upper(lower: str, upper: str) -> bool:
    """Whether two heads are those of the ends of one interval."""
    found = _LOWER.search(lower)
    stems = (lower, upper) if not found else (_LOWER.sub("", lower), _UPPER.sub("", upper))
    return bool(found and _UPPER.search(upper)) and stems[0] == stems[1]


def widths(table: Table) -> Iterator[Finding]:
    """Intervals of shares against their n: half a width of 1.96 √(p(1−p)/n), within 2 times."""
    for row, column, shown in table.cells():
        ends, n = interval_of(shown), table.size(row, column)
        if not ends or not n or not 0.05 < ends.value < 0.95:
            continue
        half = (ends.high - ends.low) / 2
        usual = 1.96 * math.sqrt(ends.value * (1 - ends.value) / n)
        if n >= 10 and (half > 2 * usual or half < usual / 2):
            yield Finding(
                table.document, table.name, "interval and n", f"{row}, {column}", shown,
                f"about ±{usual:.3f} at n = {n}", f"±{half:.3f}", FAILS, WEAK,
                "if it is a 95 % interval of a share; another level or unit is as simple", 1,
            )  # fmt: skip
