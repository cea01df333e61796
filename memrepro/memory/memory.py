"""One user's tiered memory, to be opened, added to, searched and maintained."""

import json
import logging
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self

from memrepro.encode.encoder import Encoder
from memrepro.errors import MemreproError
from memrepro.memory import cold
from memrepro.memory.consolidate import consolidate
from memrepro.memory.degrade import Chain
from memrepro.memory.folders import DELETED, BeingMade, check_message, lock, user_folder
from memrepro.memory.index import VectorIndex
from memrepro.memory.journal import Journal
from memrepro.memory.language import conflicts
from memrepro.memory.language import extract as extractors
from memrepro.memory.language.fact import Change, Decide, Extract
from memrepro.memory.language.known import Known
from memrepro.memory.language.words import index_words
from memrepro.memory.level import Changing, Follower, cosines_of_facts, is_level, note_level
from memrepro.memory.limited import Limited
from memrepro.memory.settings import EVERYTHING, Added, Answer, Asked, Maintained, Settings
from memrepro.memory.stretches import recut
from memrepro.memory.times import check_time
from memrepro.retrieve.tiered.keys.segments import Message

Mode = Literal["write", "read"]
_DAY = 86400.0
_log = logging.getLogger(__name__)
# Segments whose facts are committed together; of single messages more.
_AT_ONCE = 16


