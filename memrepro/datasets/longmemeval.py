"""Reader of LongMemEval's schema: the released files, and the sample compiled like them.

Rules are the official scripts', as PROTOCOLS.md (LongMemEval) records them; where this reader
keeps more than one of them, each has a name of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memrepro import store
from memrepro.errors import MemreproError
from memrepro.memory import Dataset, Memory, Parts, Query, Round

_DATE = "%Y/%m/%d (%a) %H:%M"
_TEXTS = ("question_id", "question_type", "question", "question_date")
_LISTS = (
    "answer_session_ids",
    "haystack_dates",
    "haystack_session_ids",
    "haystack_sessions",
)
_ROLES = ("user", "assistant")


def load(folder: Path, name: str) -> Dataset:
    """Read the one *.json file of a folder.

    Raises:
        MemreproError: if there is not exactly one, or it does not follow the schema.
    """
    files = sorted(folder.glob("*.json"))
    if len(files) != 1:
        found = ", ".join(file.name for file in files) or "none"
        raise MemreproError(
            f"{folder} must hold exactly one .json file, found {found}: run the data set's "
            "download again, or move the other files away"
        )
    instances = store.read_json(files[0])
    if not isinstance(instances, list):
        raise MemreproError(
            f"{files[0]} holds a {type(instances).__name__}: LongMemEval's files hold a list of "
            "instances"
        )
    return load_instances(instances, name)


def load_instances(instances: Iterable[Mapping[str, Any]], name: str) -> Dataset:
    """Turn instances into memories (one a question), queries and qrels.

    Rounds: a user turn and the assistant turns after it (joined by a blank line); an assistant
    turn at the start of a session is a round of its own with that field only, and so is a user
    turn that nobody answers. A round's id is its first turn's official id,
    `<session_id>_<position in the session, from 1, both roles counted>`.

    A session id that stands twice in a haystack is read once, at its first place (13 haystacks
    of S-cleaned have that; PROTOCOLS.md). A query's kind is its question type, or `abstention`
    where the id contains `_abs`; an abstention has no qrels, since nothing answers it.

    Levels of the qrels, each gold doc one part of one alternative:

    - `session`: every session of `answer_session_ids`;
    - `session_official`: those of them with a user turn that has the answer. The official script
      counts no others, so most of single-session-assistant has no gold at this level;
    - `round`: the rounds with a turn, of either role, that has the answer. (The official turn
      level counts user turns only.)

    Raises:
        MemreproError: if an instance does not follow the schema.
    """
    memories: dict[str, Memory] = {}
    queries: list[Query] = []
    qrels: dict[str, dict[str, Parts]] = {"session": {}, "session_official": {}, "round": {}}
    for number, instance in enumerate(instances, start=1):
        query, memory, gold = _read(instance, number)
        if query.query_id in memories:
            raise MemreproError(
                f"question {query.query_id!r} of {name!r} stands twice: ids must be unique; "
                "remove one of them"
            )
        memories[memory.memory_id] = memory
        queries.append(query)
        if query.kind == "abstention":
            continue
        for level, ids in gold.items():
            if ids:
                qrels[level][query.query_id] = tuple((doc_id,) for doc_id in ids)
    return Dataset(name, memories, tuple(queries), qrels)


def _read(
    instance: Mapping[str, Any], number: int
) -> tuple[Query, Memory, Mapping[str, Sequence[str]]]:
    """The query, its memory, and the gold ids by level."""
    _check(instance, number)
    question_id = instance["question_id"]
    answers = instance["answer_session_ids"]
    rounds: list[Round] = []
    official: list[str] = []
    answering: list[str] = []
    seen: set[str] = set()
    columns = (instance[key] for key in _LISTS[1:])
    for date, session_id, turns in zip(*columns, strict=True):
        if session_id in seen:
            continue
        seen.add(session_id)
        at = _minute(date, question_id)
        for position, group in _rounds(turns):
            round_id = f"{session_id}_{position}"
            rounds.append(Round(round_id, session_id, at, _fields(group)))
            if any(turn.get("has_answer") for turn in group):
                answering.append(round_id)
        if session_id in answers and any(
            turn.get("has_answer") and turn["role"] == "user" for turn in turns
        ):
            official.append(session_id)
    for session_id in answers:
        if session_id not in seen:
            raise MemreproError(
                f"question {question_id!r} names the answer session {session_id!r}, which its "
                "haystack does not hold: the file is damaged; fetch it anew"
            )
    kind = "abstention" if "_abs" in question_id else instance["question_type"]
    at = _minute(instance["question_date"], question_id)
    query = Query(question_id, question_id, instance["question"], at, kind)
    gold = {
        "session": list(dict.fromkeys(answers)),
        "session_official": official,
        "round": answering,
    }
    return query, Memory(question_id, tuple(rounds)), gold


def _rounds(turns: Sequence[Mapping[str, Any]]) -> list[tuple[int, list[Mapping[str, Any]]]]:
    """The turns of each round, with the position of its first turn."""
    groups: list[tuple[int, list[Mapping[str, Any]]]] = []
    for position, turn in enumerate(turns, start=1):
        if turn["role"] == "user" or not groups:
            groups.append((position, [turn]))
        else:
            groups[-1][1].append(turn)
    return groups


def _fields(group: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    said: dict[str, list[str]] = {}
    for turn in group:
        said.setdefault(turn["role"], []).append(turn["content"])
    return {role: "\n\n".join(texts) for role, texts in said.items()}


def _minute(date: str, question_id: str) -> str:
    """`2023/05/30 (Tue) 23:40` as `2023-05-30T23:40`; the weekday is not checked."""
    try:
        return datetime.strptime(date, _DATE).isoformat(timespec="minutes")
    except (TypeError, ValueError):
        raise MemreproError(
            f"question {question_id!r} has the date {date!r}: dates are written like "
            "'2023/05/30 (Tue) 23:40'"
        ) from None


def _check(instance: Mapping[str, Any], number: int) -> None:
    """Refuse an instance that does not follow the schema."""
    if not isinstance(instance, Mapping):
        raise MemreproError(
            f"instance {number} is a {type(instance).__name__}: an instance is a JSON object"
        )
    who = f"question {instance.get('question_id', f'number {number}')!r}"
    for key in (*_TEXTS, *_LISTS):
        if key not in instance:
            raise MemreproError(
                f"{who} has no {key!r}: found {', '.join(sorted(instance))}; LongMemEval's "
                f"instances have {', '.join((*_TEXTS, *_LISTS))}"
            )
        wanted = str if key in _TEXTS else list
        if not isinstance(instance[key], wanted):
            raise MemreproError(
                f"{who} has a {type(instance[key]).__name__} as {key!r}: it must be a "
                f"{'text' if wanted is str else 'list'}"
            )
    for key in _LISTS:
        turns = key == "haystack_sessions"
        for item in instance[key]:
            if not isinstance(item, list if turns else str):
                raise MemreproError(
                    f"{who} has {item!r:.60} among its {key}: each must be a "
                    f"{'list of turns' if turns else 'text'}"
                )
    lengths = {key: len(instance[key]) for key in _LISTS[1:]}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} {key}" for key, length in lengths.items())
        raise MemreproError(f"{who} has {found}: each session needs one date and one id")
    for session_id, turns in zip(
        instance["haystack_session_ids"], instance["haystack_sessions"], strict=True
    ):
        for position, turn in enumerate(turns, start=1):
            role = turn.get("role") if isinstance(turn, Mapping) else None
            if role not in _ROLES:
                raise MemreproError(
                    f"{who} has the role {role!r} at turn {position} of session {session_id!r}: "
                    f"a role is {' or '.join(map(repr, _ROLES))}"
                )
            if not isinstance(turn.get("content"), str):
                raise MemreproError(
                    f"{who} has no text as 'content' of turn {position} of session "
                    f"{session_id!r}: every turn needs one"
                )
