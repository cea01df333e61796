"""Sources of extractions for a whole data set: the deterministic extractor, and a recorded file."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from memrepro.cluster.workers import each_of
from memrepro.core.extractions import KINDS, DatedEvent, Extracted, Extraction, QueryRange
from memrepro.core.memory import Dataset, Round, Session, whole_session
from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from memrepro.files.given import numbered_json_lines
from memrepro.files.progress import bar
from memrepro.text import nlp, temporal
from memrepro.text.facts import user_facts

# Days on which a session took place → the round and event of each dated sentence.
_Events = dict[str, list[tuple[str, temporal.DatedEvent]]]


def words(doc: Round, session: Session) -> str:
    """What is extracted from: the user's words (Figure 11), or all where nobody is the user."""
    if any("user" in r.fields for r in session.rounds):
        return doc.fields.get("user", "")
    return " ".join(doc.fields.values())


def by_nlp(dataset: Dataset, kinds: Collection[str] = KINDS) -> Extracted:
    """Facts, keyphrases, summaries, dated events and asked ranges, by rules and NLP libraries.

    Of the texts those of `kinds` alone: keyphrases and summaries take five times as long as the
    rest. Dates and ranges are found in any case.

    Facts and keyphrases are of rounds, keyphrases and summaries of sessions; a session's facts are
    its rounds'. An event's text is the sentence that names a date; its date depends on when the
    session took place, so that a session without a time has none. A range that starts on the
    question's own date is discarded, as the released code does
    (docs/protocols.md, LongMemEval, time filter).
    """
    texts: list[Extraction] = []
    events_of: dict[str, _Events] = {}
    days: dict[str, dict[str, None]] = {session.key: {} for session in dataset.sessions}
    for memory in dataset.memories.values():
        for session, at in zip(memory.sessions, memory.times, strict=True):
            if at:
                days[session.key][at[:10]] = None
    items = [(session, tuple(days[session.key])) for session in dataset.sessions]
    with bar(len(items), f"extract {dataset.name}", "session") as progress:
        done = each_of(partial(_of_session, kinds=frozenset(kinds)), items)
        for (session, _), (found, dated) in zip(items, done, strict=True):
            texts += found
            events_of[session.key] = dated
            progress.update()
    dates, events, skipped = _dated(dataset, events_of)
    if "event" in kinds:
        texts += events
    ranges, without = _asked(dataset)
    return Extracted(nlp.VERSION, texts, dates, ranges, skipped + without)


def _of_session(
    item: tuple[Session, Sequence[str]], kinds: Collection[str]
) -> tuple[list[Extraction], _Events]:
    """What a session says, and what it dates, for each of its days."""
    session, days = item
    whole = words(whole_session(session)[0], session)
    found: list[tuple[str, str, str]] = []
    if "summary" in kinds:
        found.append(("", "summary", nlp.summary(whole)))
    if "keyphrase" in kinds:
        found += [("", "keyphrase", phrase) for phrase in nlp.keyphrases(whole)]
    for r in session.rounds:
        said = words(r, session)
        if "fact" in kinds:
            found += [(r.round_id, "fact", fact) for fact in user_facts(said)]
        if "keyphrase" in kinds:
            found += [(r.round_id, "keyphrase", phrase) for phrase in nlp.keyphrases(said)]
    events: _Events = {day: [] for day in days}
    for r in session.rounds:
        said = words(r, session)
        for day in days:
            dated = temporal.dated_events(said, date.fromisoformat(day))
            events[day] += [(r.round_id, event) for event in dated]
    texts = [Extraction(session.key, r, "nlp", kind, text) for r, kind, text in found if text]
    return texts, events


def _dated(
    dataset: Dataset, events_of: Mapping[str, _Events]
) -> tuple[list[DatedEvent], list[Extraction], list[tuple[str, str]]]:
    """Dates of the sessions of each memory, and the sentences that name them, once a session."""
    dates: list[DatedEvent] = []
    events: dict[tuple[str, str, str], None] = {}
    skipped = []
    for memory in dataset.memories.values():
        for session, at in zip(memory.sessions, memory.times, strict=True):
            if not at:
                skipped.append((f"session {session.session_id} of {memory.memory_id}", "no time"))
                continue
            for round_id, event in events_of[session.key][at[:10]]:
                place = (memory.memory_id, session.session_id, "nlp")
                span = (event.date_start.toordinal(), event.date_end.toordinal())
                dates.append(DatedEvent(*place, *span))
                events[session.key, round_id, event.sentence] = None
    texts = [Extraction(key, r, "nlp", "event", text) for key, r, text in events]
    return list(dict.fromkeys(dates)), texts, skipped


