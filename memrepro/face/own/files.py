"""Conversations in the files that people have: JSON lines, data sets' releases, exports of chats.

A file of a registered data set's form is read by that data set's own reader, so that its rounds,
ids, questions and gold are the study's.
"""

import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.core.memory import GRANULARITIES, Piece
from memrepro.data import read_pieces
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import QUESTION
from memrepro.face.defaults import dataset_parameters, excluded_kinds, unit_of
from memrepro.face.own import made
from memrepro.face.own.noticed import Noticed, look_at
from memrepro.face.own.rows import MESSAGE, Rows, memories_of, numbered, pieces_of
from memrepro.face.own.rows import QUESTION as QUESTION_FIELDS
from memrepro.files.given import read_json
from memrepro.llm.model import LanguageModel
from memrepro.memory.exchange.importers import OWN, each_chat, form_of

_LINES = (".jsonl", ".ndjson")
_ROWS = "rows"
# Programs whose chats are all one person's: each chat is a session of one conversation.
_PROGRAMS = ("chatgpt", "claude")
# Where an error of a data set's reader begins to speak of fetching the file anew.
_ANEW = "; the file is not of this edition"


class Own(NamedTuple):
    """What files hold: a piece a conversation, what an interval resamples, and what is odd."""

    pieces: list[Piece]
    unit: str
    noticed: Noticed


def read_own(
    chats: str | Path | Rows, questions: str | Path | Rows | None, make: int = 0,
    model: LanguageModel | None = None,
) -> Own:  # fmt: skip
    """Conversations and questions, each from a file or as rows.

    Args:
        chats: JSON lines; a JSON list of the same objects; the file of a registered data set; an
            export of ChatGPT or Claude (as JSON or as it was downloaded); or rows.
        questions: JSON lines or rows; None for those that the data set's file has.
        make: how many questions are made of the conversations, in place of any other; see `made`.
        model: that writes them; without one, rules do.

    Raises:
        MemreproError: for a file of no known form, or a row that cannot be used.
    """
    if make and questions is not None:
        raise MemreproError(
            "questions are given and are to be made: one or the other, as made ones are never "
            "compared with real ones"
        )
    noticed = Noticed()
    path = Path(chats).expanduser() if isinstance(chats, str | Path) else None
    form = _form(path) if path else _ROWS
    unit, pieces = "conversation", list[Piece]()
    if form in (_ROWS, *_PROGRAMS):
        source = (
            _rows_of(Path(chats).expanduser(), form) if isinstance(chats, str | Path) else chats
        )
        rows = numbered(source, "message", MESSAGE, "text", noticed)
        if not rows:
            what = chats if isinstance(chats, str | Path) else "messages"
            empty = len(noticed.get("empty message", ()))
            found = f"none of {empty:,} messages has a text" if empty else "no message"
            raise MemreproError(f"{what}: {found}: it needs at least one")
        memories = memories_of(rows, noticed)
    else:
        assert path  # rows have no form
        pieces = _released(path, form)
        unit = unit_of(form)
        memories = {piece.memory.memory_id: piece.memory for piece in pieces}
        for piece in pieces:
            for item, reason in piece.skipped:
                noticed.add("could not be used", f"{item}: {reason}")
    if make:
        questions = made.questions_of(memories, make, model)
    if questions is not None:
        asked = numbered(questions, "question", QUESTION_FIELDS, "question", noticed)
        pieces, unit = pieces_of(memories, asked, noticed), "conversation"
    elif pieces:
        _note_faults(pieces, noticed)
    else:
        pieces = [Piece(memory, ()) for memory in memories.values()]
    for query in (query for piece in pieces for query in piece.queries):
        if query.kind in excluded_kinds():
            noticed.add("question of a kind that is not counted", f"{query.query_id}: {query.kind}")
    look_at(memories.values(), noticed)
    if len(noticed.get("form of time", ())) < 2:
        noticed.pop("form of time", None)
    return Own(pieces, unit if len(pieces) > 1 else QUESTION, noticed)


def _note_faults(pieces: list[Piece], noticed: Noticed) -> None:
    for piece in pieces:
        gold = {q for level in GRANULARITIES for q in piece.qrels.get(level, ())}
        for query in piece.queries:
            if query.query_id not in gold:
                why = piece.faults.get(query.query_id, "no evidence")
                noticed.add("question without evidence", f"{query.query_id}: {why}")


def _form(path: Path) -> str:
    """`_ROWS`, one of `_PROGRAMS`, or the module of a registered data set."""
    if not path.is_file():
        raise MemreproError(f"{path} is no file: name a file of conversations")
    if path.suffix.lower() in _LINES:
        return _ROWS
    form = form_of(path)
    if form == OWN:
        raise MemreproError(
            f"{path} is an export of `memrepro memory`, whose messages are one user's: write them "
            "as JSON lines with 'text', 'speaker' and 'at'"
        )
    if form == "jsonl" or (form not in _PROGRAMS and _is_message(path)):
        return _ROWS
    return form


def _is_message(path: Path) -> bool:
    """Whether a JSON list holds messages, one of whose fields a data set's samples have too."""
    content = read_json(path)
    first = content[0] if isinstance(content, list) and content else content
    return isinstance(first, dict) and any(isinstance(first.get(n), str) for n in MESSAGE["text"])


def _rows_of(path: Path, form: str) -> str | Path | Rows:
    """The rows of a file; those of a program's chats have the chat's number as their session."""
    if form in _PROGRAMS:
        return list(_of_program(path, form))
    if path.suffix.lower() in _LINES or form_of(path) == "jsonl":
        return path
    content: list[dict[str, Any]] = read_json(path)
    return content


def _of_program(path: Path, form: str) -> Iterator[dict[str, Any]]:
    for number, chat in enumerate(each_chat(path, form), start=1):
        for message in chat:
            yield {"session": f"chat {number}", "id": message["id"], "speaker": message["role"],
                   "text": message["content"], "at": message["at"]}  # fmt: skip


def _released(path: Path, module: str) -> list[Piece]:
    """The pieces of a file of a registered data set, which stays where it is."""
    # A reader looks for its file below a folder, by its name: a link there leads to the user's.
    wanted = getattr(import_module(f"memrepro.data.{module}"), "FILE", f"{module}.json")
    with tempfile.TemporaryDirectory(prefix="memrepro-") as folder:
        link = Path(folder, wanted)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(path.resolve())
        try:
            return list(read_pieces(module, Path(folder), path.stem, dataset_parameters(module)))
        except MemreproError as error:
            said = str(error).replace(str(link), str(path)).partition(_ANEW)[0]
            raise MemreproError(f"{path}: {said}; it is read as a release of {module}") from error
