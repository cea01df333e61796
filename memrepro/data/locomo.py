"""LoCoMo: ten long conversations of two persons, and questions with their evidence.

A round is an exchange: the consecutive turns of the speaker who opens the session, then those of
the other. Its fields are `speaker_a` and `speaker_b`, the conversation's speakers as the data
names them, in order of speaking; an exchange that nobody answers has one field. A turn is its
text and, where it shares an image, a line `[shares <blip_caption>]` (the form of the released
`task_eval/dpr_qa.py`).

A question gets no qrels if it names no evidence, if a piece of its evidence cannot be read, or if
a turn that it names does not exist: what is left of its evidence may not answer it.
`evidence_faults` says which it is. Other labels stand beside these, at levels of their own: see
`load`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.core.memory import Dataset, Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.data.tolerance import check_skipped
from memrepro.errors import MemreproError
from memrepro.files import atomic

FILE = "locomo/locomo10.json"
ERRATA = Path(__file__).with_name("errata") / "locomo_audit.yaml"
# The ids do not follow the paper's order (docs/protocols.md).
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
NO_EVIDENCE = "names no evidence"
UNREADABLE = "names evidence that cannot be read"
MISSING = "names an evidence turn that does not exist"
AUDITED = "label error by the audit (dial481/locomo-audit)"
ANEW = "the file is not of this edition or is damaged: delete it and fetch it anew"

_TURN = re.compile(r"D:?([0-9]+):([0-9]+)")
_SESSION = re.compile("session_([0-9]+)(_date_time)?")


class Evidence(NamedTuple):
    """The turns that a question names, each once, and whether all that it names could be read."""

    turns: tuple[str, ...]
    whole: bool


class Place(NamedTuple):
    """Where a turn lies."""

    round_id: str
    session_id: str


@dataclass(frozen=True)
class Conversation:
    """One sample of the file.

    Attributes:
        memory: its sessions, in the order of their numbers; the id is the sample's.
        roles: `speaker_a` and `speaker_b`, by the speakers' names.
        places: the round and the session of each turn, by the turn's id.
        queries: its questions, in order.
        evidence: what each question names, by its id.
        undated: (item, reason) of the sessions that keep no time.
        without_turns: (item, reason) of the sessions that are left out, since they have no turns.
        unasked: (item, reason) of the questions that are left out.
        raw: the sample as it stands in the file.
    """

    memory: Memory
    roles: Mapping[str, str]
    places: Mapping[str, Place]
    queries: tuple[Query, ...]
    evidence: Mapping[str, Evidence]
    undated: tuple[tuple[str, str], ...]
    without_turns: tuple[tuple[str, str], ...]
    unasked: tuple[tuple[str, str], ...]
    raw: Mapping[str, Any]


def load(folder: Path, name: str) -> Dataset:
    """Read the data set below `folder`.

    Query ids are `<sample_id>-q<index in the list>`. The data gives a question no time: it is asked
    at the last session's, or at '' if that one has none. The qrels have the levels `turn`, `round`
    and `session`; each doc that holds an evidence turn is a part of one alternative. Behind a
    level's name may stand

    - `_lenient`: of evidence that is partly unusable, the turns that can be read and exist;
    - `_audit`: without the 99 questions whose answer a public audit calls wrong;
    - `_audit_citations`: also without the 57 whose evidence alone it calls wrong.

    The last two are there for the very file that was audited, and for no other.

    Raises:
        MemreproError: if the file is missing, its structure is broken, or too many of its
            questions are.
    """
    conversations = read(folder)
    answers, citations = audited(folder)
    return Dataset.of(name, _pieces(conversations, answers, citations))


def _pieces(
    conversations: Iterable[Conversation], answers: Mapping[str, str], citations: Mapping[str, str]
) -> Iterator[Piece]:
    for one in conversations:
        faults = evidence_faults([one])
        usable = {
            q: turns
            for q, evidence in one.evidence.items()
            if (turns := [turn for turn in evidence.turns if turn in one.places])
        }
        strict = usable.keys() - faults.keys()
        kept = {"": strict, "_lenient": set(usable)}
        if answers:
            kept["_audit"] = strict - answers.keys()
            kept["_audit_citations"] = kept["_audit"] - citations.keys()
        qrels: dict[str, dict[str, Parts]] = {}
        for suffix, asked in kept.items():
            for q, turns in usable.items():
                if q in asked:
                    found = [one.places[turn] for turn in turns]
                    for level, ids in (
                        ("turn", turns),
                        ("round", [place.round_id for place in found]),
                        ("session", [place.session_id for place in found]),
                    ):
                        qrels.setdefault(level + suffix, {})[q] = _parts(ids)
        reasons: dict[str, list[str]] = {}
        for said in (faults, answers, citations):
            for q in one.evidence.keys() & said.keys():
                reasons.setdefault(q, []).append(said[q])
        why = {q: "; ".join(reasons[q]) for q in one.evidence if q in reasons}
        skipped = one.without_turns + one.undated + one.unasked
        yield Piece(one.memory, one.queries, qrels, why, skipped)


def evidence_faults(conversations: Iterable[Conversation]) -> dict[str, str]:
    """Why a question has no qrels, by its id, for those that have none."""
    faults = {}
    for one in conversations:
        for query_id, evidence in one.evidence.items():
            if not evidence.whole:
                faults[query_id] = UNREADABLE
            elif not evidence.turns:
                faults[query_id] = NO_EVIDENCE
            elif not one.places.keys() >= set(evidence.turns):
                faults[query_id] = MISSING
    return faults


def audited(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What the audit says of each question that it faults, by the question's id.

    Returns:
        the questions with a wrong answer, and those with wrong evidence alone; both are empty if
        the file below `folder` is not the one that was audited.
    """
    errata = atomic.read_yaml(ERRATA)
    if atomic.sha256(folder / FILE) != errata["sha256"]:
        return {}, {}
    answers, citations = (
        {
            f"{sample_id}-q{index}": f"{AUDITED}: {kind}"
            for kind, by_sample in errata[group].items()
            for sample_id, indices in by_sample.items()
            for index in indices
        }
        for group in ("answers", "citations")
    )
    return answers, citations


