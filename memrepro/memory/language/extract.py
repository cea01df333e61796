"""Facts of WARM segments, for COLD: by rules, or by a recorded language model.

328e0f776fdaed08, "COLD tier": extracted facts in the form of elementary discourse units, with
confidence and provenance. The rules keep the speaker's own words and resolve no pronoun.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memrepro.errors import MemreproError
from memrepro.llm.model import LanguageModel, Prompt
from memrepro.llm.structured import KINDS, parse_all
from memrepro.memory.language import english
from memrepro.memory.language.english import WORDS
from memrepro.memory.language.fact import Candidate, Category
from memrepro.memory.language.prompts import prompt
from memrepro.memory.language.statements import USER, clauses, read
from memrepro.text import temporal
from memrepro.text.facts import user_facts
from memrepro.text.sentences import sentences

if TYPE_CHECKING:
    from memrepro.core.extractions import Extracted
    from memrepro.core.memory import Dataset

PLAIN, HEDGED = 0.9, 0.5  # the confidence of a statement by rules
CHARACTERS, FACTS = 300, 40  # of a model's fact; facts of one segment

_LINE = re.compile(r"\[([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})\] ([^:\n]{1,80}): ")
# A statement that either of the readers below takes has one of these words.
_STATES = re.compile(
    r"\b(?:i|we|me|us|my|our|the|user|just|recently|finally|currently|been|still|already|died|"
    r"passed|put down|ran away)\b",
    re.IGNORECASE,
)
# Whose words are no facts of a person.
_MACHINES = frozenset(("assistant", "system", "tool", "bot"))


def by_rules(
    segments: Sequence[tuple[str, str, float]], *, changes: bool = True
) -> list[Candidate]:
    """Statements of people about their lives, each clause that can stand alone by itself.

    What states a fact is `text.facts.user_facts`, and such short sentences as `statements.read` can
    read. The assistant's words are left out. Who is not 'user' stands before
    their words. The confidence is 0.9, or 0.5 with a hedge ("I think", "maybe"); the category is
    `category_of`'s. A line's own minute is when it was said. `changes` is `statements.read`'s.
    """
    found: dict[Candidate, None] = {}
    for segment_id, text, at in segments:
        for speaker, minute, said in _lines(text, at):
            if speaker.casefold() in _MACHINES or not _STATES.search(said):
                continue
            who = "" if speaker.casefold() == USER else f"{speaker}: "
            for fact in _statements(said, changes):
                confidence = HEDGED if english.HEDGE.search(fact.casefold()) else PLAIN
                category = category_of(fact, minute)
                found[Candidate(who + fact, category, confidence, (segment_id,), minute)] = None
    return list(found)


def by_store(dataset: "Dataset") -> "Extracted":
    """The facts of `by_rules` for a whole data set, a round a time.

    They read a segment message by message, so that rounds yield what segments do. A fact's text
    does not depend on when it was said.
    """
    # They load pandas, which the store starts without.
    from memrepro.core.extractions import Extracted, Extraction
    from memrepro.retrieve.tiered.keys.segments import Message, segment_text

    found = [
        Extraction(session.key, r.round_id, "store", "fact", fact.text)
        for session in dataset.sessions
        for r in session.rounds
        for fact in by_rules(
            [(r.round_id, segment_text([Message(*t[:2], 0.0, t.text) for t in r.turns]), 0.0)],
            changes=False,  # published runs rest on these
        )
    ]
    return Extracted("memory.language.extract.by_rules", found, [], [], [])


def category_of(fact: str, at: float) -> str:
    """The category of a statement, by the first rule that fits."""
    said = fact.casefold().replace("’", "'")
    if english.TASTE.search(said):
        return "preference"
    if english.KIN.search(said) or english.TIES.search(said):
        return "relationship"
    if english.PAST.search(said) or _dated(fact, at):
        return "event"
    return "fact"


def _dated(fact: str, at: float) -> bool:
    try:
        return bool(temporal.dated_events(fact, datetime.fromtimestamp(at, UTC).date()))
    except (MemreproError, ValueError, OverflowError, OSError):  # a time of no year there is
        return False


def _lines(text: str, at: float) -> Iterator[tuple[str, float, str]]:
    """(speaker, Unix seconds, words) of each message of a segment's text, as `segment_text` wrote.

    A line without a date goes on with the message before it; text without any is the user's.
    """
    speaker, minute, said = USER, at, list[str]()
    for line in text.split("\n"):
        match = _LINE.match(line)
        stamp = _stamp(match[1]) if match else None
        if match and stamp is not None:
            if said:
                yield speaker, minute, "\n".join(said)
            speaker, minute, said = match[2].strip(), stamp, [line[match.end() :]]
        else:
            said.append(line)
    yield speaker, minute, "\n".join(said)


def _stamp(written: str) -> float | None:
    try:
        return datetime.fromisoformat(written).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _statements(said: str, changes: bool) -> Iterator[str]:
    """The statements in one message, each by itself where its clauses can stand alone."""
    for sentence in filter(_STATES.search, sentences(said)):
        parts = clauses(sentence)
        alone = [fact for part in parts for fact in _fact(part, changes)] if parts[1:] else []
        yield from alone if parts[1:] and len(alone) == len(parts) else _fact(sentence, changes)


def _fact(sentence: str, changes: bool) -> list[str]:
    if found := user_facts(sentence):
        return found
    # Too short for the extractor, as "I prefer tea." is.
    told = read(sentence, changes)
    short = bool(told) and all(
        one is not None
        and one.subject.startswith(USER)
        and (one.attribute != "be" or all(item.kind for item in one.value))
        and not any(WORDS["empty"] & set(item.words) for item in one.value)
        for one in told
    )
    return [sentence.rstrip(" ,")] if short else []


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Told(_Strict):
    """One fact of a model's answer."""

    text: Annotated[str, StringConstraints(pattern=r"\S", max_length=CHARACTERS)]
    category: Category
    confidence: Annotated[float, Field(ge=0, le=1)]
    quote: Annotated[str, StringConstraints(pattern=r"\w")]


