"""The vectors brought level with the journal: after a change what it changed, else all of them."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from memrepro.core.similarity import Doubles, products
from memrepro.encode.encoder import Encoder, Vectors, check_vectors
from memrepro.errors import MemreproError
from memrepro.memory import cold
from memrepro.memory.index import VectorIndex
from memrepro.memory.journal import Journal
from memrepro.memory.language.fact import Similar
from memrepro.memory.language.words import spoken
from memrepro.memory.limited import Limited
from memrepro.memory.settings import Settings
from memrepro.memory.stretches import Recut

# Segments whose traces are looked for in the files; of more all is written anew.
_FEW = 8
# Texts that are encoded at once.
_BATCH = 64


@dataclass
class Changing:
    """A change in work.

    Attributes:
        db: in the transaction.
        facts: whether facts may have changed.
        whole: whether anything may have, beside the segments that are cut.
        times: of messages that come, go or change, Unix seconds; to be appended to.
        chilled: ids of segments that became facts; to be appended to.
        cut: what became of the segments, afterwards.
    """

    db: sqlite3.Connection
    facts: bool
    whole: bool = False
    times: list[float] = field(default_factory=list)
    chilled: list[str] = field(default_factory=list)
    cut: Recut = field(default_factory=Recut)


@dataclass
class Follower:
    """Brings the vectors level with the journal, and says when they may not be.

    Attributes:
        journal: the truth.
        index: what follows it.
        encoder, settings, limited: what makes vectors, of which texts, and for how long.
        counts: raised by what failed.
        suspects: whether the two may differ in more than the next change.
    """

    journal: Journal
    index: VectorIndex
    encoder: Encoder
    settings: Settings
    limited: Limited
    counts: Counter[str]
    suspects: bool = False

    def concern(self, fact_ids: Collection[str]) -> bool:
        """Whether vectors may come or go with facts that changed, in that transaction."""
        if not fact_ids or not self.settings.keeps_all:
            return bool(fact_ids)
        if cold.in_other_words(self.journal.connection, fact_ids):
            return True
        try:
            held = self.index.ids("facts") if self.index.has_had_rows("facts") else ()
        except Exception:
            return True  # damaged: `follow` makes them anew
        return any(key.partition(".")[0] in fact_ids for key in held)

    def follow(self, change: Changing | None = None, *, note: bool = True) -> None:
        """Bring the vectors level, or leave that to the next change.

        Args:
            change: all in which they differ, facts apart; None where that has to be looked for.
            note: whether to note that they are; else the caller does.
        """
        self.suspects = True
        removes = change is None or change.cut.went or change.chilled
        if removes and not self.journal.get("remains"):
            # Vectors of removed rows, until `purge` is through.
            with self.journal.transaction():
                self.journal.put("remains", True)
        try:
            try:
                if self.journal.get("void"):
                    self.clear()
                elif not self.index.is_there():
                    with self.journal.transaction():
                        self.journal.put("behind", True)
                self._bring_level(change)
            except _EncoderFailed:
                raise
            except Exception:
                # What follows from the journal is made anew rather than repaired.
                self.clear()
                self._bring_level(None)
            if note:
                note_level(self.journal, self.index)
            self.suspects = False
        except Exception:
            self.counts["index_failed"] += 1

    def purge(self, change: Changing | None, scrub: Callable[[], None]) -> None:
        """Bring the vectors level, as `follow`, so that no byte of a removed one is left.

        Args:
            change: as `follow`'s.
            scrub: does the same for the journal, meanwhile.
        """
        traces = self._traces(change)
        self.follow(change, note=False)
        if self.suspects:
            self.clear()
            scrub()
            return
        with ThreadPoolExecutor(1) as beside:
            erasing = beside.submit(self.index.erase, traces)
            scrub()
        try:
            erasing.result()
        except Exception:
            self.clear()
            self.follow()

    def _traces(self, change: Changing | None) -> list[bytes] | None:
        """All that the files are to lose with a change; None where it may be more than that."""
        if change is None or self.suspects or self.journal.get("remains", True):
            return None
        gone = [*change.cut.went, *change.chilled]
        if len(gone) > _FEW:
            return None
        try:
            return self.index.traces("segments", gone) if gone else []
        except Exception:
            return None

    def clear(self) -> None:
        """Remove all vectors; no search asks what is left of them, or not all there yet."""
        if not (self.journal.get("void") and self.journal.get("behind")):
            with self.journal.transaction():
                self.journal.put("void", True)
                self.journal.put("behind", True)
        self.index.clear()
        # Where this is lost, they are removed again.
        with self.journal.transaction(waits=False):
            self.journal.put("void", False)

    def _bring_level(self, change: Changing | None) -> None:
        """Give every warm segment its vector, and every active fact that wants one; no other.

        Where segments stay, a fact in the very words of one that says it wants none.
        """
        journal, index, keeps_all = self.journal, self.index, self.settings.keeps_all

        def of_segments(ids: Sequence[str]) -> Vectors:
            texts = journal.texts(ids)
            return self._encode([spoken(text) for text in texts] if keeps_all else texts)

        if change:
            came = sorted(journal.warm_of(change.cut.came))
            index.change("segments", came, [*change.cut.went, *change.chilled], of_segments)
        else:
            index.level("segments", journal.keys("warm"), of_segments)
        if not change or change.facts:
            db = journal.connection
            found = cold.in_other_words(db) if keeps_all else cold.facts(db)
            texts = {fact.vector_id: fact.text for fact in found}
            index.level("facts", texts, lambda ids: self._encode([texts[key] for key in ids]))

    def _encode(self, texts: Sequence[str]) -> Vectors:
        encoder, seconds = self.encoder, self.settings.index_seconds
        vectors = np.empty((len(texts), encoder.dimension), np.float32)
        # Texts of a length together, which are padded least.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            batch = [texts[place] for place in places]
            try:
                found = self.limited.run(partial(encoder.encode, batch, "document"), seconds)
                check_vectors(found, batch, encoder.identity, encoder.dimension)
            except MemreproError as error:
                raise _EncoderFailed(str(error)) from error
            vectors[places] = found
        return vectors


class _EncoderFailed(MemreproError):
    """New texts have no vectors yet."""


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
