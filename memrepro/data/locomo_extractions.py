"""What LoCoMo's authors recorded of each session: facts with turns, summaries, dated events."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from memrepro.core.extractions import DatedEvent, Extracted, Extraction
from memrepro.core.memory import Dataset
from memrepro.data.locomo import ANEW, Conversation, iso, read, read_evidence, value_of
from memrepro.errors import MemreproError

_RECORDED = {
    "observation": re.compile("session_([0-9]+)_observation"),
    "session_summary": re.compile("session_([0-9]+)_summary"),
    "event_summary": re.compile("events_session_([0-9]+)"),
}
_KINDS = {"observation": "fact", "session_summary": "summary", "event_summary": "event"}


@dataclass(frozen=True)
class Recorded:
    """What the data set's authors recorded of a session.

    Attributes:
        memory_id: the conversation's.
        kind: `observation` (a fact), `session_summary` or `event_summary` (an event).
        session_id: the session that it was taken from.
        turn_ids: the turns that a fact comes from; empty for the other kinds.
        speaker: the role of whom it is about, or None for a summary, which is about both.
        text: what was extracted.
        at: the session's time to the minute; of an event, its own date.
    """

    memory_id: str
    kind: str
    session_id: str
    turn_ids: tuple[str, ...]
    speaker: str | None
    text: str
    at: str


def extractions(folder: Path) -> tuple[list[Recorded], Counter[str]]:
    """All recorded facts, summaries and events, and how many entries were skipped, by reason.

    Skipped: an entry of a session without turns, a text that is missing or blank, a fact whose
    turns cannot be read or do not all exist, and an event whose date cannot be read.

    Raises:
        MemreproError: if the file is missing or its structure is broken.
    """
    items: list[Recorded] = []
    skipped: Counter[str] = Counter()
    for one in read(folder):
        sessions = one.memory.sessions
        at = {s.session_id: time for s, time in zip(sessions, one.memory.times, strict=True)}
        for kind, session_id, role, entry, day in _recorded(one):
            fact = kind == "observation"
            pair = entry if isinstance(entry, list) and len(entry) == 2 else [None, None]
            text, turns = (pair[0], read_evidence(pair[1])) if fact else (entry, ())
            if session_id not in at:
                skipped[f"{kind}: of a session without turns"] += 1
            elif not isinstance(text, str) or not text.strip():
                skipped[f"{kind}: without text"] += 1
            elif turns is None or (fact and not turns) or not one.places.keys() >= set(turns):
                skipped[f"{kind}: without turns that exist"] += 1
            elif kind == "event_summary" and not day:
                skipped[f"{kind}: without a date that can be read"] += 1
            else:
                about = (one.memory.memory_id, kind, session_id, turns, role)
                items.append(Recorded(*about, text, day or at[session_id]))
    return items, skipped


def extract(folder: Path, dataset: Dataset) -> Extracted:
    """The recorded facts of rounds, and summaries and dated events of sessions.

    A fact that names turns of several rounds belongs to each of them.

    Raises:
        MemreproError: if the file is missing or its structure is broken.
    """
    sessions = {
        (memory.memory_id, session.session_id): session
        for memory in dataset.memories.values()
        for session in memory.sessions
    }
    round_of = {
        (memory_id, turn.turn_id): (session.key, r.round_id)
        for (memory_id, _), session in sessions.items()
        for r in session.rounds
        for turn in r.turns
    }
    items, skipped = extractions(folder)
    texts: list[Extraction] = []
    dates: dict[DatedEvent, None] = {}
    for item in items:
        place = (item.memory_id, item.session_id)
        rounds = dict.fromkeys(round_of[item.memory_id, turn] for turn in item.turn_ids)
        texts += (
            Extraction(key, round_id, "recorded", _KINDS[item.kind], item.text)
            for key, round_id in (rounds or [(sessions[place].key, "")])
        )
        if item.kind == "event_summary":
            day = date.fromisoformat(item.at[:10]).toordinal()
            dates[DatedEvent(*place, "recorded", day, day)] = None
    left_out = [(f"{n} recorded entries", reason) for reason, n in skipped.items()]
    return Extracted("LoCoMo's authors", texts, list(dates), [], left_out)


def _recorded(one: Conversation) -> Iterable[tuple[str, str, str | None, Any, str]]:
    """Kind, session, speaker's role, entry and own date of each recorded entry.

    A fact and a summary have no date of their own ('').
    """
    sample_id = one.memory.memory_id
    for kind, form in _RECORDED.items():
        for key, value in value_of(one.raw, kind, dict, sample_id).items():
            item = f"{kind} {key!r} of {sample_id}"
            if not (match := form.fullmatch(key)):
                raise MemreproError(f"LoCoMo: {item} names no session; {ANEW}")
            session_id, day = f"D{match[1]}", ""
            if kind == "session_summary":
                yield kind, session_id, None, value, day
                continue
            if kind == "event_summary":
                own = value.get("date") if isinstance(value, dict) else None
                day = iso(own, "%d %B, %Y")[:10]
            for speaker, role in one.roles.items():
                for entry in value_of(value, speaker, list, item):
                    yield kind, session_id, role, entry, day
