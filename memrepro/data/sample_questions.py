"""The sample benchmark's questions: each with its answer and the sessions that tell it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memrepro.data.sample_writer import CUED, Topic, Turn, Writer

_EVIDENCE_COUNTS = {2: 45, 3: 25, 4: 15, 5: 8, 6: 7}  # multi-session: mostly few, Figure 9b
_FORMS = {"days": 7, "first": 5, "order": 4, "month": 4}  # of 20 temporal questions


@dataclass(frozen=True)
class Plan:
    """A question before its history: evidence in answer order, one list of turns a session.

    Attributes:
        decoy: the place, among the evidence, of a session that tells of what is not asked for.
        anchors: when the sessions of the evidence took place, if that matters.
        wait: after how many days from the last of them the question is asked, at least.
    """

    text: str
    answer: str
    topics: list[Topic]
    evidence: list[list[Turn]]
    ordered: bool = False
    anchors: tuple[datetime, ...] = ()
    decoy: int | None = None
    wait: int = 0


def plan_question(writer: Writer, kind: str, abstention: bool) -> Plan:
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
    if block != "preference" and rng.random() < CUED:
        text += " " + rng.choice(writer.texts["reminders"]).format(cue=topic["cue"])
    return Plan(text, answer, [topic], evidence, ordered=block == "update")


def _many(writer: Writer, topic: Topic) -> tuple[str, str, list[list[Turn]]]:
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


def _temporal(writer: Writer, abstention: bool) -> Plan:
    """Two or three events: the days between them, the first, their order, or that of a month."""
    rng = writer.rng
    form = "days" if abstention else writer.form(_FORMS)
    topics: list[Topic] = []
    for _ in range(3 if form == "order" or abstention else 2):
        topics.append(writer.topic("events", but=tuple(topics)))
    events = [rng.choice(topic["events"]) for topic in topics]
    if form == "month":
        return _in_month(writer, topics, events)
    names = [event["name"] for event in events]
    # An abstention asks for a third event that the user never told of.
    told = list(zip(topics, events, strict=True))[: 2 if abstention else None]
    evidence = [writer.evidence(topic, event["say"]) for topic, event in told]
    if form == "order":
        text = f"In which order did these happen: {', '.join(rng.sample(names, 3))}?"
        return Plan(text, ", then ".join(names), topics, evidence, True)
    if form == "first":
        text = f"Which came first, {' or '.join(rng.sample(names, 2))}?"
        return Plan(text, names[0][0].upper() + names[0][1:], topics, evidence, True)
    days, day = rng.randint(3, 60), datetime(2023, 1, 5) + timedelta(rng.randrange(70))
    minutes = rng.randrange(480, 1320), days * 1440 + rng.randrange(480, 1320)  # 8 to 22 o'clock
    anchors = tuple(day + timedelta(minutes=m) for m in minutes)
    text = f"How many days passed between {names[0]} and {names[-1]}?"
    answer = f"You did not mention {names[-1]}." if abstention else f"{days} days"
    return Plan(text, answer, topics, evidence, True, anchors)


def _in_month(writer: Writer, topics: list[Topic], events: list[Mapping[str, Any]]) -> Plan:
    """Which of two events happened in a month: the other, of another month, is the decoy.

    Both are of 2023, and so is the question, asked in a month after theirs: so the month that it
    names has only one reading, with the year or without.
    """
    rng, names = writer.rng, [event["name"] for event in events]
    month = rng.randint(1, 9)
    anchors = tuple(
        datetime(2023, number, rng.randint(1, 28), rng.randrange(8, 22), rng.randrange(60))
        for number in (month, month + rng.randint(1, 2))
    )
    asked = rng.randrange(2)
    evidence = [
        writer.evidence(topic, event["say"])
        if place == asked
        else writer.topic_session(topic, event["say"], writer.slots())
        for place, (topic, event) in enumerate(zip(topics, events, strict=True))
    ]
    text = rng.choice(writer.texts["in_month"]).format(
        month=anchors[asked].strftime("%B"), events=" or ".join(rng.sample(names, 2))
    )
    answer = names[asked][0].upper() + names[asked][1:]
    wait = 31 - anchors[-1].day  # until the month of the last event is over
    return Plan(text, answer, topics, evidence, True, anchors, decoy=1 - asked, wait=wait)