def readable(evidence: Any) -> Evidence:
    """The turn ids that a text or a list of texts names.

    A text may hold several ids, separated by white space, `;` or `,`. An id is `D8:6`; zeros before
    a number and a colon after the D (`D30:05`, `D:11:26`) leave only one reading and are dropped.
    Anything else (`D`) cannot be read.
    """
    texts = evidence if isinstance(evidence, list) else [evidence]
    # What is no text stands as '?', a piece that cannot be read.
    split = [re.split(r"[\s;,]+", text if isinstance(text, str) else "?") for text in texts]
    pieces = [piece for found in split for piece in found if piece]
    found = [_TURN.fullmatch(piece) for piece in pieces]
    ids = [f"D{m[1].lstrip('0') or 0}:{m[2].lstrip('0') or 0}" for m in found if m]
    return Evidence(tuple(dict.fromkeys(ids)), len(ids) == len(found))


def read_evidence(evidence: Any) -> tuple[str, ...] | None:
    """The turn ids that a text or a list of texts names, or None if one of them is not readable."""
    found = readable(evidence)
    return found.turns if found.whole else None


def read(folder: Path) -> list[Conversation]:
    """The file's conversations, which everything else is made of.

    Raises:
        MemreproError: if the file is missing, its structure is broken, or too many of its
            questions are.
    """
    samples = atomic.read_json(folder / FILE)
    if not isinstance(samples, list):
        raise MemreproError(f"{folder / FILE} is a {type(samples).__name__}, no list; {ANEW}")
    conversations = [_conversation(sample, n) for n, sample in enumerate(samples, start=1)]
    unasked = [item for one in conversations for item in one.unasked]
    total = sum(len(one.queries) for one in conversations) + len(unasked)
    check_skipped(unasked, total, str(folder / FILE))
    return conversations


