"""What was extracted: grouped by name, session and round, and read by doc."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Round, Session, whole_session
from memrepro.errors import MemreproError

SESSION = Session("s1", (Round.of("s1_1", user="u1"), Round.of("s1_3", user="u2")))
OTHER = Session("s2", (Round.of("s2_1", user="u3"),))
FOUND = [
    Extraction(SESSION.key, "s1_3", "gold", "fact", "third"),
    Extraction(SESSION.key, "s1_1", "gold", "fact", "first"),
    Extraction(SESSION.key, "s1_1", "gold", "fact", "second"),
    Extraction(SESSION.key, "s1_1", "nlp", "fact", "by rules"),
    Extraction(SESSION.key, "", "nlp", "keyphrase", "whole"),
    Extraction(SESSION.key, "s1_1", "nlp", "keyphrase", "part"),
    Extraction(OTHER.key, "s2_1", "gold", "fact", "of another"),
]
EXTRACTIONS = Extractions.of(FOUND)
FIRST, SECOND = SESSION.rounds
(WHOLE,) = whole_session(SESSION)


BLANK = st.sampled_from(["", " ", "\n\t", " "])


@given(st.lists(st.sampled_from(["a", "b"]) | BLANK, max_size=8))
def test_blank_texts_are_dropped_and_the_others_keep_their_order(texts):
    found = Extractions.of(Extraction("k", "r", "x", "fact", text) for text in texts)
    kept = tuple(text for text in texts if text.strip())
    assert found.texts == ({"x-fact": {("k", "r"): kept}} if kept else {})


def test_a_rounds_are_its_own():
    assert EXTRACTIONS.of_doc("gold-fact", SESSION, FIRST) == ("first", "second")
    assert EXTRACTIONS.of_doc("gold-fact", SESSION, SECOND) == ("third",)
    assert EXTRACTIONS.of_doc("nlp-keyphrase", SESSION, SECOND) == ()


def test_a_sessions_are_of_the_whole_or_else_of_its_rounds_in_order():
    assert EXTRACTIONS.of_doc("nlp-keyphrase", SESSION, WHOLE) == ("whole",)
    assert EXTRACTIONS.of_doc("gold-fact", SESSION, WHOLE) == ("first", "second", "third")
    assert EXTRACTIONS.of_doc("nlp-fact", OTHER, whole_session(OTHER)[0]) == ()


def docs(name, session):
    return [(doc.round_id, dict(doc.fields)) for doc in EXTRACTIONS.as_docs(name, session)]


def test_as_docs_they_stand_one_by_one_the_sessions_first():
    assert docs("gold-fact", SESSION) == [
        ("s1_1#gold-fact-1", {"text": "first"}),
        ("s1_1#gold-fact-2", {"text": "second"}),
        ("s1_3#gold-fact-1", {"text": "third"}),
    ]
    assert docs("nlp-keyphrase", SESSION) == [
        ("s1#nlp-keyphrase-1", {"text": "whole"}),
        ("s1_1#nlp-keyphrase-1", {"text": "part"}),
    ]
    assert docs("nlp-keyphrase", OTHER) == []


def test_docs_have_their_own_ids_where_a_round_has_its_sessions():
    session = Session("d", (Round.of("d", text="document"),))
    places = [("", "whole"), ("d", "part"), ("d", "another")]
    found = Extractions.of(Extraction(session.key, r, "nlp", "fact", t) for r, t in places)
    made = found.as_docs("nlp-fact", session)
    assert [(doc.round_id, doc.fields["text"]) for doc in made] == [
        ("d#nlp-fact-1", "whole"),
        ("d#nlp-fact-2", "part"),
        ("d#nlp-fact-3", "another"),
    ]


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.of_name("nlp-event"),
        lambda found: found.of_doc("nlp-event", SESSION, FIRST),
        lambda found: found.as_docs("nlp-event", SESSION),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known(ask):
    with pytest.raises(MemreproError, match="no extraction 'nlp-event': known are gold-fact, nlp-"):
        ask(EXTRACTIONS)
    with pytest.raises(MemreproError, match="no extraction 'nlp-event': known are none"):
        ask(Extractions.of([]))
