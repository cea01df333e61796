"""One user's journal: messages, segments, their words and counters, in one SQLite file.

The journal is the truth; the vectors follow from it.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from memrepro.dates import TimeRange
from memrepro.errors import MemreproError
from memrepro.retrievers.tiered.lexical import words
from memrepro.retrievers.tiered.segments import Message, content_hash

# Milliseconds to wait for another process's lock: no longer than a search may take.
_BUSY = 250
_PATIENT = 5000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    number INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE,
    speaker TEXT NOT NULL, at REAL NOT NULL, text TEXT NOT NULL, channel TEXT NOT NULL,
    importance REAL NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS messages_at ON messages (at, number);
CREATE TABLE IF NOT EXISTS segments (
    number INTEGER PRIMARY KEY, segment_id TEXT NOT NULL UNIQUE,
    tier TEXT NOT NULL CHECK (tier IN ('warm', 'cold')), start REAL NOT NULL, end REAL NOT NULL,
    text TEXT NOT NULL, last_access REAL NOT NULL, accesses INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS segments_tier ON segments (tier, end);
CREATE INDEX IF NOT EXISTS segments_start ON segments (start);
CREATE TABLE IF NOT EXISTS segment_messages (
    segment_id TEXT NOT NULL, place INTEGER NOT NULL, message_id TEXT NOT NULL,
    PRIMARY KEY (segment_id, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    segment_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL,
    PRIMARY KEY (segment_id, first, last)) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, tokenize = 'unicode61 remove_diacritics 2');
"""


