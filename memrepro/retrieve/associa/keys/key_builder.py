"""A memory graph as keys: how its texts get vectors, and how a retriever that sees keys has it.

A key scheme `base+graph:source-kind&source-kind` makes a doc's keys of its clues, in this order,
the field telling what a text is: `utterance`; `speaker` each; `time`; then of each event `event`,
its entities `entity:<category>`, and its relations `relation:<head>:<tail>`, which count the
event's entities. The first doc also owns the six edges' labels, `label`. So the texts are embedded
like any keys, each once, and `clues_of` reads the clues back from the keys alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memrepro.core.key_builder import KeyBuilder
from memrepro.core.keys import Keys
from memrepro.core.memory import Memory, Session
from memrepro.core.ranking import tie_keys
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.keys.clues import (
    EventClues,
    Recipe,
    UtteranceClues,
    dated,
    read_session,
)
from memrepro.retrieve.associa.keys.graph import EDGE_KINDS, Graph, build_from


@dataclass
class GraphKeyBuilder(KeyBuilder):
    """Keys that carry a memory's graph; docs are rounds or sessions."""

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        super().__post_init__()
        # A session is known by its object, which is kept so that its id() is not used again.
        self._read: dict[int, tuple[Session, list[UtteranceClues]]] = {}

    @staticmethod
    def parse(granularity: str, key_scheme: str) -> Recipe:
        """How the graph's clues are taken."""
        return Recipe.parse(granularity, key_scheme)

    def make(self, memory: Memory) -> Keys:
        """The keys of one memory, without vectors."""
        doc_ids: list[str] = []
        found: list[tuple[str, int, int]] = []  # field, row, owner
        for session, at in zip(memory.sessions, memory.times, strict=True):
            if id(session) not in self._read:
                clues = read_session(session, self.extractions, self._scheme)
                self._read[id(session)] = (session, clues)
            said = {one.doc_id: one for one in self._read[id(session)][1]}
            for doc in self.docs(session):
                if doc.round_id in said:
                    for name, text in _keys(dated(said[doc.round_id], at), labelled=not found):
                        found.append((name, self.row_of(text), len(doc_ids)))
                doc_ids.append(doc.round_id)
        if not found:
            raise MemreproError(
                f"memory {memory.memory_id!r} has no utterance under the key scheme "
                f"{self.key_scheme!r}: its rounds have "
                f"the fields {sorted({f for r in memory.rounds for f in r.fields})}"
            )
        names, rows, owners = zip(*found, strict=True)
        return Keys(
            tuple(doc_ids), np.array(rows, np.int64), self.texts, names,
            np.array(owners, np.int64), tie_keys(doc_ids),
        )  # fmt: skip


BUILDER = GraphKeyBuilder


def _keys(said: UtteranceClues, labelled: bool) -> Iterator[tuple[str, str]]:
    """The (field, text) pairs of an utterance."""
    if labelled:
        yield from (("label", label) for label in EDGE_KINDS)
    yield "utterance", said.text
    yield from (("speaker", name) for name in said.speakers)
    if said.time:
        yield "time", said.time
    for event in said.events:
        yield "event", event.text
        yield from ((f"entity:{category}", text) for text, category in event.entities)
        yield from ((f"relation:{head}:{tail}", text) for head, text, tail in event.relations)


def clues_of(keys: Keys) -> list[UtteranceClues]:
    """The clues that a memory's keys were made of, in order; a doc without keys has none.

    Raises:
        MemreproError: if the keys are not of a memory graph.
    """
    bounds = np.searchsorted(keys.owner, np.arange(len(keys.doc_ids) + 1))
    texts = keys.texts
    return [
        _read(doc_id, list(zip(keys.fields[first:last], texts[first:last], strict=True)))
        for doc_id, first, last in zip(keys.doc_ids, bounds[:-1], bounds[1:], strict=True)
        if first < last
    ]


def _read(doc_id: str, pairs: Sequence[tuple[str, str]]) -> UtteranceClues:
    said, time, speakers = "", "", []
    events: list[tuple[str, list[tuple[str, str]], list[tuple[int, str, int]]]] = []
    try:
        for name, text in pairs:
            kind, *parts = name.split(":")
            if kind == "utterance":
                said = text
            elif kind == "speaker":
                speakers.append(text)
            elif kind == "time":
                time = text
            elif kind == "event":
                events.append((text, [], []))
            elif kind == "entity":
                events[-1][1].append((text, *parts))  # type: ignore[arg-type]
            elif kind == "relation":
                head, tail = map(int, parts)
                events[-1][2].append((head, text, tail))
            elif kind != "label":
                raise ValueError(kind)
        if not said:
            raise ValueError("no utterance")
    except (ValueError, IndexError) as error:
        raise MemreproError(
            f"doc {doc_id!r} has the keys {sorted({name for name, _ in pairs})}, which are of no "
            "memory graph: choose a key scheme such as user_only+graph:nlp-fact"
        ) from error
    made = tuple(EventClues(text, tuple(e), tuple(r)) for text, e, r in events)
    return UtteranceClues(doc_id, said, tuple(speakers), time, made)


def graph_of(keys: Keys) -> Graph:
    """The memory graph that keys carry, with their vectors if they have them."""
    graph = build_from(clues_of(keys))
    if keys.vectors is None:
        return graph
    row = dict(zip(keys.texts, keys.rows.tolist(), strict=True))
    try:
        return graph.with_vectors(keys.vectors[[row[text] for text in graph.texts]])
    except KeyError as error:
        raise MemreproError(
            f"the keys of a memory graph lack the text {error}, an edge's label"
        ) from error
