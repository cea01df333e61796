"""Printed numbers: what a string such as '+0.018', '3.6k', '≥0.35' or '27%' says."""

import math
import re
from decimal import Decimal
from functools import cache
from typing import NamedTuple

KINDS = ("number", "share", "percent", "time", "count", "word")
_UNITS = "%|ms|s|k|K|M|B|x|GB|hours?|days?|weeks?|months?|years?|million|billion"
_NUMBER = re.compile(
    r"(?<![\w.^])(?P<sign>[-+−±])?(?P<digits>(?>\d{1,3}(?:,\d{3})+(?:\.\d+)?|"
    r"\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\d))?))"
    rf"(?:\s?(?P<unit>{_UNITS})(?![A-Za-z0-9]))?(?![A-Za-z0-9^])"
)
_DATE = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}")
# A hyphen before a digit is a part of a name or a range, unless a space or nothing is before it.
_NAME = re.compile(r"(?!(?<=\d)[eE]-\d)[A-Za-z][\w.]*-[\w.-]*\d[\w.-]*")
_TOP = re.compile(r"\b[Tt]op-(?=\d)")
_RANGE = re.compile(r"\d[kKM%]?\s?(?:[-–~]|to|and|or)\s?\d|\d/\d")
_MORE = re.compile(r"^\s*(?:>|≥|above|over|more than|at least)|\+$|or higher", re.I)
_LESS = re.compile(r"^\s*(?:<|≤|below|less than|at most|up to|as much as)", re.I)
_ABOUT = re.compile(r"[~∼≈]|\b(?:about|around|approximately|roughly)\b", re.I)
_TIMES = {"ms", "s", "hour", "day", "week", "month", "year"}
_TENS = {"k": 3, "K": 3, "M": 6, "B": 9, "million": 6, "billion": 9}
_FINEST = Decimal("1e-6")  # a share's last digit
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_WORD = re.compile(rf"(?:up to )?({'|'.join(_WORDS)})\b(?!-)", re.I)


class Printed(NamedTuple):
    """A number as printed.

    Attributes:
        value: with its sign; '3.6k' is 3600.
        step: one unit of its last printed digit; '3.6k' has 100.
        unit: 'ms', '%', 'week', …, or ''.
        signed: whether a sign is printed, so that it is a change and no level.
        bound: 'more', 'less' or 'about' where the string says so, else ''.
        ranged: whether another number follows, of a range.
    """

    value: Decimal
    step: Decimal
    unit: str
    signed: bool
    bound: str
    ranged: bool

    @property
    def low(self) -> float:
        """The least value that rounds to it; without end for 'at most'."""
        return -math.inf if self.bound == "less" else float(self.value - self.step / 2)

    @property
    def high(self) -> float:
        """The most value that rounds to it; without end for 'at least'."""
        return math.inf if self.bound == "more" else float(self.value + self.step / 2)


@cache
def parse(shown: str) -> Printed | None:
    """The first number of a printed string, or None where there is none; 1e-3 is 0.001.

    A number word from zero to ten counts at the beginning; digits within a name ('gpt-4o',
    'all-MiniLM-L6-v2') and dates do not.
    """
    text = _NAME.sub(" ", _TOP.sub(" ", _DATE.sub(" ", shown)))
    found = _NUMBER.search(text)
    if not found:
        word = _WORD.match(text.strip())
        value = Decimal(_WORDS.index(word[1].lower())) if word else None
        return None if value is None else Printed(value, Decimal(1), "", False, "", False)
    digits, unit = found["digits"].replace(",", ""), (found["unit"] or "").strip()
    value, sign = Decimal(digits), found["sign"] or ""
    step = Decimal(1).scaleb(int(value.as_tuple().exponent))
    if tens := _TENS.get(unit):
        value, step, unit = value.scaleb(tens), step.scaleb(tens), ""
    if sign in ("-", "−"):
        value = -value
    bound = "more" if _MORE.search(shown) else "less" if _LESS.search(shown) else ""
    if not bound and _ABOUT.search(shown):
        bound = "about"
    stem = unit.rstrip("s") if unit not in ("ms", "s") else unit
    return Printed(value, step, stem, bool(sign), bound, bool(_RANGE.search(text)))


def kind_of(shown: str, heading: str = "") -> str:
    """What sort of number a string prints, of `KINDS`; `heading` is of its column and row.

    A share lies between 0 and 1 with decimals and without a sign; a change, a range, a deviation
    and a mean are numbers, and so is what has more decimals than any count of questions gives.
    """
    number = parse(shown)
    if number is None:
        return "word"
    hundred = number.unit == "%" or "(%)" in heading
    if number.step < (100 if hundred else 1) * _FINEST:
        return "number"
    if hundred:
        return "percent"
    if number.unit in _TIMES or "(ms)" in heading:
        return "time"
    decimals = number.step < 1
    if heading.startswith("Δ"):
        return "number"
    if decimals and 0 <= number.value <= 1 and not number.signed and not number.ranged:
        return "share"
    whole = not decimals and not number.signed and not number.ranged and not number.unit
    return "count" if whole else "number"
