"""Segments kept in step with the messages.

Segments are a function of the messages, the rules and the clock that `maintain` was last given:
whatever is added, edited or deleted, the stretch around it (the messages between two long silences)
is cut anew, and the segments that differ are replaced.
"""

import hashlib
import itertools
import json
import math
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import NamedTuple

from memrepro.memory.journal import Journal, day
from memrepro.retrieve.tiered.keys.segments import (
    Message,
    Segmentation,
    cut,
    final,
    says_something,
    segment_text,
)
from memrepro.text.scripts import windows
from memrepro.text.temporal import dated_events


class Recut(NamedTuple):
    """What cutting anew changed.

    Attributes:
        came: ids of the segments that are new.
        went: ids of those that are gone.
    """

    came: Sequence[str] = ()
    went: Sequence[str] = ()


def recut(
    journal: Journal,
    rules: Segmentation,
    times: Iterable[float],
    *,
    window: int = 0,
    zone: tzinfo = UTC,
) -> Recut:
    """Cut the stretches around these times anew, after messages there came, went or changed.

    A segment of one message has a part of `window` words of it, where that is not 0 and the
    message has more. The days of `zone` are those of what messages tell.

    A segment is final, and kept, once no later message can change it: its stretch is followed by
    another, or was over when the clock was last given, or has gone on for `LOOKAHEAD` messages.
    """
    db, gap = journal.connection, rules.gap_hours * 3600 if rules.most > 1 else 0.0
    clock, newest = journal.get("clock"), journal.last(1)
    # What was the last stretch may be closed now, and what is the last may be open again.
    ends = [m.at for m in newest]
    anchors = {*times, *ends, *(noted := journal.get("newest") or ())}
    # A transaction that writes nothing does not wait for the disk.
    if noted != ends:
        journal.put("newest", ends)
    came: dict[str, tuple[Sequence[Message], str]] = {}
    went: list[str] = []
    # Where each message is a segment of its own, no other one has a part in it.
    around = _around(journal, sorted(anchors), gap) if rules.most > 1 else _at(journal, anchors)
    for first, done, messages, here in around:
        wanted: dict[str, tuple[Sequence[Message], str]] = {}
        for stretch in _stretches(messages, gap):
            one_each = [(place, place + 1) for place in range(len(stretch))]
            cuts = cut(stretch, rules) if rules.most > 1 else one_each
            is_open = clock is None or clock - stretch[-1].at <= gap
            # What comes later changes no segment of one message.
            if rules.most > 1 and stretch[-1].message_id == newest[-1].message_id and is_open:
                cuts = final(cuts, len(stretch))
            for start, end in cuts:
                for part in _windows(stretch[start:end], window):
                    text = segment_text(part)
                    wanted[segment_id(part, text)] = stretch[start:end], text
        # A segment that holds a deleted message may reach beyond the stretch that is left.
        overlap = {key for key, start, end in here if end >= first and start <= done}
        went += sorted(overlap - wanted.keys())
        came |= {key: one for key, one in wanted.items() if key not in overlap}
    went = list(dict.fromkeys(went))
    if went:
        _drop(db, went)
    if came:
        keep(db, came, zone)
    return Recut(list(came), went)


def _windows(messages: Sequence[Message], window: int) -> Iterator[Sequence[Message]]:
    """The messages, or of a single long one its parts, each with a fifth of the one before."""
    # A text of no more characters has no more words.
    may_be_cut = len(messages) == 1 and len(messages[0].text) > window
    parts = windows(messages[0].text, window) if may_be_cut else []
    if len(parts) < 2:
        yield messages
    else:
        yield from ([replace(messages[0], text=part)] for part in parts)


# Times that are looked around together, and segments that are looked through for each stretch.
_TOGETHER, _FEW = 512, 64
# Rows in one statement: SQLite takes 32,766 values.
_ROWS = 4096
Around = tuple[float, float, Sequence[Message], Sequence[tuple[str, float, float]]]


def _at(journal: Journal, anchors: Iterable[float]) -> Iterator[Around]:
    """The messages and the segments of just these times, ascending."""
    ordered = sorted(anchors)
    for first in range(0, len(ordered), _TOGETHER):
        some = ordered[first : first + _TOGETHER]
        which = f"IN ({', '.join('?' * len(some))})"
        messages = journal.messages(f"WHERE at {which}", some)
        segments = f"SELECT segment_id, start, end FROM segments WHERE start {which}"
        here = journal.connection.execute(segments, some).fetchall()
        yield -math.inf, math.inf, messages, here


