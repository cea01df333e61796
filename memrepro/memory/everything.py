"""A search of all that was ever said: WARM and the archive as one, with COLD's facts beside them.

A message's score is `alpha` of its cosine and the rest of its BM25 (as a share of the best), with
shares of the messages before and after it, less of them the longer it is: an answer is often next
to the words that were asked for. A fact whose words are not its message's own (a model wrote it)
lends its cosine to the messages that say it. Words need no cosine, recency decides between near
ties alone, and where a fact was superseded the message that did so comes first.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles, normalise
from memrepro.encode.encoder import Encoder, Vectors
from memrepro.errors import MemreproError
from memrepro.memory.index import VectorIndex
from memrepro.memory.journal import Journal, day
from memrepro.memory.language.words import any_of, content_words, indexed
from memrepro.memory.settings import Asked, Item, Settings, calibrated
from memrepro.text.scripts import is_sign, words_and_pairs
from memrepro.text.temporal import time_range

# What a message of the days that a query names, and one marked as important, gets beside; recency
# breaks near ties.
_IN_TIME, _IMPORTANT, _RECENT, _HALF_LIFE_DAYS = 0.3, 0.1, 0.01, 30.0
# The share of a query's words that a certain answer by words has.
_SAID = 0.6
_USUAL = 5
# Segments whose vectors are read one by one rather than all.
_FEW = 200
# Pairs of signs that a single sign is looked for by.
_PAIRS = 200
_DAY = 86400.0


def require_vectors(journal: Journal, encoder: Encoder) -> None:
    """Refuse a search by vectors that are not all there, or of another encoder.

    Raises:
        MemreproError: saying which.
    """
    if journal.get("behind"):
        raise MemreproError("the vectors of some segments or facts are not there yet")
    if journal.get("encoder") != asdict(encoder.identity):
        raise MemreproError("the vectors are of another encoder by now: open the memory again")


@dataclass
class _Held:
    """What a search reads of each segment, in order of channel and time, n of them.

    Attributes:
        key: of the journal's state in which it was read.
        ids: of the segments.
        numbers, lengths, ends, importance: of each; a length in characters.
        channels: of each.
        near: of each distance d from 1, at [j], whether j + d is a neighbour.
        vectors: (n, dimension), of length one, or zero where there is none yet.
        facts: (m, dimension), of facts in other words, and the segments' places of each.
    """

    key: tuple[int, int] = (-1, -1)
    ids: list[str] = field(default_factory=list)
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    lengths: Doubles = field(default_factory=lambda: np.zeros(0))
    ends: Doubles = field(default_factory=lambda: np.zeros(0))
    importance: Doubles = field(default_factory=lambda: np.zeros(0))
    channels: list[str] = field(default_factory=list)
    near: list[NDArray[np.bool_]] = field(default_factory=list)
    vectors: Vectors | None = None
    facts: Vectors | None = None
    places: list[list[int]] = field(default_factory=list)


class Signals(NamedTuple):
    """What a score mixes, of n segments in order of channel and time, (n,) each.

    Attributes:
        ids: of the segments.
        cosines: with the query; None where only its words are looked for.
        words: BM25 as a share of the best.
        near: of each distance d from 1, at [j], whether j + d is a neighbour.
        lengths: in characters.
        in_time: whether it is of the days that the query names.
        beside: what is added to the mixture, for those days, importance and recency.
    """

    ids: Sequence[str]
    cosines: Doubles | None
    words: Doubles
    near: Sequence[NDArray[np.bool_]]
    lengths: Doubles
    in_time: NDArray[np.bool_]
    beside: Doubles


class _Successor(NamedTuple):
    old: str
    new: str


@dataclass
class Everything:
    """The search over one user's memory, which keeps what it has read until that changes."""

    journal: Journal
    index: VectorIndex
    encoder: Encoder
    settings: Settings
    in_time: Callable[[Callable[[], Vectors]], Vectors]
    _held: _Held = field(default_factory=_Held)

    def dense(self, asked: Asked) -> list[Item]:
        """By vectors and words together."""
        with self.journal.snapshot():
            return self._best(asked, self.signals(asked))

    def lexical(self, asked: Asked) -> list[Item]:
        """By words alone."""
        with self.journal.snapshot():
            held = self._read(vectors=False)
            if not (items := self._best(asked, self._signals(asked, held, None))):
                raise MemreproError("no segment has a word of the query")
            return items

    def signals(self, asked: Asked) -> Signals:
        """What the score of each segment mixes, whatever the shares; in a snapshot."""
        require_vectors(self.journal, self.encoder)
        held = self._read(vectors=True)
        if not held.ids or held.vectors is None:
            return self._signals(asked, held, np.zeros(0))
        query = self.in_time(lambda: normalise(self.encoder.encode([asked.query], "query"))[0])
        cosines = held.vectors @ query.astype(np.float32)
        if held.facts is not None:
            for cosine, places in zip(held.facts @ query, held.places, strict=True):
                cosines[places] = np.maximum(cosines[places], cosine)
        return self._signals(asked, held, cosines.astype(np.float64))

    def _read(self, *, vectors: bool) -> _Held:
        db, held = self.journal.connection, self._held
        key = (int(db.execute("PRAGMA data_version").fetchone()[0]), db.total_changes)
        if held.key != key:
            rows = db.execute(
                "SELECT s.segment_id, s.number, length(s.text), s.start, s.end, m.channel,"
                " m.importance"
                " FROM segments s JOIN segment_messages p USING (segment_id)"
                " JOIN messages m USING (message_id) WHERE s.tier = 'warm' AND p.place = 0"
                " ORDER BY m.channel, s.start, s.number"
            ).fetchall()
            ids, numbers, lengths, starts, ends, channels, important = (
                zip(*rows, strict=True) if rows else ((),) * 7
            )
            gap = self.settings.segmentation.gap_hours * 3600
            pauses = np.diff(np.array(starts, np.float64)) > gap
            changed = np.array([a != b for a, b in itertools.pairwise(channels)], bool)
            stretch = np.r_[0, np.cumsum(pauses | changed)] if rows else np.zeros(0, np.int64)
            reach = max(len(self.settings.near_cosines), len(self.settings.near_words))
            near = [stretch[:-d] == stretch[d:] for d in range(1, reach + 1)]
            self._held = _Held(
                key, list(ids), np.array(numbers, np.int64), np.array(lengths, np.float64),
                np.array(ends, np.float64),
                np.array(important, np.float64), list(channels), near,
            )  # fmt: skip
            if held.vectors is not None:
                self._held.vectors = self._vectors(held)
            held = self._held
        if vectors and held.vectors is None:
            held.vectors = self._vectors(_Held())
        if vectors and held.facts is None:
            held.facts, held.places = self._facts(held.ids)
        return held

    def _vectors(self, before: _Held) -> Vectors:
        """The vectors in order; those that were read before are not read again."""
        ids = self._held.ids
        known = dict(zip(before.ids, range(len(before.ids)), strict=True))
        found = np.zeros((len(ids), self.encoder.dimension), np.float32)
        rows = [(row, known[key]) for row, key in enumerate(ids) if key in known]
        if rows and before.vectors is not None:
            new, old = zip(*rows, strict=True)
            found[list(new)] = before.vectors[list(old)]
        missing = {key: row for row, key in enumerate(ids) if key not in known}
        if missing:
            few = len(missing) <= _FEW
            keys, vectors = (
                self.index.some("segments", list(missing)) if few else self.index.all("segments")
            )
            here = [row for row, key in enumerate(keys) if key in missing]
            found[[missing[keys[row]] for row in here]] = vectors[here]
        return found

    def _facts(self, ids: Sequence[str]) -> tuple[Vectors, list[list[int]]]:
        keys, vectors = self.index.all("facts")
        place = {key: row for row, key in enumerate(ids)}
        sources: dict[str, list[int]] = {}
        if keys:
            for fact_id, source in self.journal.connection.execute(
                "SELECT fact_id, source FROM fact_sources"
            ):
                if source in place:
                    sources.setdefault(fact_id, []).append(place[source])
        return vectors, [sources.get(key.partition(".")[0], []) for key in keys]

    def _signals(self, asked: Asked, held: _Held, cosines: Doubles | None) -> Signals:
        words = self._words(held, content_words(asked.query))
        in_time, age = self._in_time(asked, held), np.maximum(asked.now - held.ends, 0) / _DAY
        recent = _RECENT * 0.5 ** (age / _HALF_LIFE_DAYS)
        beside = _IMPORTANT * held.importance + recent + _IN_TIME * in_time
        return Signals(held.ids, cosines, words, held.near, held.lengths, in_time, beside)

    def _best(self, asked: Asked, signals: Signals) -> list[Item]:
        held, found, cosines = self._held, content_words(asked.query), signals.cosines
        scores, allowed = mixed(signals, self.settings), self._allowed(asked, held)
        if cosines is None:
            allowed &= scores > 0
        scores += signals.beside
        rows = np.flatnonzero(allowed)
        rows = rows[np.argsort(-scores[rows], kind="stable")][: asked.k or _USUAL]
        least = self._least(asked)
        items = []
        segments = {s.segment_id: s for s in self.journal.segments_of([held.ids[i] for i in rows])}
        told = self._active_facts([held.ids[i] for i in rows])
        for row in rows:
            segment = segments[held.ids[row]]
            cosine = float(cosines[row]) if cosines is not None else None
            certain = (cosine or 0.0) >= least or bool(signals.in_time[row])
            certain = certain or covers(found, segment.text)
            items.append(
                Item(
                    "warm", segment.segment_id, segment.text, float(scores[row]), segment.end,
                    segment.message_ids, cosine, told.get(segment.segment_id, ()), certain,
                )
            )  # fmt: skip
        return self._newest_first(items)[: asked.k or _USUAL]

    def _in_time(self, asked: Asked, held: _Held) -> NDArray[np.bool_]:
        """Which segments are of the days that a query names.

        Where nothing is, "in June" may be meant as it was when something was last said.
        """
        found = np.zeros(len(held.ids), bool)
        if not asked.span or not held.ids:
            return found
        zone = self.settings.zone
        last = time_range(asked.query, day(float(held.ends.max()), zone))
        for span in (asked.span, last):
            if span and not found.any():
                meant = self.journal.within("warm", span, self.settings.time_by, None, zone)
                found = np.isin(held.numbers, list(meant.values()))
        return found

    def _words(self, held: _Held, found: list[str]) -> Doubles:
        """BM25 of each segment as a share of the best."""
        scores = np.zeros(len(held.ids))
        terms = [*found, *(pair for word in found if is_sign(word) for pair in self._pairs(word))]
        rows = self.journal.connection.execute(
            "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?", (any_of(terms),)
        ).fetchall()
        if rows:
            order = np.argsort(held.numbers)
            numbers, values = (np.array(one) for one in zip(*rows, strict=True))
            scores[order[np.searchsorted(held.numbers[order], numbers)]] = values
            scores /= max(scores.max(), 1e-12)
        return scores

    def _pairs(self, sign: str) -> list[str]:
        """The pairs of signs that have one, such as a word of a single sign; the most frequent."""
        texts = self.journal.connection.execute(
            "SELECT text FROM words WHERE text LIKE ?", (f"%{sign}%",)
        )
        pairs = (one for (text,) in texts for one in words_and_pairs(text) if sign in one)
        return [pair for pair, _ in Counter(pairs).most_common(_PAIRS)]

    def _least(self, asked: Asked) -> float:
        if asked.threshold is not None:
            return asked.threshold
        return self.settings.threshold or calibrated(self.encoder.identity.model)

    def _allowed(self, asked: Asked, held: _Held) -> NDArray[np.bool_]:
        """Which segments a search may give."""
        allowed = np.ones(len(held.ids), bool)
        if asked.channel is not None:
            allowed &= np.array([one == asked.channel for one in held.channels], bool)
        if asked.until is not None:
            allowed &= held.ends <= asked.until
        for name, value in asked.where.items():
            rows = self.journal.connection.execute(
                "SELECT segment_id FROM segment_messages JOIN metadata USING (message_id)"
                " JOIN json_each(content) j ON j.key = ?1"
                # A number or true may be asked for as text, as the command line does.
                " WHERE j.value = ?2 OR CAST(j.value AS TEXT) = ?2"
                " OR (j.type = ?2 AND ?2 IN ('true', 'false'))",
                (name, value),
            )
            having = {key for (key,) in rows}
            allowed &= np.array([key in having for key in held.ids], bool)
        return allowed

    def _active_facts(self, ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Segment id → the active facts that it says."""
        found: dict[str, tuple[str, ...]] = {}
        for source, fact_id in self.journal.connection.execute(
            "SELECT source, fact_id FROM fact_sources JOIN facts USING (fact_id)"
            " WHERE status = 'active' AND source IN (SELECT value FROM json_each(?))"
            " ORDER BY source, fact_id",
            (json.dumps(ids),),
        ):
            found[source] = (*found.get(source, ()), fact_id)
        return found

    def _newest_first(self, items: list[Item]) -> list[Item]:
        """Before a message whose fact was superseded the one that did so, if it says the answer."""
        given = {item.item_id: item for item in items}
        for old, new in self._successors(list(given)):
            if old not in given or old == new:
                continue
            if new in given:
                first = given[new]
            elif segments := self.journal.segments_of([new]):
                one = segments[0]
                first = replace(
                    given[old], item_id=one.segment_id, text=one.text, at=one.end,
                    message_ids=one.message_ids, cosine=None,
                    facts=self._active_facts([one.segment_id]).get(one.segment_id, ()),
                )  # fmt: skip
            else:
                continue
            places = {item.item_id: place for place, item in enumerate(items)}
            if places.get(new, len(items)) > places[old]:
                items = [item for item in items if item.item_id != new]
                at = [item.item_id for item in items].index(old)
                items.insert(at, replace(first, score=max(first.score, given[old].score)))
                given[new] = items[at]
        return items

    def _successors(self, ids: Sequence[str]) -> list[_Successor]:
        """Segments whose fact was superseded, and a segment that says the fact that holds now."""
        rows = self.journal.connection.execute(
            "WITH RECURSIVE line (source, fact_id, status, successor) AS ("
            " SELECT source, fact_id, status, successor FROM fact_sources JOIN facts"
            " USING (fact_id) WHERE status = 'superseded' AND successor <> ''"
            " AND source IN (SELECT value FROM json_each(?))"
            " UNION SELECT line.source, f.fact_id, f.status, f.successor FROM line JOIN facts f"
            " ON f.fact_id = line.successor)"
            " SELECT line.source, s.source FROM line JOIN fact_sources s USING (fact_id)"
            " WHERE status = 'active' ORDER BY line.source, s.source DESC",
            (json.dumps(ids),),
        )
        return [_Successor(*row) for row in rows]


def mixed(signals: Signals, settings: Settings) -> Doubles:
    """Cosines and words of each segment and its neighbours, by the settings' shares."""
    alpha = settings.alpha if signals.cosines is not None else 0.0
    scores = (1 - alpha) * _with_near(signals.words, signals, settings, settings.near_words)
    if signals.cosines is not None:
        near = _with_near(signals.cosines, signals, settings, settings.near_cosines)
        scores += alpha * near
    return scores


def _with_near(
    scores: Doubles, signals: Signals, settings: Settings, shares: Sequence[float]
) -> Doubles:
    """Each score with shares of its neighbours'; a long text says by itself what it is about."""
    found = scores.copy()
    brief = np.minimum(1.0, settings.near_length / np.maximum(signals.lengths, 1.0))
    for distance, (share, joined) in enumerate(zip(shares, signals.near, strict=False), 1):
        found[:-distance] += share * scores[distance:] * joined * brief[:-distance]
        found[distance:] += share * scores[:-distance] * joined * brief[distance:]
    return found


def covers(query: Sequence[str], text: str) -> bool:
    """Whether a text has most of a query's words, at least one, whatever their endings."""
    said = set(words_and_pairs(indexed(text)))
    stems = {word[: max(4, len(word) - 3)] for word in said}
    hits = sum(
        word in said or word[: max(4, len(word) - 3)] in stems or (is_sign(word) and word in text)
        for word in query
    )
    return hits >= max(_SAID * len(query), 1)


def says_all(query: Sequence[str], text: str) -> bool:
    """Whether a text has every word of a query, at least one; an s at its end makes no other."""
    said = {word.removesuffix("s") for word in words_and_pairs(indexed(text))}
    return bool(query) and all(
        word.removesuffix("s") in said or (is_sign(word) and word in text) for word in query
    )
