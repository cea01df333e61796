"""Merging facts that say the same ("memory consolidation (merge related facts)").

328e0f776fdaed08, "Phase 3" and "Proactive memory curation is missing". The document names no
threshold for facts; its retrieval takes 0.65-0.70 as the least similarity of a match, which is far
too low here.
"""

import sqlite3
from collections.abc import Sequence

import numpy as np

from memrepro.memory.cold import facts, merge
from memrepro.memory.language.conflicts import apart
from memrepro.memory.language.fact import CATEGORIES, Change, Fact, Similar
from memrepro.memory.language.known import same_words

# Facts that are compared with all that stay, and of these how many at once.
_BLOCK, _OTHERS = 128, 1024


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
        similar: similarities of texts and others, symmetric; asked of few at once, so that memory
            grows with the facts and only time with their square.
        threshold: the least similarity of two facts that are merged.
        now: Unix seconds.
    """
    active = sorted(facts(connection), key=_fullest)
    into: list[tuple[Fact, Fact, float]] = []
    for category in CATEGORIES:
        held = [fact for fact in active if fact.category == category]
        nearest = merged([fact.text for fact in held], similar, threshold)
        into += [(held[place], held[to], alike) for place, (to, alike) in nearest.items()]
    return [
        merge(connection, to.fact_id, fact.fact_id, now, f"similarity {alike:.3f}")
        for fact, to, alike in sorted(into, key=lambda one: _fullest(one[0]))
    ]


def merged(
    texts: Sequence[str], similar: Similar, threshold: float
) -> dict[int, tuple[int, float]]:
    """Place of each text that is merged → that of the nearest before it that stays, and how near.

    Of texts that are equally near it is the first.

    Args:
        texts: of one category, fullest first.
        similar: as for `consolidate`.
        threshold: as for `consolidate`.
    """
    into: dict[int, tuple[int, float]] = {}
    if len(texts) < 2:
        return into
    staying: list[int] = []
    for start in range(0, len(texts), _BLOCK):
        block = range(start, min(start + _BLOCK, len(texts)))
        others = [*staying, *block]
        told, known = [texts[place] for place in block], [texts[other] for other in others]
        parts = [known[i : i + _OTHERS] for i in range(0, len(known), _OTHERS)]
        alike = np.concatenate([similar(part, told) for part in parts])
        for place in block:
            # Whether one stays is known when all before it are settled.
            near = alike[: len(staying) + place - start, place - start]
            rows = np.flatnonzero(near >= threshold)
            for row in rows[np.argsort(-near[rows], kind="stable")]:
                if others[row] not in into and not apart(texts[others[row]], texts[place]):
                    into[place] = others[row], float(near[row])
                    break
        staying += [place for place in block if place not in into]
    return into


def _fullest(fact: Fact) -> tuple[int, float, str]:
    return -len(same_words(fact.text)), -fact.last_validated_at, fact.fact_id
