"""Events of sessions by a language model (Associa §4.1), as a file that the stage extract takes.

One session, one prompt, without its date: the same session stands in memories at several times,
so the model says in which words a time was told, and `temporal` reads them for each memory.

The rule: an answer is used whole or its session is skipped, with the kind and reason of
`llm.structured`. A round that the session does not have, a category that is none of the nine, or
a relation to what is no entity of its event and no speaker is a misfit.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
from pydantic import AfterValidator, BaseModel, StringConstraints

from memrepro.core.memory import Dataset, Session
from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256, write_text
from memrepro.llm.choose import language_model
from memrepro.llm.model import Answer, LanguageModel, Prompt
from memrepro.llm.records import AnswerStore
from memrepro.llm.structured import KINDS, Refused, parse
from memrepro.retrieve.associa.keys.clues import SPEAKER, EventClues
from memrepro.retrieve.associa.keys.entities import CATEGORIES
from memrepro.retrieve.associa.prompts import prompt
from memrepro.text import temporal

_AMBIGUOUS = "ambiguous"


def _known(category: str) -> str:
    if category not in CATEGORIES:
        raise ValueError(f"none of {', '.join(CATEGORIES)}")
    return category


_Words = Annotated[str, StringConstraints(pattern=r"\S")]


class _Entity(BaseModel, extra="forbid"):
    text: _Words
    category: Annotated[str, AfterValidator(_known)]


class _Relation(BaseModel, extra="forbid"):
    head: _Words
    text: _Words
    tail: _Words


class _Event(BaseModel, extra="forbid"):
    round: int
    text: _Words
    time: _Words | None = None
    entities: list[_Entity] = []
    relations: list[_Relation] = []


class _Events(BaseModel, extra="forbid"):
    events: list[_Event]


class Told(NamedTuple):
    """An event of an answer: its round's id, and the words that tell its time or ''."""

    round_id: str
    event: EventClues
    time: str


@dataclass(frozen=True)
class Written:
    """What `to_file` wrote, with the sha256 for `params.yaml`.

    `counts` are of answers by kind (`llm.structured.KINDS`) and of lines; `skipped` has (session
    id, reason) of the sessions of which nothing was written.
    """

    path: Path
    sha256: str
    counts: Mapping[str, int]
    skipped: list[tuple[str, str]]

    @property
    def summary(self) -> pd.DataFrame:
        """The counts as a table: `what, number`."""
        return pd.DataFrame(self.counts.items(), columns=["what", "number"])


def said_of(session: Session) -> dict[str, dict[str, str]]:
    """Round id → who said what: the user's words alone (§5.2.1), or all where nobody is the user.

    Rounds without words are left out.
    """
    alone = any("user" in r.fields for r in session.rounds)
    found = {}
    for r in session.rounds:
        said = {who: words for who, words in r.fields.items() if who == "user" or not alone}
        if said := {who: words for who, words in said.items() if words.strip()}:
            found[r.round_id] = said
    return found


def prompt_of(session: Session) -> Prompt:
    """What a model is asked of a session; its rounds are numbered from 1."""
    rounds = [
        {"round": number, "said": said}
        for number, said in enumerate(said_of(session).values(), start=1)
    ]
    return prompt("extraction", {"rounds": rounds})


def read(answer: Answer, session: Session) -> list[Told]:
    """The events of an answer.

    Raises:
        Refused: by the module's rule.
    """
    rounds = list(said_of(session).items())
    found = []
    for number, one in enumerate(parse(answer, _Events).events):
        where = f"events.{number}"
        if not 1 <= one.round <= len(rounds):
            raise Refused("misfit", f"{where}.round: {one.round} is none of 1 to {len(rounds)}")
        round_id, said = rounds[one.round - 1]
        # Of an entity told twice the first counts; one of a speaker's name is the entity.
        entities: dict[str, tuple[str, str]] = {}
        for entity in one.entities:
            entities.setdefault(entity.text.casefold(), (entity.text, entity.category))
        place = {who.casefold(): SPEAKER for who in said}
        place |= {name: i for i, name in enumerate(entities)}
        related = []
        for relation in one.relations:
            for end in ("head", "tail"):
                name = getattr(relation, end)
                if name.casefold() not in place:
                    raise Refused(
                        "misfit",
                        f"{where}.relations: the {end} {ascii(name)[:40]} is no entity of the "
                        "event and no speaker",
                    )
            head, tail = place[relation.head.casefold()], place[relation.tail.casefold()]
            if head == tail:
                itself = f"{ascii(relation.head)[:40]} with itself"
                raise Refused("misfit", f"{where}.relations: {itself}")
            related.append((head, relation.text, tail))
        event = EventClues(one.text, tuple(entities.values()), tuple(related))
        found.append(Told(round_id, event, one.time or ""))
    return found


