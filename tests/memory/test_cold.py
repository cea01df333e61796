"""COLD: facts, their history, and what is forgotten."""

import json
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.memory import cold
from memrepro.memory.journal import SCHEMA, any_word
from memrepro.memory.language.conflicts import by_rules
from memrepro.memory.language.fact import OPERATIONS, STATUSES, Candidate, Decision, Fact
from memrepro.retrieve.tiered.keys.lexical import Lexical

NOW = 100.0


def database():
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA.read_text())
    db.execute("BEGIN")
    return db


def said(text, source="s1", at=1.0, confidence=0.9):
    return Candidate(text, "preference", confidence, (source,), at)


def take(db, *candidates, decide=None):
    return cold.apply(db, candidates, NOW, decide or by_rules)


def everything(db):
    """All bytes of the three tables."""
    tables = ("facts", "fact_sources", "fact_history")
    return repr([db.execute(f"SELECT * FROM {table}").fetchall() for table in tables])


def entries(db):
    """(operation, fact id, text, sources) of each entry of the history."""
    rows = db.execute("SELECT operation, fact_id, text, sources FROM fact_history").fetchall()
    return [(*row, set(json.loads(sources))) for *row, sources in rows]


def texts(found):
    return sorted(one.text for one in found)


TEA, COFFEE = said("I prefer tea.", "s1", 1.0), said("I now prefer coffee.", "s2", 2.0)


def test_an_update_keeps_the_old_value():
    db = database()
    first, second = take(db, TEA, COFFEE)
    assert (first.operation, second.operation) == ("add", "update")
    assert (second.old_id, second.reason) == (first.fact_id, "another of a kind")
    (coffee,) = cold.facts(db)
    assert coffee == Fact(second.fact_id, COFFEE.text, "preference", 0.9, ("s2",), 2.0, 2.0,
                          "active")  # fmt: skip
    assert texts(cold.facts(db, "superseded")) == [TEA.text]
    assert cold.history(db, coffee.fact_id) == [first, second]
    assert cold.history(db, first.fact_id) == [first]
    assert cold.conflicts(db) == {"s1": 1}


def test_what_is_said_before_what_it_contradicts_comes_late():
    db = database()
    take(db, COFFEE)
    (late,) = take(db, TEA)
    assert late.operation == "late"
    assert texts(cold.facts(db)) == [COFFEE.text]
    assert texts(cold.facts(db, "superseded")) == [TEA.text]
    assert cold.conflicts(db) == {"s1": 1}
    (denial,) = take(db, said("I no longer prefer coffee.", "s0", 1.5))
    assert denial.operation == "late"
    assert texts(cold.facts(db)) == [COFFEE.text]


# A person's hand.


def test_a_denial_outlives_what_it_denied():
    db = database()
    dog, denial = said("I have a dog."), said("I don't have a dog any more.", "s2", 2.0)
    added, _ = take(db, dog, denial)
    touched = cold.forget_source(db, "s1")
    (fact,) = cold.facts(db)
    assert touched == [added.fact_id, fact.fact_id]
    assert (fact.text, fact.sources, fact.created_at) == (denial.text, ("s2",), 2.0)
    # The same words out of a segment that was cut anew do not bring the dog back.
    (late,) = take(db, dog._replace(sources=("s3",)))
    assert late.operation == "late"
    assert cold.facts(db) == [fact]


# Errors.


# Whatever comes, nothing is lost but what is forgotten.

SENTENCES = [
    "I prefer tea.", "I now prefer coffee.", "i PREFER tea", "I no longer prefer tea.",
    "I have a dog.", "I own a dog.", "I don't have a dog any more.", "I have two dogs.",
    "I live in Rome.", "I moved to Oslo.", "I used to live in Rome.", "I love jazz.",
    "I hate jazz.", "Ann: I prefer tea.", "I went for a walk.", "?",
]  # fmt: skip
SOURCES = ["s1", "s2", "s3"]
CANDIDATE = st.builds(
    Candidate,
    st.sampled_from(SENTENCES),
    st.just("fact"),
    st.sampled_from([0.5, 0.9]),
    st.lists(st.sampled_from(SOURCES), min_size=1, max_size=2).map(tuple),
    st.integers(0, 4).map(float),
)
BATCHES = st.lists(st.lists(CANDIDATE, max_size=5), max_size=5)
ANY = st.tuples(st.sampled_from(["add", "update", "delete", "noop"]), st.integers(0, 9))


