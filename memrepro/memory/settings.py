"""The settings of a memory, named, and what a search gives.

`AS_PRINTED` is the document's design. `EVERYTHING` is what people are given: every message stays
where a search finds it. `benchmarks/memory.py --choose` tries its values (`docs/memory.md`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from memrepro.errors import MemreproError, cut
from memrepro.files.atomic import read_yaml
from memrepro.memory.folders import LONGEST, is_unicode
from memrepro.memory.times import check_time
from memrepro.retrieve.tiered.keys.segments import LOOKAHEAD, Segmentation
from memrepro.text.dates import TimeRange

Recency = Literal["additive", "buckets"]
Formula = Literal["combined", "memory_bank"]
TimeBy = Literal["event", "dialogue"]
Search = Literal["tiers", "everything"]
Tier = Literal["hot", "warm", "cold"]
Step = Literal["dense", "lexical", "recent", "nothing"]

# "Graceful degradation patterns", its last step.
UNCERTAIN = "I don't have memory of that, could you remind me?"
# Encoder → the least cosine of a certain answer, measured by `benchmarks/memory.py --calibrate`.
_THRESHOLDS: Mapping[str, float] = read_yaml(Path(__file__).with_name("thresholds.yaml"))


@dataclass(frozen=True)
class Settings:
    """The document's parameters, each with its value there, and how a search goes.

    Attributes:
        search: 'tiers', WARM and where that is not sure COLD, what is older by its facts alone; or
            'everything', all that was ever said, and the facts beside it (`everything.py`).
        hot: messages that HOT holds.
        recent: messages given where both searches fail.
        segmentation: how WARM's segments are cut.
        recency: 'additive', `(1 - rate)^hours`, or 'buckets'; of the last access.
        decay_rate: the rate, an hour.
        formula: 'combined', `computeMemoryScore`, or 'memory_bank'.
        gamma: what a conflict costs in 'memory_bank'; the document names none.
        alpha: the share of the cosine in the hybrid similarity; BM25 has the rest.
        threshold: the least cosine of what is given; of 'everything', of a certain answer, and 0
            for `calibrated`.
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
        near_cosines, near_words: of 'everything', the shares of the neighbours one, two … messages
            away in a message's cosine and in its BM25.
        near_length: characters of a message up to which these shares are whole; of a longer one
            they are less in proportion.
        window: words of a segment; a longer message is several. 0 for whole messages.
        timezone: whose days they are, an IANA name.
    """

    search: Search = "tiers"
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
    near_cosines: tuple[float, ...] = ()
    near_words: tuple[float, ...] = (0.6, 0.3)
    near_length: int = 200
    window: int = 0
    timezone: str = "UTC"

    @property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.timezone)

    @property
    def keeps_all(self) -> bool:
        """Whether a segment stays searchable when its facts are made."""
        return self.search == "everything"

    def rules(self) -> dict[str, object]:
        """All that decides how messages are cut and indexed."""
        rules: dict[str, object] = asdict(self.segmentation)
        if self.keeps_all:
            rules |= {"window": self.window, "search": self.search, "timezone": self.timezone}
        return rules

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
            ("warm_days", self.keeps_all or self.warm_days * 24 > self.segmentation.gap_hours,
             "over gap_hours"),
            ("search", self.search in ("tiers", "everything"), "tiers or everything"),
            ("near_cosines", min(self.near_cosines, default=0) >= 0, "0 or more each"),
            ("near_length", self.near_length >= 0, "0 or more"),
            ("near_words", min(self.near_words, default=0) >= 0, "0 or more each"),
            ("window", self.window >= 0, "0 or more"),
            ("timezone", _is_zone(self.timezone), "an IANA name, such as Europe/Oslo"),
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


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


AS_PRINTED = Settings()
# A segment is one message, or a window of a long one, and final at once; its facts are made when
# it comes.
EVERYTHING = Settings(
    search="everything", segmentation=Segmentation(1, 1, 0), alpha=0.6, threshold=0.0,
    warm_days=0.0, dense_ms=10_000.0, window=160,
)  # fmt: skip
NAMED: Mapping[str, Settings] = {"everything": EVERYTHING, "as printed": AS_PRINTED}


def calibrated(encoder: str) -> float:
    """The least cosine of a certain answer, by an encoder's name; 0.3 for one not measured."""
    return _THRESHOLDS.get(encoder, 0.3)


@dataclass(frozen=True)
class Asked:
    """What a search is asked for.

    Attributes:
        query: in words.
        now: when, Unix seconds.
        span: the days that the query names, or None.
        channel: of one channel alone.
        k: how many are given, if not as many as usual.
        threshold: in place of the settings'.
        where: metadata that a message must have.
        until: nothing that was said later, Unix seconds.

    Raises:
        MemreproError: if the query is empty or too long, or the time is none.
    """

    query: str
    now: float
    span: TimeRange | None = None
    channel: str | None = None
    k: int | None = None
    threshold: float | None = None
    where: Mapping[str, object] = field(default_factory=dict)
    until: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not isinstance(self.where, Mapping):
            raise MemreproError(
                f"a search of {cut(repr(self.query), 60)} where {cut(repr(self.where), 60)}: the "
                "query must be a text, and the metadata an object"
            )
        if not self.query.strip() or not is_unicode(self.query):
            raise MemreproError(f"the query {self.query[:40]!a} has no words in valid Unicode")
        if len(self.query) > LONGEST:
            raise MemreproError(
                f"the query {self.query[:40]!a} has {len(self.query):,} characters; at most "
                f"{LONGEST:,} are looked for"
            )
        for name, value in self.where.items():
            if not isinstance(value, str | int | float):
                raise MemreproError(
                    f"metadata is asked for by {name} = {cut(repr(value), 60)}: it must be a text, "
                    "a number, True or False"
                )
        check_time(self.now, "a search")


@dataclass(frozen=True)
class Item:
    """Something remembered.

    Attributes:
        item_id: of a message (HOT), segment (WARM) or fact (COLD).
        score: what it is ranked by; by which formula, `Answer.step` says.
        at: when it was said last, Unix seconds.
        message_ids: the messages that it stands on.
        cosine: with the query, or None where it was not asked for.
        facts: ids of the facts that it says.
        certain: whether it is similar enough, or has most of the query's words.
    """

    tier: Tier
    item_id: str
    text: str
    score: float
    at: float
    message_ids: tuple[str, ...]
    cosine: float | None = None
    facts: tuple[str, ...] = ()
    certain: bool = True


@dataclass(frozen=True)
class Answer:
    """What a search gives.

    Attributes:
        step: of the chain, that answered: 'dense', 'lexical' (scores are BM25), 'recent' (in order
            of time, scores 0) or 'nothing'.
        items: the best first; none where nothing is similar enough.
        says: `UNCERTAIN` where there are no items; `near_miss` where none is similar enough and
            the nearest are given all the same ('everything'); else ''.
        failures: why the earlier steps did not answer.
    """

    step: Step
    items: tuple[Item, ...]
    says: str
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Added:
    """How many messages are new and on the disk, were there already, or came while paused."""

    stored: int
    duplicates: int
    refused: int


@dataclass(frozen=True)
class Maintained:
    """How many segments became final, how many became facts, and how many facts changed."""

    closed: int
    migrated: int
    changes: int


def near_miss(text: str) -> str:
    """What is said where nothing is certain, of the nearest text."""
    words = " ".join(text.split())
    return f"nothing certain; nearest: {words if len(words) <= 80 else words[:79] + '…'}"