def to_file(dataset: Dataset, model: LanguageModel, path: Path) -> Written:
    """Extract all sessions of a data set and write the file for `extract` in `params.yaml`.

    Each event is a line of kind `fact`, the sentence, and one of kind `event`, the sentence with
    its entities and relations (`retrievers.associa.written`); each time that could be read is a
    line with its dates for each memory that holds the session.

    Args:
        dataset: prepared.
        model: replays or records, see `memrepro.llm.choose.language_model`.
        path: the file; it holds texts of the data set, so it stays out of git.

    Raises:
        MemreproError: if an answer cannot be had, or when replayed is not recorded.
    """
    alike: dict[str, dict[str, Session]] = {}
    for memory in dataset.memories.values():
        for session in memory.sessions:
            alike.setdefault(session.session_id, {})[session.key] = session
    # A line names its session by id alone.
    sessions = {i: next(iter(s.values())) for i, s in alike.items() if len(s) == 1}
    skipped = [
        (i, f"{_AMBIGUOUS}: the id of {len(s)} sessions") for i, s in alike.items() if len(s) > 1
    ]
    asked = {i: session for i, session in sessions.items() if said_of(session)}
    answers = model.answer([prompt_of(session) for session in asked.values()])
    counts = Counter({**dict.fromkeys(KINDS, 0), _AMBIGUOUS: len(skipped)})
    told: dict[str, list[Told]] = {}
    for (session_id, session), answer in zip(asked.items(), answers, strict=True):
        try:
            told[session_id] = read(answer, session)
            counts["used"] += 1
        except Refused as error:
            counts[error.kind] += 1
            skipped.append((session_id, str(error)))
    texts, dates = list(_text_lines(told)), list(_date_lines(dataset, told, counts))
    counts |= {"texts": len(texts), "dates": len(dates)}
    lines = [json.dumps(line, ensure_ascii=False) + "\n" for line in (*texts, *dates)]
    write_text(path, "".join(lines))
    return Written(path, sha256(path), counts, skipped)


def by_entry(dataset: Dataset, name: str, entry: Mapping[str, Any], path: Path) -> Written:
    """As `to_file`, by the model of an entry of `models` in params.yaml, replayed or live."""
    with AnswerStore() as store:
        model = language_model(name, entry, store, f"events of {dataset.name}")
        return to_file(dataset, model, path)


def _text_lines(told: Mapping[str, Sequence[Told]]) -> Iterator[dict[str, str]]:
    """A fact and an event each, in the order of the data set."""
    for session_id, events in told.items():
        for round_id, event, _ in events:
            place = {"session_id": session_id, "round_id": round_id}
            yield {**place, "kind": "fact", "text": event.text}
            yield {**place, "kind": "event", "text": event.written()}


def _date_lines(
    dataset: Dataset, told: Mapping[str, Sequence[Told]], counts: Counter[str]
) -> Iterator[dict[str, str]]:
    """The dates of each memory's sessions; times that name no date are counted."""
    counts["times without a date"] = 0
    for memory in dataset.memories.values():
        for session, at in zip(memory.sessions, memory.times, strict=True):
            spans = dict[tuple[str, str], None]()
            for one in told.get(session.session_id, ()) if at else ():
                found = _dates(one.time, at) if one.time else []
                counts["times without a date"] += bool(one.time) and not found
                spans.update(dict.fromkeys(found))
            place = {"memory_id": memory.memory_id, "session_id": session.session_id}
            yield from ({**place, "start": start, "end": end} for start, end in spans)


def _dates(time: str, at: str) -> list[tuple[str, str]]:
    """The first and last days that words name on a day, as YYYY-MM-DD."""
    try:
        found = temporal.dated_events(time, date.fromisoformat(at[:10]))
    except MemreproError:  # a day of no year that dates can be relative to
        return []
    return [(one.date_start.isoformat(), one.date_end.isoformat()) for one in found]
