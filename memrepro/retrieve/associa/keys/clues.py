"""Clues: what a memory graph is made of, utterance by utterance.

An *utterance* is a doc, a round or a session; its *events* are what was extracted from it, and
each has its entities and what relates them (Associa §4.1). An extraction is a text
(`core.extractions`). What a language model also said of an event's entities and relations stands in
that text, one JSON object (`EventClues.written`); of any other event `entities` reads them from its
own words.
"""

import calendar
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date

from memrepro.core.extractions import Extractions
from memrepro.core.key_schemes import KEY_SCHEMES, is_extraction
from memrepro.core.memory import GRANULARITIES, Memory, Session
from memrepro.errors import MemreproError
from memrepro.retrieve.associa import KEY_SCHEME_MARK
from memrepro.retrieve.associa.keys.entities import (
    CATEGORIES,
    FIRST_PERSON,
    OTHER,
    mentions,
    names_in,
    relations,
    stop_words,
)

SPEAKER = -1  # in a relation, the utterance's speaker in place of an entity's number
_BEGINS = '{"event": '
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True)
class EventClues:
    """One user-related event.

    Attributes:
        text: what took place, or what was told as a fact.
        entities: (text, category) of each entity, the category one of `CATEGORIES` or `OTHER`.
        relations: (head, text, tail), head and tail the numbers of entities, or `SPEAKER`.
    """

    text: str
    entities: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a blank text, an unknown category, and a relation to nowhere or to itself."""
        if not self.text.strip() or not all(text.strip() for text, _ in self.entities):
            raise MemreproError(
                f"event {self.text!r} with the entities {self.entities!r}: a text is blank; leave "
                "it out"
            )
        for text, category in self.entities:
            if category not in (*CATEGORIES, OTHER):
                raise MemreproError(
                    f"entity {text!r} of event {self.text!r} has the category {category!r}: known "
                    f"are {', '.join(CATEGORIES)} and {OTHER}"
                )
        for head, text, tail in self.relations:
            known = range(SPEAKER, len(self.entities))
            if head not in known or tail not in known or head == tail or not text.strip():
                raise MemreproError(
                    f"relation {text!r} of event {self.text!r} goes from {head} to {tail}: it must "
                    f"join two of its {len(self.entities)} entities, counted from 0, or the "
                    f"speaker, {SPEAKER}, and have a text"
                )

    def written(self) -> str:
        """The event as one line of JSON, equal for equal events."""
        parts = {"event": self.text, "entities": self.entities, "relations": self.relations}
        return json.dumps(parts, ensure_ascii=False)

    @staticmethod
    def read(text: str) -> "EventClues | None":
        """The event of a text that `written` made; None for any other text.

        Raises:
            MemreproError: if it begins so and cannot be read.
        """
        if not text.startswith(_BEGINS):
            return None
        try:
            parts = json.loads(text)
            if strange := set(parts) ^ {"event", "entities", "relations"}:
                raise ValueError(f"more or less than it should have: {', '.join(sorted(strange))}")
            return EventClues(
                str(parts["event"]),
                tuple((str(name), str(category)) for name, category in parts["entities"]),
                tuple((int(head), str(how), int(tail)) for head, how, tail in parts["relations"]),
            )
        except (ValueError, TypeError) as error:
            raise MemreproError(
                f"the extracted event {text[:60]!r} cannot be read ({error}): extract it again"
            ) from error


@dataclass(frozen=True)
class UtteranceClues:
    """One utterance and what was extracted from it.

    Attributes:
        doc_id: of the round or session.
        text: what was said, under the recipe's key scheme.
        speakers: who said it; the fields that the text is made of.
        time: when, such as '8 May 2023', or '' where it is not known.
        events: in order.
    """

    doc_id: str
    text: str
    speakers: tuple[str, ...]
    time: str = ""
    events: tuple[EventClues, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """How clues are taken: which docs are utterances, whose words count, which texts are events.

    Attributes:
        granularity: 'round' or 'session'.
        key_scheme: one of `KEY_SCHEMES`; the paper uses the user's side (§5.2.1), `user_only`.
        events: names of extractions, such as 'recorded-fact'; each text is an event.
    """

    granularity: str
    key_scheme: str
    events: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what is unknown."""
        if self.granularity not in ("round", "session"):
            raise MemreproError(
                f"granularity {self.granularity!r}: the utterances of a memory graph are of 'round'"
                " or 'session', as extractions are"
            )
        if self.key_scheme not in KEY_SCHEMES:
            raise MemreproError(
                f"unknown key scheme {self.key_scheme!r}: known are {', '.join(KEY_SCHEMES)}"
            )
        if strange := [name for name in self.events if not is_extraction(name)]:
            raise MemreproError(
                f"unknown extraction {strange[0]!r}: write source-kind, such as recorded-fact"
            )

    @staticmethod
    def parse(granularity: str, key_scheme: str) -> "Recipe":
        """Read `base+graph:source-kind&source-kind`."""
        base, _, names = key_scheme.partition(KEY_SCHEME_MARK)
        if not names:
            raise MemreproError(
                f"key scheme {key_scheme!r}: write base+graph:source-kind, such as "
                "user_only+graph:nlp-fact&nlp-event"
            )
        return Recipe(granularity, base, tuple(names.split("&")))


