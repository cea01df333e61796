"""A verdict as a shape and a word, so that it is told apart in grey and read aloud alike."""

from collections.abc import Mapping
from typing import NamedTuple

from memrepro.audit import coverage
from memrepro.audit.glossary import words
from memrepro.audit.verdicts import (
    AGREES,
    BY_READING,
    DIFFERS,
    DIRECTION,
    EXACT,
    NOT_COMPARABLE,
    NOT_IN_PAPER,
    NOT_REPRODUCED,
    NOT_RUN,
    OTHER_EDITION,
    PICKED,
    UNDECIDED,
    WITHIN,
)


class Mark(NamedTuple):
    """How a verdict is shown: its word, a shape, the name of its style, and what it means."""

    word: str
    shape: str
    style: str
    meaning: str


def _marks(*marks: tuple[str, str, str]) -> dict[str, Mark]:
    return {word: Mark(word, shape, style, words()[word]) for word, shape, style in marks}


# Of a table's number or claim.
MARKS = _marks(
    (EXACT, "●", "exact"),
    (WITHIN, "◐", "within"),
    (PICKED, "◌", "picked"),
    (DIRECTION, "▲", "direction"),
    (NOT_REPRODUCED, "✕", "not"),
    (UNDECIDED, "?", "read"),
    (AGREES, "✓", "agrees"),
    (DIFFERS, "≠", "differs"),
    (BY_READING, "¶", "read"),
    (OTHER_EDITION, "◫", "apart"),
    (NOT_COMPARABLE, "◇", "apart"),
    (NOT_RUN, "○", "unrun"),
    (NOT_IN_PAPER, "·", "own"),
)
# Of what became of a printed number.
OUTCOMES = {
    **_marks(
        (coverage.RUN_EXACT, "●", "exact"),
        (coverage.RUN_WITHIN, "◐", "within"),
        (coverage.RUN_PICKED, "◌", "picked"),
        (coverage.RUN_DIFFERS, "✕", "not"),
        (coverage.DATASET, "#", "counted"),
        (coverage.ARITHMETIC_AGREES, "✓", "agrees"),
        (coverage.ARITHMETIC_DIFFERS, "≠", "differs"),
    ),
    **{word: MARKS[word] for word in (OTHER_EDITION, BY_READING, NOT_COMPARABLE, NOT_RUN)},
    **_marks((coverage.NOT_CHECKABLE, "–", "plain")),
}
UNJUDGED = Mark("no verdict", "–", "plain", "a statement or a setting, which nothing judges")


def mark(verdict: str) -> Mark:
    """The mark of a verdict; one that is not known keeps its word, under a shape of its own."""
    if not verdict:
        return UNJUDGED
    return MARKS.get(verdict, Mark(verdict, "□", "other", "a verdict of this table's own"))


class Share(NamedTuple):
    """An outcome with how many printed numbers have it."""

    mark: Mark
    numbers: int


def shares(counts: Mapping[str, int]) -> list[Share]:
    """How many numbers have each outcome, in the order of `coverage.OUTCOMES`, without zeros."""
    return [Share(OUTCOMES[o], counts[o]) for o in coverage.OUTCOMES if counts.get(o)]
