import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Round, Session
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.keys.clues import (
    SPEAKER,
    EventClues,
    Recipe,
    read_event,
    read_session,
)

SESSION = Session(
    "s1",
    (
        Round.from_texts("r1", user="I love my new bike.", assistant="Great."),
        Round.from_texts("r2", user="Tomorrow we meet Ann at the lake.", assistant="Have fun."),
        Round.from_texts("r3", assistant="Are you there?"),
    ),
)


def extracted(*found):
    return Extractions.grouped(Extraction(SESSION.key, r, "gold", kind, t) for r, kind, t in found)


FOUND = extracted(
    ("r2", "fact", "The user meets Ann."),
    ("", "event", "A swim in the lake with Ann."),
    ("", "event", "Nothing in common here."),
    ("r3", "fact", "Of a round where the user says nothing."),
)


def test_utterances_are_the_docs_with_words_under_the_key_scheme():
    recipe = Recipe("round", "user_only", ("gold-fact",))
    found = read_session(SESSION, FOUND, recipe)
    assert [(c.doc_id, c.text, c.speakers) for c in found] == [
        ("r1", "I love my new bike.", ("user",)),
        ("r2", "Tomorrow we meet Ann at the lake.", ("user",)),
    ]
    assert [[e.text for e in c.events] for c in found] == [[], ["The user meets Ann."]]
    whole = read_session(SESSION, FOUND, Recipe("round", "concat", ("gold-fact",)))
    assert [c.speakers for c in whole] == [("user", "assistant")] * 2 + [("assistant",)]


def test_a_written_event_brings_its_own_entities_and_relations():
    told = EventClues(
        "The user will swim with Ann in June.",
        (("Ann", "Person/User/Organization"), ("June", "Time")),
        ((SPEAKER, "will swim with", 0), (0, "swims in", 1)),
    )
    text = told.written()
    of_session = extracted(("r2", "event", text))
    found = read_session(SESSION, of_session, Recipe("round", "user_only", ("gold-event",)))
    assert found[1].events == (told,)
    # Of several speakers none is the one: what relates the speaker is left out.
    assert read_event(text, (), ("user", "assistant")).relations == told.relations[1:]
    nobody = text.replace('[0, "swims in", 1]', '[5, "is", 0]')
    with pytest.raises(MemreproError, match="relation 'is' of event .* goes from 5 to 0"):
        read_event(nobody, (), ("user",))


def test_a_sessions_event_is_grounded_where_most_words_are_shared_else_in_the_first_round():
    found = read_session(SESSION, FOUND, Recipe("round", "user_only", ("gold-event",)))
    assert [[e.text for e in c.events] for c in found] == [
        ["Nothing in common here."],
        ["A swim in the lake with Ann."],
    ]


@pytest.mark.parametrize(
    ("granularity", "key_scheme", "said"),
    [
        ("turn", "user_only+graph:nlp-fact", "granularity 'turn'"),
        ("round", "user_only", "write base\\+graph:source-kind"),
        ("round", "concat+graph:nlp-thing", "unknown extraction 'nlp-thing'"),
    ],
)
def test_a_key_scheme_that_cannot_be_made_is_refused(granularity, key_scheme, said):
    with pytest.raises(MemreproError, match=said):
        Recipe.parse(granularity, key_scheme)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
told = texts.filter(str.strip)
ends = st.sampled_from([(0, 1), (1, 0), (SPEAKER, 1), (0, SPEAKER)])


@given(told, told, told, st.lists(st.tuples(ends, told), max_size=3))
def test_what_is_written_is_read(text, one, other, related):
    entities = ((one, "Place"), (other, "Other"))
    event = EventClues(text, entities, tuple((a, how, b) for (a, b), how in related))
    assert EventClues.read(event.written()) == event
    assert "\n" not in event.written()


@pytest.mark.parametrize(
    "rest", ["", '"a"}', '"a", "entities": [], "relations": [], "x": 1}',
             '"a", "entities": [1], "relations": []}', '"a", "entities": [], "relations": [["a"]]}',
             '"a", "entities": null, "relations": []}',
             '"a", "entities": [], "relations": [["a", "b", "c"]]}'],
)  # fmt: skip
def test_a_damaged_one_is_an_error(rest):
    with pytest.raises(MemreproError, match="cannot be read .*: extract it again"):
        EventClues.read('{"event": ' + rest)
