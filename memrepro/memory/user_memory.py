"""A person's memory, for programs: add, search, text for a prompt, forget, facts, history.

    with Memory("~/mem", user="ann", timezone="Europe/Oslo") as m:
        m.add([{"role": "user", "content": "I moved to Oslo"}])
        m.search("where do I live?")

It is `memory.TieredMemory` with its encoder, its clock and a lock, so that threads may share it.
"""

import json
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

from memrepro.encode.encoder import Encoder
from memrepro.errors import MemreproError, cut
from memrepro.memory import cold, control
from memrepro.memory.everything import says_all
from memrepro.memory.folders import BeingMade, discard, user_folder
from memrepro.memory.found import CUT, SHOWN, Found, Hit, Validity, as_text
from memrepro.memory.journal import Journal
from memrepro.memory.language import conflicts
from memrepro.memory.language import extract as extractors
from memrepro.memory.language.fact import Change, Decide, Extract, Fact
from memrepro.memory.language.words import telling_words
from memrepro.memory.memory import TieredMemory
from memrepro.memory.settings import EVERYTHING, NAMED, Settings
from memrepro.memory.times import seconds
from memrepro.retrieve.tiered.keys.segments import Message, content_hash, one_line

Given = str | Mapping[str, Any]
ENCODER = "all-minilm-l6-v2"
_CONTENT = ("content", "text")
_ROLE = ("role", "speaker")
_TIME = ("at", "time", "timestamp", "created_at")
_ID = ("id", "message_id")


