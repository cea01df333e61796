"""What the audit of printed numbers finds, in plain words, and how sure it is."""

from typing import NamedTuple

HOLDS, FAILS, TELLS = "holds", "does not hold", "tells"
CERTAIN, LIKELY, WEAK = "certain", "likely", "weak"


class Finding(NamedTuple):
    """One check of printed numbers against each other.

    Attributes:
        document: stem of the paper, or the file's name.
        table: name of the table.
        rule: of `consistency.RULES`.
        where: row and column, for people.
        printed: the string, '' where the check is of several.
        expected: what would be printed if all held.
        found: what is printed instead, or what follows.
        words: 'holds', 'does not hold', or 'tells' where there is nothing to hold.
        sure: 'certain' (arithmetic on what is printed), 'likely' or 'weak'.
        why: why it is as sure as that.
        n: how many numbers were compared.
    """

    document: str
    table: str
    rule: str
    where: str
    printed: str
    expected: str
    found: str
    words: str
    sure: str
    why: str
    n: int