def any_decider(choices):
    """Decide as drawn, about any active fact; 'add' where there is none or no choice is left."""
    left = iter(choices)

    def decide(candidate, facts):
        operation, place = next(left, ("add", 0))
        if operation == "add" or not facts:
            return Decision("add")
        ids = sorted(fact.fact_id for fact in facts)
        return Decision(operation, ids[place % len(ids)], "drawn")

    return decide


def consistent(db):
    """What must hold at all times."""
    held = {fact.fact_id: fact for status in STATUSES for fact in cold.facts(db, status)}
    for fact in held.values():
        own = cold.history(db, fact.fact_id)
        assert any(change.text == fact.text for change in own)
        assert fact.sources
        assert set(fact.sources) <= {source for change in own for source in change.sources}
        assert fact.created_at <= fact.last_validated_at
    for operation, fact_id, _, _ in entries(db):
        assert operation in (*OPERATIONS, "late", "edit", "merge")
        assert fact_id in held
    return held


@settings(max_examples=40)
@given(BATCHES, st.none() | st.lists(ANY, max_size=25))
def test_nothing_is_lost_whatever_is_decided(batches, choices):
    db = database()
    decide = by_rules if choices is None else any_decider(choices)
    for batch in batches:
        take(db, *batch, decide=decide)
        held = consistent(db)
    found = {change.text for fact in held.values() for change in cold.history(db, fact.fact_id)} \
        if batches else set()  # fmt: skip
    assert found == {candidate.text for batch in batches for candidate in batch}
    everything_said = {source for batch in batches for c in batch for source in c.sources}
    assert set().union(*(sources for *_, sources in entries(db))) == everything_said


@settings(max_examples=40)
@given(
    BATCHES, st.lists(ANY, max_size=25), st.lists(st.sampled_from(SOURCES), max_size=3), st.data()
)
def test_what_is_forgotten_is_gone_and_nothing_else(batches, choices, sources, data):
    db = database()
    for batch in batches:
        take(db, *batch, decide=any_decider(choices))
    while len(active := cold.facts(db)) > 1 and data.draw(st.booleans()):
        cold.merge(db, active[0].fact_id, active[1].fact_id, NOW, "drawn")
    kept = [c for batch in batches for c in batch]
    for source in sources:
        before = {f.fact_id: f for status in STATUSES for f in cold.facts(db, status)}
        touched = cold.forget_source(db, source)
        held = consistent(db)
        assert {key for key in {*before, *held} if before.get(key) != held.get(key)} <= {*touched}
        kept = [c._replace(sources=set(c.sources) - {source}) for c in kept]
        kept = [c for c in kept if c.sources]
        left = everything(db)
        assert repr(source) not in left and json.dumps(source) not in left  # noqa: PT018
        assert {text for _, _, text, _ in entries(db)} == {c.text for c in kept}
        assert {f.text for f in held.values()} <= {c.text for c in kept}
    if held := {f.fact_id for status in STATUSES for f in cold.facts(db, status)}:
        chosen = data.draw(st.sampled_from(sorted(held)))
        gone = cold.forget(db, chosen)
        assert set(consistent(db)) == held - set(gone)
        assert not any(one in everything(db) for one in gone)


def test_words_of_active_facts_are_weighed_as_the_measured_retriever_does():
    db = database()
    said_so = ["I like tea", "I like green tea and tea", "My cat is Miso", "a Café in Oslo"]
    ids = [
        take(db, said(text, f"s{i}"), decide=lambda *_: Decision("add"))[0].fact_id
        for i, text in enumerate(said_so)
    ]
    for query in ("tea", "a cafe", "CAT tea like", "nothing of it", "?!"):
        expected = Lexical(said_so).scores(query)
        found = cold.lexical(db, any_word(query))
        assert set(found) == {key for key, score in zip(ids, expected, strict=True) if score > 0}
        for key, score in zip(ids, expected, strict=True):
            assert found.get(key, 0.0) == pytest.approx(score)
    cold.edit(db, ids[2], "My dog is Rex", 30.0)
    assert set(cold.lexical(db, any_word("cat dog"))) == {ids[2]}
    cold.merge(db, ids[1], ids[0], 30.0, "alike")
    assert set(cold.lexical(db, any_word("tea"))) == {ids[1]}
    cold.forget(db, ids[1])
    assert cold.lexical(db, any_word("tea")) == {}
    left = cold.facts_of(db, [*ids, "none"])
    assert [fact.fact_id for fact in left] == sorted(ids[2:])