@dataclass(frozen=True)
class Segment:
    """A final segment as it is stored.

    Attributes:
        segment_id: of its messages' ids and text.
        tier: 'warm', searched by its vector and words, or 'cold', searched by its facts.
        start, end: dialogue time of its first and last message, Unix seconds.
        text: one line a message.
        last_access: when a search last gave it, at first `end`; Unix seconds.
        accesses: how many searches gave it.
        importance: the largest of its messages'.
        channels: of its messages, in order.
        message_ids: in order.
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
                f"{path.absolute().as_uri()}?mode={'rwc' if write else 'rw'}",
                uri=True,
                isolation_level=None,
            )
            try:
                self.connection.execute(f"PRAGMA busy_timeout={_BUSY}")
                # Temporary files would hold texts outside the folder.
                self.connection.execute("PRAGMA temp_store=MEMORY")
                if write:
                    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
                        self.connection.execute(f"PRAGMA {pragma}")
                    self.connection.executescript(_SCHEMA)
                else:
                    self.connection.execute("PRAGMA query_only=ON")
                self.connection.execute("SELECT count(*) FROM meta").fetchone()
            except BaseException:
                self.connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written within is committed to the disk together, or not at all."""
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
        new = []
        for message in messages:
            key = content_hash(message)
            known = self.connection.execute(
                "SELECT message_id, hash FROM messages WHERE hash = ? OR message_id = ?",
                (key, message.message_id),
            ).fetchall()
            if any(found == key for _, found in known):
                continue
            if known:
                raise MemreproError(
                    f"the message id {message.message_id!r} is already that of another message: "
                    "ids must be unique within a user's memory; edit_message changes a text"
                )
            self.connection.execute(
                "INSERT INTO messages (message_id, hash, speaker, at, text, channel)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (message.message_id, key, message.speaker, message.at, message.text,
                 message.channel),
            )  # fmt: skip
            new.append(message)
        return new

    def messages(self, where: str = "", values: Sequence[Any] = ()) -> list[Message]:
        """Messages in order of time, equal times in order of arrival."""
        return [
            Message(*row)
            for row in self.connection.execute(
                f"SELECT message_id, speaker, at, text, channel FROM messages {where}"
                " ORDER BY at, number",
                values,
            )
        ]

    def last(self, n: int) -> list[Message]:
        """The last messages of all channels, in order of time."""
        return self.messages(
            "WHERE number IN (SELECT number FROM messages ORDER BY at DESC, number DESC LIMIT ?)",
            (n,),
        )

    def tail(self, n: int) -> list[Message]:
        """Those of the last n messages that are in no segment yet, in order of time."""
        return self.messages(
            "WHERE message_id NOT IN (SELECT message_id FROM segment_messages)"
            " AND number IN (SELECT number FROM messages ORDER BY at DESC, number DESC LIMIT ?)",
            (n,),
        )

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
        return self.segments(
            "WHERE s.segment_id IN (SELECT value FROM json_each(?))", (json.dumps(segment_ids),)
        )

    def texts(self, segment_ids: Sequence[str]) -> list[str]:
        """The segments' texts, in order."""
        query = "SELECT text FROM segments WHERE segment_id = ?"
        return [self.connection.execute(query, (key,)).fetchone()[0] for key in segment_ids]

    def sources(self, segment_ids: Sequence[str]) -> tuple[str, ...]:
        """The ids of the messages of segments, each once, in order."""
        query = "SELECT message_id FROM segment_messages WHERE segment_id = ? ORDER BY place"
        found = [row[0] for key in segment_ids for row in self.connection.execute(query, (key,))]
        return tuple(dict.fromkeys(found))

    def keys(self, tier: str) -> set[str]:
        """The ids of a tier's segments."""
        return self.within(tier, None, "", None)

    def within(self, tier: str, days: TimeRange | None, by: str, channel: str | None) -> set[str]:
        """The ids of a tier's segments that fall into days and have a message of a channel.

        Args:
            tier: 'warm' or 'cold'.
            days: both ends included, or None for all.
            by: 'event': the days that the segment's words name, and where they name none, when it
                was said; or 'dialogue': when it was said.
            channel: None for all.
        """
        terms = ["tier = :tier"]
        values: dict[str, str | float | None] = {"tier": tier, "channel": channel}
        if days:
            start = datetime.combine(days.start, time(), UTC).timestamp()
            end = datetime.combine(days.end + timedelta(1), time(), UTC).timestamp()
            first, last = days.start.isoformat(), days.end.isoformat()
            values |= {"start": start, "end": end, "first": first, "last": last}
            said = "(s.end >= :start AND s.start < :end)"
            named = "SELECT 1 FROM events e WHERE e.segment_id = s.segment_id"
            event = (
                f"CASE WHEN EXISTS ({named}) THEN EXISTS ({named} AND e.first <= :last"
                f" AND e.last >= :first) ELSE {said} END"
            )
            terms.append(said if by == "dialogue" else event)
        if channel is not None:
            terms.append(
                "EXISTS (SELECT 1 FROM segment_messages p JOIN messages m USING (message_id)"
                " WHERE p.segment_id = s.segment_id AND m.channel = :channel)"
            )
        query = f"SELECT segment_id FROM segments s WHERE {' AND '.join(terms)}"
        return {key for (key,) in self.connection.execute(query, values)}

    def lexical(self, query: str) -> dict[str, float]:
        """BM25 of the warm segments that have a word of a query: segment id → score over 0."""
        terms = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(query)))
        if not terms:
            return {}
        rows = self.connection.execute(
            "SELECT segment_id, -bm25(words) FROM words JOIN segments s ON s.number = words.rowid"
            " WHERE words MATCH ?",
            (terms,),
        )
        return dict(rows)

    def touch(self, segment_ids: Sequence[str], now: float) -> None:
        """Note that a search gave these segments."""
        self.connection.executemany(
            "UPDATE segments SET last_access = max(last_access, ?), accesses = accesses + 1"
            " WHERE segment_id = ?",
            [(now, key) for key in segment_ids],
        )

    def chill(self, segment_ids: Sequence[str]) -> None:
        """Take segments out of the WARM index; their rows stay, as COLD's provenance."""
        rows = [(key,) for key in segment_ids]
        self.connection.executemany(
            "DELETE FROM words WHERE rowid = (SELECT number FROM segments WHERE segment_id = ?)",
            rows,
        )
        self.connection.executemany("UPDATE segments SET tier = 'cold' WHERE segment_id = ?", rows)

    def scrub(self) -> None:
        """Leave no byte in the file of what was deleted.

        Raises:
            MemreproError: if another process holds an old state; what was deleted is out of reach
                already, and this has to be called again.
        """
        with self._explained():
            self.connection.execute(f"PRAGMA busy_timeout={_PATIENT}")
            try:
                # The index keeps the words of deleted rows until its parts are merged.
                self.connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
                self.connection.execute("VACUUM")
                held, *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self.connection.execute(f"PRAGMA busy_timeout={_BUSY}")
        if held:
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
            elif "full" in str(error):
                remedy = "free some space; what was committed is kept"
            raise MemreproError(f"the memory {self._path} failed ({error}): {remedy}") from error


def day(at: float) -> date:
    """The day of a time, UTC."""
    return datetime.fromtimestamp(at, UTC).date()
