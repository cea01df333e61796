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
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from memrepro import store
from memrepro.datasets import longmemeval
from memrepro.errors import MemreproError

_MOST_EVIDENCE = 6  # Figure 9b: up to six evidence sessions
_NEAR = 0.5
_CUED = 0.75  # of the sessions on a topic, and of the questions, name it in a plain word
_EVIDENCE_COUNTS = {2: 45, 3: 25, 4: 15, 5: 8, 6: 7}  # multi-session: mostly few, Figure 9b
_POSITIONS = (50, 22, 14, 8, 4, 2)  # of the evidence by round: mostly early, Figure 9c
_MAY = datetime(2023, 5, 1)  # undated histories: until the question, late on the 30th
_FORMAT = "%Y/%m/%d (%a) %H:%M"
_PARAMETERS = ("seed", "questions", "sessions")

# What is compiled here follows LongMemEval's schema, so its reader reads it.
load, stream = longmemeval.load, longmemeval.stream

Turn = dict[str, Any]
Topic = Mapping[str, Any]


@dataclass(frozen=True)
class _Session:
    """A session of the pool; `tells` is the attribute of which it tells a fact of the user's."""

    session_id: str
    turns: list[Turn]
    category: str = ""
    tells: str = ""


@dataclass(frozen=True)
class _Plan:
    """A question before its history: evidence in answer order, one list of turns a session."""

    text: str
    answer: str
    topics: list[Topic]
    evidence: list[list[Turn]]
    ordered: bool = False
    anchors: tuple[datetime, ...] = ()


