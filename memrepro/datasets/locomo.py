"""LoCoMo: ten long conversations of two persons, and questions with their evidence.

A round is an exchange: the consecutive turns of the speaker who opens the session, then those of
the other. Its fields are `speaker_a` and `speaker_b`, the conversation's speakers as the data
names them, in order of speaking; an exchange that nobody answers has one field. A turn is its
text and, where it shares an image, a line `[shares <blip_caption>]` (the form of the released
`task_eval/dpr_qa.py`). The turns of one field are joined by a blank line.

A question gets no qrels if it names no evidence, if a piece of its evidence cannot be read, or if
a turn that it names does not exist: what is left of its evidence may not answer it.
`evidence_faults` says which it is.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memrepro import store
from memrepro.errors import MemreproError
from memrepro.memory import Dataset, Memory, Parts, Query, Round

FILE = "locomo/locomo10.json"
# The ids do not follow the paper's order (PROTOCOLS.md).
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
NO_EVIDENCE = "names no evidence"
UNREADABLE = "names evidence that cannot be read"
MISSING = "names an evidence turn that does not exist"
ANEW = "the file is not of this edition or is damaged: delete it and fetch it anew"

_TURN = re.compile(r"D:?([0-9]+):([0-9]+)")


@dataclass(frozen=True)
class Conversation:
    """One sample of the file.

    Attributes:
        memory: its rounds, in the order of the sessions' numbers; the id is the sample's.
        roles: `speaker_a` and `speaker_b`, by the speakers' names.
        round_of: the round of each turn, by the turn's id.
        without_turns: the sessions that have a date and no turns; they are skipped.
        queries: its questions, in order.
        evidence: the turns that each question names, by its id; None if they cannot be read.
        raw: the sample as it stands in the file.
    """

    memory: Memory
    roles: Mapping[str, str]
    round_of: Mapping[str, Round]
    without_turns: tuple[str, ...]
    queries: tuple[Query, ...]
    evidence: Mapping[str, tuple[str, ...] | None]
    raw: Mapping[str, Any]


def load(folder: Path, name: str) -> Dataset:
    """Read the data set below `folder`.

    Query ids are `<sample_id>-q<index in the list>`. The data gives a question no time: it is asked
    at the last session's. The qrels have the levels `round` and `session`; each doc that holds an
    evidence turn is a part of one alternative.

    Raises:
        MemreproError: if the file is missing or its structure is broken.
    """
    conversations = read(folder)
    faults = evidence_faults(conversations)
    qrels: dict[str, dict[str, Parts]] = {"round": {}, "session": {}}
    for one in conversations:
        for query_id, turns in one.evidence.items():
            if query_id not in faults:
                gold = [one.round_of[turn] for turn in turns or ()]
                qrels["round"][query_id] = _parts(r.round_id for r in gold)
                qrels["session"][query_id] = _parts(r.session_id for r in gold)
    memories = {one.memory.memory_id: one.memory for one in conversations}
    return Dataset(name, memories, tuple(q for one in conversations for q in one.queries), qrels)


def evidence_faults(conversations: Iterable[Conversation]) -> dict[str, str]:
    """Why a question has no qrels, by its id, for those that have none."""
    faults = {}
    for one in conversations:
        for query_id, turns in one.evidence.items():
            if turns is None:
                faults[query_id] = UNREADABLE
            elif not turns:
                faults[query_id] = NO_EVIDENCE
            elif not one.round_of.keys() >= set(turns):
                faults[query_id] = MISSING
    return faults


def read_evidence(evidence: Any) -> tuple[str, ...] | None:
    """The turn ids that a text or a list of texts names, each once, or None if it is not readable.

    A text may hold several ids, separated by white space, `;` or `,`. An id is `D8:6`; zeros before
    a number and a colon after the D (`D30:05`, `D:11:26`) leave only one reading and are dropped.
    Anything else (`D`) makes the whole unreadable.
    """
    texts = evidence if isinstance(evidence, list) else [evidence]
    if not all(isinstance(text, str) for text in texts):
        return None
    found = [_TURN.fullmatch(p) for text in texts for p in re.split(r"[\s;,]+", text) if p]
    ids = [f"D{m[1].lstrip('0') or 0}:{m[2].lstrip('0') or 0}" for m in found if m]
    return tuple(dict.fromkeys(ids)) if len(ids) == len(found) else None


def read(folder: Path) -> list[Conversation]:
    """The file's conversations, which everything else is made of.

    Raises:
        MemreproError: if the file is missing or its structure is broken.
    """
    samples = store.read_json(folder / FILE)
    if not isinstance(samples, list):
        raise MemreproError(f"{folder / FILE} is a {type(samples).__name__}, no list; {ANEW}")
    return [_conversation(sample, n) for n, sample in enumerate(samples, start=1)]


def _conversation(sample: Any, number: int) -> Conversation:
    sample_id = value_of(sample, "sample_id", str, f"sample {number}")
    talk = value_of(sample, "conversation", dict, sample_id)
    roles = {value_of(talk, role, str, sample_id): role for role in ("speaker_a", "speaker_b")}
    if len(roles) < 2:
        raise MemreproError(f"LoCoMo: both speakers of {sample_id} have one name; {ANEW}")
    rounds: list[Round] = []
    round_of: dict[str, Round] = {}
    without_turns = []
    keys = [re.fullmatch("session_([0-9]+)(_date_time)?", key) for key in talk]
    for session in sorted({int(match[1]) for match in keys if match}):
        item = f"session {session} of {sample_id}"
        turns = value_of(talk, f"session_{session}", list, sample_id, default=[])
        if not turns:
            without_turns.append(f"D{session}")
            continue
        said = value_of(talk, f"session_{session}_date_time", str, item)
        at = iso(said, "%I:%M %p on %d %B, %Y", item)
        for ids, fields in _exchanges(turns, roles, item):
            rounds.append(Round(ids[0], f"D{session}", at, fields))
            if twice := [i for i in ids if i in round_of or ids.count(i) > 1]:
                raise MemreproError(f"LoCoMo: {item} repeats the turn {twice[0]!r}; {ANEW}")
            round_of |= dict.fromkeys(ids, rounds[-1])
    memory = Memory(sample_id, tuple(rounds))
    queries, evidence = [], {}
    for index, entry in enumerate(value_of(sample, "qa", list, sample_id)):
        query_id = f"{sample_id}-q{index}"
        if (category := value_of(entry, "category", int, query_id)) not in KINDS:
            raise MemreproError(f"LoCoMo: {query_id} is of category {category!r}; {ANEW}")
        asked = value_of(entry, "question", str, query_id)
        queries.append(Query(query_id, sample_id, asked, rounds[-1].at, KINDS[category]))
        evidence[query_id] = read_evidence(entry.get("evidence") or [])
    skipped = tuple(without_turns)
    return Conversation(memory, roles, round_of, skipped, tuple(queries), evidence, sample)


def _exchanges(
    turns: list[Any], roles: Mapping[str, str], item: str
) -> Iterable[tuple[list[str], dict[str, str]]]:
    """The ids of each round's turns, and its fields."""
    ids: list[str] = []
    fields: dict[str, str] = {}
    for turn in turns:
        turn_id, speaker, text = (
            value_of(turn, k, str, item) for k in ("dia_id", "speaker", "text")
        )
        # Evidence is read into this form, so a turn in another one could never be found.
        if read_evidence(turn_id) != (turn_id,):
            raise MemreproError(f"LoCoMo: {item} has turn {turn_id!r}, not one as D1:3; {ANEW}")
        if speaker not in roles:
            raise MemreproError(f"LoCoMo: {turn_id} of {item} is by {speaker!r}; {ANEW}")
        if "blip_caption" in turn:
            text += f"\n[shares {value_of(turn, 'blip_caption', str, item)}]"
        role = roles[speaker]
        # Two fields are complete once the first of them, the opener's, speaks again.
        if len(fields) == 2 and role == next(iter(fields)):
            yield ids, fields
            ids, fields = [], {}
        ids.append(turn_id)
        fields[role] = f"{fields[role]}\n\n{text}" if role in fields else text
    yield ids, fields


def _parts(ids: Iterable[str]) -> Parts:
    return tuple((doc_id,) for doc_id in dict.fromkeys(ids))


def iso(said: str, form: str, item: str) -> str:
    """A date of the data as ISO 8601 to the minute.

    Raises:
        MemreproError: if it is not in that form.
    """
    try:
        return datetime.strptime(said, form).isoformat(timespec="minutes")
    except ValueError as error:
        raise MemreproError(f"LoCoMo: {item} has the date {said!r}; {ANEW}") from error


def value_of(value: Any, key: str, kind: type, item: str, default: Any = None) -> Any:
    """What an object of the file holds under a key.

    Raises:
        MemreproError: if that is missing (and there is no default) or of another kind.
    """
    found = value.get(key, default) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise MemreproError(
            f"LoCoMo: {item} has a {type(found).__name__} as {key!r}, no {kind.__name__}; {ANEW}"
        )
    return found
