"""PersonaBench: what three persons of each of two communities wrote, and questions about them.

A doc is one session entry: a conversation with a friend, a session with an AI, or a purchase
record, as compact JSON without its ids. That form and that choice of persons give RF-Mem's
Table 9 exactly at noise 0.0: 263 questions and 527 docs (docs/protocols.md, PersonaBench).
With `fields` a doc is the words of its two sides instead, for key schemes that tell them apart.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memrepro.core.memory import Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.data.reading import Skipped, check_skipped, damaged, json_list, minute, value_of
from memrepro.data.registry import registration

# The release's README: documents of three individuals a community; eval_info lists ten.
PERSONS = 3
COMMUNITIES = (0, 1)
ROOT = "personabench/eval_data/eval_data_v1/synthetic_data"
# Subjective questions stay in the data; PersonaBench and RF-Mem do not evaluate them.
KINDS = ("Basic information", "Social", "Preference easy", "Preference hard", "Subjective")
# Of a doc; the same word is the key of its content. No id tells it.
SOURCES = ("conversation", "user_ai_interaction", "purchase_history")
OWN, OTHER = "own", "other"  # the fields: of the person whose memory it is, and of who answers

_IDS = ("segment_id", "session")
_TIME = "%Y/%b/%d/%I:%M %p"

# One source file: its path, and by person's name the entries as they stand in it.
_Source = tuple[Path, dict[str, list[Any]]]


def stream(folder: Path, name: str, *, fields: bool = False) -> Iterator[Piece]:
    """Read the data set of that registry key from the files below `folder`, a person at a time.

    A doc is a session of one round of one turn, all with the segment's id, its field named by its
    source. With `fields` the round has a turn a message, of the field `OWN` or `OTHER`, and nothing
    else of the entry; a purchase record, which nobody says, stays whole and is `OWN`. A session
    whose time cannot be read has none. A question that cannot be used is skipped.
    One gets no entry in the qrels, but a fault, if it has no ground truth, or a part of it has no
    doc, or it cannot be read, or names what is no doc of the person.

    Raises:
        MemreproError: if a file is missing, its structure is broken, or too many questions and
            ground truths are.
    """
    noise = registration(name).edition.removeprefix("noise-")
    pieces: list[Piece] = []
    broken: Skipped = []
    total = 0
    for community in COMMUNITIES:
        base = folder / ROOT / f"community_{community}"
        path = base / "eval_info" / "eval_info_all.json"
        people = json_list(path)
        if len(people) < PERSONS:
            raise damaged(f"{path} has {len(people)} persons, not {PERSONS} or more")
        private = [
            _by_name(base / "private_data" / f"noise_{noise}" / f"{source}_data_all.json")
            for source in SOURCES
        ]
        gold = _gold(base / "eval_info" / f"qa_gt_context_all_noise_{noise}.json")
        for index, person in enumerate(people[:PERSONS]):
            owner = _get(person, "Name", str, path)
            entries = list(_entries(owner, private))
            asked = _get(_get(person, "Eval_Info", dict, path), "qa", list, path)
            total += len(asked)
            of_fields = owner if fields else ""
            pieces.append(_piece(f"c{community}-p{index}", entries, asked, gold, broken, of_fields))
    check_skipped(broken, total, str(folder / ROOT))
    yield from pieces


def _piece(
    memory_id: str,
    entries: list[tuple[Any, Path, str]],
    asked: list[Any],
    gold: dict[str, Parts | None],
    broken: Skipped,
    owner: str,
) -> Piece:
    """A person's docs and questions; what is wrong with the latter is added to `broken`.

    Where there are fields, `owner` is the person's name; else ''.
    """
    skipped: Skipped = []
    sessions, times = [], []
    sources: dict[str, str] = {}
    for entry, path, source in entries:
        session = _session(entry, path, source, owner)
        sessions.append(session)
        sources[session.session_id] = source
        times.append(minute(entry.get("time"), _TIME))
        if not times[-1]:
            reason = f"stays, without a time: {entry.get('time')!r} cannot be read"
            skipped.append((f"document {session.session_id!r} of {memory_id}", reason))
    memory = Memory(memory_id, tuple(sessions), tuple(times))
    ids = {session.session_id for session in sessions}
    queries = []
    qrels: dict[str, Parts] = {}
    faults: dict[str, str] = {}
    for number, entry in enumerate(asked, start=1):
        if reason := _why_skipped(entry):
            skipped.append((f"question {number} of {memory_id}", reason))
            broken.append(skipped[-1])
            continue
        query = Query(entry["q_id"], memory_id, entry["question"], "", _kind(entry))
        queries.append(query)
        parts = gold.get(query.query_id, ())
        if parts is None:
            faults[query.query_id] = "has a ground truth that cannot be read"
        elif strangers := sorted({doc for part in parts for doc in part} - ids):
            fault = f"has the ground truth {strangers[0]!r}, which is not a document of {memory_id}"
            faults[query.query_id] = fault
        elif not parts:
            faults[query.query_id] = "has no ground truth"
            continue
        elif not all(parts):
            # A part that nothing answers makes recall undefined: no gold, not half of it.
            faults[query.query_id] = "has a part of its answer that no document answers"
            continue
        else:
            qrels[query.query_id] = parts
            continue
        broken.append((query.query_id, faults[query.query_id]))
    return Piece(
        memory, tuple(queries), {"session": qrels}, faults, tuple(skipped), sources=sources
    )


def _entries(name: str, private: list[_Source]) -> Iterator[tuple[Any, Path, str]]:
    """A person's docs: all conversations, friend by friend, then AI sessions, then purchases."""
    for (path, by_name), source in zip(private, SOURCES, strict=True):
        if name not in by_name:
            raise damaged(f"{path} has no private data of {name!r}")
        for entry in by_name[name]:
            found = _get(entry, "Conversations", list, path) if source == SOURCES[0] else [entry]
            for doc in found:
                yield doc, path, source


