"""Reader of LongMemEval's schema: the released files, and the sample compiled like them.

Rules are the official scripts' (docs/protocols.md, LongMemEval); where this reader keeps more than
one of them, each has a name of its own. A file is read one question at a time, so that the memory
needed does not grow with it (M has 2.7 GB).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import orjson

from memrepro.core.memory import Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.data.gold import Gold
from memrepro.data.reading import (
    Skipped,
    check_skipped,
    minute,
    not_too_deep,
    uncollected,
    whole_texts,
)
from memrepro.errors import MemreproError

DUPLICATES = ("first", "last")
ASKED = ("as_dated", "day_end")

_DATE = "%Y/%m/%d (%a) %H:%M"
# As all of them are, which is read ten times as fast.
_USUAL_DATE = re.compile(
    r"(\d{4})/(\d\d)/(\d\d) \((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\) (\d\d:\d\d)", re.ASCII
)
_HAYSTACK = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
# Key → what it holds, and what each member of a list is. A date that is none is read as ''.
_SCHEMA: dict[str, tuple[type, type]] = {
    "question_id": (str, object), "question_type": (str, object), "question": (str, object),
    "question_date": (object, object), "answer_session_ids": (list, str),
    "haystack_session_ids": (list, str), "haystack_dates": (list, object),
    "haystack_sessions": (list, list),
}  # fmt: skip
_NAMES: dict[type, str] = {str: "text", list: "list"}
_ROLES = ("user", "assistant")
_FLAG = (bool, type(None))
_CHUNK = 1 << 20
_BEGINS = re.compile(rb'\s*\[\s*(\{\s*"[^"\\]*"\s*:)')
_ABSTENTION = "abstention"
_FLAGGED = ("session_official", "round", "round_official", "turn", "turn_official")


_Reasons = Mapping[str, str]
_NONE: _Reasons = MappingProxyType({})


class _Slot(NamedTuple):
    """A session of a haystack as the file has it."""

    session_id: str
    date: Any
    turns: Sequence[Mapping[str, Any]]


def stream(
    folder: Path, name: str, *, duplicates: str = "first", left_out: _Reasons = _NONE,
    asked: str = "as_dated",
) -> Iterator[Piece]:  # fmt: skip
    """Read the one *.json file below a folder, one piece a question (see `pieces_of`).

    Raises:
        MemreproError: if there is not exactly one file, if it is not a whole JSON list, or if too
            many of its questions cannot be used.
    """
    path = _only_file(folder)
    with not_too_deep(str(path)):
        yield from uncollected(pieces_of(_instances(path), name, duplicates, left_out, asked))


def gold(folder: Path, name: str) -> Iterator[Gold]:
    """What answers each question that `stream` reads; an answer may be a number in the file.

    Raises:
        MemreproError: as of `stream`, and if too many questions have no answer.
    """
    unusable: Skipped = []
    number = 0
    path = _only_file(folder)
    with not_too_deep(str(path)):
        for number, instance in enumerate(_instances(path), start=1):
            reason = _fault(instance)
            if not reason and not isinstance(instance.get("answer"), str | int | float):
                reason = f"it has {instance.get('answer')!r:.60} as 'answer': it must be a text"
            if reason:
                unusable.append((_name(instance, number), reason))
                continue
            kind = _kind(instance)
            yield Gold(
                instance["question_id"], kind, instance["question"],
                minute(instance["question_date"], _DATE), str(instance["answer"]),
                abstains=kind == _ABSTENTION,
            )  # fmt: skip
    check_skipped(unusable, number, name)


def _only_file(folder: Path) -> Path:
    files = sorted(folder.rglob("*.json"))
    if len(files) != 1:
        found = ", ".join(file.name for file in files) or "none"
        raise MemreproError(
            f"{folder} must hold exactly one .json file, found {found}: run the data set's "
            "download again, or move the other files away"
        )
    return files[0]


def _kind(instance: Mapping[str, Any]) -> str:
    abstains = "_abs" in instance["question_id"]
    return _ABSTENTION if abstains else str(instance["question_type"])


def pieces_of(
    instances: Iterable[Any], name: str, duplicates: str = "first", left_out: _Reasons = _NONE,
    asked: str = "as_dated",
) -> Iterator[Piece]:  # fmt: skip
    """Turn each instance into a memory, its query and what answers it.

    Rounds: a user turn and the assistant turns after it; an assistant turn at the start of a
    session is a round of its own, and so is a user turn that nobody answers. A turn's id is the
    official `<session_id>_<position in the session, from 1, both roles counted>`; a round's is its
    first turn's. A query's kind is its question type, or `abstention` where the id contains `_abs`;
    the type of an abstention is in the piece's `types`.

    Levels of the qrels, each gold doc one part of one alternative:

    - `session`: every session of `answer_session_ids`;
    - `round`, `turn`: those with, or that are, a turn of either role that has the answer;
    - `session_official`, `round_official`, `turn_official`: what the official script counts: the
      sessions whose id contains `answer`, of them those with a *user* turn that has the answer
      (others it renames to `noans`), and the rounds of these turns, and these turns.

    Known faults of the released files, each kept to the one question that it concerns:

    - A session id that stands twice in a haystack (13 haystacks of S-cleaned) is read at its first
      or at its last place, as `duplicates` says; the other is skipped.
    - A session without turns is skipped.
    - A date that cannot be read becomes '', with an entry in `skipped`.
    - A question whose answer sessions are not all there has no gold at any level, and a fault: what
      is left of its evidence may not answer it. One that names none has a fault and the gold of the
      flagged turns; an abstention may name none, without a fault.
    - An instance that does not follow the schema is skipped; its entry goes with the next piece.

    A question of `left_out` (id → why) is skipped, and said to be, whether the file has it or not.

    `asked` says when a question is asked: `as_dated`, or at the `day_end`. 44 of S's questions are
    dated before a session of the same day that holds evidence, which a timed method could not see.

    Raises:
        MemreproError: if more than 1 % of the instances and more than 5 cannot be used, or none
            can; it names the first.
    """
    if duplicates not in DUPLICATES:
        raise MemreproError(
            f"{name} has duplicates: {duplicates!r}; give one of {', '.join(DUPLICATES)}"
        )
    if asked not in ASKED:
        raise MemreproError(f"{name} has asked: {asked!r}; give one of {', '.join(ASKED)}")
    held: Piece | None = None  # one piece is held back, so that the last can take what follows it
    unusable: Skipped = []
    waiting: Skipped = [(f"question {key!r}", why) for key, why in left_out.items()]
    number = 0
    for number, instance in enumerate(instances, start=1):
        if _name(instance, number) in left_out:
            continue
        if reason := _fault(instance):
            unusable.append((_name(instance, number), reason))
            waiting.append((f"question {unusable[-1][0]!r}", reason))
            continue
        piece = _piece(instance, duplicates, asked)
        if held:
            yield held
        held = replace(piece, skipped=(*waiting, *piece.skipped))
        waiting.clear()
    check_skipped(unusable, number, name)
    if held:
        yield replace(held, skipped=(*held.skipped, *waiting))
    elif unusable:
        item, reason = unusable[0]
        raise MemreproError(
            f"{name}: none of {number} questions can be used, the first is {item!r}: {reason}; "
            "the file is not LongMemEval's or is damaged: delete it and fetch it anew"
        )


def _instances(path: Path) -> Iterator[Any]:
    """The members of a file's list, each as soon as it is read.

    Raises:
        MemreproError: if it is not a list, not whole JSON, or nests too deep.
    """
    done = 0
    with path.open("rb") as file:
        try:
            for part in _parts(file, path):
                for instance in _parsed(part):
                    done += 1
                    yield instance
        except ValueError as error:
            fault = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise MemreproError(
                f"{path} is not whole JSON: {fault} after {done} whole instances, "
                f"not behind byte {file.tell()} of {path.stat().st_size}; it is truncated or "
                "damaged: delete it and run the same command again to fetch it anew"
            ) from error


def _parts(file: BinaryIO, path: Path) -> Iterator[memoryview]:
    """The file's list as lists of one member each, or of several where they begin otherwise.

    It is cut before each object that begins as the first does, which nothing within a text can, as
    the quotes there are escaped. The commas become brackets in place: to copy a part takes a third
    as long as to parse it.
    """
    held = bytearray(file.read(_CHUNK))
    if (first := bytes(held.lstrip()[:1])) not in (b"[", b""):
        raise MemreproError(
            f"{path} begins with {first.decode(errors='replace')!r}: LongMemEval's files hold a "
            "list of instances; delete it and fetch it anew"
        )
    begins = _BEGINS.match(held)
    opening = begins[1] if begins else b'{"question_id":'
    searched = begins.end() if begins else 0
    more = bytes(held)
    while more:
        while (cut := held.find(opening, searched)) > 0:
            comma = held.rfind(b",", 0, cut)
            if held[comma + 1 : cut].strip():
                raise ValueError("a comma is missing")
            held[comma] = ord("]")
            with memoryview(held)[: comma + 1] as part:
                yield part
            del held[: cut - 1]
            held[0] = ord("[")
            searched = len(opening)
        searched = max(searched, len(held) - len(opening))
        held += (more := file.read(_CHUNK))
    yield memoryview(held)


def _parsed(data: memoryview) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # It refuses half a surrogate pair, which the standard library does not.
        return whole_texts(json.loads(bytes(data).decode()), "an instance")


def _piece(instance: Mapping[str, Any], duplicates: str, asked: str) -> Piece:
    """The memory of an instance that follows the schema, its query, and the gold by level."""
    question_id = instance["question_id"]
    skipped: Skipped = []
    slots = _slots(instance, duplicates, skipped)
    sessions = tuple(_session(slot) for slot in slots)
    of_question = f"of question {question_id!r}"
    times = tuple(
        _minute(slot.date, f"date of session {slot.session_id!r} {of_question}", skipped)
        for slot in slots
    )
    at = _minute(instance["question_date"], f"date {of_question}", skipped)
    if at and asked == "day_end":
        at = f"{at[:10]}T23:59"
    kind = _kind(instance)
    query = Query(question_id, question_id, instance["question"], at, kind)
    answers = list(dict.fromkeys(instance["answer_session_ids"]))
    fault = _answers_fault(instance, answers, {slot.session_id for slot in slots}, kind)
    gold = {"session": answers, **_flagged(slots, sessions)}
    lost = bool(fault and answers)
    qrels: dict[str, dict[str, Parts]] = {
        level: {question_id: tuple((doc_id,) for doc_id in ids)} if ids and not lost else {}
        for level, ids in gold.items()
    }
    memory = Memory(question_id, sessions, times)
    faults = {question_id: fault} if fault else {}
    types = {question_id: instance["question_type"]} if kind == _ABSTENTION else {}
    return Piece(memory, (query,), qrels, faults, tuple(skipped), types)


def _slots(instance: Mapping[str, Any], duplicates: str, skipped: Skipped) -> list[_Slot]:
    """The sessions to read, in the haystack's order; what is left out is added to `skipped`."""
    of_question = f"of question {instance['question_id']!r}"
    columns = (instance[key] for key in _HAYSTACK)
    kept: dict[str, _Slot] = {}
    for slot in map(_Slot._make, zip(*columns, strict=True)):
        item = f"session {slot.session_id!r} {of_question}"
        if not slot.turns:
            skipped.append((item, "it has no turns"))
            continue
        if other := kept.get(slot.session_id):
            same = "the same" if other.turns == slot.turns else "other"
            skipped.append(
                (item, f"its id stands twice, with {same} contents; the {duplicates} is read")
            )
            if duplicates == "first":
                continue
            del kept[slot.session_id]  # so that it takes its last place
        kept[slot.session_id] = slot
    return list(kept.values())


