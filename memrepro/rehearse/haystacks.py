"""LongMemEval's three files at any scale: the same questions over their evidence, in S and in M.

Questions and their evidence are the sample benchmark's (`data/sample_questions.py`), made as long
as the real ones by `prose`. The fillers of all haystacks come from one pool, which lies in a file
while the haystacks are written, so that M's 2.7 GB need no more memory than the pool's offsets and
the evidence. Lengths by source are those of the one real instance at hand (question e47becba); the
pool's size follows from S (cleaned), which fills 23,867 slots with 19,195 distinct sessions: that
many draws with replacement give as many from a pool of 52,000.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryFile
from typing import BinaryIO

from memrepro.data.registry import registration
from memrepro.data.sample import history_dates
from memrepro.data.sample_questions import Plan, plan_question
from memrepro.data.sample_writer import Turn, Writer
from memrepro.files import atomic
from memrepro.rehearse.prose import Prose, Sizes, words

QUESTIONS, POOL = 500, 52_000
# Registry key → least and most sessions of a haystack; none but the evidence where there are none.
EDITIONS = {
    "longmemeval-oracle": (0, 0), "longmemeval-s": (38, 58), "longmemeval-m": (465, 485)
}  # fmt: skip

# Source → its sizes, its share of a haystack (LongMemEval, A.2).
_SOURCES: dict[str, tuple[Sizes, int]] = {
    "simulated": ((6, 265, 1900), 2),
    "sharegpt": ((4, 130, 1400), 1),
    "ultrachat": ((6, 135, 1200), 1),
}
_VERY_LONG = 30_000
_DATE = "%Y/%m/%d (%a) %H:%M"


def _every(number: int, first: int) -> Callable[[int], bool]:
    """Whether an item has an oddity that one in `number` has, the first of them at `first`."""
    return lambda place: place % number == first


# Of 500 questions: 13 haystacks hold a session twice. The other shares are this project's guesses,
# as the files are not at hand; each oddity stands among the first ten questions.
TWICE, UNFLAGGED, NO_ANSWER = _every(40, 2), _every(60, 4), _every(100, 5)
UNORDERED, NO_TURNS = _every(20, 1), _every(100, 0)
HOSTILE = _every(100, 7)  # in its question's or session's id
UNNAMED = 6  # the first abstention
# Of the pool's sessions of one source.
_LONG_TURN, _NO_USER_FIRST, _SHORT = _every(97, 5), _every(4, 1), 0.4


@dataclass(frozen=True)
class Question:
    """A question with its evidence, before any haystack.

    Attributes:
        number: its place in the file, from 0, which decides its oddities.
        question_id: with `_abs` where it cannot be answered.
        kind: its question type.
        plan: of the sample's; `evidence` is as long as real sessions.
        ids: of the evidence's sessions, the decoy's among them.
        answers: the ids that the file names as its answer's.
    """

    number: int
    question_id: str
    kind: str
    plan: Plan
    ids: list[str]
    answers: list[str]


def write_haystacks(folder: Path, scale: float, seed: int) -> None:
    """Write the three files: `scale` of 500 questions, ten at least.

    Below a scale of 1/50 haystacks shrink too.
    """
    writer = Writer(Random(f"memrepro rehearsal of haystacks {seed}"))
    questions = _questions(writer, max(10, round(QUESTIONS * scale)))
    size = min(1.0, 50 * scale)
    with TemporaryFile(dir=folder) as file:
        pool = _Pool(writer, max(round(POOL * scale), 80), file)
        for key, (least, most) in EDITIONS.items():
            rng = Random(f"memrepro rehearsal of {key} {seed}")
            (remote,) = registration(key).files
            with (
                atomic.replacing(folder / remote.path) as temporary,
                temporary.open("wb") as out,
            ):
                for question in questions:
                    sessions = round(size * rng.randint(least, most)) if most else 0
                    out.write(b"," if question.number else b"[")
                    for piece in _instance(rng, question, pool, sessions):
                        out.write(piece)
                out.write(b"\n]\n")


def _questions(writer: Writer, count: int) -> list[Question]:
    """One question of each type and an abstention first, then the real shares, shuffled."""
    types = writer.texts["types"]
    first = [*((kind, False) for kind in types), ("multi-session", True)]
    shares = Counter({(kind, False): numbers["plain"] for kind, numbers in types.items()})
    shares += Counter({(kind, True): numbers["abstention"] for kind, numbers in types.items()})
    rest = list((shares - Counter(first)).elements())
    writer.rng.shuffle(rest)
    return [_question(writer, n, *of) for n, of in enumerate((first + rest)[:count])]


def _question(writer: Writer, number: int, kind: str, abstains: bool) -> Question:
    plan = plan_question(writer, kind, abstains)
    while (
        number == list(writer.texts["types"]).index("multi-session") and not plan.answer.isdigit()
    ):
        plan = plan_question(writer, kind, abstains)  # so that a numeric answer is among the first
    stem = f"answer_{writer.hex(2**31 + number)}"
    told = len(plan.evidence) - (plan.decoy is not None)
    answers = [f"{stem}_{n}" for n in range(1, told + 1)] if told > 1 else [stem]
    ids = list(answers)
    if plan.decoy is not None:
        ids.insert(plan.decoy, f"{writer.hex(2**29 + number)}_1")
    evidence = []
    for session_id, turns in zip(ids, plan.evidence, strict=True):
        long = _long(writer.rng, turns, _SOURCES["simulated"][0])
        flagged = session_id in answers and not UNFLAGGED(number)
        # Of an evidence session every turn says whether it has the answer.
        evidence.append([t | {"has_answer": t.get("has_answer", False)} for t in long] if flagged
                        else [_bare(turn) for turn in long])  # fmt: skip
    question_id = writer.hex(2**30 + number) + "_abs" * abstains
    if HOSTILE(number):
        question_id = f"../<img src=x onerror='window.hacked = 6'>{question_id}"
    return Question(number, question_id, kind, replace(plan, evidence=evidence), ids, answers)


def _bare(turn: Turn) -> Turn:
    return {key: turn[key] for key in ("role", "content")}


def _long(rng: Random, turns: list[Turn], sizes: Sizes) -> list[Turn]:
    """The turns, each followed by prose, and as many more as a real session has."""
    rounds, *length = sizes
    prose = Prose(rng)
    found: list[Turn] = []
    for place in range(2 * rounds):
        old = turns[place] if place < len(turns) else {}
        role = ("user", "assistant")[place % 2]
        new = prose.turn(role, length[place % 2], old.get("content", ""))
        found.append(new | ({"has_answer": old["has_answer"]} if "has_answer" in old else {}))
    return found


class _Pool:
    """The fillers, as JSON in a file: the half simulated, a quarter each of the public sources."""

    def __init__(self, writer: Writer, size: int, file: BinaryIO) -> None:
        self._file = file
        # Source → id, first byte and length of each of its sessions.
        self._places: dict[str, list[tuple[str, int, int]]] = {}
        end = 0
        for source, (_, share) in _SOURCES.items():
            places = self._places[source] = []
            for number in range(size * share // 4):
                session_id, turns = _filler(writer, source, number)
                data = _json(turns)
                file.write(data)
                places.append((session_id, end, len(data)))
                end += len(data)

    def draw(self, rng: Random, count: int) -> list[tuple[str, bytes]]:
        """As many different sessions, each id with the session's JSON."""
        kinds = [source for source, (_, share) in _SOURCES.items() for _ in range(share)]
        chosen: dict[str, tuple[int, int]] = {}
        while len(chosen) < count:
            session_id, *place = rng.choice(self._places[kinds[len(chosen) % 4]])
            chosen.setdefault(session_id, (place[0], place[1]))
        return [(session_id, self._read(*place)) for session_id, place in chosen.items()]

    def _read(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)


