"""LoCoMo: ten long conversations of two persons, and questions with their evidence.

A round is an exchange: the consecutive turns of the speaker who opens the session, then those of
the other. Its fields are `speaker_a` and `speaker_b`, the conversation's speakers as the data
names them, in order of speaking; an exchange that nobody answers has one field. A turn is its
text and, where it shares an image, a line `[shares <blip_caption>]` (the form of the released
`task_eval/dpr_qa.py`).

A question gets no qrels if it names no evidence, if a piece of its evidence cannot be read, or if
a turn that it names does not exist: what is left of its evidence may not answer it. Other labels
are kept apart, at levels of their own: see `stream`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.core.memory import Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.data.gold import NEVER_SAID, Gold
from memrepro.data.reading import Skipped, check_skipped, damaged, json_list, minute, value_of
from memrepro.errors import MemreproError
from memrepro.files import atomic

FILE = "locomo/locomo10.json"
ERRATA = Path(__file__).with_name("errata") / "locomo_audit.yaml"
# The ids do not follow the paper's order (docs/protocols.md, LoCoMo).
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
NO_EVIDENCE = "names no evidence"
UNREADABLE = "names evidence that cannot be read"
MISSING = "names an evidence turn that does not exist"
AUDITED = "label error by the audit (dial481/locomo-audit)"

_LABELS = ("", "_lenient", "_audit", "_audit_citations")
_TURN = re.compile(r"D:?([0-9]+):([0-9]+)")
_NAMED = re.compile(r"D([0-9]+):([0-9]+)", re.ASCII)
# How others read evidence (docs/protocols.md, LoCoMo): the text's beginning alone.
_CITED = re.compile(r"(D[0-9]+):")
_SESSION = re.compile("session_([0-9]+)(_date_time)?")


class Evidence(NamedTuple):
    """The turns that a question names, each once, and whether all that it names could be read."""

    turns: tuple[str, ...]
    whole: bool


@dataclass(frozen=True)
class Conversation:
    """One sample of the file.

    Attributes:
        memory: its sessions, in the order of their numbers; the id is the sample's.
        roles: `speaker_a` and `speaker_b`, by the speakers' names.
        round_of: the round of each turn, by the turn's id, which begins with its session's.
        queries: its questions, in order.
        evidence: what each question names, by its id.
        cited: the sessions that its texts cite, as written, by its id.
        written: the texts themselves, each once, by its id.
        skipped: (item, reason) of the sessions that are left out or keep no time.
        unasked: (item, reason) of the questions that are left out.
        raw: the sample as it stands in the file.
    """

    memory: Memory
    roles: Mapping[str, str]
    round_of: Mapping[str, str]
    queries: tuple[Query, ...]
    evidence: Mapping[str, Evidence]
    cited: Mapping[str, tuple[str, ...]]
    written: Mapping[str, tuple[str, ...]]
    skipped: Skipped
    unasked: Skipped
    raw: Mapping[str, Any]


def stream(folder: Path, name: str, *, texts: str = "") -> Iterator[Piece]:
    """Read the data set below `folder`, one piece a conversation.

    With `texts` 'mteb' a turn's text is what MTEB's task LoCoMo has as a doc (`mteb_text`).

    Query ids are `<sample_id>-q<index in the list>`. The data gives a question no time: it is asked
    at the last session's, or at '' if that one has none. The qrels have the levels `turn`, `round`
    and `session`; each doc that holds an evidence turn is a part of one alternative. Behind a
    level's name may stand

    - `_lenient`: of evidence that is partly unusable, the turns that can be read and exist;
    - `_audit`: without the 99 questions whose answer a public audit calls wrong;
    - `_audit_citations`: also without the 57 whose evidence alone it calls wrong;
    - `_as_cited`, of sessions alone: the first session that each text of the evidence cites, as
      written; a text without one is passed over, and a session need not exist;
    - `_as_written`, of turns alone: each text of the evidence as the id of a turn, which need not
      exist;
    - `_as_named`, of turns alone: the same where each text is one id, zeros before a number
      dropped; a question with any other text has none.

    Those of the audit are there for the very file that was audited, and for no other.

    Raises:
        MemreproError: for unknown `texts`, if the file is missing, its structure is broken, or too
            many of its questions are.
    """
    if texts not in ("", "mteb"):
        raise MemreproError(f"{name} has texts: {texts!r}; write mteb, or leave it out")
    conversations = read(folder, texts == "mteb")
    answers, citations = audited(folder)
    for one in conversations:
        yield _piece(one, answers, citations)


def gold(folder: Path, name: str) -> Iterator[Gold]:
    """What answers each question that `stream` reads.

    An adversarial question has a wrong answer beside; 444 of 446 have no other, since what they ask
    was never said of the person they name. Some answers are numbers in the file.

    Raises:
        MemreproError: as of `stream`, and if a question has neither answer.
    """
    for one in read(folder):
        for query in one.queries:
            entry = one.raw["qa"][int(query.query_id.rpartition("-q")[2])]
            answer, wrong = (
                "" if (said := entry.get(key)) is None else str(said).strip()
                for key in ("answer", "adversarial_answer")
            )
            if not answer and not wrong:
                raise damaged(f"LoCoMo: question {query.query_id} has no answer")
            yield Gold(
                query.query_id, query.kind, query.text, query.at, answer or NEVER_SAID,
                abstains=not answer, wrong=wrong,
            )  # fmt: skip


def speakers(folder: Path) -> dict[str, dict[str, str]]:
    """Sample id → `speaker_a` and `speaker_b` → the names that questions call them by."""
    return {
        one.memory.memory_id: {role: name for name, role in one.roles.items()}
        for one in read(folder)
    }


def _piece(one: Conversation, answers: Mapping[str, str], citations: Mapping[str, str]) -> Piece:
    levels = [f"{level}{label}" for label in _LABELS for level in ("turn", "round", "session")]
    qrels: dict[str, dict[str, Parts]] = {level: {} for level in levels}
    named = {query_id: named_turns(texts) for query_id, texts in one.written.items()}
    for level, by_query in (
        ("session_as_cited", one.cited), ("turn_as_written", one.written), ("turn_as_named", named),
    ):  # fmt: skip
        qrels[level] = {query_id: _parts(found) for query_id, found in by_query.items() if found}
    faults: dict[str, str] = {}
    for query_id, evidence in one.evidence.items():
        turns = [turn for turn in evidence.turns if turn in one.round_of]
        fault = _evidence_fault(evidence, turns)
        found = (fault, answers.get(query_id, ""), citations.get(query_id, ""))
        if any(found):
            faults[query_id] = "; ".join(filter(None, found))
        labels = ["_lenient"] if turns else []
        if turns and not fault:
            labels.append("")
            if answers and query_id not in answers:
                labels += ["_audit", *(["_audit_citations"] if query_id not in citations else [])]
        for label in labels:
            qrels[f"turn{label}"][query_id] = _parts(turns)
            qrels[f"round{label}"][query_id] = _parts(one.round_of[turn] for turn in turns)
            qrels[f"session{label}"][query_id] = _parts(map(session_of, turns))
    return Piece(one.memory, one.queries, qrels, faults, (*one.skipped, *one.unasked))


def _evidence_fault(evidence: Evidence, existing: list[str]) -> str:
    """Why a question has no qrels, or ''."""
    if not evidence.whole:
        return UNREADABLE
    if not evidence.turns:
        return NO_EVIDENCE
    return MISSING if len(existing) < len(evidence.turns) else ""


def _parts(ids: Iterable[str]) -> Parts:
    return tuple((doc_id,) for doc_id in dict.fromkeys(ids))


def session_of(turn_id: str) -> str:
    """The session that a turn lies in."""
    return turn_id.partition(":")[0]


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


def read_evidence(evidence: Any) -> Evidence:
    """The turn ids that a text or a list of texts names.

    A text may hold several ids, separated by white space, `;` or `,`. An id is `D8:6`; zeros before
    a number and a colon after the D (`D30:05`, `D:11:26`) leave only one reading and are dropped.
    Anything else (`D`) cannot be read.
    """
    texts = evidence if isinstance(evidence, list) else [evidence]
    # What is no text stands as '?', a piece that cannot be read.
    split = [re.split(r"[\s;,]+", text if isinstance(text, str) else "?") for text in texts]
    found = [_TURN.fullmatch(piece) for pieces in split for piece in pieces if piece]
    ids = [f"D{m[1].lstrip('0') or 0}:{m[2].lstrip('0') or 0}" for m in found if m]
    return Evidence(tuple(dict.fromkeys(ids)), len(ids) == len(found))


def cited_sessions(evidence: Any) -> tuple[str, ...]:
    """The sessions that a list of texts cites, each once: the first of each text, as written.

    Of `D8:6; D9:17` that is D8; `D` and `D:11:26` cite none.
    """
    found = [_CITED.match(text) for text in _texts(evidence)]
    return tuple(dict.fromkeys(match[1] for match in found if match))


def named_turns(texts: Iterable[str]) -> tuple[str, ...]:
    """The turns that texts name, each once; none if a text is anything but one id."""
    found = [_NAMED.fullmatch(text) for text in texts]
    ids = [f"D{int(match[1])}:{int(match[2])}" for match in found if match]
    return tuple(dict.fromkeys(ids)) if len(ids) == len(found) else ()


def _texts(evidence: Any) -> list[str]:
    texts = evidence if isinstance(evidence, list) else [evidence]
    return [text for text in texts if isinstance(text, str)]


def read(folder: Path, as_mteb: bool = False) -> list[Conversation]:
    """The file's conversations, which everything else is made of; their turns as MTEB has them.

    Raises:
        MemreproError: if the file is missing, its structure is broken, or too many of its
            questions are.
    """
    samples = json_list(folder / FILE)
    conversations = [_conversation(sample, n, as_mteb) for n, sample in enumerate(samples, start=1)]
    unasked = [item for one in conversations for item in one.unasked]
    total = sum(len(one.queries) for one in conversations) + len(unasked)
    check_skipped(unasked, total, str(folder / FILE))
    return conversations


def _conversation(sample: Any, number: int, as_mteb: bool) -> Conversation:
    sample_id = value_of(sample, "sample_id", str, f"LoCoMo: sample {number}")
    where = f"LoCoMo: {sample_id}"
    talk = value_of(sample, "conversation", dict, where)
    roles = {value_of(talk, role, str, where): role for role in ("speaker_a", "speaker_b")}
    if len(roles) < 2:
        raise damaged(f"LoCoMo: both speakers of {sample_id} have one name")
    sessions: list[Session] = []
    times: list[str] = []
    round_of: dict[str, str] = {}
    skipped: Skipped = []
    for n in _session_numbers(talk, sample_id):
        session_id, key, item = f"D{n}", f"session_{n}", f"session {n} of {sample_id}"
        turns = value_of({key: [], **talk}, key, list, where)
        if not turns:
            skipped.append((item, "has no turns"))
            continue
        said = talk.get(f"{key}_date_time")
        times.append(minute(said, "%I:%M %p on %d %B, %Y"))
        if not times[-1]:
            skipped.append((item, f"stays, without a time: its date {said!r} cannot be read"))
        rounds = tuple(_rounds(turns, roles, f"LoCoMo: {item}"))
        if as_mteb:
            rounds = tuple(_as_mteb(rounds, turns, n, str(said)))
        for r in rounds:
            for turn in r.turns:
                if turn.turn_id in round_of:
                    raise damaged(f"LoCoMo: {item} repeats the turn {turn.turn_id!r}")
                if session_of(turn.turn_id) != session_id:
                    raise damaged(
                        f"LoCoMo: {item} has turn {turn.turn_id!r}, whose id names another session"
                    )
                round_of[turn.turn_id] = r.round_id
        sessions.append(Session(session_id, rounds))
    memory = Memory(sample_id, tuple(sessions), tuple(times))
    queries, evidence, cited, written, unasked = [], {}, {}, {}, []
    for index, entry in enumerate(value_of(sample, "qa", list, where)):
        query_id = f"{sample_id}-q{index}"
        if reason := _why_unasked(entry):
            unasked.append((query_id, reason))
            continue
        kind = KINDS[entry["category"]]
        queries.append(Query(query_id, sample_id, entry["question"], times[-1], kind))
        evidence[query_id] = read_evidence(entry.get("evidence") or [])
        cited[query_id] = cited_sessions(entry.get("evidence") or [])
        written[query_id] = tuple(dict.fromkeys(_texts(entry.get("evidence") or [])))
    return Conversation(
        memory, roles, round_of, tuple(queries), evidence, cited, written, skipped, unasked, sample
    )


def _session_numbers(talk: Mapping[str, Any], sample_id: str) -> list[int]:
    """The numbers of all sessions that have turns or a date, in order."""
    numbers = set()
    for key in talk:
        if match := _SESSION.fullmatch(key):
            # `session_02` beside or instead of `session_2` would be one id for two sessions.
            if match[1] != str(int(match[1])):
                raise damaged(f"LoCoMo: {sample_id} has {key!r}, which is not written as session_2")
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


def mteb_text(session: int, number: int, said_at: str, speaker: str, text: str) -> str:
    """A turn as MTEB's task LoCoMo (revision 02e2c3d) has it: a title, a space, speaker and text.

    Its docs are not here. MTEB publishes how many characters they have, in all, at least and at
    most, which this form gives (docs/protocols.md).

    Args:
        session: its number.
        number: the turn's place in it, from 1.
        said_at: the session's time as the file has it.
        speaker: the name.
        text: as the file has it; what a shared image shows is not in it.
    """
    at = datetime.strptime(said_at, "%I:%M %p on %d %B, %Y")
    when = at.strftime("%I:%M %p on %A %d %B, %Y")
    return f"Data time: {when} - Session {session}, Turn {number} {speaker}: {text}".rstrip()


def _as_mteb(
    rounds: Iterable[Round], turns: list[Any], session: int, said_at: str
) -> Iterator[Round]:
    """The same rounds with the texts of MTEB."""
    made = {
        turn["dia_id"]: mteb_text(session, number, said_at, turn["speaker"], turn["text"])
        for number, turn in enumerate(turns, start=1)
    }
    for one in rounds:
        yield Round(one.round_id, tuple(t._replace(text=made[t.turn_id]) for t in one.turns))


def _rounds(turns: list[Any], roles: Mapping[str, str], item: str) -> Iterator[Round]:
    """The session's exchanges; a round's id is its first turn's."""
    said: list[Turn] = []
    for turn in turns:
        turn_id, speaker, text = (
            value_of(turn, k, str, item) for k in ("dia_id", "speaker", "text")
        )
        # Evidence is read into this form, so a turn in another one could never be found.
        if read_evidence(turn_id) != ((turn_id,), True):
            raise damaged(f"{item} has turn {turn_id!r}, not one as D1:3")
        if speaker not in roles:
            raise damaged(f"{item}: {turn_id} is by {speaker!r}")
        if "blip_caption" in turn:
            text += f"\n[shares {value_of(turn, 'blip_caption', str, item)}]"
        role = roles[speaker]
        # Two fields are complete once the first of them, the opener's, speaks again.
        if len({t.field for t in said}) == 2 and role == said[0].field:
            yield Round(said[0].turn_id, tuple(said))
            said = []
        said.append(Turn(turn_id, role, text))
    yield Round(said[0].turn_id, tuple(said))
