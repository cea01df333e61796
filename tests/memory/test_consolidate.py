"""Merging facts that say the same."""

import sqlite3

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.memory import cold
from memrepro.memory.consolidate import consolidate
from memrepro.memory.journal import SCHEMA
from memrepro.memory.language.conflicts import apart
from memrepro.memory.language.fact import CATEGORIES, Candidate, Decision
from memrepro.memory.language.known import same_words


def add(*_):
    return Decision("add")


def similar(texts, others):
    """By the words that two texts share (Jaccard)."""
    rows, columns = (
        [set(text.casefold().strip(".").split()) for text in some] for some in (texts, others)
    )
    return np.array([[len(a & b) / len(a | b) for b in columns] for a in rows])


def memory(*told):
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA.read_text())
    db.execute("BEGIN")
    for text, source, at in told:
        cold.apply(db, [Candidate(text, "fact", 0.9, (source,), at)], at, add)
    return db


DOG = [("I have a dog.", "s1", 1.0), ("I have a dog named Rex.", "s2", 2.0),
       ("I walk daily.", "s3", 3.0), ("I have a dog", "s4", 4.0)]  # fmt: skip


def test_the_fullest_stays_with_the_sources_of_all_and_the_old_in_its_history():
    db = memory(*DOG)
    changes = consolidate(db, similar, 0.6, 9.0)
    assert [(c.operation, c.text, c.changed_at) for c in changes] == [
        ("merge", "I have a dog", 9.0),
        ("merge", "I have a dog.", 9.0),
    ]
    rex, walk = sorted(cold.facts(db), key=lambda fact: fact.text)
    assert (rex.text, rex.sources) == ("I have a dog named Rex.", ("s1", "s2", "s4"))
    assert (rex.created_at, rex.last_validated_at) == (1.0, 4.0)
    assert walk.text == "I walk daily."
    assert {c.text for c in cold.history(db, rex.fact_id)} == {t for t, _, _ in DOG} - {walk.text}
    assert [f.text for f in cold.facts(db, "merged")] == [
        f.text for f in sorted(cold.facts(db, "merged"), key=lambda f: f.fact_id)
    ]
    # What was merged was not contradicted.
    assert cold.conflicts(db) == {}


WORDS = st.lists(st.sampled_from(["red", "old", "big", "boat", "tea", "no", "Rome", "7"]),
                 min_size=1, max_size=4).map(" ".join)  # fmt: skip
TOLD = st.lists(st.tuples(WORDS, st.sampled_from(["s1", "s2", "s3"]), st.integers(0, 3)),
                max_size=8, unique=True)  # fmt: skip


def state(db):
    """What the facts are, without the numbers of their history."""
    return sorted(map(repr, (f for s in ("active", "merged") for f in cold.facts(db, s))))


@settings(max_examples=30)
@given(TOLD, st.randoms(), st.sampled_from([0.2, 0.5, 0.9]))
def test_order_does_not_count_nothing_is_lost_and_twice_is_once(told, random, threshold):
    mixed = random.sample(told, len(told))
    first, second = memory(*told), memory(*mixed)
    for db in (first, second):
        consolidate(db, similar, threshold, 9.0)
    assert state(first) == state(second)
    assert consolidate(first, similar, threshold, 9.0) == []
    active = cold.facts(first)
    line = {c.text for fact in active for c in cold.history(first, fact.fact_id)}
    assert line == {text for text, _, _ in told}
    assert {s for fact in active for s in fact.sources} == {s for _, s, _ in told}


def plain(db, threshold):
    """(what stays, what is merged into it, how alike they are), by one matrix of all facts."""
    held = sorted(
        cold.facts(db), key=lambda f: (-len(same_words(f.text)), -f.last_validated_at, f.fact_id)
    )
    alike = similar([f.text for f in held], [f.text for f in held])
    staying, pairs = [], []
    for place, fact in enumerate(held):
        near = [
            other
            for other in staying
            if alike[other, place] >= threshold
            and held[other].category == fact.category
            and not apart(held[other].text, fact.text)
        ]
        if near:
            best = max(near, key=lambda other: (alike[other, place], -other))
            pairs.append((held[best].fact_id, fact.fact_id, f"similarity {alike[best, place]:.3f}"))
        else:
            staying.append(place)
    return pairs


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(WORDS, st.sampled_from(CATEGORIES[:2]), st.integers(0, 3)),
        max_size=30,
        unique=True,
    ),
    st.integers(1, 7),
    st.sampled_from([0.2, 0.5, 0.9]),
)
def test_block_by_block_is_the_same_as_all_at_once(told, block, threshold):
    db = memory()
    for text, category, at in told:
        cold.apply(db, [Candidate(text, category, 0.9, ("s1",), at)], at, add)
    expected = plain(db, threshold)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memrepro.memory.consolidate._BLOCK", block)
        patch.setattr("memrepro.memory.consolidate._OTHERS", block + 1)
        changes = consolidate(db, similar, threshold, 9.0)
    assert [(c.fact_id, c.old_id, c.reason) for c in changes] == expected
