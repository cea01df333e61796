"""PersonaMem: questions about long chats of a user with an assistant, many to one shared context.

A round is a pair of user and assistant turns, made as RF-Mem's released code makes its documents:
system turns and blank ones are dropped, texts stripped, neighbouring turns of one role joined by a
blank line, also across a dropped turn. An assistant turn that opens a context is a round of that
field only; a user turn that nobody answers is dropped. Rendering a round as that code does, each
field under a line `User:` or `Assistant:`, is left to the key scheme. (Most texts begin with these
words themselves; that is how they stand in the data, and they are kept.)

No column names the turn that a question refers to, but two place it (docs/protocols.md):
`context_length_in_tokens` less `distance_to_ref_in_tokens` is the number of tokens before it, by
the tokeniser of `memrepro.text.lengths`. The gold of a question is that turn, its round and its
chat; `evidence` counts how well that fits. Where it lies is exact, that it is all the evidence is
an approximation: the data's generator placed the first utterance of one event, the earliest for
`track_full_preference_evolution`; what else the user says of it is not marked.
"""

import ast
import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.core.memory import Memory, Piece, Query, Round, Turn
from memrepro.data import personamem_questions
from memrepro.data.fetch import fetch_all
from memrepro.data.gold import Gold
from memrepro.data.reading import Skipped, check_skipped, damaged
from memrepro.data.registry import registration
from memrepro.errors import MemreproError, cut
from memrepro.files import atomic
from memrepro.files.given import numbered_json_lines
from memrepro.text.lengths import count_tokens

_log = logging.getLogger(__name__)

COLUMNS = (
    "question_id",
    "question_type",
    "user_question_or_message",
    "shared_context_id",
    "end_index_in_shared_context",
)

