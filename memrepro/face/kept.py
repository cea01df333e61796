"""A memory that is kept, searched by a method of one's own choice."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from memrepro.core.memory import GRANULARITIES, Dataset, Query
from memrepro.core.similarity import Floats
from memrepro.encode.encoder import Encoder, Role
from memrepro.errors import MemreproError
from memrepro.face.method_file import MethodFile, read_method
from memrepro.face.own.noticed import Noticed
from memrepro.face.own.rows import memories_of
from memrepro.face.searcher import Searcher
from memrepro.memory import user_memory
from memrepro.memory.everything import covers
from memrepro.memory.found import Found, Hit
from memrepro.memory.language.words import content_words
from memrepro.memory.settings import calibrated, near_miss
from memrepro.retrieve.tiered.keys.segments import Message

_PAUSE = 3600  # seconds without a message, behind which a session begins
_NAME = "conversation"  # what `memories_of` calls the one that there is


class Memory(user_memory.Memory):
    """One user's memory in a folder: `memory.user_memory.Memory`, with a `method` if you like.

    With one, `search` and `context` rank by it, and all else stays as it is. A session is a stretch
    without a pause of an hour. Vectors for it are held while the memory is open and kept nowhere
    else, so that what is forgotten is gone; the first search encodes all messages.
    """

    def __init__(
        self, folder: str | Path, user: str = "me", timezone: str = "UTC", *,
        method: str | Path | MethodFile | None = None, **more: Any,
    ) -> None:  # fmt: skip
        """Open a user's memory, or make it.

        Args:
            folder: of all memories, on a local disk; `~` is the home.
            user: whose, any string.
            timezone: whose days "yesterday" and "in May" mean, an IANA name.
            method: a file such as the `best.yaml` that `memrepro try` writes; None for the
                memory's own search.
            more: as of `memory.user_memory.Memory`: encoder, settings, mode, create …

        Raises:
            MemreproError: if it cannot be opened, or the file holds no method.
        """
        read = method if isinstance(method, MethodFile | None) else read_method(method)
        if read is not None and read.encoder:
            more.setdefault("encoder", read.encoder)
        super().__init__(folder, user, timezone, **more)
        self._method = read
        self._held = _Held(self.tiers.encoder)

    def search(
        self, query: str, k: int = 5, *, channel: str | None = None,
        where: Mapping[str, object] | None = None, threshold: float | None = None,
        now: object = None,
    ) -> Found:  # fmt: skip
        """The messages that answer a query best; arguments as of `user_memory.Memory.search`.

        A method of one's own takes no `where`.
        """
        if self._method is None:
            return super().search(
                query, k, channel=channel, where=where, threshold=threshold, now=now
            )
        if k < 1 or where or not query.strip():
            raise MemreproError(
                "a memory with a method of its own is searched by a text that is not empty, with a "
                "k of 1 or more, and without `where`"
            )
        at = self._now(now)
        said = [
            one for one in self.messages()
            if channel in (None, one.channel) and one.at <= at and one.text.strip()
        ]  # fmt: skip
        if not said:
            return Found((), "nothing is remembered", "nothing")
        ranked = self._ranked(query, k, said, at)
        words, least = content_words(query), self._least(threshold)
        asked = self._held.of_texts("query", [query])[0]
        cosines = self._held.of_texts("document", [one.text for one, _ in ranked]) @ asked
        facts, metadata = self._beside([one.message_id for one, _ in ranked])
        hits = tuple(
            Hit(
                one.message_id, one.speaker, one.text, self._when(one.at), score,
                bool(cosine >= least or covers(words, one.text)), one.channel,
                tuple(facts.get(one.message_id, ())), metadata.get(one.message_id, {}),
            )
            for (one, score), cosine in zip(ranked, cosines, strict=True)
        )  # fmt: skip
        sure = any(hit.certain for hit in hits)
        return Found(hits, "" if sure else near_miss(hits[0].text), "dense")

    def forget(self, what: str, *, dry_run: bool = False, k: int = 5) -> list[Hit]:
        """As `user_memory.Memory.forget`; the vectors that were held go too."""
        gone = super().forget(what, dry_run=dry_run, k=k)
        if gone and not dry_run:
            self._held = _Held(self.tiers.encoder)
        return gone

    def _beside(
        self, message_ids: Sequence[str]
    ) -> tuple[dict[str, list[str]], dict[str, Mapping[str, Any]]]:
        """Message id → the facts that it says and that hold, and its metadata."""
        with self._open() as tiers:
            db, ids = tiers.journal.connection, (json.dumps(message_ids),)
            which = "message_id IN (SELECT value FROM json_each(?))"
            notes = dict(db.execute(f"SELECT * FROM metadata WHERE {which}", ids))
            facts: dict[str, list[str]] = {}
            for message_id, text in db.execute(
                "SELECT DISTINCT message_id, text FROM segment_messages JOIN fact_sources"
                " ON source = segment_id JOIN facts USING (fact_id)"
                f" WHERE status = 'active' AND {which} ORDER BY fact_id",
                ids,
            ):
                facts.setdefault(message_id, []).append(text)
        return facts, {key: json.loads(content) for key, content in notes.items()}

    def _least(self, threshold: float | None) -> float:
        return calibrated(self.tiers.encoder.identity.model) if threshold is None else threshold

    def _ranked(
        self, query: str, k: int, said: Sequence[Message], at: float
    ) -> list[tuple[Message, float]]:
        """At most k messages, those of the best docs, with the docs' scores."""
        assert self._method is not None
        number, last, rows = 0, 0.0, []
        for one in said:
            number += one.at - last > _PAUSE
            last = one.at
            row = {"id": one.message_id, "session": str(number), "speaker": one.speaker,
                   "text": one.text, "time": self._when(one.at).isoformat()}  # fmt: skip
            rows.append(("a message", row))
        (memory,) = memories_of(rows, Noticed()).values()
        asked = Query("query", _NAME, query, _minute(self._when(at)), "")
        data = Dataset(_NAME, {_NAME: memory}, (asked,))
        method, level = self._method, self._method.level or "round"
        found = Searcher(data, self._held).search(
            method.method, k, level, method.key_scheme, **method.parameters
        )
        docs = {
            doc.round_id: [turn.turn_id for turn in doc.turns]
            for session in memory.sessions
            for doc in GRANULARITIES[level](session)
        }
        if level == "session":
            docs = {s.session_id: [t.turn_id for r in s.rounds for t in r.turns]
                    for s in memory.sessions}  # fmt: skip
        by_id = {one.message_id: one for one in said}
        (ranking,) = found.rankings
        pairs = [
            (by_id[message_id], float(score))
            for doc_id, score in zip(ranking.doc_ids, ranking.scores, strict=True)
            for message_id in docs[doc_id]
        ]
        return pairs[:k]


class _Held:
    """Vectors by an encoder, in this process alone."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._known: dict[tuple[Role, str], Floats] = {}

    def of_texts(self, role: Role, texts: Sequence[str]) -> Floats:
        """The vectors of texts, shape (n, dimension)."""
        new = [text for text in dict.fromkeys(texts) if (role, text) not in self._known]
        if new:
            for text, vector in zip(new, self.encoder.encode(new, role), strict=True):
                self._known[role, text] = vector
        return np.stack([self._known[role, text] for text in texts])


def _minute(when: datetime) -> str:
    return when.replace(tzinfo=None).isoformat(timespec="minutes")
