"""The nouns of COLD: facts, what is said of them, and what became of it.

328e0f776fdaed08, "COLD tier" (`ColdMemoryFact`), and its account of Mem0: new facts are compared
with existing ones, and an operation is chosen (ADD, UPDATE, DELETE, NOOP).
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

Category = Literal["preference", "fact", "event", "relationship"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
# What a fact can be; all but the first are kept, and no longer hold.
STATUSES = ("active", "superseded", "deleted", "merged")
# What can be decided about a candidate.
Operation = Literal["add", "update", "delete", "noop"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)


class Candidate(NamedTuple):
    """A statement that may become a fact.

    Attributes:
        text: one sentence; one by another speaker than the user begins with their name and ": ".
        category: one of `CATEGORIES`.
        confidence: in 0..1.
        sources: ids of the segments that say it, at least one.
        at: when it was said, Unix seconds.
    """

    text: str
    category: str
    confidence: float
    sources: tuple[str, ...]
    at: float


@dataclass(frozen=True)
class Fact:
    """What COLD holds.

    Attributes:
        fact_id: 20 hex digits, from the statement that it began as.
        text: as a candidate's.
        category, confidence: as a candidate's.
        sources: ids of the segments that say it, sorted.
        created_at: when it was first said, Unix seconds.
        last_validated_at: when it was last said, or edited by a person.
        status: one of `STATUSES`: 'superseded' by another value, 'deleted' as it was denied,
            'merged' into another that says the same.
    """

    fact_id: str
    text: str
    category: str
    confidence: float
    sources: tuple[str, ...]
    created_at: float
    last_validated_at: float
    status: str

    @classmethod
    def from_statement(cls, fact_id: str, told: Candidate) -> Self:
        """The active fact that a statement begins as."""
        text, category, confidence, sources, at = told
        return cls(fact_id, text, category, confidence, sources, at, at, "active")

    @property
    def vector_id(self) -> str:
        """The id of its vector, another one where its text was edited."""
        return f"{self.fact_id}.{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"


class Decision(NamedTuple):
    """What to do with a candidate.

    Attributes:
        operation: one of `OPERATIONS`.
        fact_id: the active fact that it is about; '' for 'add'.
        reason: the rule that decided, in a few words.
    """

    operation: str
    fact_id: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Change:
    """One entry of the history; each statement stands in one of them.

    Attributes:
        number: grows from entry to entry.
        operation: one of `OPERATIONS`; 'late', a statement older than what it contradicts; 'edit',
            a person's; or 'merge'.
        fact_id: the fact that it is about: the new one, or the one confirmed, denied, edited, or
            merged into.
        old_id: the fact that gave way to `fact_id`, or ''; of 'late' the one that stands.
        text: what was said; of 'merge' the text that gave way.
        category, confidence, at: as a candidate's.
        changed_at: when the store noted it, Unix seconds.
        reason: the rule that decided.
        sources: of this text alone, sorted; none where a person edited.
    """

    number: int
    operation: str
    fact_id: str
    old_id: str
    text: str
    category: str
    confidence: float
    at: float
    changed_at: float
    reason: str
    sources: tuple[str, ...]


# (segment id, segment text, Unix seconds) → what the segments state.
Extract = Callable[[Sequence[tuple[str, str, float]]], list[Candidate]]
# A candidate and the active facts → what to do.
Decide = Callable[[Candidate, Collection[Fact]], Decision]
# n texts, and m others → their similarities, [n, m].
Similar = Callable[[Sequence[str], Sequence[str]], NDArray[np.floating]]
