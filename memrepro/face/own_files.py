"""One's own conversations and questions, row by row, as memories, queries and gold."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memrepro.core.memory import Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.errors import MemreproError, cut
from memrepro.files.given import numbered_json_lines

_MESSAGE = ("text", "conversation", "session", "speaker", "time", "id")
_QUESTION = ("question", "gold", "conversation", "id", "kind", "time")
Rows = Iterable[Mapping[str, Any]]
# (where it stands, the row)
_Numbered = Sequence[tuple[str, Mapping[str, Any]]]


def read_own(messages: str | Path | Rows, questions: str | Path | Rows) -> list[Piece]:
    """One piece a conversation, in the order of their first messages; rows as `face.load` has them.

    A round is what the session's first speaker says and what is said until they speak again; its id
    is that of its first message. With several conversations, ids have the conversation's and a
    slash before them, as two conversations may use one id.

    Raises:
        MemreproError: for a row that cannot be used, with where it stands and the rule.
    """
    said: dict[str, dict[str, list[tuple[Turn, str]]]] = {}
    rows = _rows(messages, "message", _MESSAGE, "text")
    if not rows:
        raise MemreproError(f"{_name(messages, 'messages')}: no message: it needs at least one")
    several = len({str(row.get("conversation", "")) for _, row in rows}) > 1
    for where, row in rows:
        conversation = _conversation(where, row, several)
        sessions = said.setdefault(conversation, {})
        session = str(row.get("session", "1"))
        turns = sessions.setdefault(_within(conversation, session, several), [])
        own = str(row.get("id", f"{session}:{len(turns) + 1}"))
        speaker = str(row.get("speaker", "user"))
        turn = Turn(_within(conversation, own, several), speaker, row["text"])
        turns.append((turn, _time(where, row)))
    memories = {name: _memory(name, sessions) for name, sessions in said.items()}
    return _pieces(memories, _rows(questions, "question", _QUESTION, "question"), several)


def _pieces(memories: Mapping[str, Memory], rows: _Numbered, several: bool) -> list[Piece]:
    asked: dict[str, list[Query]] = {name: [] for name in memories}
    gold: dict[str, dict[str, dict[str, Parts]]] = {name: {} for name in memories}
    seen: set[str] = set()
    for number, (where, row) in enumerate(rows, start=1):
        conversation = _conversation(where, row, several)
        if conversation not in memories:
            raise MemreproError(
                f"{where} asks about the conversation {conversation!r}, of which there is no "
                f"message: there are {cut(', '.join(memories))}"
            )
        query_id = str(row.get("id", f"q{number}"))
        if query_id in seen:
            raise MemreproError(f"{where} has the id {query_id!r} of another: ids must be unique")
        seen.add(query_id)
        asked[conversation].append(
            Query(
                query_id, conversation, row["question"], _time(where, row), str(row.get("kind", ""))
            )
        )
        levels = _gold(where, row, memories[conversation], several)
        for level, docs in levels.items():
            parts = tuple((doc,) for doc in docs)
            gold[conversation].setdefault(level, {})[query_id] = parts
    if not rows:
        raise MemreproError("no question: give at least one row with 'question' and 'gold'")
    return [
        Piece(memory, tuple(asked[name]), gold[name])
        for name, memory in memories.items()
        if asked[name]
    ]


def _memory(name: str, sessions: Mapping[str, Sequence[tuple[Turn, str]]]) -> Memory:
    made, times = [], []
    for session_id, said in sessions.items():
        turns = [turn for turn, _ in said]
        made.append(Session(session_id, tuple(_rounds(turns))))
        times.append(said[0][1])
    return Memory(name, tuple(made), tuple(times))


def _rounds(turns: Sequence[Turn]) -> Iterable[Round]:
    """A new round where the first speaker speaks again after another."""
    held: list[Turn] = []
    for turn in turns:
        if held and turn.field == turns[0].field and held[-1].field != turn.field:
            yield Round(held[0].turn_id, tuple(held))
            held = []
        held.append(turn)
    yield Round(held[0].turn_id, tuple(held))


def _gold(
    where: str, row: Mapping[str, Any], memory: Memory, several: bool
) -> Mapping[str, Sequence[str]]:
    """Level → the docs that answer a question, each once; of no level where it names none."""
    named = row.get("gold", [])
    if not isinstance(named, list | tuple):
        raise MemreproError(f"{where} has gold {cut(repr(named), 60)}: write a list of ids")
    levels: dict[str, dict[str, None]] = {"session": {}, "round": {}, "turn": {}}
    for given in named:
        doc_id = _within(memory.memory_id, str(given), several)
        found = False
        for session in memory.sessions:
            if whole := session.session_id == doc_id:
                levels["session"][doc_id] = None
            for r in session.rounds:
                for turn in r.turns:
                    if turn.turn_id == doc_id:
                        levels["session"][session.session_id] = None
                        levels["round"][r.round_id] = None
                        levels["turn"][turn.turn_id] = None
                        found = True
            found = found or whole
        if not found:
            raise MemreproError(
                f"{where} names the gold {str(given)!r}, which is neither a message nor a session "
                f"of its conversation: ids are such as {memory.rounds[0].round_id!r}"
            )
    return {level: list(docs) for level, docs in levels.items() if docs}


def _rows(
    source: str | Path | Rows, what: str, known: Sequence[str], needed: str
) -> list[tuple[str, Mapping[str, Any]]]:
    """Each row with where it stands; unknown fields, and a needed one without text, are refused."""
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        numbered = [(f"{path}, line {n}", row) for n, row in numbered_json_lines(path)]
    else:
        numbered = [(f"{what} {n}", row) for n, row in enumerate(source, start=1)]
    for where, row in numbered:
        if not isinstance(row, Mapping):
            raise MemreproError(
                f"{where} is a {type(row).__name__}: write an object with {needed!r}"
            )
        if unknown := [key for key in row if key not in known]:
            raise MemreproError(
                f"{where} has the unknown field {unknown[0]!r}: known are {', '.join(known)}"
            )
        if not isinstance(row.get(needed), str) or not row[needed].strip():
            raise MemreproError(
                f"{where} has {needed} {cut(repr(row.get(needed)), 60)}: it must be a text that is "
                "not empty"
            )
    return numbered


def _name(source: str | Path | Rows, otherwise: str) -> str:
    return str(source) if isinstance(source, str | Path) else otherwise


def _conversation(where: str, row: Mapping[str, Any], several: bool) -> str:
    name = str(row.get("conversation", ""))
    if several and not name:
        raise MemreproError(f"{where} names no conversation, and there are several: name its one")
    return name if several else "conversation"


def _within(conversation: str, own: str, several: bool) -> str:
    return f"{conversation}/{own}" if several else own


def _time(where: str, row: Mapping[str, Any]) -> str:
    """ISO 8601 to the minute, or '' where there is none."""
    if not (given := row.get("time", "")):
        return ""
    try:
        return datetime.fromisoformat(str(given)).replace(tzinfo=None).isoformat(timespec="minutes")
    except ValueError as error:
        raise MemreproError(
            f"{where} has the time {cut(repr(given), 40)}: write ISO 8601, such as 2025-03-01T09:30"
        ) from error
