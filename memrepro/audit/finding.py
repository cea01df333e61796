"""What the audit of printed numbers finds, in plain words, and how sure it is."""

from typing import NamedTuple

from memrepro.audit.tables import Table

HOLDS, FAILS, TELLS = "holds", "does not hold", "informational"
CERTAIN, LIKELY, WEAK = "certain", "likely", "weak"
SURE = (CERTAIN, LIKELY, WEAK)


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
        words: 'holds', 'does not hold', or 'informational' where there is nothing to hold.
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


def tally(
    table: Table, rule: str, where: str, expected: str, good: int, n: int, why: str, unit: str = ""
) -> Finding:
    """In how many of n places of a table a rule of arithmetic holds."""
    words = HOLDS if good == n else TELLS
    found = f"{good} of {n}{unit}"
    return Finding(
        table.document, table.name, rule, where, "", expected, found, words, CERTAIN, why, n
    )
