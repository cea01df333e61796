"""A person's control: what is remembered is seen, corrected, deleted, paused, carried away.

What is deleted or corrected is gone from every tier, index and file when a function returns; what a
kill interrupts is finished at the next opening.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError, cut
from memrepro.files.atomic import keep_others, write_json
from memrepro.files.given import read_text
from memrepro.files.sqlite import sqlite3
from memrepro.memory import cold
from memrepro.memory.folders import check_message, discard, lock, user_folder
from memrepro.memory.journal import Segment
from memrepro.memory.language.fact import Change, Fact
from memrepro.memory.memory import TieredMemory
from memrepro.memory.times import check_time
from memrepro.retrieve.tiered.keys.segments import (
    Message,
    content_hash,
    one_line,
    segment_text,
)

_FORMAT = "memrepro tiered memory 1"
# All but what follows from these and from the encoder.
_TABLES = (
    "messages", "segments", "segment_messages", "events", "facts", "fact_sources", "fact_history",
    "counters", "metadata", "facts_made",
)  # fmt: skip
# Which exports of earlier versions do not have.
_LATER = ("metadata", "facts_made")
_NOTES = ("clock", "newest", "rules", "paused")
# Columns of Unix seconds; another of numbers that are not whole holds a share, in 0..1.
_TIMES = ("at", "start", "end", "last_access", "created_at", "last_validated_at", "changed_at")
# Columns of JSON, and what it must be.
_JSON = {"content": dict, "sources": list}
_TYPES: dict[str, type | tuple[type, ...]] = {"TEXT": str, "INTEGER": int, "REAL": (int, float)}


def messages(memory: TieredMemory) -> list[Message]:
    """All messages in order of time."""
    with memory.journal.snapshot():
        return memory.journal.messages()


def segments(memory: TieredMemory) -> list[Segment]:
    """All segments of WARM and COLD, in order of time."""
    with memory.journal.snapshot():
        return memory.journal.segments()


def facts(memory: TieredMemory, status: str = "active") -> list[Fact]:
    """The facts of a status, by id."""
    with memory.journal.snapshot() as connection:
        return cold.facts(connection, status)


def history(memory: TieredMemory, fact_id: str) -> list[Change]:
    """What led to a fact."""
    with memory.journal.snapshot() as connection:
        return cold.history(connection, fact_id)


def validity(memory: TieredMemory) -> list[tuple[Fact, float, float | None]]:
    """Every fact that was ever held, since when, and until when if it no longer holds."""
    with memory.journal.snapshot() as connection:
        return cold.validity(connection)


def mark(memory: TieredMemory, message_id: str, importance: float) -> None:
    """Say how important a message is, 0..1; its segments have the largest of their messages'."""
    if not 0 <= importance <= 1:
        raise MemreproError(f"the importance is {importance!r}: it must be in 0..1")
    with memory.changing() as change:
        _message(memory, message_id)
        change.db.execute(
            "UPDATE messages SET importance = ? WHERE message_id = ?", (importance, message_id)
        )


def edit_message(memory: TieredMemory, message_id: str, text: str, now: float) -> None:
    """Put other words in place of a message's; its segments and facts are made anew.

    Raises:
        MemreproError: if there is no such message, the text is empty, or it makes the message a
            copy of another; or if the time is none.
    """
    check_time(now, "an edit")
    with memory.changing(purge=True) as change:
        old = _message(memory, message_id)
        new = replace(old, text=text)
        check_message(new)
        try:
            change.db.execute(
                "UPDATE messages SET text = ?, hash = ? WHERE message_id = ?",
                (text, content_hash(new), message_id),
            )
        except sqlite3.IntegrityError as error:
            raise MemreproError(
                f"with this text the message {message_id!r} is a copy of another one: delete it"
            ) from error
        change.times.append(old.at)
    memory.migrate(now)


def delete_messages(memory: TieredMemory, message_ids: Sequence[str]) -> None:
    """Delete messages, with the segments and facts that stand on them; the rest is made anew.

    Raises:
        MemreproError: if one is not there, and then none is deleted; or if a reader holds an old
            state, and then the bytes go at the next opening.
    """
    with memory.changing(purge=True) as change:
        for message_id in message_ids:
            change.times.append(_message(memory, message_id).at)
            change.db.execute("DELETE FROM messages WHERE message_id = ?", (message_id,))


def delete_between(memory: TieredMemory, start: float, end: float) -> int:
    """Delete the messages from `start` up to, not including, `end` (Unix seconds): how many."""
    found = [message.message_id for message in messages(memory) if start <= message.at < end]
    delete_messages(memory, found)
    return len(found)


def edit_fact(memory: TieredMemory, fact_id: str, text: str, now: float) -> None:
    """Put a person's words in place of a fact's; the earlier ones stay in its history."""
    check_time(now, "an edit")
    with memory.changing(facts=True) as change:
        cold.edit(change.db, fact_id, text, now)


def delete_fact(memory: TieredMemory, fact_id: str) -> None:
    """Delete a fact with its history; the messages that said it stay."""
    with memory.changing(facts=True, purge=True) as change:
        cold.forget(change.db, fact_id)