class Memory:
    """One user's memory in a folder.

    Threads may share it: each call waits for the one before. In asyncio, call it by
    `asyncio.to_thread`. One process may have a user's memory open to write, any number to read.
    """

    def __init__(
        self,
        folder: str | Path,
        user: str = "me",
        timezone: str = "UTC",
        *,
        encoder: str | Encoder = ENCODER,
        settings: str | Settings = EVERYTHING,
        mode: Literal["write", "read"] = "write",
        create: bool = True,
        reencode: bool = False,
        extract: Extract = extractors.by_rules,
        decide: Decide = conflicts.by_rules,
    ) -> None:
        """Open a user's memory, or make it.

        Args:
            folder: of all memories, on a local disk; `~` is the home.
            user: whose, any string.
            timezone: whose days "yesterday" and "in May" mean, an IANA name.
            encoder: a name of `encoders.yaml`, or an encoder.
            settings: a name of `settings.NAMED`, or settings.
            mode: 'write' or 'read'.
            create: whether a user without a memory gets one.
            reencode: whether to make all vectors anew where another encoder wrote them.
            extract: makes facts of messages: the rules, or `extract.ModelExtractor`.
            decide: what a fact does to others: the rules, or `conflicts.ModelDecider`.

        Raises:
            MemreproError: if it cannot be opened.
        """
        if not isinstance(user, str):
            raise MemreproError(f"the user is {user!r}: it must be a text")
        root = Path(folder).expanduser().resolve()
        self._is_new = not (user_folder(root, user) / "memory.sqlite").is_file()
        if self._is_new and not create:
            known = ", ".join(users(root)) or "nobody"
            raise MemreproError(f"{root} has no memory of {user!r}: it has those of {known}")
        if mode not in ("write", "read"):
            raise MemreproError(f"the mode is {mode!r}: it must be 'write' or 'read'")
        if isinstance(settings, str):
            if settings not in NAMED:
                raise MemreproError(
                    f"there are no settings {settings!r}: known are {', '.join(NAMED)}"
                )
            settings = NAMED[settings]
        if isinstance(encoder, str):
            from memrepro.encode.load import load_encoder  # seconds

            encoder = load_encoder(encoder)
        self.user, self._mutex, self._closed = user, threading.RLock(), False
        self.tiers = TieredMemory(
            root, user, encoder, replace(settings, timezone=timezone), mode=mode,
            extract=extract, decide=decide, reencode=reencode,
        )  # fmt: skip

    def add(
        self, messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]
    ) -> list[str]:
        """Take messages in; on the disk when this returns.

        Args:
            messages: texts of the user, or objects with `content` (or `text`), and if you like
                `role`, `at` (ISO 8601, a datetime or Unix seconds; default now), `id`, `channel`.
                All else of an object is kept as its metadata.

        Returns:
            The messages' ids; one that was there already is not stored twice, and has that one's.

        Raises:
            MemreproError: if one cannot be taken, and then none is.
        """
        if not isinstance(messages, Iterable):
            raise MemreproError(f"{cut(repr(messages), 60)} is no message and no list of them")
        given = [messages] if isinstance(messages, str | Mapping) else list(messages)
        now, read, metadata = time.time(), [], {}
        with self._open() as tiers:
            for number, one in enumerate(given):
                # Those that come together keep their order.
                message, more = self._message(one, number, now + number / 1e3)
                read.append(message)
                metadata[message.message_id] = more
            added = tiers.add(read, metadata)
            if added.refused:
                raise MemreproError(f"the memory of {self.user!r} is paused: resume it to add")
            keys = [content_hash(message) for message in read]
            held = tiers.journal.ids_by("hash", keys)
            return [held[key] for key in keys]

    def search(
        self,
        query: str,
        k: int = 5,
        *,
        channel: str | None = None,
        where: Mapping[str, object] | None = None,
        threshold: float | None = None,
        now: object = None,
    ) -> Found:
        """The messages that answer a query best.

        Args:
            query: in words; days that it names ("last week") are preferred.
            k: how many, 1 or more.
            channel: of one channel alone.
            where: metadata that a message must have, name → value.
            threshold: the least cosine of a certain answer, in place of the encoder's.
            now: when it is asked; default the clock.

        Raises:
            MemreproError: if the query is empty, or the memory closed.
        """
        if not isinstance(k, int) or k < 1:
            raise MemreproError(f"k is {k!r}: it must be a whole number, 1 or more")
        if not isinstance(threshold, float | int | None):
            raise MemreproError(f"the threshold is {threshold!r}: it must be a cosine, -1 to 1")
        at, ids, asked = self._now(now), list[str](), k
        with self._open() as tiers:
            while True:
                answer = tiers.search(
                    query, at, channel, k=asked, where=where or {}, threshold=threshold
                )
                ids = list(dict.fromkeys(i for item in answer.items for i in item.message_ids))
                # A long message has several segments, which may be all that were asked for.
                if len(ids) >= k or len(answer.items) < asked:
                    break
                asked *= 4
            which = "WHERE message_id IN (SELECT value FROM json_each(?))"
            db = tiers.journal.connection
            said = {m.message_id: m for m in tiers.journal.messages(which, (json.dumps(ids),))}
            notes = dict(db.execute(f"SELECT * FROM metadata {which}", (json.dumps(ids),)))
            facts = {fact.fact_id: fact.text for item in answer.items for fact in
                     cold.facts_of(db, item.facts)}  # fmt: skip
        hits: dict[str, Hit] = {}
        for item in answer.items:
            for message_id in item.message_ids:
                if not (message := said.get(message_id)) or message_id in hits:
                    continue
                head = f"{message.speaker}: "
                _, _, window = item.text.partition(head)
                # A segment has each run of white space as one; a long message has several segments.
                whole = len(item.message_ids) > 1 or window in ("", one_line(message.text))
                hits[message_id] = Hit(
                    message_id, message.speaker, message.text if whole else window,
                    datetime.fromtimestamp(message.at, tiers.settings.zone), item.score,
                    item.certain, message.channel, tuple(facts[one] for one in item.facts),
                    json.loads(notes.get(message_id, "{}")),
                )  # fmt: skip
        return Found(tuple(hits.values())[:k], answer.says, answer.step, answer.failures)

    def context(self, query: str, tokens: int = 800, **more: Any) -> str:
        """What is remembered of a query as text for a prompt: in order of time, by day, with ids.

        Args:
            query: in words.
            tokens: at most so many, by the tokeniser of GPT-4o (o200k_base).
            more: as for `search`, `k` too.
        """
        if not isinstance(tokens, int) or tokens < 1:
            raise MemreproError(f"tokens is {tokens!r}: it must be a whole number, 1 or more")
        return as_text(self.search(query, **{"k": max(8, tokens // 8), **more}), tokens)

    def forget(self, what: str, *, dry_run: bool = False, k: int = 5) -> list[Hit]:
        """Delete what certainly answers a query, to the last byte, or one message by its id.

        Args:
            what: a message's id, also as `context` shows it, or words such as "my wifi password".
            dry_run: whether to say what would go, and leave it.
            k: at most so many messages.

        Returns:
            What is gone, or would be.
        """
        with self._open() as tiers:
            one = tiers.journal.messages("WHERE message_id = ?", (what,))
            if not one and what.endswith(CUT) and len(what) > SHOWN:
                # As `context` shows a long one; it names one message, or none.
                where = "WHERE substr(message_id, 1, ?) = ?"
                found = tiers.journal.messages(where, (len(what) - 1, what[:-1]))
                one = found if len(found) == 1 else []
            at = [datetime.fromtimestamp(m.at, tiers.settings.zone) for m in one]
            hits = [Hit(m.message_id, m.speaker, m.text, t, 1.0, True, m.channel)
                    for m, t in zip(one, at, strict=True)]  # fmt: skip
            if not hits:
                # Nothing goes by likeness: it must have all words that were named.
                named = telling_words(what)
                hits = [hit for hit in self.search(what, k) if says_all(named, hit.text)]
            if hits and not dry_run:
                control.delete_messages(tiers, [hit.id for hit in hits])
        return hits

    def messages(self) -> list[Message]:
        """All messages, in order of time."""
        with self._open() as tiers:
            return control.messages(tiers)

    def facts(self, status: str = "active") -> list[Fact]:
        """The facts that hold, or those of another status."""
        with self._open() as tiers:
            return control.facts(tiers, status)

    def history(self, fact: str | Fact) -> list[Change]:
        """What led to a fact, the first statement first; a fact, its id, or its words.

        Raises:
            MemreproError: if no such fact holds or held.
        """
        with self._open() as tiers:
            wanted = fact.fact_id if isinstance(fact, Fact) else fact
            held = [known for known, *_ in control.validity(tiers)]
            # Of facts of the same words those that hold come last.
            for known in reversed([*held, *control.facts(tiers)]):
                if wanted.casefold() in (known.fact_id.casefold(), known.text.casefold()):
                    return control.history(tiers, known.fact_id)
        raise MemreproError(f"no fact is or was {wanted!r}: `facts` lists those that hold")

    def as_of(self, when: object) -> list[Validity]:
        """The facts that held at a time, with when they did."""
        at = seconds(when, self.tiers.settings.zone)
        with self._open() as tiers:
            return [
                Validity(fact, self._when(since), self._when(until) if until else None)
                for fact, since, until in control.validity(tiers)
                if since <= at and (until is None or at < until)
            ]

    def day(self, at: float) -> str:
        """The day of a time in Unix seconds, in the memory's zone."""
        return self._when(at).date().isoformat()

    def export(self, path: str | Path) -> None:
        """Write all of it into one JSON file."""
        with self._open() as tiers:
            control.export(tiers, Path(path).expanduser())

    def import_(self, path: str | Path) -> None:
        """Take an export into this memory, which must be empty."""
        with self._open() as tiers:
            control.import_(tiers, Path(path).expanduser())

    def maintain(self, now: object = None) -> None:
        """Tidy up, from time to time; nothing that is found is lost."""
        with self._open() as tiers:
            tiers.maintain(self._now(now))

    def close(self) -> None:
        """Let another process write; what is called afterwards raises.

        Of a memory that was made by this one and took nothing in, nothing is left.
        """
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            try:
                if self._is_new and not self.tiers.journal.last(1):
                    discard(self.tiers.folder)
            finally:
                self.tiers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> "_Turn":
        return _Turn(self)

    def _now(self, now: object) -> float:
        return time.time() if now is None else seconds(now, self.tiers.settings.zone)

    def _when(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, self.tiers.settings.zone)

    def _message(self, one: Mapping[str, Any] | str, number: int, now: float
                 ) -> tuple[Message, dict[str, Any]]:  # fmt: skip
        if isinstance(one, str):
            one = {"content": one}
        if not isinstance(one, Mapping):
            raise MemreproError(
                f"message {number} is {cut(repr(one), 60)}: it must be a text or an object"
            )
        rest = dict(one)
        text = _taken(rest, _CONTENT)
        if not isinstance(text, str):
            raise MemreproError(
                f"message {number} has the content {cut(repr(text), 60)}: it must be a text"
            )
        at, key, role = (_taken(rest, names) for names in (_TIME, _ID, _ROLE))
        made = str(key) if key is not None else uuid.uuid4().hex
        if at is None and (here := self.tiers.journal.messages("WHERE message_id = ?", (made,))):
            now = here[0].at  # one that comes again without a time has that of its first coming
        try:
            when = now if at is None else seconds(at, self.tiers.settings.zone)
        except MemreproError as error:
            which = f"message {number}" if key is None else f"message {number} ({made!r})"
            raise MemreproError(f"{which}: {error}") from error
        channel = str(rest.pop("channel", "") or "")
        try:
            json.dumps(rest, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise MemreproError(f"message {number}: its metadata is no JSON ({error})") from error
        return Message(made, str(role or "user"), when, text, channel), rest


class _Turn:
    """A thread's turn with the store."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __enter__(self) -> TieredMemory:
        self._memory._mutex.acquire()
        if self._memory._closed:
            self._memory._mutex.release()
            raise MemreproError(f"the memory of {self._memory.user!r} is closed: open it again")
        return self._memory.tiers

    def __exit__(self, *_: object) -> None:
        self._memory._mutex.release()


def users(folder: str | Path) -> list[str]:
    """Whose memories are in a folder; of those made by an early version, the folder's name."""
    return sorted(_users(Path(folder).expanduser()))


def _users(root: Path) -> Iterator[str]:
    for path in root.glob("*/memory.sqlite"):
        if path.parent.name.startswith("."):
            continue
        try:
            journal = Journal(path, write=False)
        except BeingMade:
            continue
        except MemreproError:
            if path.exists():
                raise
            continue  # deleted since it was listed
        yield str(journal.get("user", path.parent.name))
        journal.close()


def _taken(rest: dict[str, Any], names: Sequence[str]) -> Any:
    """The first of some names' values, which leaves the rest, as what is None does."""
    for name in names:
        if name in rest and (value := rest.pop(name)) is not None:
            return value
    return None