def _filler(writer: Writer, source: str, number: int) -> tuple[str, list[Turn]]:
    rng, (sizes, _) = writer.rng, _SOURCES[source]
    if source == "simulated":
        topic = writer.topic("attribute")
        turns = writer.topic_session(topic, rng.choice(topic["others"]), writer.slots())
        ending = "" if number % 5 == 0 else f"_{rng.randint(1, 5)}"
        return writer.hex(number) + ending, _long(rng, turns, sizes)
    if source == "ultrachat":
        asks = rng.choice(writer.texts["knowledge"])
        opening = rng.choice(asks["ask"]).format(x=rng.choice(asks["values"]))
        rounds = rng.choice((3, 5, 6, 6, 7, 7))
        said = [{"content": opening}]
        return f"ultrachat_{1000 + 37 * number}", _long(rng, said, (rounds, *sizes[1:]))
    turns = _long(rng, [], (rng.randint(1, 7), *sizes[1:]))
    for turn in turns:
        if turn["role"] == "user" and rng.random() < _SHORT:
            turn["content"] = rng.choice(words()["short"])
    if _LONG_TURN(number):
        turns[-1]["content"] = Prose(rng).text("assistant", _VERY_LONG)
    start = int(_NO_USER_FIRST(number))  # what was shared begins in the middle of a talk
    begun = "=cmd|' /C calc'!A0 </td>" if HOSTILE(number) else "sharegpt"
    return f"{begun}_{writer.hex(number)}_{start * rng.randrange(80)}", turns[start:]


def _instance(rng: Random, question: Question, pool: _Pool, sessions: int) -> Iterator[bytes]:
    """The JSON of one instance, piece by piece."""
    plan, number = question.plan, question.number
    evidence = [(i, _json(t)) for i, t in zip(question.ids, plan.evidence, strict=True)]
    if sessions:
        history = pool.draw(rng, max(sessions - len(evidence), 3))
        if NO_TURNS(number):
            history[0] = (history[0][0], _json([]))
        if TWICE(number):
            history.append(history[1])
    else:
        # The oracle's file has what is to be found, and nothing else.
        history = []
    history += evidence
    rng.shuffle(history)
    places = [place for place, (session_id, _) in enumerate(history) if session_id in question.ids]
    if plan.ordered:
        for place, session in zip(places, evidence, strict=True):
            history[place] = session
    anchors = dict(zip(places, plan.anchors, strict=False))
    dates, asked = history_dates(rng, len(history), anchors, plan.wait)
    said = [date.strftime(_DATE) for date in dates]
    if UNORDERED(number):
        said = [*said[1:], said[0]]
    digits = plan.answer.isdigit()
    head = {
        "question_id": question.question_id,
        "question_type": question.kind,
        "question": plan.text,
        "question_date": asked.strftime(_DATE),
        "answer": "" if NO_ANSWER(number) else int(plan.answer) if digits else plan.answer,
        "answer_session_ids": [] if number == UNNAMED else question.answers,
        "haystack_dates": said,
        "haystack_session_ids": [session_id for session_id, _ in history],
    }
    begun = json.dumps(head, indent=4, ensure_ascii=False).encode().removesuffix(b"\n}")
    yield b"\n    " + begun.replace(b"\n", b"\n    ") + b',\n        "haystack_sessions": ['
    for place, (_, data) in enumerate(history):
        yield (b"," if place else b"") + b"\n            " + data
    yield b"\n        ]\n    }"


def _json(turns: list[Turn]) -> bytes:
    """A session as it stands in the files, at its depth there."""
    text = json.dumps(turns, indent=4, ensure_ascii=False)
    return text.replace("\n", "\n            ").encode()
