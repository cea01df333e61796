"""Turns, segments or sessions as keys, and the facts of COLD, each with the time when it was said.

A key scheme `tiers:unit` or `tiers:unit&source-kind` makes a doc's keys of all units in which it
stands (field 'warm'), and of what was extracted from the doc (field 'cold'). A unit is a turn, a
turn with up to three before it as its context (it stands for its own doc alone), a segment, or a
session; the text of the last two is a key of several docs. Acknowledgments alone make no context
and no segment.

A dated unit is as `segments.segment_text` has it, speakers and times in the text (the document's
form). The plain ones have no times, so that a session that stands in many memories is embedded
once: a turn is its words, a longer unit a line a turn with its speaker.

The data sets say when a session took place, not a turn: its turns are one minute apart. Where no
session of a memory has a time, they are one day apart, in their order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrepro.core.key_builder import KeyBuilder
from memrepro.core.key_schemes import is_extraction
from memrepro.core.keys import Keys, Request
from memrepro.core.memory import Memory, Query, Session
from memrepro.core.ranking import tie_keys
from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.retrieve.tiered import KEY_SCHEME_MARK
from memrepro.retrieve.tiered.keys.lexical import Lexical
from memrepro.retrieve.tiered.keys.segments import (
    Message,
    cut,
    in_context,
    one_line,
    says_something,
    segment_text,
)

WARM, COLD = "warm", "cold"
_MINUTE, _DAY = 60.0, 86400.0
_UNDATED = datetime(2000, 1, 1, tzinfo=UTC)

# Messages → the units, as [start, end) of them.
_CUTS: Mapping[str, Callable[[Sequence[Message]], list[tuple[int, int]]]] = {
    "turn": lambda said: [(place, place + 1) for place in range(len(said))],
    "context": in_context,
    "segment": lambda said: [(a, b) for a, b in cut(said) if says_something(said[a:b])],
    "whole": lambda said: [(0, len(said))],
}


def _plain(messages: Sequence[Message]) -> str:
    if len(messages) == 1:
        return messages[0].text
    return "\n".join(f"{m.speaker}: {one_line(m.text)}" for m in messages)


UNITS = {
    f"{prefix}{name}": (cutting, text)
    for prefix, text in (("", _plain), ("dated-", segment_text))
    for name, cutting in _CUTS.items()
}


@dataclass(frozen=True, kw_only=True)
class TieredKeys(Keys):
    """Keys with their times.

    Attributes:
        units: which unit each key is, ascending numbers in no order, shape (n_keys,).
        said: when the last message of each key was said, Unix seconds, shape (n_keys,).
        doc_said: when each doc's last turn was said, shape (n_docs,).
        doc_turns: how many turns each doc has, shape (n_docs,).
    """

    units: NDArray[np.int64]
    said: Doubles
    doc_said: Doubles
    doc_turns: NDArray[np.int64]

    @cached_property
    def by_unit(self) -> "Units":
        """The units that the keys are of; read once, however many runs share the keys."""
        return Units(self)


class Units:
    """The units of a memory: what the keys of one unit share, arrays of shape (n_units,).

    Attributes:
        rows: each unit's place in the unique texts.
        said: when the last message of each was said, Unix seconds.
        warm: whether each is of WARM's kind, and no fact.
        docs: the docs that each stands in, by index.
    """

    def __init__(self, keys: TieredKeys) -> None:
        numbers, first, place = np.unique(keys.units, return_index=True, return_inverse=True)
        self._keys, self._first = keys, first
        self.rows = keys.rows[first]
        self.said = keys.said[first]
        self.warm = np.array([keys.fields[i] == WARM for i in first])
        self.docs: list[list[int]] = [[] for _ in numbers]
        for unit, owner in zip(place, keys.owner, strict=True):
            self.docs[unit].append(int(owner))
        self._ties = np.array([min(keys.ties[d] for d in docs) for docs in self.docs])

    @cached_property
    def lexical(self) -> Lexical:
        """The words of the units."""
        return Lexical([self._keys.unique[row] for row in self.rows])

    def similarities(self, request: Request) -> Doubles:
        """The cosine of each query with each unit, shape (n_queries, n_units)."""
        return self._keys.key_scores(request.vectors_of_queries())[:, self._first]

    def vectors(self, which: NDArray[np.intp]) -> NDArray[np.floating]:
        """The vectors of some units, shape (n, dimension)."""
        assert self._keys.vectors is not None  # `similarities` has refused keys without
        return self._keys.vectors[self.rows[which]]

    def in_order(self, scores: Doubles, which: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Some units, the highest score first, ties by their docs."""
        places = np.flatnonzero(which)
        return places[np.lexsort((self._ties[places], -scores[places]))]


@dataclass(frozen=True, eq=False)
class TimedRequest(Request):
    """A request that says when each query is `asked`, Unix seconds, shape (n_queries,)."""

    asked: Sequence[float] = ()


