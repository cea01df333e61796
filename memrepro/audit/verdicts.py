"""Verdicts: does a number that was computed here stand for the one that was printed?"""

from decimal import Decimal, InvalidOperation
from typing import NamedTuple

NOT_RUN = "not run"
NOT_COMPARABLE = "not comparable"
NOT_IN_PAPER = "not in the paper"
# Of a number that the paper prints of a data set's other edition: shown beside it, never judged.
OTHER_EDITION = "run on another edition"
# Of printed numbers and words among themselves, with no run: by arithmetic, or by a person.
AGREES, DIFFERS, BY_READING = "agrees", "differs", "by reading"
EXACT, WITHIN, PICKED = "exact", "within tolerance", "picked"
DIRECTION, NOT_REPRODUCED = "direction only", "not reproduced"
# Those that judge a number, from best to worst, for telling when one got worse.
JUDGED = (EXACT, WITHIN, PICKED, DIRECTION, NOT_REPRODUCED)
UNDECIDED = "undecided"  # of a claim, which then is neither met nor missed


class Verdict(NamedTuple):
    """A verdict, and the term of the tolerance that decided it."""

    label: str
    term: str


def judge(printed: str, value: float, picked: bool = False) -> Verdict:
    """Compare a value with a printed number.

    'exact' is equality after rounding to the printed digits; 'within tolerance' is a distance
    of less than one unit of the last printed digit, which truncation in place of rounding gives.
    Both are 'picked' where the value's setting was chosen by looking at the printed number.

    Raises:
        ValueError: if `printed` is no finite decimal number.
    """
    try:
        number = Decimal(printed)
        digits = -int(number.as_tuple().exponent)  # a letter of 'nan' and 'inf'
    except (InvalidOperation, ValueError) as error:
        raise ValueError(f"{printed!r} is no decimal number") from error
    if round(value, digits) == float(number):
        return Verdict(PICKED if picked else EXACT, f"rounded to {digits} digits")
    distance = abs(value - float(number))
    if distance < 10.0**-digits:
        return Verdict(PICKED if picked else WITHIN, f"less than one unit of digit {digits}")
    return Verdict(NOT_REPRODUCED, f"differs by {distance:.{digits + 1}f}")
