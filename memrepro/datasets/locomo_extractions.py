"""What LoCoMo's authors recorded of each session: facts with their turns, summaries, dated events.

Pure reading: what is keyed by it, or put into a graph, is decided elsewhere.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memrepro.datasets.locomo import ANEW, Conversation, iso, read, read_evidence, value_of
from memrepro.errors import MemreproError

_RECORDED = {
    "observation": re.compile("session_([0-9]+)_observation"),
    "session_summary": re.compile("session_([0-9]+)_summary"),
    "event_summary": re.compile("events_session_([0-9]+)"),
}


@dataclass(frozen=True)
class Extraction:
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


def extractions(folder: Path) -> tuple[list[Extraction], Counter[str]]:
    """All recorded facts, summaries and events, and how many entries were skipped, by reason.

    Skipped: an entry of a session without turns, a text that is missing or blank, and a fact whose
    turns cannot be read or do not all exist.

    Raises:
        MemreproError: if the file is missing, its structure is broken, or a date cannot be read.
    """
    items: list[Extraction] = []
    skipped: Counter[str] = Counter()
    for one in read(folder):
        at = {r.session_id: r.at for r in one.memory.rounds}
        for kind, session_id, role, entry, date in _recorded(one):
            fact = kind == "observation"
            pair = entry if isinstance(entry, list) and len(entry) == 2 else [None, None]
            text, turns = (pair[0], read_evidence(pair[1])) if fact else (entry, ())
            if session_id not in at:
                skipped[f"{kind}: of a session without turns"] += 1
            elif not isinstance(text, str) or not text.strip():
                skipped[f"{kind}: without text"] += 1
            elif turns is None or (fact and not turns) or not one.round_of.keys() >= set(turns):
                skipped[f"{kind}: without turns that exist"] += 1
            else:
                about = (one.memory.memory_id, kind, session_id, turns, role)
                items.append(Extraction(*about, text, date or at[session_id]))
    return items, skipped


def _recorded(one: Conversation) -> Iterable[tuple[str, str, str | None, Any, str]]:
    """Kind, session, speaker's role, entry and own date (or '') of each recorded entry."""
    sample_id = one.memory.memory_id
    for kind, form in _RECORDED.items():
        for key, value in value_of(one.raw, kind, dict, sample_id).items():
            item = f"{kind} {key!r} of {sample_id}"
            if not (match := form.fullmatch(key)):
                raise MemreproError(f"LoCoMo: {item} names no session; {ANEW}")
            session_id, date = f"D{match[1]}", ""
            if kind == "session_summary":
                yield kind, session_id, None, value, date
                continue
            if kind == "event_summary":
                date = iso(value_of(value, "date", str, item), "%d %B, %Y", item)[:10]
            for speaker, role in one.roles.items():
                for entry in value_of(value, speaker, list, item):
                    yield kind, session_id, role, entry, date
