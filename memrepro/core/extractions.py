"""What was extracted from sessions and rounds: facts, summaries, keyphrases, events; as nouns.

An extraction is named by who made it and what it is, `<source>-<kind>`, such as `recorded-fact`
(LongMemEval §5.3 and Figure 11 extract with a language model; the sources here are in
`memrepro.pipeline.stages.data.extract`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memrepro.core.memory import Round, Session, Turn
from memrepro.errors import MemreproError

KINDS = ("fact", "keyphrase", "summary", "event")


class Extraction(NamedTuple):
    """One piece of information.

    Attributes:
        session_key: of the session that it was taken from.
        round_id: of the round, or '' for what was taken from the session as a whole.
        source: who made it: `recorded`, `gold`, `nlp`, or a file's name.
        kind: one of `KINDS`.
        text: what was extracted.
    """

    session_key: str
    round_id: str
    source: str
    kind: str
    text: str

    @property
    def name(self) -> str:
        """`<source>-<kind>`."""
        return f"{self.source}-{self.kind}"


class DatedEvent(NamedTuple):
    """When something told of in a session took place, as proleptic ordinals, both ends counted.

    A date depends on when the session took place, so it belongs to a memory's session.
    """

    memory_id: str
    session_id: str
    source: str
    start: int
    end: int


class QueryRange(NamedTuple):
    """The dates that a query asks about, as proleptic ordinals, both ends counted."""

    query_id: str
    memory_id: str
    source: str
    start: int
    end: int


@dataclass(frozen=True)
class Extractions:
    """The extractions of a data set, by name, session and round.

    Attributes:
        texts: name → (session key, round id) → the texts, in order.
    """

    texts: Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]]

    @staticmethod
    def grouped(found: Iterable[Extraction]) -> "Extractions":
        """Group extractions; blank texts are dropped."""
        grouped: dict[str, dict[tuple[str, str], list[str]]] = {}
        for one in found:
            if one.text.strip():
                place = (one.session_key, one.round_id)
                grouped.setdefault(one.name, {}).setdefault(place, []).append(one.text)
        return Extractions(
            {
                name: {place: tuple(texts) for place, texts in places.items()}
                for name, places in grouped.items()
            }
        )

    def of_name(self, name: str) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """All texts of a name.

        Raises:
            MemreproError: if there are none.
        """
        if name not in self.texts:
            known = ", ".join(sorted(self.texts)) or "none"
            raise MemreproError(
                f"no extraction {name!r}: known are {known}; add its source to the data set's "
                "`extract` in params.yaml"
            )
        return self.texts[name]

    def of_doc(self, name: str, session: Session, doc: Round) -> tuple[str, ...]:
        """What was extracted from a doc: a session, or one of its rounds.

        A session's are those taken from it as a whole, or else those of its rounds, in order.
        """
        texts = self.of_name(name)
        if doc.round_id != session.session_id:
            return texts.get((session.key, doc.round_id), ())
        if whole := texts.get((session.key, ""), ()):
            return whole
        ids = (r.round_id for r in session.rounds)
        return tuple(text for i in ids for text in texts.get((session.key, i), ()))

    def as_docs(self, name: str, session: Session) -> tuple[Round, ...]:
        """A session's extractions as docs of their own (LongMemEval §5.2: facts as values).

        A doc's id is that of the round or session that it was taken from, then `#`, the name and a
        number; so a ranking can be rolled up to rounds and sessions.
        """
        texts = self.of_name(name)
        docs = []
        numbers: Counter[str] = Counter()  # a round may have its session's id
        for place in ("", *(r.round_id for r in session.rounds)):
            parent = place or session.session_id
            for text in texts.get((session.key, place), ()):
                numbers[parent] += 1
                doc_id = f"{parent}#{name}-{numbers[parent]}"
                docs.append(Round(doc_id, (Turn(doc_id, "text", text),)))
        return tuple(docs)


def parent_of(doc_id: str) -> str:
    """The round or session that an extraction was taken from; another doc is its own."""
    return doc_id.partition("#")[0]


class Extracted(NamedTuple):
    """All that one source has to say of a data set.

    Attributes:
        version: what made it, with the versions of its parts.
        texts: the pieces of information.
        dates: when the events took place.
        ranges: the dates that queries ask about.
        skipped: (item, reason) of what could not be used.
    """

    version: str
    texts: list[Extraction]
    dates: list[DatedEvent]
    ranges: list[QueryRange]
    skipped: list[tuple[str, str]]