def said_dates(dataset: Dataset) -> list[DatedEvent]:
    """When each session took place, as the source `said`."""
    found = []
    for memory in dataset.memories.values():
        for session, at in zip(memory.sessions, memory.times, strict=True):
            if at:
                day = date.fromisoformat(at[:10]).toordinal()
                found.append(DatedEvent(memory.memory_id, session.session_id, "said", day, day))
    return found


def _asked(dataset: Dataset) -> tuple[list[QueryRange], list[tuple[str, str]]]:
    """The ranges that queries ask about, and the queries whose time is not known."""
    ranges, skipped = [], []
    for query in dataset.queries:
        if not query.at:
            skipped.append((f"query {query.query_id}", "no time"))
            continue
        asked = date.fromisoformat(query.at[:10])
        span = temporal.time_range(query.text, asked)
        if span is not None and span.start != asked:
            days = (span.start.toordinal(), span.end.toordinal())
            ranges.append(QueryRange(query.query_id, query.memory_id, "nlp", *days))
    return ranges, skipped


def from_file(dataset: Dataset, source: str, path: Path, digest: str) -> Extracted:
    """Recorded extractions, such as a language model's, one JSON object a line.

    A line is one of `{"session_id", "kind", "text"}` with a `round_id` where it is of a round,
    `{"memory_id", "session_id", "start", "end"}` for a dated event, and `{"query_id", "start",
    "end"}` for an asked range; dates are written YYYY-MM-DD. A line that cannot be used is skipped
    with its number and the reason.

    Raises:
        MemreproError: if the file is missing, is not the one of the digest, or is not JSON lines.
    """
    if (found := sha256(path)) != digest:
        raise MemreproError(
            f"{path} has the sha256 {found}, and params.yaml wants {digest}: it is another file"
        )
    sessions: dict[str, list[Session]] = {}
    for session in dataset.sessions:
        sessions.setdefault(session.session_id, []).append(session)
    held = {
        (memory.memory_id, session.session_id)
        for memory in dataset.memories.values()
        for session in memory.sessions
    }
    asked = {query.query_id: query.memory_id for query in dataset.queries}
    read = Extracted(f"{path.name} {digest[:16]}", [], [], [], [])
    for number, line in numbered_json_lines(path):
        try:
            if not isinstance(line, dict):
                raise ValueError(f"is a {type(line).__name__}, not a JSON object")
            if "query_id" in line:
                if line["query_id"] not in asked:
                    raise ValueError(f"no query {line['query_id']!r}")
                place = (line["query_id"], asked[line["query_id"]])
                read.ranges.append(QueryRange(*place, source, *_span(line)))
            elif "start" in line:
                place = (line["memory_id"], line["session_id"])
                if place not in held:
                    raise ValueError(f"no session {place[1]!r} in memory {place[0]!r}")
                read.dates.append(DatedEvent(*place, source, *_span(line)))
            else:
                read.texts.extend(_text(line, source, sessions))
        except (KeyError, TypeError, ValueError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            read.skipped.append((f"line {number} of {path.name}", reason))
    return read


def _span(line: Mapping[str, Any]) -> tuple[int, int]:
    start, end = (date.fromisoformat(line[key]).toordinal() for key in ("start", "end"))
    if end < start:
        raise ValueError(f"ends on {line['end']}, before it starts on {line['start']}")
    return start, end


def _text(
    line: Mapping[str, Any], source: str, sessions: Mapping[str, list[Session]]
) -> list[Extraction]:
    """The extraction of a line, for each session of its id."""
    if line["kind"] not in KINDS:
        raise ValueError(f"kind {line['kind']!r} is none of {', '.join(KINDS)}")
    if not isinstance(line["text"], str) or not line["text"].strip():
        raise ValueError("has no text")
    line["text"].encode()  # half a surrogate pair cannot be written as UTF-8
    round_id = line.get("round_id") or ""
    fitting = [
        s
        for s in sessions.get(line["session_id"], [])
        if not round_id or round_id in {r.round_id for r in s.rounds}
    ]
    if not fitting:
        raise ValueError(f"no session {line['session_id']!r} with round {round_id!r}")
    return [Extraction(s.key, round_id, source, line["kind"], line["text"]) for s in fitting]
