"""A verdict as a shape and a word, so that it is told apart in grey and read aloud alike."""

from collections.abc import Iterable
from typing import NamedTuple

from memrepro.audit.glossary import words
from memrepro.audit.verdicts import (
    AGREES,
    BY_READING,
    DIFFERS,
    JUDGED,
    NOT_COMPARABLE,
    NOT_IN_PAPER,
    NOT_RUN,
)


class Mark(NamedTuple):
    """How a verdict is shown: its word, a shape, the name of its style, and what it means."""

    word: str
    shape: str
    style: str
    meaning: str


MARKS = {
    word: Mark(word, shape, style, words()[word])
    for word, shape, style in (
        (JUDGED[0], "●", "exact"),
        (JUDGED[1], "◐", "within"),
        (JUDGED[2], "▲", "direction"),
        (JUDGED[3], "✕", "not"),
        (AGREES, "✓", "agrees"),
        (DIFFERS, "≠", "differs"),
        (BY_READING, "¶", "read"),
        (NOT_COMPARABLE, "◇", "apart"),
        (NOT_RUN, "○", "unrun"),
        (NOT_IN_PAPER, "·", "own"),
    )
}  # fmt: skip
UNJUDGED = Mark("no verdict", "–", "plain", "a statement or a setting, which nothing judges")


def mark(verdict: str) -> Mark:
    """The mark of a verdict; one that is not known keeps its word, under a shape of its own."""
    if not verdict:
        return UNJUDGED
    return MARKS.get(verdict, Mark(verdict, "□", "other", "a verdict of this table's own"))


class Share(NamedTuple):
    """A verdict with how many numbers have it, and which part of all that is."""

    mark: Mark
    numbers: int
    percent: float


def shares(verdicts: Iterable[str]) -> list[Share]:
    """How many numbers have each verdict, in the order of `MARKS`; those with none are last."""
    found = list(verdicts)
    order = [*MARKS, *sorted(set(found) - set(MARKS) - {""}), ""]
    counts = {verdict: found.count(verdict) for verdict in order}
    return [
        Share(mark(verdict), count, 100 * count / len(found))
        for verdict, count in counts.items()
        if count
    ]
