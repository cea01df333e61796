"""What the document names a value for, and what a search gives."""

from dataclasses import dataclass, field
from typing import Literal

from memrepro.errors import MemreproError
from memrepro.retrieve.tiered.keys.segments import LOOKAHEAD, Segmentation

Recency = Literal["additive", "buckets"]
Formula = Literal["combined", "memory_bank"]
TimeBy = Literal["event", "dialogue"]
Tier = Literal["hot", "warm", "cold"]
Step = Literal["dense", "lexical", "recent", "nothing"]

# "Graceful degradation patterns", its last step.
UNCERTAIN = "I don't have memory of that, could you remind me?"


@dataclass(frozen=True)
class Settings:
    """The document's parameters, each with its value there.

    Attributes:
        hot: messages that HOT holds.
        recent: messages given where both searches fail.
        segmentation: how WARM's segments are cut.
        recency: 'additive', `(1 - rate)^hours`, or 'buckets'; of the last access.
        decay_rate: the rate, an hour.
        formula: 'combined', `computeMemoryScore`, or 'memory_bank'.
        gamma: what a conflict costs in 'memory_bank'; the document names none.
        alpha: the share of the cosine in the hybrid similarity; BM25 has the rest.
        threshold: the least cosine of what is given.
        mmr_weight: MMR's lambda.
        time_by: what a time in a query is compared with: 'event', the days that a segment's words
            name, or else when it was said; or 'dialogue', when it was said.
        warm_days: the age at which a segment becomes facts.
        dense_ms: milliseconds for encoding a query and searching vectors.
        index_seconds: seconds for encoding a batch of new texts; until it succeeds, searches are
            lexical.
        same: the cosine from which two facts are merged.
        index_rows: vectors of a tier from which on `maintain` builds an approximate index; below
            it a search reads all vectors, and is exact.
    """

    hot: int = 20
    recent: int = 10
    segmentation: Segmentation = field(default_factory=Segmentation)
    recency: Recency = "additive"
    decay_rate: float = 0.01
    formula: Formula = "combined"
    gamma: float = 0.1
    alpha: float = 0.7
    threshold: float = 0.65
    mmr_weight: float = 0.7
    time_by: TimeBy = "event"
    warm_days: float = 7.0
    dense_ms: float = 250.0
    index_seconds: float = 60.0
    same: float = 0.9
    index_rows: int = 50_000

    def __post_init__(self) -> None:
        """Refuse what cannot be kept."""
        open_tail = self.segmentation.most - self.segmentation.overlap + LOOKAHEAD
        rules = [
            ("hot", self.hot >= open_tail, f"at least {open_tail}, or an open segment is nowhere"),
            ("recent", 1 <= self.recent <= self.hot, "in 1..hot"),
            ("decay_rate", 0 <= self.decay_rate < 1, "in 0..1"),
            ("alpha", 0 <= self.alpha <= 1, "in 0..1"),
            ("mmr_weight", 0 <= self.mmr_weight <= 1, "in 0..1"),
            ("gamma", self.gamma >= 0, "0 or more"),
            ("warm_days", self.warm_days * 24 > self.segmentation.gap_hours, "over gap_hours"),
            ("dense_ms", self.dense_ms > 0, "over 0"),
            ("index_seconds", self.index_seconds > 0, "over 0"),
            ("index_rows", self.index_rows >= 256, "at least 256, of which partitions can be made"),
            ("recency", self.recency in ("additive", "buckets"), "additive or buckets"),
            ("formula", self.formula in ("combined", "memory_bank"), "combined or memory_bank"),
            ("time_by", self.time_by in ("event", "dialogue"), "event or dialogue"),
        ]  # fmt: skip
        for name, good, rule in rules:
            if not good:
                raise MemreproError(f"{name} is {getattr(self, name)!r}: it must be {rule}")


@dataclass(frozen=True)
class Item:
    """Something remembered.

    Attributes:
        item_id: of a message (HOT), segment (WARM) or fact (COLD).
        score: what it is ranked by; by which formula, `Answer.step` says.
        at: when it was said last, Unix seconds.
        message_ids: the messages that it stands on.
    """

    tier: Tier
    item_id: str
    text: str
    score: float
    at: float
    message_ids: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What a search gives.

    Attributes:
        step: of the chain, that answered: 'dense', 'lexical' (scores are BM25), 'recent' (in order
            of time, scores 0) or 'nothing'.
        items: the best first; none where nothing is similar enough.
        says: `UNCERTAIN` where there are no items, else ''.
        failures: why the earlier steps did not answer.
    """

    step: Step
    items: tuple[Item, ...]
    says: str
    failures: tuple[str, ...]
