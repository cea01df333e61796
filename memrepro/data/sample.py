"""The sample benchmark: LongMemEval's schema and compilation, with this project's own texts.

LongMemEval (Wu et al.) builds an instance in four steps, followed here with templates
(`sample_texts.yaml`) in the place of language models: attributes come from the ontology of its
Table 5; each evidence statement is told in passing in a session of its own, while the user asks
for help with something (A.1); the history is 50 % simulated sessions on other attributes, 25 %
ShareGPT and 25 % UltraChat, shuffled with the evidence (A.2); time stamps follow the order of
the history, in May 2023 unless the facts are dated (A.2). Numbers from this benchmark are never
comparable with a paper's. A turn that tells a fact holds it, apart from its text, as `fact`: the
gold extraction that `sample_extractions.py` reads, and nothing else does.

Choices that the paper leaves open:

- *With replacement*: fillers come from one pool for all haystacks, so a session stands, with its
  id, in many of them; within one haystack a repeat draw is drawn again, so ids are unique there.
- *Non-conflicting*: half of the simulated sessions tell a fact of the user's; one on an attribute
  that the question is about is drawn again. The other half tell of other people or of the past,
  and may be on the question's own attribute: they are the hard distractors.
- `_NEAR` of the draws of simulated sessions are from the question's own category.
- *Named months*: some temporal questions ask which of two events was in a month. The session that
  tells the other event is a decoy: no evidence, and one of the simulated sessions by its id.
"""

import itertools
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from memrepro.data import longmemeval
from memrepro.data.sample_questions import plan_question
from memrepro.data.sample_writer import Session, Topic, Turn, Writer
from memrepro.errors import MemreproError
from memrepro.files import atomic

_NEAR = 0.5
_MAY = datetime(2023, 5, 1)  # undated histories: until the question, late on the 30th
_FORMAT = "%Y/%m/%d (%a) %H:%M"
# Each parameter's least value; Figure 9b: a history has up to six evidence sessions.
_LEAST = {"seed": 0, "questions": 1, "sessions": 6}

# What is compiled here follows LongMemEval's schema, so its reader reads it.
stream, gold = longmemeval.stream, longmemeval.gold