def compile_benchmark(*, seed: int, questions: int, sessions: int) -> list[dict[str, Any]]:
    """Compile a benchmark: a list of instances in LongMemEval's schema.

    The shares of the six question types and of abstention are LongMemEval's (PROTOCOLS.md). A
    haystack has `sessions` sessions, evidence included. The same arguments give the same texts
    on every machine.

    Raises:
        MemreproError: if a number is too small.
    """
    room = f"a history must have room for up to {_MOST_EVIDENCE} evidence sessions"
    for name, value, least, rule in (
        ("questions", questions, 1, "a benchmark needs a question"),
        ("sessions", sessions, _MOST_EVIDENCE, room),
    ):
        if value < least:
            raise MemreproError(f"the sample's {name!r} is {value}: {rule}; give {least} or more")
    writer = _Writer(Random(f"memrepro sample {seed}"))
    pools = _Pools(writer, max(4 * sessions, questions * sessions // 8))
    types = _question_types(questions, writer.texts["types"])
    writer.rng.shuffle(types)
    return [_instance(writer, pools, n, *of_type, sessions) for n, of_type in enumerate(types)]


def compile_files(folder: Path, parameters: Mapping[str, Any]) -> None:
    """Write `folder/sample.json` from the parameters `seed`, `questions` and `sessions`.

    Raises:
        MemreproError: if a parameter is unknown, missing, not an integer, or too small.
    """
    for name in sorted({*parameters, *_PARAMETERS}):
        if name not in parameters or name not in _PARAMETERS:
            fault = "unknown" if name in parameters else "missing"
            raise MemreproError(
                f"the sample's parameter {name!r} is {fault}: give {', '.join(_PARAMETERS)}"
            )
        if type(parameters[name]) is not int:
            raise MemreproError(
                f"the sample's parameter {name!r} is {parameters[name]!r}: it must be an integer"
            )
    store.write_json(folder / "sample.json", compile_benchmark(**parameters))


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


class _Writer:
    """Writes sessions from the templates; its random state is the benchmark's only one."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.texts = store.read_yaml(Path(__file__).with_name("sample_texts.yaml"))
        self._decks: dict[str, list[Topic]] = {}
        self._salt = rng.getrandbits(32)

    def topic(self, block: str, but: tuple[Topic, ...] = ()) -> Topic:
        """A topic that has the block: dealt from a shuffled deck, so that all are used."""
        deck = self._decks.setdefault(block, [])
        if not any(topic not in but for topic in deck):
            deck[:] = [topic for topic in self.texts["topics"] if block in topic]
            self.rng.shuffle(deck)
        return deck.pop(next(i for i, topic in enumerate(deck) if topic not in but))

    def hex(self, number: int) -> str:
        """Eight hex digits, different for every number below 2**32 (an odd factor permutes)."""
        return f"{(number * 0x9E3779B1 + self._salt) % 2**32:08x}"

    def slots(self, **given: str) -> dict[str, str]:
        """A value for each slot."""
        return {name: self.rng.choice(pool) for name, pool in self.texts["slots"].items()} | given

    def conversation(
        self, asks: list[str], remarks: list[str], replies: list[str], slots: dict[str, str]
    ) -> list[Turn]:
        """Rounds of a request, now and then with a remark before it, and a reply to it."""
        texts, turns, left = self.texts, list[Turn](), self.rng.sample(replies, len(replies))
        for ask in asks:
            said = [self.rng.choice(remarks)] if remarks and self.rng.random() < 0.3 else []
            said += [ask] + [self.rng.choice(texts["follow"])] * (self.rng.random() < 0.35)
            reply = [self.rng.choice(texts["leads"])] if self.rng.random() < 0.5 else []
            reply += [left.pop()] if left else []
            if not reply or self.rng.random() < 0.6:
                reply.append(self.rng.choice(texts["closers"]))
            for role, lines in (("user", said), ("assistant", reply)):
                turns.append({"role": role, "content": " ".join(lines).format(**slots)})
        return turns

    def topic_session(self, topic: Topic, remark: str, slots: dict[str, str]) -> list[Turn]:
        """A session of 3-6 rounds on a topic, in which the user makes the remark in one."""
        asks = self.rng.sample(topic["asks"] + topic["more"], self.rng.randint(2, 4))
        asks += self.rng.sample(self.texts["follow"], self.rng.randint(1, 2))
        if self.rng.random() < _CUED:
            opening = self.rng.choice(self.texts["openings"]).format(cue=topic["cue"])
            asks[0] = f"{opening} {asks[0]}"
        turns = self.conversation(asks, [], topic["tips"], slots)
        said = turns[self._position(turns)]
        told = remark.format(**slots)
        said |= {"content": f"{told} {said['content']}", "fact": told}
        return turns

    def evidence(self, topic: Topic, statement: str, **given: str) -> list[Turn]:
        """A session in which the user makes the statement in passing."""
        slots = self.slots(**given)
        turns = self.topic_session(topic, statement, slots)
        remark = statement.format(**slots)
        return [turn | {"has_answer": turn["content"].startswith(remark)} for turn in turns]

    def advised(self, topic: Topic, value: str) -> list[Turn]:
        """A session in which the assistant gives the advice that is asked for later."""
        slots, advice = self.slots(v=value), topic["advice"]
        turns = self.topic_session(topic, self.rng.choice(topic["others"]), slots)
        turns = [turn | {"has_answer": False} for turn in turns]
        user = self._position(turns)
        turns[user] = {"role": "user", "content": advice["user"], "has_answer": False}
        turns[user + 1] |= {"content": advice["reply"].format(**slots), "has_answer": True}
        return turns

    def _position(self, turns: list[Turn]) -> int:
        rounds = range(0, len(turns), 2)
        return self.rng.choices(rounds, _POSITIONS[: len(rounds)])[0]


class _Pools:
    """The fillers that all haystacks draw from: `size` sessions from the three sources."""

    def __init__(self, writer: _Writer, size: int) -> None:
        # Half of the simulated sessions tell no fact of the user's, and a history needs fewer
        # than those (size is at least four times its sessions): a draw always comes to an end.
        self.writer = writer
        self.simulated = list(itertools.islice(self._simulated(), size // 2))
        self.tasks = [self._public("tasks", i) for i in range(size // 4)]
        self.knowledge = [self._public("knowledge", i) for i in range(size // 4)]
        self.by_category: dict[str, list[_Session]] = {}
        for session in self.simulated:
            self.by_category.setdefault(session.category, []).append(session)

    def _simulated(self) -> Iterator[_Session]:
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
                    yield _Session(f"{background}_{n}", self._journal(attribute), category)
                continue
            topic = writer.topic("attribute")
            own = topic[rng.choice([b for b in ("fact", "many", "events") if b in topic])]
            fact = rng.choice(own)["say"] if isinstance(own, list) else rng.choice(own["say"])
            value = "" if isinstance(own, list) else rng.choice(own["values"])
            told = (fact, topic["attribute"]), (rng.choice(topic["others"]), "")
            for n, (remark, tells) in enumerate(told, start=1):
                turns = writer.topic_session(topic, remark, writer.slots(v=value))
                yield _Session(f"{background}_{n}", turns, topic["category"], tells)

    def _journal(self, attribute: str) -> list[Turn]:
        writer, texts = self.writer, self.writer.texts
        follow = writer.rng.sample(texts["follow"], writer.rng.randint(2, 4))
        asks = [writer.rng.choice(texts["journal"]), *follow]
        return writer.conversation(asks, texts["journal_more"], [], writer.slots(x=attribute))

    def _public(self, source: str, number: int) -> _Session:
        writer, rng = self.writer, self.writer.rng
        family = rng.choice(writer.texts[source])
        asks = [rng.choice(family["ask"]), *rng.sample(family["more"], rng.randint(1, 4))]
        slots = writer.slots(x=rng.choice(family["values"]))
        turns = writer.conversation(asks, [], family["reply"], slots)
        if source == "tasks":
            return _Session(f"sharegpt_{writer.hex(number)}_0", turns)
        return _Session(f"ultrachat_{1000 + 37 * number}", turns)

    def draw(self, count: int, topics: list[Topic]) -> list[_Session]:
        """`count` fillers for a question on the topics: 50 % simulated, 25 % and 25 % public."""
        rng, tasks, knowledge = self.writer.rng, (count + 1) // 4, (count + 2) // 4
        counts = (count - tasks - knowledge, tasks, knowledge)
        conflicts = [topic["attribute"] for topic in topics]
        near = [s for t in topics for s in self.by_category.get(t["category"], [])]
        drawn: dict[str, _Session] = {}
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
    writer: _Writer, pools: _Pools, number: int, kind: str, abstention: bool, sessions: int
) -> dict[str, Any]:
    plan = _plan(writer, kind, abstention)
    # The ids of questions, answers and backgrounds are apart: they count from different numbers.
    stem = f"answer_{writer.hex(2**31 + number)}"
    numbered = [f"{stem}_{n}" for n in range(1, len(plan.evidence) + 1)]
    ids = numbered if len(numbered) > 1 else [stem]
    evidence = [_Session(i, turns) for i, turns in zip(ids, plan.evidence, strict=True)]
    history = pools.draw(sessions - len(evidence), plan.topics) + evidence
    writer.rng.shuffle(history)
    places = [place for place, session in enumerate(history) if session.session_id in ids]
    if plan.ordered:
        for place, session in zip(places, evidence, strict=True):
            history[place] = session
    dates, asked = _dates(writer.rng, len(history), dict(zip(places, plan.anchors, strict=False)))
    return {
        "question_id": writer.hex(2**30 + number) + "_abs" * abstention,
        "question_type": kind,
        "question": plan.text,
        "question_date": asked.strftime(_FORMAT),
        "answer": plan.answer,
        "answer_session_ids": ids,
        "haystack_dates": [date.strftime(_FORMAT) for date in dates],
        "haystack_session_ids": [session.session_id for session in history],
        "haystack_sessions": [session.turns for session in history],
    }


def _dates(
    rng: Random, sessions: int, anchors: Mapping[int, datetime]
) -> tuple[list[datetime], datetime]:
    """A time for each session and for the question (A.2, time stamp resolution).

    Without anchors: random in May 2023, in order. With anchors (place → time): random between
    the anchors before and after, in order.
    """
    places, start = sorted(anchors), _MAY
    asked = _MAY + timedelta(days=29, hours=23, minutes=rng.randrange(60))
    if places:
        start = anchors[places[0]] - timedelta(days=rng.randint(7, 28))
        asked = anchors[places[-1]] + timedelta(days=rng.randint(1, 20), minutes=rng.randrange(60))
    dates: list[datetime] = []
    for place, end in [*((p, anchors[p]) for p in places), (sessions, asked)]:
        span = int((end - start).total_seconds()) // 60
        free = range(place - len(dates))
        dates += sorted(start + timedelta(minutes=rng.randrange(span)) for _ in free)
        if place < sessions:
            dates.append(end)
        start = end
    return dates, asked


def _plan(writer: _Writer, kind: str, abstention: bool) -> _Plan:
    """The question, its answer and its evidence; an abstention keeps the evidence (§3.2)."""
    if kind == "temporal-reasoning":
        return _temporal(writer, abstention)
    rng = writer.rng
    block = writer.texts["types"][kind]["block"]
    topic = writer.topic(block)
    own = topic[block]
    text, answer = own["ask"], own.get("answer", "")
    if block == "fact":
        answer, text = rng.choice(own["values"]), rng.choice(own["ask"])
        evidence = [writer.evidence(topic, rng.choice(own["say"]), v=answer)]
    elif block == "advice":
        answer = rng.choice(own["values"])
        evidence = [writer.advised(topic, answer)]
    elif block == "preference":
        evidence = [writer.evidence(topic, own["say"])]
    elif block == "many":
        text, answer, evidence = _many(writer, topic)
    else:
        old, answer = rng.choice(own["values"])
        told = ((own["old"], old), (own["new"], answer))
        evidence = [writer.evidence(topic, say, v=value) for say, value in told]
    if abstention:
        text = topic["absent"]["ask"]
        answer = f"You did not mention {topic['absent']['thing']}."
    if block != "preference" and rng.random() < _CUED:
        text += " " + rng.choice(writer.texts["reminders"]).format(cue=topic["cue"])
    return _Plan(text, answer, [topic], evidence, ordered=block == "update")


def _many(writer: _Writer, topic: Topic) -> tuple[str, str, list[list[Turn]]]:
    """Things to count, or their prices to add up, one a session."""
    rng, own = writer.rng, topic["many"]
    count = rng.choices(list(_EVIDENCE_COUNTS), list(_EVIDENCE_COUNTS.values()))[0]
    values = rng.sample(own["values"], count)
    says = [rng.choice(own["say"]) for _ in values]
    text, answer = own["ask"], str(count)
    if "total" in own and rng.random() < 0.5:
        prices = [rng.randrange(9, 200) for _ in values]
        says = [f"{say} That was {price} dollars." for say, price in zip(says, prices, strict=True)]
        text, answer = own["total"], f"${sum(prices)}"
    told = zip(says, values, strict=True)
    return text, answer, [writer.evidence(topic, say, v=value) for say, value in told]


def _temporal(writer: _Writer, abstention: bool) -> _Plan:
    """Two or three events in order: the days between them, the first, or the whole order."""
    rng = writer.rng
    form = "days" if abstention else rng.choices(("days", "first", "order"), (45, 30, 25))[0]
    topics: list[Topic] = []
    for _ in range(3 if form == "order" or abstention else 2):
        topics.append(writer.topic("events", but=tuple(topics)))
    events = [rng.choice(topic["events"]) for topic in topics]
    names = [event["name"] for event in events]
    # An abstention asks for a third event that the user never told of.
    told = list(zip(topics, events, strict=True))[: 2 if abstention else None]
    evidence = [writer.evidence(topic, event["say"]) for topic, event in told]
    if form == "order":
        text = f"In which order did these happen: {', '.join(rng.sample(names, 3))}?"
        return _Plan(text, ", then ".join(names), topics, evidence, True)
    if form == "first":
        text = f"Which came first, {' or '.join(rng.sample(names, 2))}?"
        return _Plan(text, names[0][0].upper() + names[0][1:], topics, evidence, True)
    days, day = rng.randint(3, 60), datetime(2023, 1, 5) + timedelta(rng.randrange(70))
    minutes = rng.randrange(480, 1320), days * 1440 + rng.randrange(480, 1320)  # 8 to 22 o'clock
    anchors = tuple(day + timedelta(minutes=m) for m in minutes)
    text = f"How many days passed between {names[0]} and {names[-1]}?"
    answer = f"You did not mention {names[-1]}." if abstention else f"{days} days"
    return _Plan(text, answer, topics, evidence, True, anchors)
