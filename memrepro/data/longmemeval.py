"""Reader of LongMemEval's schema: the released files, and the sample compiled like them.

Rules are the official scripts' (docs/protocols.md, LongMemEval); where this reader keeps more than
one of them, each has a name of its own. A file is read one question at a time, so that the memory
needed does not grow with it (M has 2.7 GB).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from memrepro.core.memory import Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.data.gold import Gold
from memrepro.data.members import members
from memrepro.data.reading import (
    Skipped,
    check_skipped,
    minute,
    not_too_deep,
    uncollected,
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
_ABSTENTION = "abstention"
_FLAGGED = ("session_official", "round", "round_official", "turn", "turn_official")


_Reasons = Mapping[str, str]
_NONE: _Reasons = MappingProxyType({})


class _Slot(NamedTuple):
    """A session of a haystack as the file has it, with None for a turn that cannot be used."""

    session_id: str
    date: Any
    turns: Sequence[Mapping[str, Any] | None]


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
        yield from uncollected(pieces_of(members(path), name, duplicates, left_out, asked))


def gold(folder: Path, name: str) -> Iterator[Gold]:
    """What answers each question that `stream` reads; an answer may be a number in the file.

    Raises:
        MemreproError: as of `stream`, and if too many questions have no answer.
    """
    unusable: Skipped = []
    number = 0
    path = _only_file(folder)
    with not_too_deep(str(path)):
        for number, instance in enumerate(members(path), start=1):
            reason = _fault(instance)
            if not reason and not isinstance(instance.get("answer"), str | int | float):
                reason = f"it has {instance.get('answer')!r:.60} as 'answer': it must be a text"
            if reason:
                unusable.append((_name(instance, number), reason))
                continue
            kind = _kind(instance)
            yield Gold(
                instance["question_id"], kind, instance["question"],
                _other_date(instance["question_date"]), str(instance["answer"]),
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
    - A session without turns is skipped, and so is a turn of another role (system, tool) or whose
      content is no text; the others keep their positions. If it has the answer, its question has a
      fault and no gold.
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
            f"the file is not LongMemEval's or is damaged: fetch it anew, or repair it if it is "
            "your own"
        )


def _piece(instance: Mapping[str, Any], duplicates: str, asked: str) -> Piece:
    """The memory of an instance that follows the schema, its query, and the gold by level."""
    question_id = instance["question_id"]
    skipped: Skipped = []
    slots, lost_turn = _slots(instance, duplicates, skipped)
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
    held = {slot.session_id for slot in slots}
    fault = _answers_fault(instance, answers, held, kind) or lost_turn
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


def _slots(
    instance: Mapping[str, Any], duplicates: str, skipped: Skipped
) -> tuple[list[_Slot], str]:
    """The sessions to read, in the haystack's order, and the fault of a turn of evidence, or ''.

    What is left out is added to `skipped`.
    """
    of_question = f"of question {instance['question_id']!r}"
    columns = (instance[key] for key in _HAYSTACK)
    kept: dict[str, _Slot] = {}
    lost = ""
    for slot in map(_Slot._make, zip(*columns, strict=True)):
        item = f"session {slot.session_id!r} {of_question}"
        faults = {n: fault for n, turn in enumerate(slot.turns) if (fault := _turn_fault(turn))}
        skipped += [(f"turn {n + 1} of {item}", fault) for n, fault in faults.items()]
        if len(faults) == len(slot.turns):
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
        if faults:
            if of_answer := [n for n in faults if _has_answer(slot.turns[n])]:
                place = f"turn {of_answer[0] + 1} of its session {slot.session_id!r}"
                lost = f"{place} has the answer and cannot be used"
            usable = [None if n in faults else turn for n, turn in enumerate(slot.turns)]
            slot = slot._replace(turns=usable)
        kept[slot.session_id] = slot
    return list(kept.values()), lost


def _has_answer(turn: Any) -> bool:
    return isinstance(turn, Mapping) and bool(turn.get("has_answer"))


def _session(slot: _Slot) -> Session:
    session_id, rounds = slot.session_id, list[Round]()
    turns: list[Turn] = []
    for position, turn in enumerate(slot.turns, start=1):
        if turn is None:
            continue
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
        flags = [turn.get("has_answer") for turn in slot.turns if turn]
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
    """`2023/05/30 (Tue) 23:40` as `2023-05-30T23:40`; that the weekday is right is not checked.

    A file of this form that others made may have ISO 8601.
    """
    usual = _USUAL_DATE.fullmatch(date) if isinstance(date, str) else None
    at = minute("{}-{}-{}T{}".format(*usual.groups())) if usual else _other_date(date)
    if not at:
        reason = f"left out: {date!r:.60} is not written like '2023/05/30 (Tue) 23:40'"
        skipped.append((item, reason))
    return at


def _other_date(date: Any) -> str:
    return minute(date, _DATE) or minute(date)


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
    if all(_turn_fault(turn) for turns in instance["haystack_sessions"] for turn in turns):
        return "none of its sessions has a turn that can be used"
    for session_id, _, turns in zip(*(instance[key] for key in _HAYSTACK), strict=True):
        for position, turn in enumerate(turns, start=1):
            flag = turn.get("has_answer") if isinstance(turn, dict) else None
            if not isinstance(flag, _FLAG):
                place = f"turn {position} of its session {session_id!r}"
                return f"{place} has {flag!r:.60} as 'has_answer': it is true or false"
    return ""


def _turn_fault(turn: Any) -> str:
    """What keeps a turn from being used, or '' if nothing does."""
    if not isinstance(turn, dict):
        return f"is a {type(turn).__name__}: a turn is a JSON object"
    if turn.get("role") not in _ROLES:
        return f"has the role {turn.get('role')!r:.60}: a role is {' or '.join(map(repr, _ROLES))}"
    if not isinstance(turn.get("content"), str):
        return "has no text as its 'content'"
    return ""