def _session(slot: _Slot) -> Session:
    session_id, rounds = slot.session_id, list[Round]()
    turns: list[Turn] = []
    for position, turn in enumerate(slot.turns, start=1):
        role = turn["role"]
        if role == "user" and turns:
            rounds.append(Round(turns[0].turn_id, tuple(turns)))
            turns.clear()
        turns.append(Turn(f"{session_id}_{position}", role, turn["content"]))
    rounds.append(Round(turns[0].turn_id, tuple(turns)))
    return Session(session_id, tuple(rounds))


def _flagged(slots: Sequence[_Slot], sessions: Sequence[Session]) -> dict[str, list[str]]:
    """The gold ids of the levels that follow from the turns that are flagged `has_answer`."""
    # Dicts as ordered sets: a session or round with two flagged turns is one doc.
    found: dict[str, dict[str, None]] = {level: {} for level in _FLAGGED}
    for slot, session in zip(slots, sessions, strict=True):
        flags = [turn.get("has_answer") for turn in slot.turns]
        if not any(flags):
            continue
        flagged = iter(flags)
        for r in session.rounds:
            for turn in r.turns:
                if not next(flagged):
                    continue
                found["round"][r.round_id] = found["turn"][turn.turn_id] = None
                if turn.field == "user" and "answer" in session.session_id:
                    found["session_official"][session.session_id] = None
                    found["round_official"][r.round_id] = None
                    found["turn_official"][turn.turn_id] = None
    return {level: list(ids) for level, ids in found.items()}


