"""The sample benchmark's sessions, written from the templates in `sample_texts.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from memrepro.files import atomic

CUED = 0.75  # of the sessions on a topic, and of the questions, name it in a plain word
_POSITIONS = (50, 22, 14, 8, 4, 2)  # of the evidence by round: mostly early, Figure 9c

Turn = dict[str, Any]
Topic = Mapping[str, Any]


@dataclass(frozen=True)
class Session:
    """A session of the pool; `tells` is the attribute of which it tells a fact of the user's."""

    session_id: str
    turns: list[Turn]
    category: str = ""
    tells: str = ""


class Writer:
    """Writes sessions from the templates; its random state is the benchmark's only one."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.texts = atomic.read_yaml(Path(__file__).with_name("sample_texts.yaml"))
        self._decks: dict[str, list[Topic]] = {}
        self._forms: list[str] = []
        self._salt = rng.getrandbits(32)

    def topic(self, block: str, but: tuple[Topic, ...] = ()) -> Topic:
        """A topic that has the block: dealt from a shuffled deck, so that all are used."""
        deck = self._decks.setdefault(block, [])
        if not any(topic not in but for topic in deck):
            deck[:] = [topic for topic in self.texts["topics"] if block in topic]
            self.rng.shuffle(deck)
        return deck.pop(next(i for i, topic in enumerate(deck) if topic not in but))

    def form(self, shares: Mapping[str, int]) -> str:
        """A form of question, dealt from a shuffled deck: a few questions have all of them."""
        if not self._forms:
            self._forms = [form for form, share in shares.items() for _ in range(share)]
            self.rng.shuffle(self._forms)
        return self._forms.pop()

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
        if self.rng.random() < CUED:
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
