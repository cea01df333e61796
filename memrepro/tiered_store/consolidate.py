"""Merging facts that say the same ("memory consolidation (merge related facts)").

328e0f776fdaed08, "Phase 3" and "Proactive memory curation is missing". The document names no
threshold for facts; its retrieval takes 0.65-0.70 as the least similarity of a match, which is far
too low here.
"""

import sqlite3

from memrepro.errors import MemreproError
from memrepro.tiered_store.cold import facts, merge
from memrepro.tiered_store.conflicts import apart, same_words
from memrepro.tiered_store.fact import Change, Fact, Similar


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
        similar: similarities of n texts, symmetric, [n, n]; memory grows with n².
        threshold: the least similarity of two facts that are merged.
        now: Unix seconds.

    Raises:
        MemreproError: if the similarities are not of the shape [n, n].
    """
    held = sorted(facts(connection), key=_fullest)
    if len(held) < 2:
        return []
    alike = similar([fact.text for fact in held])
    if alike.shape != (len(held), len(held)):
        raise MemreproError(
            f"the similarities of {len(held)} facts have the shape {alike.shape}: it must be "
            f"({len(held)}, {len(held)})"
        )
    staying: list[int] = []
    changes = []
    for place, fact in enumerate(held):
        near = [
            other
            for other in staying
            if alike[other, place] >= threshold
            and held[other].category == fact.category
            and not apart(held[other].text, fact.text)
        ]
        if not near:
            staying.append(place)
            continue
        best = max(near, key=lambda other: (alike[other, place], -other))
        reason = f"similarity {alike[best, place]:.3f}"
        changes.append(merge(connection, held[best].fact_id, fact.fact_id, now, reason))
    return changes


def _fullest(fact: Fact) -> tuple[int, float, str]:
    return -len(same_words(fact.text)), -fact.last_validated_at, fact.fact_id