def _conversation(sample: Any, number: int) -> Conversation:
    sample_id = value_of(sample, "sample_id", str, f"sample {number}")
    talk = value_of(sample, "conversation", dict, sample_id)
    roles = {value_of(talk, role, str, sample_id): role for role in ("speaker_a", "speaker_b")}
    if len(roles) < 2:
        raise MemreproError(f"LoCoMo: both speakers of {sample_id} have one name; {ANEW}")
    sessions: list[Session] = []
    times: list[str] = []
    places: dict[str, Place] = {}
    undated, without_turns = [], []
    for session in _sessions(talk, sample_id):
        session_id, item = f"D{session}", f"session {session} of {sample_id}"
        turns = value_of(talk, f"session_{session}", list, sample_id, default=[])
        if not turns:
            without_turns.append((item, "has no turns"))
            continue
        said = talk.get(f"session_{session}_date_time")
        at = iso(said, "%I:%M %p on %d %B, %Y")
        if not at:
            undated.append((item, f"stays, without a time: its date {said!r} cannot be read"))
        rounds = tuple(_rounds(turns, roles, item))
        for r in rounds:
            for turn in r.turns:
                if turn.turn_id in places:
                    raise MemreproError(f"LoCoMo: {item} repeats the turn {turn.turn_id!r}; {ANEW}")
                if turn.turn_id.split(":")[0] != session_id:
                    raise MemreproError(
                        f"LoCoMo: {item} has turn {turn.turn_id!r}, whose id names another "
                        f"session; {ANEW}"
                    )
                places[turn.turn_id] = Place(r.round_id, session_id)
        sessions.append(Session(session_id, rounds))
        times.append(at)
    memory = Memory(sample_id, tuple(sessions), tuple(times))
    queries, evidence, unasked = [], {}, []
    for index, entry in enumerate(value_of(sample, "qa", list, sample_id)):
        query_id = f"{sample_id}-q{index}"
        if reason := _why_unasked(entry):
            unasked.append((query_id, reason))
            continue
        kind = KINDS[entry["category"]]
        queries.append(Query(query_id, sample_id, entry["question"], times[-1], kind))
        evidence[query_id] = readable(entry.get("evidence") or [])
    left_out = tuple(undated), tuple(without_turns), tuple(unasked)
    return Conversation(memory, roles, places, tuple(queries), evidence, *left_out, sample)


def _sessions(talk: Mapping[str, Any], sample_id: str) -> list[int]:
    """The numbers of all sessions that have turns or a date, in order."""
    numbers = set()
    for key in talk:
        if match := _SESSION.fullmatch(key):
            # `session_02` beside or instead of `session_2` would be one id for two sessions.
            if match[1] != str(int(match[1])):
                raise MemreproError(
                    f"LoCoMo: {sample_id} has {key!r}, which is not written as session_2; {ANEW}"
                )
            numbers.add(int(match[1]))
    return sorted(numbers)


def _why_unasked(entry: Any) -> str:
    """Why a question cannot be used, or ''."""
    if not isinstance(entry, dict):
        return f"is a {type(entry).__name__} and no object"
    question, category = entry.get("question"), entry.get("category")
    if not isinstance(question, str) or not question.strip():
        return f"has the 'question' {question!r} and no text"
    # True is an int, and would be category 1.
    if type(category) is not int or category not in KINDS:
        return f"has the 'category' {category!r}, not one from 1 to {max(KINDS)}"
    return ""


def _rounds(turns: list[Any], roles: Mapping[str, str], item: str) -> Iterator[Round]:
    """The session's exchanges; a round's id is its first turn's."""
    said: list[Turn] = []
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
        if len({t.field for t in said}) == 2 and role == said[0].field:
            yield Round(said[0].turn_id, tuple(said))
            said = []
        said.append(Turn(turn_id, role, text))
    yield Round(said[0].turn_id, tuple(said))


def _parts(ids: Iterable[str]) -> Parts:
    return tuple((doc_id,) for doc_id in dict.fromkeys(ids))


def iso(said: Any, form: str) -> str:
    """A date of the data as ISO 8601 to the minute, or '' if it is not in that form."""
    try:
        return datetime.strptime(said, form).isoformat(timespec="minutes")
    except (TypeError, ValueError):
        return ""


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
