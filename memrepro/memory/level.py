"""The vectors brought level with the journal: after a change what it changed, else all of them."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memrepro.core.similarity import Doubles, products
from memrepro.encode.encoder import Vectors
from memrepro.memory import cold
from memrepro.memory.index import VectorIndex
from memrepro.memory.journal import Journal
from memrepro.memory.language.fact import Similar
from memrepro.memory.stretches import Recut


@dataclass
class Changing:
    """A change in work.

    Attributes:
        db: in the transaction.
        facts: whether facts may have changed.
        times: of messages that come, go or change, Unix seconds; to be appended to.
        chilled: ids of segments that became facts; to be appended to.
        cut: what became of the segments, afterwards.
    """

    db: sqlite3.Connection
    facts: bool
    times: list[float] = field(default_factory=list)
    chilled: list[str] = field(default_factory=list)
    cut: Recut = field(default_factory=Recut)


def bring_level(
    journal: Journal,
    index: VectorIndex,
    encode: Callable[[Sequence[str]], Vectors],
    change: Changing | None,
) -> None:
    """Give every warm segment and active fact its vector, and no other.

    Args:
        journal: the truth.
        index: what follows it.
        encode: texts → (n, dimension) float32.
        change: all in which they differ, facts apart; without it all ids are read.
    """

    def of_segments(ids: Sequence[str]) -> Vectors:
        return encode(journal.texts(ids))

    if change:
        came = sorted(journal.warm_of(change.cut.came))
        index.change("segments", came, [*change.cut.went, *change.chilled], of_segments)
    else:
        index.level("segments", journal.keys("warm"), of_segments)
    if not change or change.facts:
        texts = {fact.vector_id: fact.text for fact in cold.facts(journal.connection)}
        index.level("facts", texts, lambda ids: encode([texts[key] for key in ids]))


def note_level(journal: Journal, index: VectorIndex) -> None:
    """Note that the vectors are level with the journal, and what they are like."""
    state = index.state()
    # Where this note is lost, the vectors are compared at the next opening.
    with journal.transaction(waits=False):
        journal.put("behind", False)
        journal.put("level", state)


def is_level(journal: Journal, index: VectorIndex) -> bool:
    """Whether the vectors are as they were when it was noted that they are level."""
    try:
        touched = journal.get("behind") or journal.get("void") or not index.is_there()
        return not touched and bool(journal.get("level") == index.state())
    except Exception:
        return False


def cosines_of_facts(journal: Journal, index: VectorIndex) -> Similar:
    """The cosines of active facts' texts, whose vectors are there already, read once."""
    ids, vectors = index.all("facts")
    place = {key: row for row, key in enumerate(ids)}
    row_of = {fact.text: place[fact.vector_id] for fact in cold.facts(journal.connection)}

    def cosines(texts: Sequence[str], others: Sequence[str]) -> Doubles:
        rows, columns = ([row_of[text] for text in some] for some in (texts, others))
        return products(vectors[rows], vectors[columns])

    return cosines
