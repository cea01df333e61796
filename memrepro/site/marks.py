"""A verdict as a shape and a word, so that it is told apart in grey and read aloud alike."""

from collections.abc import Iterable
from typing import NamedTuple

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
    mark.word: mark
    for mark in (
        Mark(JUDGED[0], "●", "exact", "equal to the printed number after rounding to its digits"),
        Mark(
            JUDGED[1], "◐", "within",
            "less than a unit of the last printed digit away, or what the term beside it says",
        ),
        Mark(JUDGED[2], "▲", "direction", "the better side is the printed one, the size is not"),
        Mark(JUDGED[3], "✕", "not", "computed here, and another number than the printed one"),
        Mark(AGREES, "✓", "agrees", "follows from other printed numbers; no run is behind it"),
        Mark(DIFFERS, "≠", "differs", "does not follow from other printed numbers; no run"),
        Mark(BY_READING, "¶", "read", "judged by a person who read; it counts as no number"),
        Mark(
            NOT_COMPARABLE, "◇", "apart",
            "of other data, another encoder or another question than the printed number",
        ),
        Mark(NOT_RUN, "○", "unrun", "not computed where this was made; the reason stands by it"),
        Mark(NOT_IN_PAPER, "·", "own", "computed here, and the document prints no such number"),
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
