"""One user's journal: messages, segments, their words and counters, in one SQLite file.

The journal is the truth; the vectors follow from it.
"""

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any, Literal

from memrepro.errors import MemreproError
from memrepro.files.erasure import erase
from memrepro.files.sqlite import sqlite3
from memrepro.memory.folders import BeingMade, sqlite_mode
from memrepro.memory.language.words import indexed
from memrepro.retrieve.tiered.keys.lexical import words
from memrepro.retrieve.tiered.keys.segments import Message, content_hash
from memrepro.text.dates import TimeRange

# Milliseconds to wait for another process's lock: no longer than a search may take; for a deletion.
_BUSY, _PATIENT = 250, 5000
_IN = "IN (SELECT value FROM json_each(?))"
_WITHIN = """SELECT segment_id, number FROM segments s WHERE tier = :tier
    AND (:channel IS NULL OR EXISTS (
        SELECT 1 FROM segment_messages p JOIN messages m USING (message_id)
        WHERE p.segment_id = s.segment_id AND m.channel = :channel))
    AND (:start IS NULL OR CASE
        WHEN :by = 'event' AND EXISTS (SELECT 1 FROM events e WHERE e.segment_id = s.segment_id)
        THEN EXISTS (SELECT 1 FROM events e WHERE e.segment_id = s.segment_id
            AND e.first <= :last AND e.last >= :first)
        ELSE s.end >= :start AND s.start < :end END)"""
SCHEMA = Path(__file__).with_name("schema.sql")


@dataclass(frozen=True)
class Segment:
    """A final segment as it is stored.

    Attributes:
        segment_id: of its messages' ids and text.
        tier: 'warm', searched by its vector and words; 'cold', searched by its facts; or 'silent',
            acknowledgments alone, which no search looks at.
        start, end: dialogue time of its first and last message, Unix seconds.
        text: one line a message.
        last_access, accesses: when a search last gave it, at first `end`, and how many did.
        importance: the largest of its messages'.
        channels, message_ids: of its messages, in order.
    """

    segment_id: str
    tier: str
    start: float
    end: float
    text: str
    last_access: float
    accesses: int
    importance: float
    channels: tuple[str, ...]
    message_ids: tuple[str, ...]


