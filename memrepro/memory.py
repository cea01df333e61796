"""The nouns: rounds, memories, queries, qrels and data sets; frozen, with no I/O.

A *round* is what one person said and the answer to it; a *session* is a run of rounds; a
*memory* is all that one query may search. What is ranked is a *doc*: a round, or a session
taken whole (see `by_session`), in either case a `Round` whose `round_id` is the doc's id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memrepro.errors import MemreproError

# What answers a query: for each part of the answer, the docs any one of which will do.
Parts = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Round:
    """One retrievable piece of a conversation.

    Attributes:
        round_id: the doc's id, unique within its memory.
        session_id: the session that it belongs to.
        at: when it was said, ISO 8601 to the minute, or '' where the data has no time.
        fields: who said what, in order of speaking, such as `{"user": …, "assistant": …}`.
    """

    round_id: str
    session_id: str
    at: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Memory:
    """All the rounds that a query may search, in the order of the history."""

    memory_id: str
    rounds: tuple[Round, ...]

    def __post_init__(self) -> None:
        """Refuse a memory with no round, or with one id twice."""
        if not self.rounds:
            raise MemreproError(
                f"memory {self.memory_id!r} is empty: found 0 rounds, and a memory needs at "
                "least 1; drop it and its queries, or repair the data set's file"
            )
        ids = [r.round_id for r in self.rounds]
        if len(set(ids)) < len(ids):
            twice = next(i for i in ids if ids.count(i) > 1)
            raise MemreproError(
                f"memory {self.memory_id!r} holds round {twice!r} {ids.count(twice)} times: "
                "ids must be unique within a memory"
            )


@dataclass(frozen=True)
class Query:
    """A question asked of one memory, at a time, of a kind (the data set's question type)."""

    query_id: str
    memory_id: str
    text: str
    at: str
    kind: str


@dataclass(frozen=True)
class Dataset:
    """Memories, the queries asked of them, and what answers each query.

    Attributes:
        name: the registry's key, such as `personabench-n00`.
        memories: by id, in the data set's order.
        queries: in the data set's order.
        qrels: level ('round' or 'session') → query id → parts. A query that is missing from a
            level has no gold there; evaluation excludes it and says so.
    """

    name: str
    memories: Mapping[str, Memory]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, Parts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an empty data set, a lost memory, a query id used twice, or unknown gold."""
        if not self.memories or not self.queries:
            raise MemreproError(
                f"data set {self.name!r} is empty: found {len(self.memories)} memories and "
                f"{len(self.queries)} queries, and it needs at least 1 of each; fetch it anew"
            )
        seen: set[str] = set()
        for query in self.queries:
            if query.memory_id not in self.memories:
                raise MemreproError(
                    f"query {query.query_id!r} of {self.name!r} asks memory "
                    f"{query.memory_id!r}, which the data set does not hold"
                )
            if query.query_id in seen:
                raise MemreproError(f"query id {query.query_id!r} of {self.name!r} is used twice")
            seen.add(query.query_id)
        for level, by_query in self.qrels.items():
            if strangers := set(by_query) - seen:
                raise MemreproError(
                    f"the {level} qrels of {self.name!r} name query {min(strangers)!r}, "
                    "which the data set does not hold"
                )


def by_session(memory: Memory) -> Memory:
    """The same memory with whole sessions as its docs.

    A session's field is its rounds' fields joined by one space, in order (LongMemEval's
    session key, PROTOCOLS.md); its time is its first round's.
    """
    sessions: dict[str, list[Round]] = {}
    for r in memory.rounds:
        sessions.setdefault(r.session_id, []).append(r)
    docs = []
    for session_id, rounds in sessions.items():
        names = list(dict.fromkeys(name for r in rounds for name in r.fields))
        fields = {n: " ".join(r.fields[n] for r in rounds if n in r.fields) for n in names}
        docs.append(Round(session_id, session_id, rounds[0].at, fields))
    return Memory(memory.memory_id, tuple(docs))


GRANULARITIES = {"round": lambda memory: memory, "session": by_session}