def read_session(
    session: Session, extractions: Extractions, recipe: Recipe
) -> list[UtteranceClues]:
    """The clues of a session, one a doc that has words under the key scheme, without times.

    An event that was taken from the session as a whole, where docs are rounds, is grounded in the
    round whose words share most with its own (stop words apart; of several the first).
    """
    docs = []
    for doc in GRANULARITIES[recipe.granularity](session):
        keys = KEY_SCHEMES[recipe.key_scheme](doc)
        whole = recipe.key_scheme == "concat"
        speakers = tuple(doc.fields) if whole else tuple(field for field, _ in keys)
        if text := " ".join(text for _, text in keys).strip():
            docs.append(UtteranceClues(doc.round_id, text, speakers))
    found = _events(session, docs, extractions, recipe)
    plain = (text for texts in found for text in texts if EventClues.read(text) is None)
    names = names_in([*(doc.text for doc in docs), *plain])
    return [
        replace(
            doc,
            events=tuple(read_event(text, names, doc.speakers) for text in dict.fromkeys(texts)),
        )
        for doc, texts in zip(docs, found, strict=True)
    ]


def _events(
    session: Session, docs: Sequence[UtteranceClues], extractions: Extractions, recipe: Recipe
) -> list[list[str]]:
    """The events' texts of each doc; those of a round that has no words are left out with it."""
    place = {doc.doc_id: number for number, doc in enumerate(docs)}
    if recipe.granularity == "session":
        place |= {r.round_id: 0 for r in session.rounds}
    found: list[list[str]] = [[] for _ in docs]
    for name in recipe.events:
        texts = extractions.of_name(name)
        for r in session.rounds:
            if r.round_id in place and docs:
                found[place[r.round_id]] += texts.get((session.key, r.round_id), ())
        for text in texts.get((session.key, ""), ()):
            if docs:
                found[_nearest(text, docs)].append(text)
    return found


def _nearest(text: str, docs: Sequence[UtteranceClues]) -> int:
    """The doc that shares most words with a text."""
    wanted = _content(text)
    return max(range(len(docs)), key=lambda i: (len(wanted & _content(docs[i].text)), -i))


def _content(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in stop_words()}


def read_event(text: str, names: Collection[str], speakers: Sequence[str]) -> EventClues:
    """An event with the entities and relations that it was told with, or that its own words show.

    'I' is the speaker where an utterance has one speaker; where it has several, nobody, and what
    was told of the speaker is left out.
    """
    if (told := EventClues.read(text)) is not None:
        alone = len(speakers) == 1
        related = [r for r in told.relations if alone or SPEAKER not in (r[0], r[2])]
        return replace(told, relations=tuple(related))
    found = mentions(text, names)
    number: dict[str, int] = {}
    entities: list[tuple[str, str]] = []
    where: list[int | None] = []  # of each mention
    for one in found:
        if one.text == FIRST_PERSON:
            where.append(SPEAKER if len(speakers) == 1 else None)
            continue
        if (key := one.text.casefold()) not in number:
            number[key] = len(entities)
            entities.append((one.text, one.category))
        where.append(number[key])
    shown = []
    for relation in relations(text, found):
        head, tail = where[relation.head], where[relation.tail]
        if head is not None and tail is not None and head != tail:
            shown.append((head, relation.text, tail))
    return EventClues(text, tuple(entities), tuple(dict.fromkeys(shown)))


def read_memory(memory: Memory, extractions: Extractions, recipe: Recipe) -> list[UtteranceClues]:
    """The clues of a memory in its order, each utterance with the date of its session."""
    return [
        dated(one, at)
        for session, at in zip(memory.sessions, memory.times, strict=True)
        for one in read_session(session, extractions, recipe)
    ]


def dated(clues: UtteranceClues, at: str) -> UtteranceClues:
    """The same clues, with the day of a session's time ('' leaves them without)."""
    if not at:
        return clues
    day = date.fromisoformat(at[:10])
    return replace(clues, time=f"{day.day} {calendar.month_name[day.month]} {day.year}")