class TieredMemory:
    """HOT, WARM and COLD of one user, in a folder of their own.

    One process may have it open for writing, and any number for reading. A reader's searches leave
    no trace. Not for use by several threads.

    Attributes:
        folder: where all of it is.
        settings, encoder: as given.
        journal, index: what the tiers stand on.
        hot: the last messages of all channels, in order of time, for every prompt.
    """

    def __init__(
        self,
        root: Path,
        user_id: str,
        encoder: Encoder,
        settings: Settings | None = None,
        *,
        mode: Mode = "write",
        extract: Extract = extractors.by_rules,
        decide: Decide = conflicts.by_rules,
        reencode: bool = True,
    ) -> None:
        """Open a memory, make it, or finish what a kill has interrupted.

        Args:
            root: a folder on a local disk.
            user_id: any string; the folder's name is its SHA-256.
            encoder: of texts; with another one than before, all vectors are made anew.
            settings: such as `settings.AS_PRINTED`; default `settings.EVERYTHING`.
            mode: 'write' or 'read'.
            extract: makes facts of segments.
            decide: what a fact does to those that are there.
            reencode: whether an encoder other than the one that wrote is taken.

        Raises:
            MemreproError: if another process is writing, the journal is damaged, there is nothing
                to read, or the encoder is not to be taken.
        """
        self.settings = settings or EVERYTHING
        self.folder = user_folder(root, user_id)
        self.encoder, self._extract, self._decide = encoder, extract, decide
        self._writes, self._reencode, self._user = mode == "write", reencode, user_id
        self._limited = Limited()
        # The active facts, while nothing but `migrate` has changed them.
        self._known: Known | None = None
        # Segments that came and have no facts yet; None where that is to be looked for.
        self._due: list[str] | None = None
        self._lock = lock(root, user_id) if self._writes else -1
        try:
            journal, vectors = self.folder / "memory.sqlite", self.folder / "vectors.lance"
            # Its first transaction fills the journal, before there are vectors.
            if any(vectors.glob("*.lance")) and not (journal.is_file() and journal.stat().st_size):
                raise MemreproError(
                    f"{journal} is gone or empty, and its vectors are there: restore the file, or "
                    "import an export under another user's name"
                )
            if not self._writes and not journal.is_file():
                raise MemreproError(f"there is no memory in {self.folder}: open it to write")
            self.journal = Journal(journal, write=self._writes)
            self.index = VectorIndex(vectors, encoder.dimension)
            self.hot: list[Message] = []
            parts = encoder, self.settings, self._limited
            self._chain = Chain(self.journal, self.index, self.hot, *parts)
            self._follower = Follower(self.journal, self.index, *parts, self._chain.counts)
            if self._writes:
                self._make_good()
            elif (wrote := self.journal.get("encoder")) is None:
                raise BeingMade(self.folder)
            elif wrote != asdict(encoder.identity):
                raise MemreproError(
                    f"the vectors in {self.folder} are not of {encoder.identity.model!r} as it is "
                    "here: read with the encoder that wrote, or open for writing once"
                )
            elif self.journal.get("rules", {}).get("search") != self.settings.rules().get("search"):
                raise MemreproError(
                    f"the memory in {self.folder} was written by other settings: name those, or "
                    "open it for writing once"
                )
            # Its first search has no time for that.
            self.index.load()
            self._reload()
        except BaseException:
            self.close()
            raise

    def add(
        self,
        messages: Sequence[Message],
        metadata: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Added:
        """Take messages in, of any channels and in any order; on the disk when this returns.

        Args:
            messages: each id once.
            metadata: message id → names and values that JSON can hold; a search may ask for them.

        Raises:
            MemreproError: if one cannot be taken, and then none is.
        """
        for message in messages:
            check_message(message)
        if self.journal.get("paused"):
            with self.changing():
                self.journal.count({"refused_while_paused": len(messages)})
            return Added(0, 0, len(messages))
        with self.changing() as change:
            new = self.journal.insert(messages)
            change.times += [message.at for message in new]
            self.journal.count({"stored": len(new), "duplicates": len(messages) - len(new)})
            change.db.executemany(
                "INSERT OR REPLACE INTO metadata VALUES (?, ?)",
                [(m.message_id, json.dumps(metadata[m.message_id]))
                 for m in new if metadata and metadata.get(m.message_id)],
            )  # fmt: skip
        self.make_facts()
        return Added(len(new), len(messages) - len(new), 0)

    def recent(self, n: int | None = None) -> list[Message]:
        """HOT: the last n messages, or all that it holds, in order of time."""
        return self.hot[:] if n is None else self.hot[max(len(self.hot) - n, 0) :]

    def search(self, query: str, now: float, channel: str | None = None, **more: Any) -> Answer:
        """What is remembered of a query; among tiers, what is given counts as accessed.

        Args:
            query: in words; "last week" and the like limit the answer to that time.
            now: Unix seconds.
            channel: of one channel alone.
            more: the rest of `settings.Asked`, which a search of everything knows.

        Raises:
            MemreproError: if the query is empty or the time is none.
        """
        asked = Asked(query, now, channel=channel, **more)
        if not self._writes:
            self._try("read", self._reload)
        answer = self._chain.answer(asked)
        # Where everything stays, it does not matter what was asked for last.
        everything = self.settings.keeps_all
        given = [i.item_id for i in answer.items if i.tier == "warm" and not everything]
        # A damaged folder of vectors is made anew at the next change.
        self._follower.suspects |= answer.step != "dense"
        if self._writes and not everything:
            self._try("note", lambda: self._note(given, now))
        return answer

    def maintain(self, now: float) -> Maintained:
        """Close what is over, turn segments of over seven days into facts, and merge facts.

        Each step is committed by itself; after a kill the next call goes on.

        Raises:
            MemreproError: if the extractor fails; what it did before is kept.
        """
        check_time(now, "maintenance")
        self._follower.suspects = True
        with self.changing() as change:
            self.journal.put("clock", max(now, self.journal.get("clock", now)))
        migrated, changes = self.migrate(now)
        merged: list[Change] = []
        # Without the facts' vectors, merging waits for the next time.
        if not (self._follower.suspects or self.settings.keeps_all):
            with self.changing(facts=True):
                similar = cosines_of_facts(self.journal, self.index)
                merged = consolidate(self.journal.connection, similar, self.settings.same, now)
                self.journal.count({"merged": len(merged)})
        with self.changing() as end:
            for table in ("words", "fact_words"):
                end.db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._try("approximate", lambda: self.index.approximate(self.settings.index_rows))
        self._try("compact", self.index.compact)
        if not self._follower.suspects:
            self._try("note", lambda: note_level(self.journal, self.index))
        return Maintained(len(change.cut.came), migrated, changes + len(merged))

    def make_facts(self) -> None:
        """Make facts of what has none yet, where they are made at once; or leave it to the next."""
        if self.settings.keeps_all and self.settings.warm_days == 0:
            try:
                self.migrate(math.inf, self._due)
                self._due = []
            except MemreproError as error:
                # Such as a model that does not answer: what was said is kept.
                _log.warning("facts of new messages are made later: %s", error)
                self._chain.counts["facts_failed"] += 1

    def migrate(self, now: float, among: Sequence[str] | None = None) -> tuple[int, int]:
        """Turn segments, or some, that are old enough into facts: how many, changes of facts."""
        migrated = changes = 0
        n = _AT_ONCE * 32 if self.settings.keeps_all else _AT_ONCE
        while due := self.journal.due(now - self.settings.warm_days * _DAY, n, among):
            ids = [segment_id for segment_id, _, _ in due]
            candidates, known = self._extract(due), self._known
            # What a power cut takes back is made anew, as its segments have no facts then.
            with self.changing(waits=False) as change:
                if known is None and candidates:
                    known = Known(cold.facts(change.db))
                # Of what comes in, the newest says when.
                noted = now if math.isfinite(now) else max(end for _, _, end in due)
                made = cold.apply(change.db, candidates, noted, self._decide, known)
                if self.settings.keeps_all:
                    change.db.executemany("INSERT INTO facts_made VALUES (?)", zip(ids))
                else:
                    self.journal.chill(ids)
                    change.chilled += ids
                changed = {one for it in made for one in (it.fact_id, it.old_id)}
                change.facts = self._follower.concern(changed) or not self.settings.keeps_all
                self.journal.count({"migrated": len(ids), "fact_changes": len(made)})
            self._known = None if change.cut.went else known
            migrated += len(ids)
            changes += len(made)
        return migrated, changes

    def metrics(self) -> dict[str, int]:
        """Counters since the memory was made, by name; a reader's count its own searches."""
        counts = self._chain.counts.copy()
        if self._writes:
            counts.update(self.journal.counters())
        return dict(sorted(counts.items()))

    @contextmanager
    def changing(
        self, *, facts: bool = False, whole: bool = False, purge: bool = False, waits: bool = True
    ) -> Iterator[Changing]:
        """A transaction on the journal, after which segments, vectors and HOT follow.

        Args:
            facts: whether facts may change within.
            whole: whether anything may, as in an import.
            purge: whether what is deleted within must be gone from the disk.
            waits: whether for the disk; a power cut may take back what does not.

        Raises:
            MemreproError: if the memory is open for reading alone, or the journal fails.
        """
        if not self._writes:
            raise MemreproError(f"the memory {self.folder} is open for reading: open it to write")
        with self.journal.transaction(waits=waits) as connection:
            # Where the vectors were level before, what has changed is all that is to be done.
            was_level = not (self._follower.suspects or whole or self.journal.get("behind"))
            change, known = Changing(connection, facts), self._known
            self._known = None
            yield change
            change.cut = recut(
                self.journal, self.settings.segmentation, change.times,
                window=self.settings.window, zone=self.settings.zone,
            )  # fmt: skip
            went = change.cut.went
            changed = {one for key in went for one in cold.forget_source(connection, key)}
            change.facts = change.facts or self._follower.concern(changed)
            whole |= change.whole
            was_level = was_level and not whole
            self._due = None if whole or self._due is None else [*self._due, *change.cut.came]
            if not (change.facts or whole or change.cut.went):
                self._known = known
            if change.facts or whole or purge or change.cut.came or change.cut.went:
                self.journal.put("behind", True)
            if purge:
                self.journal.put("purge", True)
        self._reload()
        if purge:
            self.purge(change if was_level else None)
        elif self._follower.suspects or self.journal.get("behind"):
            self._follower.follow(change if was_level else None)

    def purge(self, change: Changing | None = None) -> None:
        """Leave no byte on the disk of what was deleted; a kill is made good at the next opening.

        Args:
            change: all in which vectors and journal differ; None where that has to be looked for.

        Raises:
            MemreproError: if a reader holds an old state, or a file stays; call it again.
        """
        self._follower.purge(change, self.journal.scrub)
        with self.journal.transaction():
            self.journal.put("purge", False)
            self.journal.put("remains", False)
        if not self._follower.suspects:
            self._try("note", lambda: note_level(self.journal, self.index))

    def close(self) -> None:
        """Let another process write."""
        if hasattr(self, "journal"):
            if self._lock >= 0:
                self._try("note", lambda: self._note([], 0.0))
            self.journal.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_good(self) -> None:
        """Make what is not there, and finish what was interrupted."""
        for folder in self.folder.parent.glob(f"{DELETED}*"):
            shutil.rmtree(folder, ignore_errors=True)
        identity = asdict(self.encoder.identity)
        before = self.journal.get("encoder")
        if before not in (None, identity) and not self._reencode:
            raise MemreproError(
                f"the vectors of {self._user!r} were made by the encoder {before['model']!r}, not "
                f"by {identity['model']!r}: name that one, or ask for all to be encoded anew "
                "(`reencode`)"
            )
        with self.journal.transaction():
            if self.journal.get("user") != self._user:
                self.journal.put("user", self._user)
            if before != identity:
                self.journal.put("encoder", identity)
                # On the disk before a vector goes, and before one of this encoder comes.
                self.journal.put("void", True)
                self.journal.put("behind", True)
        # To compare all ids takes as long as there are many: only where the vectors were touched.
        self._follower.suspects = not is_level(self.journal, self.index)
        with self.changing(purge=self.journal.get("purge", False)) as change:
            self.follow_rules(change)
        self.make_facts()

    def follow_rules(self, change: Changing) -> None:
        """Cut and index anew within a change what was cut by other rules."""
        before, rules = self.journal.get("rules"), self.settings.rules()
        if before == rules:
            return
        if self.settings.keeps_all or (before or {}).get("search"):
            # What became facts and left the index comes back.
            cold_ones = "SELECT segment_id FROM segments WHERE tier = 'cold'"
            change.db.execute("DELETE FROM facts_made")
            if self.settings.keeps_all:
                change.db.execute(f"INSERT INTO facts_made {cold_ones}")
            change.db.execute("UPDATE segments SET tier = 'warm' WHERE tier = 'cold'")
            index_words(change.db, stems=self.settings.keeps_all)
            change.whole = True
        change.times += [message.at for message in self.journal.messages()]
        self.journal.put("rules", rules)

    def _reload(self) -> None:
        with self.journal.snapshot():
            self.hot[:] = self.journal.last(self.settings.hot)

    def _note(self, given: Sequence[str], now: float) -> None:
        counts = self._chain.counts.copy()
        with self.journal.transaction(waits=False):
            self.journal.touch(given, now)
            self.journal.count(counts)
        self._chain.counts.clear()

    def _try(self, name: str, work: Callable[[], None]) -> None:
        """Do what a search can do without."""
        try:
            work()
        except Exception:
            self._chain.counts[f"{name}_failed"] += 1
