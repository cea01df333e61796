"""Merging facts that say the same ("memory consolidation (merge related facts)").

328e0f776fdaed08, "Phase 3" and "Proactive memory curation is missing". The document names no
threshold for facts; its retrieval takes 0.65-0.70 as the least similarity of a match, which is far
too low here.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memrepro.errors import MemreproError
from memrepro.memory.cold import facts, merge
from memrepro.memory.fact import Change, Fact, Similar
from memrepro.memory.language.conflicts import apart, same_words

# Facts that are compared with as many others at once.
_BLOCK = 1024


class Nearest(NamedTuple):
    """The text that another is merged into.

    Attributes:
        place: its own.
        similarity: of the two.
    """

    place: int
    similarity: float


def consolidate(
    connection: sqlite3.Connection, similar: Similar, threshold: float, now: float
) -> list[Change]:
    """Merge active facts of one category that are alike and not `conflicts.apart`.

    Facts are taken fullest first (most words, then last validated, then by id). Each is merged into
    the most similar one of those that stay so far, or stays itself; so what stays is in pairs below
    the threshold or apart, a second run merges nothing, and the order of insertion does not count.
    No fact is merged by way of a third.

    Args:
        connection: in a transaction.
        similar: similarities of texts and others, symmetric; asked for `_BLOCK` by `_BLOCK`, so
            that memory grows with the facts and only time with their square.
        threshold: the least similarity of two facts that are merged.
        now: Unix seconds.

    Raises:
        MemreproError: if similarities of n texts and m others are not of the shape [n, m].
    """
    held = sorted(facts(connection), key=_fullest)
    places: dict[str, list[int]] = defaultdict(list)
    for place, fact in enumerate(held):
        places[fact.category].append(place)
    into = {}
    for of_one in places.values():
        for place, best in merged([held[p].text for p in of_one], similar, threshold).items():
            into[of_one[place]] = best._replace(place=of_one[best.place])
    return [
        merge(
            connection,
            held[best.place].fact_id,
            held[place].fact_id,
            now,
            f"similarity {best.similarity:.3f}",
        )
        for place, best in sorted(into.items())
    ]


def merged(texts: Sequence[str], similar: Similar, threshold: float) -> dict[int, Nearest]:
    """Place of each text that is merged → the nearest of the texts before it that stay.

    Of texts that are equally near it is the first.

    Args:
        texts: of one category, fullest first.
        similar: as for `consolidate`.
        threshold: as for `consolidate`.

    Raises:
        MemreproError: as `consolidate`.
    """
    into: dict[int, Nearest] = {}
    staying: list[int] = []
    if len(texts) < 2:
        return into
    for start in range(0, len(texts), _BLOCK):
        block = range(start, min(start + _BLOCK, len(texts)))
        for first in range(0, len(staying), _BLOCK):
            others = staying[first : first + _BLOCK]
            alike = _similarities(texts, others, block, similar)
            for column in np.flatnonzero((alike >= threshold).any(axis=0)):
                _merge(into, texts, block[column], others, alike[:, column], threshold)
        # Whether one stays is known when all before it are settled.
        alike = _similarities(texts, block, block, similar)
        here: list[int] = []
        for place in block:
            near = alike[[other - start for other in here], place - start]
            _merge(into, texts, place, here, near, threshold)
            if place not in into:
                here.append(place)
        staying += here
    return into


def _merge(
    into: dict[int, Nearest],
    texts: Sequence[str],
    place: int,
    others: Sequence[int],
    alike: NDArray[np.floating],
    threshold: float,
) -> None:
    """Note the nearest of others that is near enough, not apart, and nearer than those before."""
    near = alike >= threshold
    if place in into:
        near &= alike > into[place].similarity
    rows = np.flatnonzero(near)
    for row in rows[np.argsort(-alike[rows], kind="stable")]:
        if not apart(texts[others[row]], texts[place]):
            into[place] = Nearest(others[row], float(alike[row]))
            return


def _similarities(
    texts: Sequence[str], rows: Sequence[int], columns: Sequence[int], similar: Similar
) -> NDArray[np.floating]:
    alike = similar([texts[row] for row in rows], [texts[column] for column in columns])
    if alike.shape != (len(rows), len(columns)):
        raise MemreproError(
            f"the similarities of {len(rows)} facts and {len(columns)} others have the shape "
            f"{alike.shape}: it must be ({len(rows)}, {len(columns)})"
        )
    return alike


def _fullest(fact: Fact) -> tuple[int, float, str]:
    return -len(same_words(fact.text)), -fact.last_validated_at, fact.fact_id