def _around(journal: Journal, anchors: Sequence[float], gap: float) -> Iterator[Around]:
    """Each stretch with one of these times, ascending: its first and last time, and what is there.

    That is its messages, and the ids and times of segments, all that overlap it among them. Where
    little but these messages is between the times, all of it is read at once.
    """
    db, done = journal.connection, -math.inf
    for at in range(0, len(anchors), _TOGETHER):
        some = [anchor for anchor in anchors[at : at + _TOGETHER] if anchor > done]
        if not some:
            continue
        first, last = _reach(db, some[0], -1, gap), _reach(db, some[-1], 1, gap)
        limit = 4 * _TOGETHER
        messages = journal.messages("WHERE at BETWEEN ? AND ?", (first, last), limit)
        if len(messages) < limit and {m.at for m in messages}.issuperset(some):
            here, left = journal.overlapping(first, last), deque(some)
            for stretch in _stretches(messages, gap):
                start, done = stretch[0].at, stretch[-1].at
                if left and left[0] <= done:
                    few = len(here) <= _FEW
                    yield start, done, stretch, here if few else journal.overlapping(start, done)
                while left and left[0] <= done:
                    left.popleft()
            continue
        for anchor in some:
            if anchor > done:
                first, done = _reach(db, anchor, -1, gap), _reach(db, anchor, 1, gap)
                found = journal.messages("WHERE at BETWEEN ? AND ?", (first, done))
                yield first, done, found, journal.overlapping(first, done)


def _reach(db: sqlite3.Connection, at: float, way: int, gap: float) -> float:
    """The time of the stretch's first (way -1) or last (way 1) message, seen from a time."""
    sign, order = ("<", "DESC") if way < 0 else (">", "ASC")
    rows = db.execute(f"SELECT at FROM messages WHERE at {sign} ? ORDER BY at {order}", (at,))
    for (other,) in rows:
        if abs(other - at) > gap:
            break
        at = other
    rows.close()
    return at


def _stretches(messages: Sequence[Message], gap: float) -> Iterator[Sequence[Message]]:
    """The runs of messages, in order of time, without a longer pause than `gap` seconds."""
    pauses = [i for i in range(1, len(messages)) if messages[i].at - messages[i - 1].at > gap]
    if messages:
        for start, end in itertools.pairwise([0, *pauses, len(messages)]):
            yield messages[start:end]


def segment_id(messages: Sequence[Message], text: str) -> str:
    """A segment's id, 32 hex digits: of its messages' ids and its text."""
    parts = [[m.message_id for m in messages], text]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def keep(
    db: sqlite3.Connection,
    segments: Mapping[str, tuple[Sequence[Message], str]],
    zone: tzinfo = UTC,
) -> None:
    """Insert segments, id → messages and text, each silent if it says nothing, and their days."""
    rows, held, days = [], [], []
    for key, (messages, text) in segments.items():
        end = messages[-1].at
        tier = "warm" if says_something(messages) else "silent"
        rows.append((key, tier, messages[0].at, end, text, end))
        held += [(key, place, message.message_id) for place, message in enumerate(messages)]
        days += [
            (key, event.date_start.isoformat(), event.date_end.isoformat())
            for message in messages
            for event in dated_events(message.text, day(message.at, zone))
        ]
    # Many rows in one statement, as FTS5 writes the words to the disk at the end of each.
    for at in range(0, len(rows), _ROWS):
        some = rows[at : at + _ROWS]
        db.execute(
            "INSERT INTO segments (segment_id, tier, start, end, text, last_access) VALUES "
            + ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(some)),
            [value for row in some for value in row],
        )
    db.executemany("INSERT INTO segment_messages VALUES (?, ?, ?)", held)
    db.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?)", days)


def _drop(db: sqlite3.Connection, keys: Sequence[str]) -> None:
    for table in ("segments", "segment_messages", "events"):
        which = "WHERE segment_id IN (SELECT value FROM json_each(?))"
        db.execute(f"DELETE FROM {table} {which}", (json.dumps(keys),))
