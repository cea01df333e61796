"""What LoCoMo's authors recorded of each session: facts with turns, summaries, dated events."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from memrepro.core.extractions import DatedEvent, Extracted, Extraction
from memrepro.core.memory import Dataset
from memrepro.data.locomo import Conversation, read, read_evidence, session_of
from memrepro.data.reading import damaged, minute, value_of

# What the file calls it → its kind, and the keys of its sessions.
_RECORDED = {
    "observation": ("fact", re.compile("session_([0-9]+)_observation")),
    "session_summary": ("summary", re.compile("session_([0-9]+)_summary")),
    "event_summary": ("event", re.compile("events_session_([0-9]+)")),
}


def extract(folder: Path, dataset: Dataset) -> Extracted:
    """The recorded facts of rounds, and summaries and dated events of sessions.

    Conversations that the data set leaves out are passed over. A fact that names turns of several
    rounds belongs to each of them. Skipped, and counted by reason: an entry of a session without
    turns, a text that is missing or blank, a fact whose turns cannot be read or do not all exist,
    and an event whose date cannot be read.

    Raises:
        MemreproError: if the file is missing or its structure is broken.
    """
    texts: list[Extraction] = []
    dates: dict[DatedEvent, None] = {}
    skipped: Counter[str] = Counter()
    for one in read(folder):
        memory_id = one.memory.memory_id
        if memory_id not in dataset.memories:
            continue
        keys = {s.session_id: s.key for s in dataset.memories[memory_id].sessions}
        for name, session_id, entry, day in _entries(one):
            kind, _ = _RECORDED[name]
            pair = entry if isinstance(entry, list) and len(entry) == 2 else [None, None]
            text, named = pair if kind == "fact" else (entry, [])
            turns, whole = read_evidence(named)
            if session_id not in keys:
                skipped[f"{name}: of a session without turns"] += 1
            elif not isinstance(text, str) or not text.strip():
                skipped[f"{name}: without text"] += 1
            elif not whole or (kind == "fact" and not turns) or not one.round_of.keys() >= {*turns}:
                skipped[f"{name}: without turns that exist"] += 1
            elif kind == "event" and not day:
                skipped[f"{name}: without a date that can be read"] += 1
            else:
                rounds = dict.fromkeys((keys[session_of(t)], one.round_of[t]) for t in turns)
                places = list(rounds) or [(keys[session_id], "")]
                texts += (Extraction(*place, "recorded", kind, text) for place in places)
                if kind == "event":
                    on = date.fromisoformat(day).toordinal()
                    dates[DatedEvent(memory_id, session_id, "recorded", on, on)] = None
    left_out = [(f"{n} recorded entries", reason) for reason, n in skipped.items()]
    return Extracted("LoCoMo's authors", texts, list(dates), [], left_out)


def _entries(one: Conversation) -> Iterator[tuple[str, str, Any, str]]:
    """Name in the file, session, entry and, of an event, its day ('' if it cannot be read)."""
    where = f"LoCoMo: {one.memory.memory_id}"
    for name, (kind, form) in _RECORDED.items():
        for key, value in value_of(one.raw, name, dict, where).items():
            item = f"LoCoMo: {name} {key!r} of {one.memory.memory_id}"
            if not (match := form.fullmatch(key)):
                raise damaged(f"{item} names no session")
            if kind == "summary":
                yield name, f"D{match[1]}", value, ""
                continue
            said = value.get("date") if kind == "event" and isinstance(value, dict) else None
            for speaker in one.roles:
                for entry in value_of(value, speaker, list, item):
                    yield name, f"D{match[1]}", entry, minute(said, "%d %B, %Y")[:10]
