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
from collections.abc import Iterable, Iterator, Sequence
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
from memrepro.text.temporal import dated_events


class Recut(NamedTuple):
    """What cutting anew changed.

    Attributes:
        came: ids of the segments that are new.
        went: ids of those that are gone.
    """

    came: Sequence[str] = ()
    went: Sequence[str] = ()


def recut(journal: Journal, rules: Segmentation, times: Iterable[float]) -> Recut:
    """Cut the stretches around these times anew, after messages there came, went or changed.

    A segment is final, and kept, once no later message can change it: its stretch is followed by
    another, or was over when the clock was last given, or has gone on for `LOOKAHEAD` messages.
    """
    db, gap = journal.connection, rules.gap_hours * 3600
    clock, newest = journal.get("clock"), journal.last(1)
    # What was the last stretch may be closed now, and what is the last may be open again.
    ends = [m.at for m in newest]
    anchors = {*times, *ends, *(journal.get("newest") or ())}
    journal.put("newest", ends)
    came: list[str] = []
    went: list[str] = []
    done = -math.inf
    for at in sorted(anchors):
        if at <= done:
            continue
        first, done = _reach(db, at, -1, gap), _reach(db, at, 1, gap)
        messages = journal.messages("WHERE at BETWEEN ? AND ?", (first, done))
        wanted: dict[str, tuple[Sequence[Message], str]] = {}
        for stretch in _stretches(messages, gap):
            cuts = cut(stretch, rules)
            is_open = clock is None or clock - stretch[-1].at <= gap
            if stretch[-1] == newest[-1] and is_open:
                cuts = final(cuts, len(stretch))
            for start, end in cuts:
                text = segment_text(stretch[start:end])
                wanted[segment_id(stretch[start:end], text)] = stretch[start:end], text
        # A segment that holds a deleted message may reach beyond the stretch that is left.
        here = journal.overlapping(first, done)
        gone, new = sorted(here - wanted.keys()), [key for key in wanted if key not in here]
        _drop(db, gone)
        for key in new:
            keep(db, key, *wanted[key])
        went, came = went + gone, came + new
    return Recut(came, went)


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


def keep(db: sqlite3.Connection, key: str, messages: Sequence[Message], text: str) -> None:
    """Insert a segment, which is silent if it says nothing, and the days that it names."""
    end = messages[-1].at
    tier = "warm" if says_something(messages) else "silent"
    db.execute(
        "INSERT INTO segments (segment_id, tier, start, end, text, last_access)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (key, tier, messages[0].at, end, text, end),
    )
    db.executemany(
        "INSERT INTO segment_messages VALUES (?, ?, ?)",
        [(key, place, message.message_id) for place, message in enumerate(messages)],
    )
    db.executemany(
        "INSERT OR IGNORE INTO events VALUES (?, ?, ?)",
        [
            (key, event.date_start.isoformat(), event.date_end.isoformat())
            for message in messages
            for event in dated_events(message.text, day(message.at))
        ],
    )


def _drop(db: sqlite3.Connection, keys: Sequence[str]) -> None:
    for table in ("segments", "segment_messages", "events"):
        db.executemany(f"DELETE FROM {table} WHERE segment_id = ?", [(key,) for key in keys])