@dataclass
class TieredKeyBuilder(KeyBuilder):
    """Keys of all units in which a doc stands, with their times; docs are rounds or sessions."""

    timed = True

    @staticmethod
    def parse(granularity: str, key_scheme: str) -> tuple[str, str]:
        """The unit and the extraction ('' without one) of a key scheme."""
        unit, _, extraction = key_scheme.removeprefix(KEY_SCHEME_MARK).partition("&")
        if (
            not key_scheme.startswith(KEY_SCHEME_MARK)
            or unit not in UNITS
            or (extraction and not is_extraction(extraction))
            or granularity not in ("round", "session")
        ):
            raise MemreproError(
                f"key scheme {key_scheme!r} by {granularity!r}: write {KEY_SCHEME_MARK}unit or "
                f"{KEY_SCHEME_MARK}unit&source-kind with a unit of {', '.join(UNITS)}, by round or "
                "session"
            )
        return unit, extraction

    def make(self, memory: Memory) -> TieredKeys:
        """The keys of one memory, without vectors."""
        doc_ids: list[str] = []
        doc_said: list[float] = []
        doc_turns: list[int] = []
        found: list[tuple[int, int, str, str, float]] = []  # owner, unit, field, text, said
        units = 0
        unit, extraction = self._scheme
        cutting, written = UNITS[unit]
        for session, began in zip(memory.sessions, session_times(memory), strict=True):
            messages = messages_of(session, began)
            docs = self.docs(session)
            # The doc of each turn of the session.
            by_round = 0 if self.granularity == "session" else 1
            owners = [
                len(doc_ids) + by_round * i for i, r in enumerate(session.rounds) for _ in r.turns
            ]
            for start, end in cutting(messages):
                text = written(messages[start:end])
                # What stands before a turn as its context is not found by it.
                first = end - 1 if cutting is in_context else start
                for owner in dict.fromkeys(owners[first:end]):
                    found.append((owner, units, WARM, text, messages[end - 1].at))
                units += 1
            last = dict(zip(owners, (m.at for m in messages), strict=True))
            for doc in docs:
                owner = len(doc_ids)
                if extraction:
                    for text in self.extractions.of_doc(extraction, session, doc):
                        found.append((owner, units, COLD, text, last[owner]))
                        units += 1
                doc_ids.append(doc.round_id)
                doc_said.append(last[owner])
                doc_turns.append(owners.count(owner))
        found.sort(key=lambda key: key[0])  # by owner, otherwise as they are
        return TieredKeys(
            tuple(doc_ids),
            np.array([self.row_of(text) for _, _, _, text, _ in found], np.int64),
            self.texts,
            tuple(name for _, _, name, _, _ in found),
            np.array([owner for owner, *_ in found], np.int64),
            tie_keys(doc_ids),
            units=np.array([unit for _, unit, *_ in found], np.int64),
            said=np.array([said for *_, said in found]),
            doc_said=np.array(doc_said),
            doc_turns=np.array(doc_turns, np.int64),
        )

    def request(
        self, keys: Keys, memory: Memory, queries: Sequence[Query], **vectors: Any
    ) -> TimedRequest:
        """The queries with the time at which each is asked."""
        plain = super().request(keys, memory, queries, **vectors)
        return TimedRequest(**vars(plain), asked=[asked_at(one.at, memory) for one in queries])


BUILDER = TieredKeyBuilder


def messages_of(session: Session, began: float) -> list[Message]:
    """A session's turns as messages, one minute apart."""
    turns = [turn for r in session.rounds for turn in r.turns]
    return [
        Message(turn.turn_id, turn.field, began + i * _MINUTE, turn.text)
        for i, turn in enumerate(turns)
    ]


def session_times(memory: Memory) -> list[float]:
    """When each session began, Unix seconds.

    Raises:
        MemreproError: if some of a memory's sessions have a time and others none.
    """
    if not any(memory.times):
        return [(_UNDATED + timedelta(days=i)).timestamp() for i in range(len(memory.sessions))]
    if not all(memory.times):
        bare = memory.sessions[memory.times.index("")].session_id
        raise MemreproError(
            f"session {bare!r} of memory {memory.memory_id!r} has no time, and others have one: "
            "give each a time, or none"
        )
    return [seconds(at) for at in memory.times]


def seconds(at: str) -> float:
    """An ISO 8601 time to the minute as Unix seconds, UTC."""
    return datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()


def asked_at(at: str, memory: Memory) -> float:
    """When a query is asked: its own time, or after a memory's last turn where it has none.

    A query at or after the beginning of the last session is asked a minute after its last turn.
    """
    times = session_times(memory)
    last = max(
        messages_of(session, began)[-1].at
        for session, began in zip(memory.sessions, times, strict=True)
    )
    own = seconds(at) if at and any(memory.times) else last
    return max(own, last + _MINUTE) if own >= max(times) else own