class Facts(_Strict):
    """A model's answer: the facts of a segment."""

    facts: Annotated[list[Told], Field(max_length=FACTS)]


@dataclass
class ModelExtractor:
    """Facts by a language model, a segment a prompt.

    An answer is used whole or its segment yields nothing: no JSON object, half of one, a wrong
    type, a category that is none of the four, a confidence outside 0..1, a text over 300
    characters, over 40 facts. Of an answer that is used a fact is left out whose quotation stands
    in no line of the segment, or in the assistant's alone: it is invented, or not a person's.

    Attributes:
        model: replays or records, see `memrepro.llm.choose.language_model`.
        counts: answers by kind (`llm.structured.KINDS`), and facts 'not said'.
        skipped: (segment id, reason) of what was left out.
    """

    model: LanguageModel
    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(KINDS, 0)))
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, segments: Sequence[tuple[str, str, float]]) -> list[Candidate]:
        """The facts, in the order of the segments.

        Raises:
            MemreproError: if an answer cannot be had, or when replayed is not recorded.
        """
        answers = self.model.answer([ask(text) for _, text, _ in segments])
        ids = [segment_id for segment_id, _, _ in segments]
        parsed = parse_all(zip(ids, answers, strict=True), Facts)
        self.counts.update(parsed.counts)
        self.skipped += parsed.refused
        found: dict[Candidate, None] = {}
        for segment_id, text, at in segments:
            lines = [
                (minute, _squeezed(said))
                for speaker, minute, said in _lines(text, at)
                if speaker.casefold() not in _MACHINES
            ]
            for one in parsed.values[segment_id].facts if segment_id in parsed.values else ():
                quote, written = _squeezed(one.quote), " ".join(one.text.split())
                if when := [minute for minute, said in lines if quote in said]:
                    told = Candidate(written, one.category, one.confidence, (segment_id,), when[0])
                    found[told] = None
                else:
                    self.counts["not said"] += 1
                    self.skipped.append((segment_id, f"not said: {ascii(one.quote)[:80]}"))
        return list(found)


def ask(text: str) -> Prompt:
    """What a model is asked of a segment's text."""
    return prompt("extraction", {"conversation": text.encode("utf-8", "replace").decode()})


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())
