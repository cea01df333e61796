"""The nouns: rounds, sessions, memories, queries, qrels and data sets; frozen, with no I/O.

A *turn* is what one person said at once; a *round* is what one person said and the answer to it;
a *session* is a run of rounds; a *memory* is all that one query may search: sessions and when they
took place. A session stands in many memories, so it is one object, without a time. What is ranked
is a *doc*: a session, a round or a turn, in each case a `Round` whose `round_id` is the doc's id
(see `GRANULARITIES`).
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from memrepro.errors import MemreproError

# What answers a query: for each part of the answer, the docs any one of which will do.
Parts = tuple[tuple[str, ...], ...]


class Turn(NamedTuple):
    """What one person said at once: whose `field` of the round it belongs to, and the text."""

    turn_id: str
    field: str
    text: str


@dataclass(frozen=True)
class Round:
    """One retrievable piece of a conversation.

    Attributes:
        round_id: the doc's id, unique within a memory.
        turns: in order of speaking.
    """

    round_id: str
    turns: tuple[Turn, ...]

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """Who said what, in order of speaking; the turns of one field joined by a blank line."""
        said: dict[str, list[str]] = {}
        for turn in self.turns:
            said.setdefault(turn.field, []).append(turn.text)
        return {name: "\n\n".join(texts) for name, texts in said.items()}

    @staticmethod
    def from_texts(round_id: str, **fields: str) -> "Round":
        """A round of one turn a field; a turn's id is the round's with the field behind it."""
        turns = (Turn(f"{round_id}/{name}", name, text) for name, text in fields.items())
        return Round(round_id, tuple(turns))


@dataclass(frozen=True)
class Session:
    """A run of rounds, the same object in every memory that holds it."""

    session_id: str
    rounds: tuple[Round, ...]

    @cached_property
    def key(self) -> str:
        """A digest of the ids and texts: sessions with the same content have the same key."""
        # Lengths first, so that no two lists of parts read the same. Text by text, as one that is
        # not ASCII would make all of them slow to encode.
        parts = [f"{len(self.session_id)}:{self.session_id}".encode()]
        for r in self.rounds:
            parts.append(f"{len(r.round_id)}:{r.round_id}".encode())
            for turn_id, name, text in r.turns:
                head = f"{len(turn_id)}:{turn_id}{len(name)}:{name}{len(text)}:"
                parts += (head.encode(), text.encode())
        return hashlib.sha256(b"".join(parts)).hexdigest()[:32]


@dataclass(frozen=True)
class Memory:
    """All the sessions that a query may search, in the order of the history.

    Attributes:
        memory_id: unique within its data set.
        sessions: each id once.
        times: when each session took place, ISO 8601 to the minute, or '' where the data has no
            time; shape (n_sessions,).
    """

    memory_id: str
    sessions: tuple[Session, ...]
    times: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a memory with no round, or with one id twice."""
        ids = [r.round_id for session in self.sessions for r in session.rounds]
        if not ids:
            raise MemreproError(
                f"memory {self.memory_id!r} is empty: found 0 rounds, and a memory needs at "
                "least 1; drop it and its queries, or repair the data set's file"
            )
        if bare := [s.session_id for s in self.sessions if not s.rounds]:
            raise MemreproError(
                f"memory {self.memory_id!r} holds session {bare[0]!r} with 0 rounds: leave it out"
            )
        if len(self.times) != len(self.sessions):
            raise MemreproError(
                f"memory {self.memory_id!r} has {len(self.sessions)} sessions and "
                f"{len(self.times)} times: each session needs one, '' if it is not known"
            )
        for what, found in (("round", ids), ("session", [s.session_id for s in self.sessions])):
            if len(set(found)) < len(found):
                twice = next(i for i in found if found.count(i) > 1)
                raise MemreproError(
                    f"memory {self.memory_id!r} holds {what} {twice!r} {found.count(twice)} times: "
                    "ids must be unique within a memory"
                )

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of all sessions, in order."""
        return tuple(r for session in self.sessions for r in session.rounds)

    @staticmethod
    def from_rounds(
        memory_id: str, *rounds: tuple[str, Round], times: Mapping[str, str] | None = None
    ) -> "Memory":
        """A memory of (session id, round) pairs, the sessions in order of their first round."""
        grouped: dict[str, list[Round]] = {}
        for session_id, r in rounds:
            grouped.setdefault(session_id, []).append(r)
        sessions = tuple(Session(key, tuple(found)) for key, found in grouped.items())
        return Memory(memory_id, sessions, tuple((times or {}).get(key, "") for key in grouped))


@dataclass(frozen=True)
class Query:
    """A question asked of one memory, at a time, of a kind (the data set's question type)."""

    query_id: str
    memory_id: str
    text: str
    at: str
    kind: str


@dataclass(frozen=True)
class Piece:
    """One memory and all that is asked of it: what a reader yields, so that none holds them all.

    Attributes:
        memory: what the queries search.
        queries: in the data set's order.
        qrels: level → query id → parts. A level is a granularity (`session`, `round`, `turn`), or
            one with the name of other labels behind it (`session_official`). A query that is
            missing from a level has no gold there; evaluation excludes it and says so.
        faults: query id → why it has no gold, where the data set knows.
        skipped: (item, reason) of what could not be used, such as a session without turns.
        types: query id → the question type of a query whose kind does not say it.
        sources: doc id → where it comes from, such as a chat, where a data set's docs are of
            several sources.
    """

    memory: Memory
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, Parts]] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """Memories and the queries asked of them: what a method may see, so no gold.

    Attributes:
        name: the registry's key, such as `personabench-n00`.
        memories: by id, in the data set's order.
        queries: in the data set's order.
    """

    name: str
    memories: Mapping[str, Memory]
    queries: tuple[Query, ...]

    def __post_init__(self) -> None:
        """Refuse an empty data set, or a query of no memory."""
        if not self.memories or not self.queries:
            raise MemreproError(
                f"data set {self.name!r} is empty: found {len(self.memories)} memories and "
                f"{len(self.queries)} queries, and it needs at least 1 of each; fetch it anew"
            )
        for query in self.queries:
            if query.memory_id not in self.memories:
                raise MemreproError(
                    f"query {query.query_id!r} of {self.name!r} asks memory "
                    f"{query.memory_id!r}, which the data set does not hold"
                )

    @cached_property
    def sessions(self) -> tuple[Session, ...]:
        """Each session once, whichever memories hold it, in order."""
        return tuple({s.key: s for m in self.memories.values() for s in m.sessions}.values())


def whole_session(session: Session) -> tuple[Round, ...]:
    """The session as one doc.

    Its fields are its rounds' fields joined by one space, in order (docs/protocols.md, LongMemEval,
    session key).
    """
    said: dict[str, list[str]] = {}
    for r in session.rounds:
        for name, text in r.fields.items():
            said.setdefault(name, []).append(text)
    turns = (Turn(session.session_id, name, " ".join(texts)) for name, texts in said.items())
    return (Round(session.session_id, tuple(turns)),)


def each_turn(session: Session) -> tuple[Round, ...]:
    """Every turn of the session as a doc."""
    return tuple(Round(turn.turn_id, (turn,)) for r in session.rounds for turn in r.turns)


GRANULARITIES: Mapping[str, Callable[[Session], tuple[Round, ...]]] = {
    "session": whole_session,
    "round": lambda session: session.rounds,
    "turn": each_turn,
}
