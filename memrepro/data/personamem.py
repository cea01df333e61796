"""PersonaMem: questions about long chats of a user with an assistant, many to one shared context.

A round is a pair of user and assistant turns, made as RF-Mem's released code makes its documents:
system turns and blank ones are dropped, texts stripped, neighbouring turns of one role joined by a
blank line, also across a dropped turn. An assistant turn that opens a context is a round of that
field only; a user turn that nobody answers is dropped. Rendering a round as that code does, each
field under a line `User:` or `Assistant:`, is left to the key scheme. (Most texts begin with these
words themselves; that is how they stand in the data, and they are kept.)

No column of the data says which turns answer a question (`distance_to_ref_in_blocks`, `…_in_tokens`
and `…_proportion_in_context` say about how far back they lie), so there are no qrels.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.core.memory import Memory, Piece, Query, Round, Turn
from memrepro.data.reading import Skipped, check_skipped, damaged
from memrepro.data.registry import registration
from memrepro.files import atomic

COLUMNS = (
    "question_id",
    "question_type",
    "user_question_or_message",
    "shared_context_id",
    "end_index_in_shared_context",
)

_ROLES = ("system", "user", "assistant")


def stream(folder: Path, name: str, *, whole_context: bool = False) -> Iterator[Piece]:
    """Read the data set of that registry key from the files below `folder`, a memory at a time.

    What a question may see is `context[:end_index_in_shared_context]`: a memory for each distinct
    pair of context and end index, with the id `<shared_context_id>@<end_index>`. RF-Mem's released
    code searches the whole context, the turns after the question too: with `whole_context` there
    is a memory for each context, with its id. A round has the same id in both, but the last one
    before the end index may be shorter than in the whole context.

    A query's text is `user_question_or_message`, as in the released code; its kind is
    `question_type`. Neither questions nor turns have a time.

    A question whose memory does not exist or is empty is skipped (the smallest end index of 32k is
    96), and so is one with a cell that is missing.

    Raises:
        MemreproError: if a file is missing, its structure is broken, or too many of the questions
            are.
    """
    size = registration(name).edition
    path = _questions(folder, name)
    contexts = _contexts(folder / "personamem" / f"shared_contexts_{size}.jsonl")
    table = _table(path, COLUMNS)
    memories: dict[str, Memory] = {}
    asked: dict[str, list[Query]] = {}
    skipped: Skipped = []
    for number, row in enumerate(table[list(COLUMNS)].itertuples(index=False), start=1):
        query_id, kind, text, context_id, end = row
        reason = _why_skipped(row, contexts)
        if not reason:
            turns = contexts[context_id][: None if whole_context else int(end)]
            memory_id = context_id if whole_context else f"{context_id}@{int(end)}"
            if memory_id not in memories and (rounds := _rounds(turns)):
                memories[memory_id] = Memory.of(memory_id, *rounds)
            if memory_id not in memories:
                reason = f"asks memory {memory_id!r}, which is empty"
        if reason:
            skipped.append((f"question {query_id!r}, number {number}", reason))
        else:
            query = Query(query_id, memory_id, text, "", kind)
            asked.setdefault(memory_id, []).append(query)
    check_skipped(skipped, len(table), str(path))
    for memory_id, memory in memories.items():
        yield Piece(memory, tuple(asked[memory_id]), skipped=tuple(skipped))
        skipped.clear()


def topics(folder: Path, name: str) -> dict[str, int]:
    """Topic → number of questions in the file, those that `stream` skips among them (Table 8).

    The topics stand in the order of the file.

    Raises:
        MemreproError: if the file is missing or has no such column.
    """
    return dict(Counter(_table(_questions(folder, name), ("topic",))["topic"]))


def _questions(folder: Path, name: str) -> Path:
    return folder / "personamem" / f"questions_{registration(name).edition}.csv"


def _table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """The questions, which must have the columns."""
    table = atomic.read_table(path)
    if missing := [column for column in columns if column not in table]:
        raise damaged(f"{path} has no column {missing[0]!r} but {list(table)}")
    return table


def _why_skipped(row: Any, contexts: Mapping[str, list["_Said"]]) -> str:
    """Why a question names no memory, or ''."""
    for column, cell in zip(COLUMNS, row, strict=True):
        # A row that is too short ends in cells that are no text.
        if not isinstance(cell, str) or not cell.strip():
            return f"has no {column!r}"
    *_, context_id, end = row
    if context_id not in contexts:
        return f"names context {context_id!r}, which does not exist"
    # isdecimal alone also holds for other scripts' digits; int reads them, too.
    if not end.isdecimal() or int(end) > len(contexts[context_id]):
        return (
            f"has end index {end!r}, not one from 0 to {len(contexts[context_id])}, the turns of "
            "its context"
        )
    return ""


# What was said at once: its role and its text.
_Said = tuple[str, str]


def _rounds(turns: list[_Said]) -> list[tuple[str, Round]]:
    """The rounds of a context, or of its beginning, each with its session's id.

    A system turn opens a chat, so a round's session is the number of those before it, such as `s1`.
    A turn's id is its session's and its place in the context, from 0, such as `s1:t5`; a round's is
    its first turn's. A turn that is merged into a round of the chat before is of that session, too.
    """
    rounds: list[tuple[str, Round]] = []
    chat, session_id = 0, ""
    said: list[Turn] = []
    for index, (role, text) in enumerate(turns):
        chat += role == "system"
        if role == "system" or not text:
            continue
        answered = any(turn.field == "assistant" for turn in said)
        if not said or (role == "user" and answered):
            if said:
                rounds.append((session_id, Round(said[0].turn_id, tuple(said))))
            session_id, said = f"s{chat}", []
        said.append(Turn(f"{session_id}:t{index}", role, text))
    if any(turn.field == "assistant" for turn in said):
        rounds.append((session_id, Round(said[0].turn_id, tuple(said))))
    return rounds


def _contexts(path: Path) -> dict[str, list[_Said]]:
    """The turns of each shared context: one object a line, with the context's id as its key."""
    contexts: dict[str, list[_Said]] = {}
    for number, line in atomic.numbered_json_lines(path):
        if not isinstance(line, dict):
            raise damaged(f"{path}: line {number} is a {type(line).__name__} and no object")
        for context_id, turns in line.items():
            if context_id in contexts:
                raise damaged(f"{path}: context {context_id!r} stands twice in it")
            if not isinstance(turns, list):
                found = type(turns).__name__
                raise damaged(f"{path}: context {context_id!r} is a {found} and no list of turns")
            contexts[context_id] = [
                _turn(turn, f"{path}: turn {index} of context {context_id!r}")
                for index, turn in enumerate(turns)
            ]
    return contexts


def _turn(turn: Any, item: str) -> _Said:
    role, text = (turn.get(k) if isinstance(turn, dict) else None for k in ("role", "content"))
    if role not in _ROLES:
        raise damaged(f"{item} has the role {role!r}, not one of {_ROLES}")
    if not isinstance(text, str):
        raise damaged(f"{item} has a {type(text).__name__} as 'content', no text")
    return role, text.strip()