def _answers_fault(
    instance: Mapping[str, Any], answers: Sequence[str], held: set[str], kind: str
) -> str:
    """Why the question has no gold at the stated session level, or '' if it has."""
    for session_id in answers:
        if session_id in held:
            continue
        if session_id in instance["haystack_session_ids"]:
            return f"its answer session {session_id!r} has no turns"
        return f"its answer session {session_id!r} is not in its haystack"
    return "" if answers or kind == _ABSTENTION else "it names no answer session"


def _minute(date: Any, item: str, skipped: Skipped) -> str:
    """`2023/05/30 (Tue) 23:40` as `2023-05-30T23:40`; that the weekday is right is not checked."""
    usual = _USUAL_DATE.fullmatch(date) if isinstance(date, str) else None
    at = minute("{}-{}-{}T{}".format(*usual.groups())) if usual else minute(date, _DATE)
    if not at:
        reason = f"left out: {date!r:.60} is not written like '2023/05/30 (Tue) 23:40'"
        skipped.append((item, reason))
    return at


def _name(instance: Any, number: int) -> str:
    """An instance's question id, or its place in the file where it has none."""
    question_id = instance.get("question_id") if isinstance(instance, Mapping) else None
    return question_id if isinstance(question_id, str) else f"number {number}"


def _fault(instance: Any) -> str:
    """What keeps an instance from being used, or '' if nothing does."""
    if not isinstance(instance, Mapping):
        return f"it is a {type(instance).__name__}: an instance is a JSON object"
    for key, (kind, member) in _SCHEMA.items():
        if key not in instance:
            return f"it has no {key!r}: found {', '.join(sorted(instance))}"
        if not isinstance(instance[key], kind):
            found = type(instance[key]).__name__
            return f"it has a {found} as {key!r}: it must be a {_NAMES[kind]}"
        members = instance[key] if kind is list else ()
        if wrong := [one for one in members if not isinstance(one, member)]:
            return f"it has {wrong[0]!r:.60} among its {key}: each must be a {_NAMES[member]}"
    lengths = {key: len(instance[key]) for key in _HAYSTACK}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} {key}" for key, length in lengths.items())
        return f"it has {found}: each session needs one date and one id"
    if not any(instance["haystack_sessions"]):
        return "none of its sessions has a turn"
    for session_id, _, turns in zip(*(instance[key] for key in _HAYSTACK), strict=True):
        for position, turn in enumerate(turns, start=1):
            if fault := _turn_fault(turn):
                return f"turn {position} of its session {session_id!r} {fault}"
    return ""


def _turn_fault(turn: Any) -> str:
    if not isinstance(turn, dict):
        return f"is a {type(turn).__name__}: a turn is a JSON object"
    if turn.get("role") not in _ROLES:
        return f"has the role {turn.get('role')!r}: a role is {' or '.join(map(repr, _ROLES))}"
    if not isinstance(turn.get("content"), str):
        return "has no text as its 'content'"
    if not isinstance(turn.get("has_answer"), _FLAG):
        return f"has {turn['has_answer']!r:.60} as 'has_answer': it is true or false"
    return ""
