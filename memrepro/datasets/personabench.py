"""PersonaBench: what three persons of each of two communities wrote, and questions about them.

A doc is one session entry: a conversation with a friend, a session with an AI, or a purchase
record, as compact JSON without its ids. That form and that choice of persons give RF-Mem's
Table 9 exactly at noise 0.0: 263 questions and 527 docs (PROTOCOLS.md).
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from memrepro import store
from memrepro.datasets.registry import registration
from memrepro.errors import MemreproError
from memrepro.memory import Dataset, Memory, Parts, Query, Round

# The release's README: documents of three individuals a community; eval_info lists ten.
PERSONS = 3
COMMUNITIES = (0, 1)
ROOT = "personabench/eval_data/eval_data_v1/synthetic_data"
# Subjective questions stay in the data; PersonaBench and RF-Mem do not evaluate them.
KINDS = ("Basic information", "Social", "Preference easy", "Preference hard", "Subjective")

_SOURCES = ("conversation", "user_ai_interaction", "purchase_history")
_IDS = ("segment_id", "session")


def load(folder: Path, name: str) -> Dataset:
    """Read the data set of that registry key from the files below `folder`.

    A question that has no ground truth, or a part of it with no doc, gets no entry in the qrels.

    Raises:
        MemreproError: if a file is missing or its structure is broken.
    """
    noise = registration(name).edition.removeprefix("noise-")
    memories: dict[str, Memory] = {}
    queries: list[Query] = []
    qrels: dict[str, Parts] = {}
    for community in COMMUNITIES:
        base = folder / ROOT / f"community_{community}"
        path = base / "eval_info" / "eval_info_all.json"
        people = _list(path)
        if len(people) < PERSONS:
            raise MemreproError(f"{path} has {len(people)} persons, not {PERSONS} or more; {_ANEW}")
        private = [
            _by_name(base / "private_data" / f"noise_{noise}" / f"{source}_data_all.json")
            for source in _SOURCES
        ]
        gold_path = base / "eval_info" / f"qa_gt_context_all_noise_{noise}.json"
        gold = _gold(gold_path)
        for index, person in enumerate(people[:PERSONS]):
            memory_id = f"c{community}-p{index}"
            rounds = _rounds(_get(person, "Name", str, path), private)
            memories[memory_id] = Memory(memory_id, rounds)
            docs = {r.round_id for r in rounds}
            for entry in _get(_get(person, "Eval_Info", dict, path), "qa", list, path):
                query = _query(entry, memory_id, path)
                queries.append(query)
                parts = gold.get(query.query_id, ())
                if strangers := sorted({doc for part in parts for doc in part} - docs):
                    raise MemreproError(
                        f"{gold_path}: the ground truth of question {query.query_id!r} names "
                        f"{strangers[0]!r}, which is not a document of {memory_id}; {_ANEW}"
                    )
                # A part that nothing answers makes recall undefined: no gold, not half of it.
                if parts and all(parts):
                    qrels[query.query_id] = parts
    return Dataset(name, memories, tuple(queries), {"session": qrels})


_ANEW = "the file is not of this edition or is damaged: delete it and fetch it anew"

# One source file: its path, and by person's name the entries as they stand in it.
_Source = tuple[Path, dict[str, list[Any]]]


def _rounds(name: str, private: list[_Source]) -> tuple[Round, ...]:
    """A person's docs: all conversations, friend by friend, then AI sessions, then purchases."""
    rounds = []
    for (path, by_name), source in zip(private, _SOURCES, strict=True):
        if name not in by_name:
            raise MemreproError(f"{path} has no private data of {name!r}; {_ANEW}")
        entries = by_name[name]
        if source == "conversation":
            entries = [e for friend in entries for e in _get(friend, "Conversations", list, path)]
        rounds += [_round(entry, path) for entry in entries]
    return tuple(rounds)


def _round(entry: Any, path: Path) -> Round:
    doc_id = _get(entry, "segment_id", str, path)
    said = _get(entry, "time", str, path)
    try:
        at = datetime.strptime(said, "%Y/%b/%d/%I:%M %p").isoformat(timespec="minutes")
    except ValueError as error:
        raise MemreproError(
            f"{path}: {doc_id!r} has time {said!r}, not one such as '2024/Oct/14/09:14 AM'; {_ANEW}"
        ) from error
    text = json.dumps(_without_ids(entry), separators=(",", ":"))
    return Round(doc_id, doc_id, at, {"document": text})


def _query(entry: Any, memory_id: str, path: Path) -> Query:
    kind = _get(entry, "type", str, path)
    # Table 9 splits only this type by difficulty.
    if kind == "Preference":
        kind = f"{kind} {_get(entry, 'difficulty', str, path)}"
    query_id = _get(entry, "q_id", str, path)
    if kind not in KINDS:
        raise MemreproError(
            f"{path}: question {query_id!r} is of kind {kind!r}, not one of {KINDS}; {_ANEW}"
        )
    return Query(query_id, memory_id, _get(entry, "question", str, path), "", kind)


def _gold(path: Path) -> dict[str, Parts]:
    """By question id, for each part of the answer the docs any one of which will do."""
    gold: dict[str, Parts] = {}
    for entry in _list(path):
        query_id = _get(entry, "q_id", str, path)
        if query_id in gold:
            raise MemreproError(f"{path}: question {query_id!r} stands twice in it; {_ANEW}")
        parts = _get(entry, "segment_id", dict, path)
        gold[query_id] = tuple(tuple(_get(parts, part, list, path)) for part in parts)
    return gold


def _by_name(path: Path) -> _Source:
    by_name = {_get(e, "Name", str, path): _get(e, "Data", list, path) for e in _list(path)}
    return path, by_name


def _without_ids(value: Any) -> Any:
    """The same JSON without its ids at any depth, which would tell gold from the rest."""
    if isinstance(value, dict):
        return {key: _without_ids(v) for key, v in value.items() if key not in _IDS}
    if isinstance(value, list):
        return [_without_ids(v) for v in value]
    return value


def _list(path: Path) -> list[Any]:
    value = store.read_json(path)
    if not isinstance(value, list):
        raise MemreproError(f"{path} is a {type(value).__name__} and not a list; {_ANEW}")
    return value


def _get(value: Any, key: str, kind: type, path: Path) -> Any:
    if not isinstance(value, dict) or key not in value:
        found = sorted(value) if isinstance(value, dict) else type(value).__name__
        raise MemreproError(f"{path}: an entry has no {key!r} but {found}; {_ANEW}")
    if not isinstance(value[key], kind):
        raise MemreproError(
            f"{path}: an entry has a {type(value[key]).__name__} and not a {kind.__name__} "
            f"as {key!r}; {_ANEW}"
        )
    return value[key]