class Journal:
    """The SQLite file of one user.

    Attributes:
        connection: in autocommit mode; write within `transaction`.
    """

    def __init__(self, path: Path, *, write: bool) -> None:
        """Open the file, or make it where `write` is true.

        Raises:
            MemreproError: if it is damaged or cannot be opened.
        """
        self._path = path
        with self._explained():
            self.connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?{sqlite_mode(path, write)}",
                uri=True,
                isolation_level=None,
                # Who shares a memory between threads lets one at a time in (`user_memory.Memory`).
                check_same_thread=False,
            )
            try:
                self.connection.create_function("indexed", 1, indexed, deterministic=True)
                self.connection.execute(f"PRAGMA busy_timeout={_BUSY}")
                # Temporary files would hold texts outside the folder.
                self.connection.execute("PRAGMA temp_store=MEMORY")
                if write:
                    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
                        self.connection.execute(f"PRAGMA {pragma}")
                    # One transaction, so that the disk is waited for once.
                    schema = SCHEMA.read_text(encoding="utf-8")
                    self.connection.executescript(f"BEGIN;\n{schema}\nCOMMIT;")
                else:
                    self.connection.execute("PRAGMA query_only=ON")
                    # Its maker's first transaction is not yet over.
                    if self.connection.execute("PRAGMA schema_version").fetchone() == (0,):
                        raise BeingMade(path.parent)
                self.connection.execute("SELECT count(*) FROM meta").fetchone()
            except BaseException:
                self.connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def transaction(self, *, waits: bool = True) -> Iterator[sqlite3.Connection]:
        """All that is written within is committed to the disk together, or not at all.

        Where it does not wait for the disk, a power cut may take it back, but no kill.
        """
        self.connection.execute(f"PRAGMA synchronous={'FULL' if waits else 'NORMAL'}")
        with self._within("BEGIN IMMEDIATE"):
            yield self.connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """All that is read within is of one moment, whatever another process writes."""
        with self._within("BEGIN"):
            yield self.connection

    def get(self, name: str, default: Any = None) -> Any:
        """What is noted under a name, or `default`."""
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else default

    def put(self, name: str, value: Any) -> None:
        """Note something that JSON can hold."""
        self.connection.execute("REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))

    def count(self, counts: Mapping[str, int]) -> None:
        """Raise counters."""
        self.connection.executemany(
            "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE"
            " SET value = value + excluded.value",
            [(name, n) for name, n in counts.items() if n],
        )

    def counters(self) -> dict[str, int]:
        """Counter → value."""
        return dict(self.connection.execute("SELECT name, value FROM counters ORDER BY name"))

    def insert(self, messages: Sequence[Message]) -> list[Message]:
        """Insert messages, and return those that were not here, in order.

        Raises:
            MemreproError: if an id is that of another message.
        """
        keys = [content_hash(message) for message in messages]
        hashes = {*self.ids_by("hash", keys)}
        ids = {*self.ids_by("message_id", [message.message_id for message in messages])}
        new, rows = [], []
        for message, key in zip(messages, keys, strict=True):
            if key in hashes:
                continue
            if message.message_id in ids:
                raise MemreproError(
                    f"the message id {message.message_id!r} is already that of another message: "
                    "ids must be unique within a user's memory; edit_message changes a text"
                )
            hashes.add(key)
            ids.add(message.message_id)
            new.append(message)
            rows.append((message.message_id, key, message.speaker, message.at, message.text,
                         message.channel))  # fmt: skip
        into = "messages (message_id, hash, speaker, at, text, channel)"
        self.connection.executemany(f"INSERT INTO {into} VALUES (?, ?, ?, ?, ?, ?)", rows)
        return new

    def ids_by(
        self, column: Literal["hash", "message_id"], values: Sequence[str]
    ) -> dict[str, str]:
        """Those of some values that a message has, and its id."""
        rows = self.connection.execute(
            f"SELECT {column}, message_id FROM messages WHERE {column} {_IN}", (json.dumps(values),)
        )
        return dict(rows.fetchall())

    def messages(self, where: str = "", values: Sequence[Any] = (), most: int = -1
                 ) -> list[Message]:  # fmt: skip
        """Messages in order of time, then of arrival; with `most` no more than the first ones."""
        rows = self.connection.execute(
            f"SELECT message_id, speaker, at, text, channel FROM messages {where}"
            " ORDER BY at, number LIMIT ?",
            (*values, most),
        )
        return [Message(*row) for row in rows]

    def last(self, n: int) -> list[Message]:
        """The last messages of all channels, in order of time."""
        return self.messages(
            "WHERE number IN (SELECT number FROM messages ORDER BY at DESC, number DESC LIMIT ?)",
            (n,),
        )

    def tail(self, n: int) -> list[Message]:
        """Those of the last n messages that are in no segment yet, in order of time."""
        if not (last := self.last(n)):
            return []
        # A segment that holds one of them does not end before the first of them.
        rows = self.connection.execute(
            "SELECT message_id FROM segment_messages WHERE segment_id IN (SELECT segment_id FROM"
            " segments WHERE tier IN ('warm', 'cold', 'silent') AND end >= ?)",
            (last[0].at,),
        )
        held = {message_id for (message_id,) in rows}
        return [message for message in last if message.message_id not in held]

    def segments(self, where: str = "", values: Sequence[Any] = ()) -> list[Segment]:
        """Segments in order of time; `where` may name the columns of the table as `s`."""
        rows = self.connection.execute(
            "SELECT s.segment_id, s.tier, s.start, s.end, s.text, s.last_access, s.accesses,"
            " max(m.importance), json_group_array(json_array(p.place, m.channel, m.message_id))"
            " FROM segments s JOIN segment_messages p USING (segment_id)"
            f" JOIN messages m USING (message_id) {where}"
            " GROUP BY s.number ORDER BY s.start, s.number",
            values,
        )
        found = []
        for row in rows:
            _, channels, message_ids = zip(*sorted(json.loads(row[-1])), strict=True)
            columns: list[Any] = [*row[:-1], channels, message_ids]
            found.append(Segment(*columns))
        return found

    def segments_of(self, segment_ids: Sequence[str]) -> list[Segment]:
        """Those segments, in order of time."""
        return self.segments(f"WHERE s.segment_id {_IN}", (json.dumps(segment_ids),))

    def due(self, end: float, n: int, among: Sequence[str] | None = None
            ) -> list[tuple[str, str, float]]:  # fmt: skip
        """Id, text, end of n warm segments, or of some, without facts that ended before a time."""
        # The plus keeps SQLite from reading the index of all that is warm.
        some = "tier = 'warm'" if among is None else f"+tier = 'warm' AND segment_id {_IN}"
        return self.connection.execute(
            "SELECT segment_id, text, end FROM segments WHERE number IN (SELECT number FROM"
            f" segments WHERE {some} AND end < ? AND segment_id NOT IN (SELECT segment_id"
            " FROM facts_made) ORDER BY end, number LIMIT ?) ORDER BY start, number",
            (*([] if among is None else [json.dumps(among)]), end, n),
        ).fetchall()

    def overlapping(self, first: float, last: float) -> list[tuple[str, float, float]]:
        """The ids, starts and ends of the segments that have a moment between two times."""
        # From the longest segment on, so that the index leads to few; a second for rounding.
        return self.connection.execute(
            "SELECT segment_id, start, end FROM segments WHERE end >= :first AND start <= :last"
            " AND start >= :first - 1 - (SELECT max(end - start) FROM segments)",
            {"first": first, "last": last},
        ).fetchall()

    def warm_of(self, segment_ids: Sequence[str]) -> dict[str, int]:
        """Those of some ids that are of warm segments, and their numbers."""
        # The plus keeps SQLite from reading the index of all that is warm.
        rows = self.connection.execute(
            f"SELECT segment_id, number FROM segments WHERE +tier = 'warm' AND segment_id {_IN}",
            (json.dumps(segment_ids),),
        )
        return dict(rows)

    def texts(self, segment_ids: Sequence[str]) -> list[str]:
        """The segments' texts, in order."""
        query = "SELECT text FROM json_each(?) JOIN segments ON segment_id = value ORDER BY key"
        return [row[0] for row in self.connection.execute(query, (json.dumps(segment_ids),))]

    def sources(self, segment_ids: Sequence[str]) -> tuple[str, ...]:
        """The ids of the messages of segments, each once, in order."""
        query = "SELECT message_id FROM segment_messages WHERE segment_id = ? ORDER BY place"
        found = [row[0] for key in segment_ids for row in self.connection.execute(query, (key,))]
        return tuple(dict.fromkeys(found))

    def keys(self, tier: str) -> set[str]:
        """The ids of a tier's segments."""
        return set(self.within(tier, None, "", None))

    def within(
        self, tier: str, days: TimeRange | None, by: str, channel: str | None, zone: tzinfo = UTC
    ) -> dict[str, int]:
        """A tier's segments that fall into days and have a message of a channel: id → number.

        Args:
            tier: 'warm' or 'cold'.
            days: both ends included, or None for all.
            by: 'event' or 'dialogue', as `Settings.time_by`.
            channel: None for all.
            zone: whose days they are.
        """
        values: dict[str, str | float | None] = {"tier": tier, "by": by, "channel": channel}
        values |= dict.fromkeys(("start", "end", "first", "last"))
        if days:
            end = datetime.combine(days.end + timedelta(1), time(), zone)
            values |= {"first": days.start.isoformat(), "last": days.end.isoformat(),
                       "start": datetime.combine(days.start, time(), zone).timestamp(),
                       "end": end.timestamp()}  # fmt: skip
        return dict(self.connection.execute(_WITHIN, values))

    def lexical(
        self, query: str, among: Mapping[str, int] | None = None, best: int | None = None
    ) -> dict[str, float]:
        """BM25 of the warm segments that have a word of a query: segment id → score over 0.

        Args:
            query: any text.
            among: of these segments alone, id → number; None for all.
            best: where all are asked: of so many, and those that are as good as the last of them.
        """
        scores: dict[int, float]
        bm25 = "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?"
        if among is not None:
            # Scoring is most of the work; the plus keeps FTS5 from searching once a number.
            values = any_word(query), json.dumps(list(among.values()))
            scores = dict(self.connection.execute(f"{bm25} AND +rowid {_IN}", values))
            return {key: scores[number] for key, number in among.items() if number in scores}
        scores = dict(self.connection.execute(bm25, (any_word(query),)))
        # Ids are looked up for few, as a common word is in very many.
        least = min(heapq.nlargest(best or len(scores), scores.values()), default=0.0)
        rows = self.connection.execute(
            f"SELECT segment_id, number FROM segments WHERE number {_IN}",
            (json.dumps([number for number, score in scores.items() if score >= least]),),
        )
        return {key: scores[number] for key, number in rows}

    def touch(self, segment_ids: Sequence[str], now: float) -> None:
        """Note that a search gave these segments."""
        self.connection.executemany(
            "UPDATE segments SET last_access = max(last_access, ?), accesses = accesses + 1"
            " WHERE segment_id = ?",
            [(now, key) for key in segment_ids],
        )

    def chill(self, segment_ids: Sequence[str]) -> None:
        """Take segments out of the WARM index; their rows stay, as COLD's provenance."""
        # One statement, as FTS5 writes to the disk at the end of each.
        query = f"UPDATE segments SET tier = 'cold' WHERE segment_id {_IN}"
        self.connection.execute(query, (json.dumps(segment_ids),))

    def scrub(self) -> None:
        """Leave no byte in the file of what was deleted.

        Raises:
            MemreproError: if another process holds an old state; then call it again.
        """
        with self._explained():
            self.connection.execute(f"PRAGMA busy_timeout={_PATIENT}")
            try:
                done = erase(self.connection, self._path, ("words", "fact_words"))
            finally:
                self.connection.execute(f"PRAGMA busy_timeout={_BUSY}")
        if not done:
            raise MemreproError(
                f"{self._path}-wal still holds what was deleted, as another process has been "
                "reading for five seconds: end that one and open the memory again"
            )

    @contextmanager
    def _within(self, begin: str) -> Iterator[None]:
        with self._explained():
            self.connection.execute(begin)
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled it back already.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            remedy = "import an export into a new memory, or restore the file"
            if "locked" in str(error):
                remedy = "another process holds it: end that one or wait"
            elif "fts5 file format" in str(error):
                remedy = "a newer SQLite wrote it: use a Python whose sqlite3 is 3.42 or newer"
            elif "full" in str(error) or "I/O" in str(error):  # the latter at `ulimit -f` too
                remedy = "free space, or raise `ulimit -f`; what was committed is kept"
            raise MemreproError(f"the memory {self._path} failed ({error}): {remedy}") from error


def any_word(query: str) -> str:
    """FTS5's terms for texts that have a word of a query."""
    # A phrase of no words matches nothing.
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(words(query))) or '""'


def day(at: float, zone: tzinfo = UTC) -> date:
    """The day of a time."""
    return datetime.fromtimestamp(at, zone).date()
