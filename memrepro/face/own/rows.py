"""One's own conversations and questions, row by row, as memories, queries and gold."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.core.memory import Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.errors import MemreproError, cut
from memrepro.face.own.noticed import Noticed
from memrepro.face.own.times import read_time
from memrepro.files.given import numbered_json_lines

Rows = Iterable[Mapping[str, Any]] | pd.DataFrame
# (where it stands, the row)
Numbered = Sequence[tuple[str, Mapping[str, Any]]]
# Field → the names that files have for it, the first of which is this project's.
MESSAGE: Mapping[str, Sequence[str]] = {
    "text": ("text", "content", "message"),
    "conversation": ("conversation", "conversation_id"),
    "session": ("session", "session_id"),
    "speaker": ("speaker", "role", "sender", "author"),
    "time": ("at", "time", "timestamp", "created_at", "date"),
    "id": ("id", "message_id"),
}
QUESTION: Mapping[str, Sequence[str]] = {
    "question": ("question", "query", "text"),
    "gold": ("gold", "evidence", "relevant"),
    "conversation": ("conversation", "conversation_id"),
    "id": ("id", "question_id", "query_id"),
    "kind": ("kind", "category", "question_type"),
    "time": ("at", "time", "timestamp", "date"),
    "made": ("made",),
}
_NO_EVIDENCE = "names no evidence"
_MISSING = "names evidence that is no message or session of its conversation"


def memories_of(rows: Numbered, noticed: Noticed) -> dict[str, Memory]:
    """Conversation → its memory, in the order of their first messages.

    A round is what the session's first speaker says and what is said until they speak again, or a
    message where nobody else speaks; its id is that of its first message. With several
    conversations, ids have the conversation's and a slash before them, as two may use one id.

    Raises:
        MemreproError: for a row that cannot be used, with where it stands and the rule.
    """
    several = len({_id(where, row, "conversation") for where, row in rows}) > 1
    said: dict[str, dict[str, list[tuple[Turn, str]]]] = {}
    seen: dict[str, dict[str, str]] = {}
    texts: dict[str, set[str]] = {}
    for where, row in rows:
        conversation = _conversation(where, row, several)
        sessions = said.setdefault(conversation, {})
        session = _id(where, row, "session", "1")
        turns = sessions.setdefault(_within(conversation, session, several), [])
        own, text = _id(where, row, "id", f"{session}:{len(turns) + 1}"), row["text"]
        known = seen.setdefault(conversation, {})
        if own in known:
            if known[own] == text:
                noticed.add("message that came twice", where)
                continue
            noticed.add("id of two messages", f"{own!r} at {where}")
            own = next(f"{own}#{n}" for n in range(2, len(known) + 3) if f"{own}#{n}" not in known)
        elif text in texts.setdefault(conversation, set()):
            noticed.add("same text as a message before it", where)
        known[own] = text
        texts.setdefault(conversation, set()).add(text)
        at = _time(where, row, noticed)
        if at and turns and turns[-1][1] > at:
            noticed.add("time before that of the message above it", where)
        speaker = str(row.get("speaker", "user")) or "user"
        turns.append((Turn(_within(conversation, own, several), speaker, text), at))
    return {name: _memory(name, sessions) for name, sessions in said.items()}


def pieces_of(memories: Mapping[str, Memory], rows: Numbered, noticed: Noticed) -> list[Piece]:
    """One piece a conversation that is asked something.

    A question whose evidence is missing, or names what is not there, has no gold, and is noted.
    """
    several = len(memories) > 1
    asked: dict[str, list[Query]] = {name: [] for name in memories}
    gold: dict[str, dict[str, dict[str, Parts]]] = {name: {} for name in memories}
    faults: dict[str, dict[str, str]] = {name: {} for name in memories}
    seen: set[str] = set()
    places = {name: _places(memory) for name, memory in memories.items()}
    for where, row in rows:
        conversation = _conversation(where, row, several)
        if not several:
            conversation = next(iter(memories))
        if conversation not in memories:
            raise MemreproError(
                f"{where} asks about the conversation {conversation!r}, of which there is no "
                f"message: there are {cut(', '.join(memories))}"
            )
        query_id = _id(where, row, "id", f"q{row['number']}")
        if query_id in seen:
            raise MemreproError(f"{where} has the id {query_id!r} of another: ids must be unique")
        seen.add(query_id)
        kind, at = str(row.get("kind", "")), _time(where, row, noticed)
        asked[conversation].append(Query(query_id, conversation, row["question"], at, kind))
        levels, strange = _gold(where, row, places[conversation])
        if strange or not levels:
            what = "evidence that names no message" if strange else "question without evidence"
            noticed.add(what, f"{query_id}: {strange[0]}" if strange else query_id)
            faults[conversation][query_id] = _MISSING if strange else _NO_EVIDENCE
            continue
        for level, docs in levels.items():
            gold[conversation].setdefault(level, {})[query_id] = tuple((doc,) for doc in docs)
    if not rows:
        raise MemreproError("no question: give at least one row with 'question' and 'gold'")
    for name in memories:
        if not asked[name]:
            noticed.add("conversation without a question", name)
    return [
        Piece(memory, tuple(asked[name]), gold[name], faults[name])
        for name, memory in memories.items()
        if asked[name]
    ]


def _memory(name: str, sessions: Mapping[str, Sequence[tuple[Turn, str]]]) -> Memory:
    made, times = [], []
    for session_id, said in sessions.items():
        made.append(Session(session_id, tuple(_rounds([turn for turn, _ in said]))))
        times.append(next((at for _, at in said if at), ""))
    return Memory(name, tuple(made), tuple(times))


def _rounds(turns: Sequence[Turn]) -> Iterable[Round]:
    """A new round where the first speaker speaks again after another; one alone: each message."""
    alone = len({turn.field for turn in turns}) == 1
    held: list[Turn] = []
    for turn in turns:
        again = turn.field == turns[0].field and bool(held) and held[-1].field != turn.field
        if held and (alone or again):
            yield Round(held[0].turn_id, tuple(held))
            held = []
        held.append(turn)
    yield Round(held[0].turn_id, tuple(held))


def _places(memory: Memory) -> Mapping[str, Mapping[str, str]]:
    """The id of a message or session, as its file has it → level → the doc that it is or lies in.

    A session and a message of one id are both meant by it.
    """
    prefix = f"{memory.memory_id}/"
    start = len(prefix) if memory.sessions[0].session_id.startswith(prefix) else 0
    found: dict[str, dict[str, str]] = {}
    for session in memory.sessions:
        found.setdefault(session.session_id[start:], {})["session"] = session.session_id
    for session in memory.sessions:
        for r in session.rounds:
            for turn in r.turns:
                of_turn = found.setdefault(turn.turn_id[start:], {})
                of_turn.setdefault("session", session.session_id)
                of_turn |= {"round": r.round_id, "turn": turn.turn_id}
    return found


def _gold(
    where: str, row: Mapping[str, Any], places: Mapping[str, Mapping[str, str]]
) -> tuple[Mapping[str, Sequence[str]], list[str]]:
    """Level → the docs that answer a question, each once, and what is named that is not there."""
    named = row.get("gold") or []
    if not isinstance(named, list | tuple):
        raise MemreproError(f"{where} has gold {cut(repr(named), 60)}: write a list of ids")
    levels: dict[str, dict[str, None]] = {"session": {}, "round": {}, "turn": {}}
    ids = [_id(where, {"gold": given}, "gold") for given in named]
    strange = [given for given in ids if given not in places]
    for given in ids:
        for level, doc in places.get(given, {}).items():
            levels[level][doc] = None
    return {level: list(docs) for level, docs in levels.items() if docs}, strange


def numbered(
    source: str | Path | Rows, what: str, known: Mapping[str, Sequence[str]], needed: str,
    noticed: Noticed,
) -> list[tuple[str, Mapping[str, Any]]]:  # fmt: skip
    """Each row by this project's names, with where it stands and its `number`, from 1.

    A row of an empty text is left out and noted.

    Raises:
        MemreproError: for a row that is no object, or whose needed field is no text.
    """
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        rows = [(f"{path}, line {n}", row) for n, row in numbered_json_lines(path)]
    else:
        if isinstance(source, pd.DataFrame):  # a cell that is missing is a field that a row lacks
            source = [dict(one.dropna()) for _, one in source.iterrows()]
        rows = [(f"{what} {n}", row) for n, row in enumerate(source, start=1)]
    own = {name: field for field, names in known.items() for name in reversed(names)}
    found: list[tuple[str, Mapping[str, Any]]] = []
    strange: dict[str, None] = {}
    for number, (where, row) in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise MemreproError(
                f"{where} is a {type(row).__name__}: write an object with {needed!r}"
            )
        strange |= dict.fromkeys(str(key) for key in row if key not in own)
        read: dict[str, Any] = {"number": number}
        for field, names in known.items():
            if (value := next((row[n] for n in names if row.get(n) is not None), None)) is not None:
                read[field] = value
        if needed not in read and any(name in row for name in known[needed]):
            read[needed] = ""  # null, as a call of a tool has it
        if not isinstance(read.get(needed), str):
            raise MemreproError(
                f"{where} has {needed} {cut(repr(read.get(needed)), 60)}: it must be a text; its "
                f"fields are {cut(', '.join(map(str, row)), 60)}, and the field is called "
                f"{' or '.join(known[needed])}"
            )
        if not read[needed].strip():
            noticed.add(f"empty {what}", where)
            continue
        found.append((where, read))
    for name in strange:
        noticed.add("field that is not read", f"{name!r} of a {what}")
    return found


def _conversation(where: str, row: Mapping[str, Any], several: bool) -> str:
    name = _id(where, row, "conversation")
    if several and not name:
        raise MemreproError(f"{where} names no conversation, and there are several: name its one")
    return name if several else "conversation"


def _id(where: str, row: Mapping[str, Any], field: str, default: str = "") -> str:
    """An id as text: 7.0 is 7, since pandas makes floats of whole numbers with one missing."""
    value = row.get(field, default)
    if isinstance(value, float) and value.is_integer():
        if abs(value) >= 2**53:  # from there on floats skip whole numbers
            raise MemreproError(
                f"{where} has {field} {value!r}, which may stand for another number: write ids as "
                "texts; in a frame of which some are missing, give the column the type Int64"
            )
        value = int(value)
    return str(value)


def _within(conversation: str, own: str, several: bool) -> str:
    return f"{conversation}/{own}" if several else own


def _time(where: str, row: Mapping[str, Any], noticed: Noticed) -> str:
    """ISO 8601 to the minute, or '' where there is none; its form is noted."""
    if (given := row.get("time", "")) in ("", None):
        return ""
    at, form = read_time(given)
    if not at:
        noticed.add("time that cannot be read", f"{given!r} at {where}")
    elif form not in noticed.setdefault("form of time", []):
        noticed.add("form of time", form)
    return at