def compile_benchmark(*, seed: int, questions: int, sessions: int) -> list[dict[str, Any]]:
    """Compile a benchmark: a list of instances in LongMemEval's schema.

    The shares of the six question types and of abstention are LongMemEval's (docs/protocols.md,
    LongMemEval). A haystack has `sessions` sessions, evidence and decoys included. The same
    arguments give the same texts on every machine.
    """
    writer = Writer(Random(f"memrepro sample {seed}"))
    pools = _Pools(writer, max(4 * sessions, questions * sessions // 8))
    types = _question_types(questions, writer.texts["types"])
    writer.rng.shuffle(types)
    return [_instance(writer, pools, n, *of_type, sessions) for n, of_type in enumerate(types)]


def compile_files(folder: Path, parameters: Mapping[str, Any]) -> None:
    """Write `folder/sample.json` from the parameters `seed`, `questions` and `sessions`.

    Raises:
        MemreproError: if a parameter is unknown, missing, not an integer, or too small.
    """
    for name in sorted({*parameters, *_LEAST}):
        if name not in parameters or name not in _LEAST:
            fault = "unknown" if name in parameters else "missing"
            raise MemreproError(
                f"the sample's parameter {name!r} is {fault}: give {', '.join(_LEAST)}"
            )
        value, least = parameters[name], _LEAST[name]
        if type(value) is not int or value < least:
            raise MemreproError(
                f"the sample's parameter {name!r} is {value!r}: give an integer of {least} or more"
            )
    atomic.write_json(folder / "sample.json", compile_benchmark(**parameters))


def _question_types(questions: int, types: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """(type, abstention) of each question: the real shares, by largest remainder."""
    shares = {(kind, False): numbers["plain"] for kind, numbers in types.items()}
    shares |= {(kind, True): numbers["abstention"] for kind, numbers in types.items()}
    total = sum(shares.values())
    counts = {key: questions * share // total for key, share in shares.items()}
    by_remainder = sorted(shares, key=lambda key: -(questions * shares[key] % total))
    for key in by_remainder[: questions - sum(counts.values())]:
        counts[key] += 1
    return [key for key, count in counts.items() for _ in range(count)]


class _Pools:
    """The fillers that all haystacks draw from: `size` sessions from the three sources."""

    def __init__(self, writer: Writer, size: int) -> None:
        # Half of the simulated sessions tell no fact of the user's, and a history needs fewer
        # than those (size is at least four times its sessions): a draw always comes to an end.
        self.writer = writer
        self.simulated = list(itertools.islice(self._simulated(), size // 2))
        self.tasks = [self._public("tasks", i) for i in range(size // 4)]
        self.knowledge = [self._public("knowledge", i) for i in range(size // 4)]
        self.by_category: dict[str, list[Session]] = {}
        for session in self.simulated:
            self.by_category.setdefault(session.category, []).append(session)

    def _simulated(self) -> Iterator[Session]:
        """Two sessions a user background: one tells a fact of the user's, one does not."""
        writer, rng = self.writer, self.writer.rng
        with_topic = {topic["attribute"] for topic in writer.texts["topics"]}
        others = [
            (category, attribute)
            for category, attributes in writer.texts["ontology"].items()
            for attribute in attributes
            if attribute not in with_topic
        ]
        for number in itertools.count(1):
            background = writer.hex(number)
            if number % 4 == 0:
                category, attribute = rng.choice(others)
                for n in (1, 2):
                    yield Session(f"{background}_{n}", self._journal(attribute), category)
                continue
            topic = writer.topic("attribute")
            own = topic[rng.choice([b for b in ("fact", "many", "events") if b in topic])]
            fact = rng.choice(own)["say"] if isinstance(own, list) else rng.choice(own["say"])
            value = "" if isinstance(own, list) else rng.choice(own["values"])
            told = (fact, topic["attribute"]), (rng.choice(topic["others"]), "")
            for n, (remark, tells) in enumerate(told, start=1):
                turns = writer.topic_session(topic, remark, writer.slots(v=value))
                yield Session(f"{background}_{n}", turns, topic["category"], tells)

    def _journal(self, attribute: str) -> list[Turn]:
        writer, texts = self.writer, self.writer.texts
        follow = writer.rng.sample(texts["follow"], writer.rng.randint(2, 4))
        asks = [writer.rng.choice(texts["journal"]), *follow]
        return writer.conversation(asks, texts["journal_more"], [], writer.slots(x=attribute))

    def _public(self, source: str, number: int) -> Session:
        writer, rng = self.writer, self.writer.rng
        family = rng.choice(writer.texts[source])
        asks = [rng.choice(family["ask"]), *rng.sample(family["more"], rng.randint(1, 4))]
        slots = writer.slots(x=rng.choice(family["values"]))
        turns = writer.conversation(asks, [], family["reply"], slots)
        if source == "tasks":
            return Session(f"sharegpt_{writer.hex(number)}_0", turns)
        return Session(f"ultrachat_{1000 + 37 * number}", turns)

    def draw(self, count: int, topics: list[Topic], decoys: int) -> list[Session]:
        """`count` fillers for a question on the topics: 50 % simulated, 25 % and 25 % public.

        The decoys are some of the simulated, and not drawn here.
        """
        rng, tasks, knowledge = self.writer.rng, (count + 1) // 4, (count + 2) // 4
        counts = (count - tasks - knowledge - decoys, tasks, knowledge)
        conflicts = [topic["attribute"] for topic in topics]
        near = [s for t in topics for s in self.by_category.get(t["category"], [])]
        drawn: dict[str, Session] = {}
        pools = (self.simulated, self.tasks, self.knowledge)
        for pool, more in zip(pools, counts, strict=True):
            goal = len(drawn) + more
            while len(drawn) < goal:
                nearby = pool is self.simulated and near and rng.random() < _NEAR
                session = rng.choice(near if nearby else pool)
                if session.tells not in conflicts:
                    drawn.setdefault(session.session_id, session)
        return list(drawn.values())


def _instance(
    writer: Writer, pools: _Pools, number: int, kind: str, abstention: bool, sessions: int
) -> dict[str, Any]:
    plan = plan_question(writer, kind, abstention)
    # The ids of questions, answers and backgrounds are apart: they count from different numbers.
    stem = f"answer_{writer.hex(2**31 + number)}"
    decoys = int(plan.decoy is not None)
    numbered = [f"{stem}_{n}" for n in range(1, len(plan.evidence) - decoys + 1)]
    answers = numbered if len(numbered) > 1 else [stem]
    ids = list(answers)
    if plan.decoy is not None:
        # The id of a simulated session, whose place it takes.
        ids.insert(plan.decoy, f"{writer.hex(2**29 + number)}_1")
    evidence = [Session(i, turns) for i, turns in zip(ids, plan.evidence, strict=True)]
    history = pools.draw(sessions - len(answers), plan.topics, decoys) + evidence
    writer.rng.shuffle(history)
    places = [place for place, session in enumerate(history) if session.session_id in ids]
    if plan.ordered:
        for place, session in zip(places, evidence, strict=True):
            history[place] = session
    anchors = dict(zip(places, plan.anchors, strict=False))
    dates, asked = history_dates(writer.rng, len(history), anchors, plan.wait)
    return {
        "question_id": writer.hex(2**30 + number) + "_abs" * abstention,
        "question_type": kind,
        "question": plan.text,
        "question_date": asked.strftime(_FORMAT),
        "answer": plan.answer,
        "answer_session_ids": answers,
        "haystack_dates": [date.strftime(_FORMAT) for date in dates],
        "haystack_session_ids": [session.session_id for session in history],
        "haystack_sessions": [session.turns for session in history],
    }


def history_dates(
    rng: Random, sessions: int, anchors: Mapping[int, datetime], wait: int
) -> tuple[list[datetime], datetime]:
    """A time for each session and for the question (A.2, time stamp resolution).

    Without anchors: random in May 2023, in order. With anchors (place → time): random between
    the anchors before and after, in order, and the question more than `wait` days after the last.
    """
    places, start = sorted(anchors), _MAY
    asked = _MAY + timedelta(days=29, hours=23, minutes=rng.randrange(60))
    if places:
        start = anchors[places[0]] - timedelta(days=rng.randint(7, 28))
        days, minutes = wait + rng.randint(1, 20), rng.randrange(60)
        asked = anchors[places[-1]] + timedelta(days=days, minutes=minutes)
    dates: list[datetime] = []
    for place, end in [*((p, anchors[p]) for p in places), (sessions, asked)]:
        span = int((end - start).total_seconds()) // 60
        free = range(place - len(dates))
        dates += sorted(start + timedelta(minutes=rng.randrange(span)) for _ in free)
        if place < sessions:
            dates.append(end)
        start = end
    return dates, asked