def delete_user(root: Path, user_id: str) -> None:
    """Delete all of a user's memory.

    Raises:
        MemreproError: if another process is writing it.
    """
    held = lock(root, user_id)
    try:
        discard(user_folder(root, user_id))
    finally:
        os.close(held)


def pause(memory: TieredMemory) -> None:
    """Take in no messages until `resume`; what is there can be searched."""
    with memory.changing():
        memory.journal.put("paused", True)


def resume(memory: TieredMemory) -> None:
    """Take in messages again."""
    with memory.changing():
        memory.journal.put("paused", False)


def export(memory: TieredMemory, path: Path) -> None:
    """Write all of a memory into one JSON file, with the versions that made it.

    Raises:
        MemreproError: if the file is there, and is no export.
    """
    keep_others(path, '{\n "format": "memrepro ')
    with memory.journal.snapshot() as db:
        tables = {name: _rows(db, name) for name in _TABLES}
        notes = {name: memory.journal.get(name) for name in _NOTES}
    versions = {name: version(name) for name in ("memrepro", "lancedb")}
    versions["sqlite"] = sqlite3.sqlite_version
    made_by = {"versions": versions, "encoder": memory.encoder.identity.model}
    write_json(path, {"format": _FORMAT, "made_by": made_by, "notes": notes, "tables": tables})


def import_(memory: TieredMemory, path: Path) -> None:
    """Take an export into a memory that is empty; vectors are made anew by its encoder.

    Raises:
        MemreproError: if the memory is not empty, or the file is not an export of this version.
    """
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        # It may be the person's only copy: nothing is said to be done to it.
        raise MemreproError(
            f"{path} cannot be read as an export ({cut(str(error))}): nothing was imported"
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise MemreproError(f"{path} is not a {_FORMAT!r}: it must be an export of this version")
    try:
        with memory.changing(whole=True) as change:
            if memory.journal.last(1):
                raise MemreproError(
                    f"the memory {memory.folder} is not empty: import into a new one"
                )
            for name in ("counters", *_TABLES):
                change.db.execute(f"DELETE FROM {name}")
            for name in _TABLES:
                tables = content["tables"]
                _insert(change.db, name, tables.get(name, []) if name in _LATER else tables[name])
            notes = content["notes"]
            for at in (notes["clock"], *(notes["newest"] or ())):
                if at is not None:
                    check_time(at, f"{path}, notes")
            for name in _NOTES:
                memory.journal.put(name, notes[name])
            for message in memory.journal.messages():
                check_message(message)
            _check_segments(memory)
            memory.follow_rules(change)
    # At the end too, where tables do not fit each other; nothing of it is kept.
    except (sqlite3.Error, KeyError, TypeError, ValueError, OverflowError) as error:
        raise MemreproError(
            f"{path} is damaged ({cut(repr(error))}): nothing was imported"
        ) from error


def _rows(db: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    columns = len(db.execute(f"PRAGMA table_info({table})").fetchall())
    found = db.execute(f"SELECT * FROM {table} ORDER BY {'1, 2' if columns > 1 else '1'}")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def _insert(db: sqlite3.Connection, table: str, rows: Sequence[dict[str, Any]]) -> None:
    types = {name: _TYPES[kind] for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")}
    names = list(types)
    for row in rows:
        if set(row) != set(names):
            raise ValueError(f"a row of {table} has the columns {sorted(row)}")
        # SQLite keeps what does not fit a column's type, and who reads it later fails.
        if odd := [name for name in names if not isinstance(row[name], types[name])]:
            raise ValueError(f"a row of {table} has the {odd[0]} {row[odd[0]]!r:.80}")
        for name in _JSON.keys() & types.keys():
            if not isinstance(json.loads(row[name]), _JSON[name]):
                raise ValueError(f"a row of {table} has the {name} {row[name]!r:.80}")
        for name in (name for name in names if types[name] is not str and types[name] is not int):
            if name in _TIMES:
                check_time(row[name], f"a row of {table}, {name}")
            elif not 0 <= row[name] <= 1:
                raise ValueError(f"a row of {table} has the {name} {row[name]!r}")
    values = ", ".join(f":{name}" for name in names)
    db.executemany(f"INSERT INTO {table} VALUES ({values})", rows)


def _check_segments(memory: TieredMemory) -> None:
    """Refuse a segment that says anything but its messages, or of one long message a part."""
    said = {message.message_id: message for message in memory.journal.messages()}
    found = memory.journal.segments()
    for segment in found:
        own = [said[message_id] for message_id in segment.message_ids]
        head = segment_text([replace(own[0], text="")])
        part = segment.text.removeprefix(head)
        if segment.text != segment_text(own) and not (
            len(own) == 1 and head + part == segment.text and part and part in one_line(own[0].text)
        ):
            raise ValueError(f"the segment {segment.segment_id} does not say its messages")
    (n,) = memory.journal.connection.execute("SELECT count(*) FROM segments").fetchone()
    if n > len(found):
        raise ValueError(f"{n - len(found)} segments have no message")


def _message(memory: TieredMemory, message_id: str) -> Message:
    if not (found := memory.journal.messages("WHERE message_id = ?", (message_id,))):
        raise MemreproError(f"there is no message {message_id!r}")
    return found[0]