# What places the turn that a question refers to.
_PLACED = ("context_length_in_tokens", "distance_to_ref_in_tokens")
_CHECKED = (
    "context_length_in_letters",
    "distance_to_ref_in_blocks",
    "correct_answer",
    "all_options",
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
    `question_type`. Neither questions nor turns have a time. One turn, round and session are
    relevant to a question, those that it refers to (see above), or a fault says why none are.

    A question whose memory does not exist or is empty is skipped (the smallest end index of 32k is
    96), and so is one with a cell that is missing.

    Raises:
        MemreproError: if a file is missing, its structure is broken, or too many of the questions
            are.
    """
    size = registration(name).edition
    path = _questions(folder, name)
    contexts = _contexts(folder / "personamem" / f"shared_contexts_{size}.jsonl")
    table = _table(path, COLUMNS).reindex(columns=[*COLUMNS, *_PLACED])
    memories: dict[str, Memory] = {}
    asked: dict[str, list[Query]] = {}
    places: dict[str, dict[int, int]] = {}
    gold: dict[str, _Found | str] = {}
    skipped: Skipped = []
    for number, (*row, length, distance) in enumerate(table.itertuples(index=False), start=1):
        query_id, kind, text, context_id, end = row
        reason = _why_skipped(row, contexts)
        if not reason:
            turns = contexts[context_id][: None if whole_context else int(end)]
            memory_id = context_id if whole_context else f"{context_id}@{int(end)}"
            if memory_id not in memories and (rounds := _rounds(turns)):
                memories[memory_id] = Memory.from_rounds(memory_id, *rounds)
            if memory_id not in memories:
                reason = f"asks memory {memory_id!r}, which is empty"
        if reason:
            skipped.append((f"question {query_id!r}, number {number}", reason))
        else:
            query = Query(query_id, memory_id, text, "", kind)
            asked.setdefault(memory_id, []).append(query)
            if context_id not in places:
                places[context_id] = _turns_by_tokens(contexts[context_id])
            turn = _referred(length, distance, places[context_id])
            gold[query_id] = _found(memories[memory_id], turn)
    check_skipped(skipped, len(table), str(path))
    for memory_id, memory in memories.items():
        found = {query.query_id: gold[query.query_id] for query in asked[memory_id]}
        yield Piece(
            memory,
            tuple(asked[memory_id]),
            {
                level: {q: ((one[level],),) for q, one in found.items() if not isinstance(one, str)}
                for level in ("session", "round", "turn")
            },
            {q: why for q, why in found.items() if isinstance(why, str)},
            tuple(skipped),
        )
        skipped.clear()


def gold(folder: Path, name: str) -> Iterator[Gold]:
    """The options of each question and which is right; the answer is that option's text.

    In 17 questions of 32k the right option stands twice, and one of its two letters is right.

    Raises:
        MemreproError: if the file is missing, or the options of a question are not some texts that
            begin with `(a) `, `(b) ` and so on, one of which is the right one.
    """
    path = _questions(folder, name)
    rows = _table(path, (*COLUMNS, "correct_answer", "all_options")).to_dict("records")
    for row in rows:
        query_id = row["question_id"]
        try:
            options = ast.literal_eval(row["all_options"])
            letters = [f"({chr(ord('a') + n)})" for n in range(len(options))]
            texts = [
                text.removeprefix(f"{letter} ")
                for text, letter in zip(options, letters, strict=True)
                if text.startswith(f"{letter} ")
            ]
            correct = letters.index(row["correct_answer"])
        except (ValueError, TypeError, AttributeError, SyntaxError) as error:
            raise damaged(f"{path}: the options of question {query_id!r}: {error}") from error
        if len(texts) < len(letters):
            raise damaged(f"{path}: an option of question {query_id!r} has another letter")
        text, kind = row["user_question_or_message"], row["question_type"]
        yield Gold(query_id, kind, text, "", texts[correct], tuple(texts), correct)


# Level → id of the relevant doc there.
_Found = dict[str, str]


def _turns_by_tokens(turns: Sequence["_Said"]) -> dict[int, int]:
    """Number of tokens before a turn → its index in the context, those of system turns counted."""
    before = accumulate((count_tokens(text) for _, text in turns), initial=0)
    # A turn without a token begins where the next one does, which is meant.
    return {tokens: index for index, tokens in enumerate(before)}


def _referred(length: object, distance: object, turns: Mapping[int, int]) -> int | None:
    """The index of the turn that a question refers to; None where the data do not place it."""
    if not all(isinstance(cell, str) and cell.isdecimal() for cell in (length, distance)):
        return None
    return turns.get(int(str(length)) - int(str(distance)))


def _found(memory: Memory, index: int | None) -> _Found | str:
    """The docs of a memory that hold a turn of its context, or why there are none."""
    if index is None:
        return "its distance to the reference leads to the beginning of no turn"
    for session in memory.sessions:
        for r in session.rounds:
            for turn in r.turns:
                if turn.turn_id.endswith(f":t{index}"):
                    return {
                        "session": session.session_id,
                        "round": r.round_id,
                        "turn": turn.turn_id,
                    }
    return f"refers to turn {index}, which is in no round of its memory"


def topics(folder: Path, name: str) -> dict[str, int]:
    """Topic → number of questions in the file, those that `stream` skips among them (Table 8).

    The topics stand in the order of the file.

    Raises:
        MemreproError: if the file is missing or has no such column.
    """
    return dict(Counter(_table(_questions(folder, name), ("topic",))["topic"]))


def sizes(folder: Path, name: str) -> pd.DataFrame | None:
    """The questions of the larger sizes (`personamem_questions.counts`), once, beside 32k.

    None where their files cannot be had: no licence of them is stated, so that a mirror may lack
    them.
    """
    if name != "personamem-32k":
        return None
    try:
        fetch_all(registration(personamem_questions.DATASET), folder)
    except MemreproError as error:
        _log.warning("the questions of 128k and 1M are not counted anew: %s", error)
        return None
    return personamem_questions.counts(folder)


def persons(folder: Path, name: str) -> dict[str, str]:
    """Shared context → the person whose chats it holds: several contexts are of one person.

    Raises:
        MemreproError: if the file is missing or lacks a column, or a context is of two persons.
    """
    path, columns = _questions(folder, name), ["shared_context_id", "persona_id"]
    pairs = _table(path, columns)[columns].drop_duplicates()
    found = dict(pairs.astype(str).itertuples(index=False, name=None))
    if len(found) < len(pairs):
        raise MemreproError(f"{path}: a shared context is of two persons")
    return found


def evidence(folder: Path, name: str) -> dict[str, tuple[int, int]]:
    """Check → how often it is met, of how many: whether the turn that is found is the one meant.

    Of each question that `stream` uses. The first hold the place against the data's other columns.
    The last ask in which round the words of an option weigh most, a word ln(rounds / rounds with
    it): in the evidence, if the option is the correct one.

    Raises:
        MemreproError: as of `stream`, and if a column is missing.
    """
    contexts = _contexts(
        folder / "personamem" / f"shared_contexts_{registration(name).edition}.jsonl"
    )
    used = {q.query_id: piece for piece in stream(folder, name) for q in piece.queries}
    tokens = {key: [*_turns_by_tokens(turns)] for key, turns in contexts.items()}
    met, of = Counter[str](), Counter[str]()
    table = _table(_questions(folder, name), (*COLUMNS, *_PLACED, *_CHECKED))
    rows: list[dict[str, str]] = table.to_dict("records")  # type: ignore[assignment]
    for row in rows:
        if (piece := used.get(row["question_id"])) is None:
            continue
        context_id, turns = row["shared_context_id"], contexts[row["shared_context_id"]]
        end = int(row["end_index_in_shared_context"])
        asked = tokens[context_id][end] + count_tokens(row["user_question_or_message"])
        letters = sum(len(text) for _, text in turns[:end])
        checks = [
            ("tokens up to and with the question", str(asked) == row["context_length_in_tokens"]),
            ("letters up to the question", str(letters) == row["context_length_in_letters"]),
            ("the distance leads to a turn's beginning", row["question_id"] not in piece.faults),
        ]
        if row["question_id"] not in piece.faults:
            ((turn_id,),) = piece.qrels["turn"][row["question_id"]]
            index = int(turn_id.split(":t")[1])
            checks.append(("that turn is the user's", turns[index][0] == "user"))
            distance = _chats_between(turns, index, end)
            checks.append(("distance in chats", str(distance) == row["distance_to_ref_in_blocks"]))
            ((round_id,),) = piece.qrels["round"][row["question_id"]]
            checks += _told_by_options(piece.memory, round_id, row)
        for check, is_met in checks:
            met[check] += is_met
            of[check] += 1
    return {check: (met[check], n) for check, n in of.items()}


def _chats_between(turns: Sequence["_Said"], index: int, end: int) -> int:
    """From a turn's chat to the question's; one at the context's end is in a chat of its own."""
    later = sum(role == "system" for role, _ in turns[index:])
    return later + (end == len(turns) - 1)


def _told_by_options(
    memory: Memory, round_id: str, row: Mapping[str, str]
) -> Iterator[tuple[str, bool]]:
    """Whether the words of the correct option, and of each wrong one, weigh most in a round."""
    ids = [r.round_id for r in memory.rounds]
    rounds = [_words(" ".join(r.fields.values())) for r in memory.rounds]
    counts = Counter(word for words in rounds for word in words)
    at = ids.index(round_id)
    options = ast.literal_eval(row["all_options"])
    for option in sorted(options, key=lambda text: not text.startswith(row["correct_answer"])):
        which = "the correct" if option.startswith(row["correct_answer"]) else "a wrong"
        said = _words(option[len(row["correct_answer"]) :])
        weights = [
            sum(math.log(len(rounds) / counts[word]) for word in sorted(said & words))
            for words in rounds
        ]
        off = abs(weights.index(max(weights)) - at)
        yield f"{which} option's words weigh most in the round", off == 0
        yield f"{which} option's words weigh most in it or a neighbour", off <= 1


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _questions(folder: Path, name: str) -> Path:
    return folder / "personamem" / f"questions_{registration(name).edition}.csv"


def _table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """The questions, which must have the columns."""
    table = atomic.read_table(path)
    if missing := [column for column in columns if column not in table]:
        raise damaged(f"{path} has no column {missing[0]!r} but {cut(list(table))}")
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
        text = text.strip()
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
    for number, line in numbered_json_lines(path):
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
    return role, text
