"""A search: vectors, else words, else the last messages, else "I don't have memory of that".

328e0f776fdaed08, "Graceful degradation patterns". A step is left on any failure of what it stands
on: an encoder that raises or hangs, a damaged folder of vectors, a damaged or locked journal.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import numpy as np

from memrepro.core.similarity import Doubles, normalise, products
from memrepro.encode.encoder import Encoder, Vectors
from memrepro.errors import MemreproError
from memrepro.files.sqlite import sqlite3
from memrepro.memory import cold
from memrepro.memory.everything import Everything, require_vectors
from memrepro.memory.index import Table, VectorIndex
from memrepro.memory.journal import Journal, Segment, any_word, day
from memrepro.memory.language.fact import Fact
from memrepro.memory.language.words import spoken
from memrepro.memory.limited import Limited
from memrepro.memory.settings import UNCERTAIN, Answer, Asked, Item, Settings, Step, near_miss
from memrepro.retrieve.tiered import scoring
from memrepro.retrieve.tiered.keys.segments import Message, says_something, segment_text
from memrepro.retrieve.tiered.selection import MOST, adaptive, mmr
from memrepro.text.dates import TimeRange
from memrepro.text.temporal import time_range

_T = TypeVar("_T")
_HOUR = 3600.0
# Nearest segments that are scored; a week of WARM rarely has more, and a range in time takes all.
_NEAREST = 1000
_MISTAKES = (sqlite3.ProgrammingError, TypeError, AttributeError, NameError)


class _Nearest(NamedTuple):
    """What the index gives, in its order."""

    ids: list[str]
    cosines: Doubles
    vectors: Vectors


class _Found(NamedTuple):
    """What may be given, with what the formulas ask for."""

    item: Item
    cosine: float
    similarity: float
    vector: Vectors
    used: float
    channel: float
    importance: float = 0.0
    accesses: int = 0
    conflicts: int = 0


@dataclass
class Chain:
    """The steps over one user's memory.

    Attributes:
        journal, index, encoder, settings, limited: what the steps stand on.
        hot: the last messages of all channels, in order of time.
        counts: what happened, since the caller last took it.
    """

    journal: Journal
    index: VectorIndex
    hot: list[Message]
    encoder: Encoder
    settings: Settings
    limited: Limited
    counts: Counter[str] = field(default_factory=Counter)
    # The text of the messages that are in no segment yet, and its vector.
    _tail: tuple[str, Vectors] = ("", np.zeros(0, np.float32))
    _everything: Everything = field(init=False)

    def __post_init__(self) -> None:
        self._everything = Everything(
            self.journal, self.index, self.encoder, self.settings, self._in_time
        )

    def answer(self, asked: Asked) -> Answer:
        """Search, step by step.

        Raises:
            sqlite3.ProgrammingError, TypeError, AttributeError, NameError: no step hides a mistake
                in a program, such as a search of a memory that was closed.
        """
        span = time_range(asked.query, day(asked.now, self.settings.zone))
        asked = replace(asked, span=span)
        failures: list[str] = []
        self.counts["searches"] += 1
        by = self._everything if self.settings.keeps_all else None
        steps: tuple[tuple[Step, Callable[[Asked], list[Item]]], ...] = (
            ("dense", by.dense if by else self._dense),
            ("lexical", by.lexical if by else self._lexical),
            ("recent", self._recent),
        )
        answered: Step = "nothing"
        items: list[Item] = []
        for name, step in steps:
            try:
                answered, items = name, step(asked)
                break
            except _MISTAKES:
                raise
            except Exception as error:
                failures.append(f"{name}: {error}")
                self.counts[f"{name}_failed"] += 1
        self.counts[f"answered_{answered}"] += 1
        self.counts["abstained"] += not items
        self.counts.update(f"given_{item.tier}" for item in items)
        says = "" if items else UNCERTAIN
        if items and not any(item.certain for item in items):
            says = near_miss(spoken(items[0].text))
        return Answer(answered, tuple(items), says, tuple(failures))

    def _dense(self, asked: Asked) -> list[Item]:
        """WARM by the combined score, with COLD where WARM's best cosine is too low."""
        with self.journal.snapshot():
            require_vectors(self.journal, self.encoder)
            allowed, tail = self._allowed("warm", asked), self.journal.tail(self.settings.hot)
            if not says_something(tail):
                tail = []
            query, near = self._in_time(lambda: self._encode_and_find(asked, tail))
            pool = self._tail_found(asked, tail, query) + self._warm_found(asked, allowed, near)
            if max((found.cosine for found in pool), default=-1.0) < self.settings.threshold:
                self.counts["cold_consulted"] += 1
                pool += self._cold_found(asked, query)
        return self._select(pool, asked)

    def _in_time(self, work: Callable[[], _T]) -> _T:
        return self.limited.run(work, self.settings.dense_ms / 1000)

    def _nearest(self, table: Table, query: Vectors, asked: Asked) -> _Nearest:
        ids, vectors = self.index.nearest(table, query, _limit(asked))
        return _Nearest(ids, products(query[None], vectors)[0], vectors)

    def _encode_and_find(self, asked: Asked, tail: Sequence[Message]) -> tuple[Vectors, _Nearest]:
        text = segment_text(tail)
        if tail and text != self._tail[0]:
            self._tail = text, normalise(self.encoder.encode([text], "document"))[0]
        query = normalise(self.encoder.encode([asked.query], "query"))[0]
        return query, self._nearest("segments", query, asked)

    def _tail_found(self, asked: Asked, tail: Sequence[Message], query: Vectors) -> list[_Found]:
        """What no segment holds yet, as one; its words are not in the index, its cosine counts."""
        if not tail:
            return []
        text, vector = self._tail
        cosine = products(query[None], vector[None])[0, 0]
        if not (
            self._is_near(cosine, asked)
            and (asked.channel is None or asked.channel in {m.channel for m in tail})
            and (asked.span is None or _meets(asked.span, tail))
        ):
            return []
        ids, end = tuple(message.message_id for message in tail), tail[-1].at
        channel = max(scoring.channel_weight(message.channel) for message in tail)
        item = Item("hot", ids[0], text, 0.0, end, ids)
        return [_Found(item, cosine, cosine, vector, end, channel)]

    def _warm_found(
        self, asked: Asked, allowed: dict[str, int] | None, near: _Nearest
    ) -> list[_Found]:
        # The writer may be ahead with one of its two files: what both have is right.
        here = self.journal.warm_of(near.ids) if allowed is None else allowed
        rows = {key: row for row, key in enumerate(near.ids) if key in here}
        bm25 = self.journal.lexical(asked.query, {key: here[key] for key in rows})
        similarity = self._hybrid(asked, rows, near.cosines, bm25)
        return [
            _Found(
                _warm_item(segment, 0.0),
                near.cosines[rows[segment.segment_id]],
                similarity[segment.segment_id],
                near.vectors[rows[segment.segment_id]],
                segment.last_access,
                max(map(scoring.channel_weight, segment.channels)),
                segment.importance,
                segment.accesses,
            )
            for segment in self.journal.segments_of(list(similarity))
        ]

    def _cold_found(self, asked: Asked, query: Vectors) -> list[_Found]:
        """Facts, with the weight of a direct conversation and the time when they were last said."""
        near, db = (
            self._in_time(lambda: self._nearest("facts", query, asked)),
            self.journal.connection,
        )
        rows = {key.partition(".")[0]: row for row, key in enumerate(near.ids)}
        if _limit(asked) is None:
            meant = self._meant(cold.facts_of(db, list(rows)), asked)
            rows = {fact.fact_id: rows[fact.fact_id] for fact in meant}
        bm25, conflicts = cold.lexical(db, any_word(asked.query)), cold.conflicts(db)
        similarity = self._hybrid(asked, rows, near.cosines, bm25)
        return [
            _Found(
                self._fact_item(fact, 0.0),
                near.cosines[row],
                similarity[fact.fact_id],
                near.vectors[row],
                fact.last_validated_at,
                1.0,
                conflicts=max(conflicts.get(key, 0) for key in fact.sources),
            )
            for fact in cold.facts_of(db, list(similarity))
            if fact.vector_id == near.ids[row := rows[fact.fact_id]]
        ]

    def _hybrid(
        self, asked: Asked, row_of: Mapping[str, int], all_cosines: Doubles,
        bm25: Mapping[str, float],
    ) -> dict[str, float]:  # fmt: skip
        """Hybrid similarity by id; all of `row_of` are scored, and those near enough given."""
        cosines, bm25s = all_cosines[list(row_of.values())], [bm25.get(key, 0.0) for key in row_of]
        scores = scoring.hybrid(cosines, bm25s, self.settings.alpha)
        scored = zip(row_of, cosines, scores, strict=True)
        return {key: score for key, cosine, score in scored if self._is_near(cosine, asked)}

    def _is_near(self, cosine: float, asked: Asked) -> bool:
        """Whether it is similar enough; "what did we do last week" is like nothing in that week."""
        return asked.span is not None or cosine >= self.settings.threshold

    def _select(self, pool: Sequence[_Found], asked: Asked) -> list[Item]:
        if not pool:
            return []
        scores = self._scores(pool, asked.now)
        order = sorted(range(len(pool)), key=lambda i: (-scores[i], pool[i].item.item_id))
        vectors = np.array([pool[i].vector for i in order])
        n = adaptive(sorted((found.cosine for found in pool), reverse=True))
        chosen = [order[i] for i in mmr(scores[order], vectors, self.settings.mmr_weight, n)]
        return [replace(pool[i].item, score=float(scores[i])) for i in chosen]

    def _scores(self, pool: Sequence[_Found], now: float) -> Doubles:
        similarities = [found.similarity for found in pool]
        hours = (now - np.array([found.used for found in pool])) / _HOUR
        recency = (
            scoring.bucket_recency(hours)
            if self.settings.recency == "buckets"
            else scoring.additive_recency(hours, self.settings.decay_rate)
        )
        if self.settings.formula == "memory_bank":
            conflicts = [found.conflicts for found in pool]
            return scoring.memory_bank(similarities, recency, conflicts, self.settings.gamma)
        return scoring.combined(
            similarities,
            [found.channel for found in pool],
            recency,
            [found.importance for found in pool],
            [found.accesses for found in pool],
        )

    def _lexical(self, asked: Asked) -> list[Item]:
        """WARM by BM25, and COLD where WARM has no word of the query."""
        with self.journal.snapshot():
            allowed = self._allowed("warm", asked)
            best = _best(self.journal.lexical(asked.query, allowed, MOST))
            segments = {s.segment_id: s for s in self.journal.segments_of(list(best))}
            items = [_warm_item(segments[key], score) for key, score in best.items()]
            if not items:
                scores = cold.lexical(self.journal.connection, any_word(asked.query))
                likely = scores if _limit(asked) is None else _best(scores)
                matching = cold.facts_of(self.journal.connection, list(likely))
                facts = {fact.fact_id: fact for fact in self._meant(matching, asked)}
                over = _best({key: scores[key] for key in facts})
                items = [self._fact_item(facts[k], score) for k, score in over.items()]
        if not items:
            raise MemreproError("no segment or fact has a word of the query")
        return items

    def _recent(self, asked: Asked) -> list[Item]:
        """The last messages that memory holds and a search may give, whatever the query."""
        allowed = [
            m
            for m in self.hot
            if asked.channel in (None, m.channel) and (asked.until is None or m.at <= asked.until)
        ]
        # Their metadata is not held here.
        if not allowed or asked.where:
            raise MemreproError("there is no message that may be given")
        certain = not self.settings.keeps_all
        return [
            Item("hot", m.message_id, m.text, 0.0, m.at, (m.message_id,), certain=certain)
            for m in allowed[-self.settings.recent :]
        ]

    def _allowed(self, tier: str, asked: Asked) -> dict[str, int] | None:
        if _limit(asked) is not None:
            return None
        return self.journal.within(tier, asked.span, self.settings.time_by, asked.channel)

    def _meant(self, facts: Sequence[Fact], asked: Asked) -> list[Fact]:
        """Those of some facts that have a source within the query's limits."""
        allowed = self._allowed("cold", asked)
        return [f for f in facts if allowed is None or not allowed.keys().isdisjoint(f.sources)]

    def _fact_item(self, fact: Fact, score: float) -> Item:
        ids = self.journal.sources(fact.sources)
        return Item("cold", fact.fact_id, fact.text, float(score), fact.last_validated_at, ids)


def _limit(asked: Asked) -> int | None:
    """How many of the nearest are looked at; of a limited query all are."""
    return _NEAREST if asked.span is None and asked.channel is None else None


def _warm_item(segment: Segment, score: float) -> Item:
    key, text = segment.segment_id, segment.text
    return Item("warm", key, text, score, segment.end, segment.message_ids)


def _meets(span: TimeRange, messages: Sequence[Message]) -> bool:
    """Whether messages were said in a range, at least in part."""
    return day(messages[0].at) <= span.end and day(messages[-1].at) >= span.start


def _best(scores: dict[str, float]) -> dict[str, float]:
    """The highest, in order; of equals the smaller id."""
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST])