def _session(entry: Any, path: Path, source: str, owner: str) -> Session:
    doc_id = _get(entry, "segment_id", str, path)
    if owner and source != SOURCES[2]:
        said = _messages(_get(entry, source, list, path), path, owner)
    else:
        said = [(OWN if owner else source, json.dumps(_without_ids(entry), separators=(",", ":")))]
    # The only turn of a doc has its id.
    ids = [doc_id] if len(said) == 1 else [f"{doc_id}/{n}" for n in range(1, len(said) + 1)]
    turns = (Turn(i, field, text) for i, (field, text) in zip(ids, said, strict=True))
    return Session(doc_id, (Round(doc_id, tuple(turns)),))


def _messages(found: list[Any], path: Path, owner: str) -> list[tuple[str, str]]:
    """`field, text` of each message of a talk, of which there must be one at least."""
    said = []
    for message in found:
        role = _get(message, "role", str, path)
        # An AI's partner is the `user`; the name of a person may lack its title.
        own = role == "user" or role in owner
        said.append((OWN if own else OTHER, _get(message, "content", str, path)))
    if not said:
        raise damaged(f"{path} has a session without a message")
    return said


def _why_skipped(entry: Any) -> str:
    """Why a question cannot be used, or ''."""
    if not isinstance(entry, dict):
        return f"is a {type(entry).__name__} and no object"
    for key in ("q_id", "question", "type"):
        if not isinstance(value := entry.get(key), str) or not value.strip():
            return f"has the {key!r} {value!r} and no text"
    if (kind := _kind(entry)) not in KINDS:
        return f"is of kind {kind!r}, not one of {KINDS}"
    return ""


def _kind(entry: dict[str, Any]) -> str:
    # Table 9 splits only this type by difficulty.
    if entry["type"] == "Preference":
        return f"Preference {entry.get('difficulty')}"
    return str(entry["type"])


def _gold(path: Path) -> dict[str, Parts | None]:
    """By question id, for each part of the answer the docs any one of which will do.

    A ground truth that is not of that form is None.
    """
    gold: dict[str, Parts | None] = {}
    for entry in json_list(path):
        query_id = _get(entry, "q_id", str, path)
        if query_id in gold:
            raise damaged(f"{path}: question {query_id!r} stands twice in it")
        parts = entry.get("segment_id")
        readable = isinstance(parts, dict) and all(
            isinstance(part, list) and all(isinstance(doc, str) for doc in part)
            for part in parts.values()
        )
        gold[query_id] = tuple(tuple(part) for part in parts.values()) if readable else None
    return gold


def _by_name(path: Path) -> _Source:
    by_name = {_get(e, "Name", str, path): _get(e, "Data", list, path) for e in json_list(path)}
    return path, by_name


def _without_ids(value: Any) -> Any:
    """The same JSON without its ids at any depth, which would tell gold from the rest."""
    if isinstance(value, dict):
        return {key: _without_ids(v) for key, v in value.items() if key not in _IDS}
    if isinstance(value, list):
        return [_without_ids(v) for v in value]
    return value


def _get(value: Any, key: str, kind: type, path: Path) -> Any:
    return value_of(value, key, kind, f"{path}: an entry")
