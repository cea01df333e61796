"""What was extracted: grouped by name, session and round, and read by doc."""

from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Round, Session, whole_session

SESSION = Session("s1", (Round.from_texts("s1_1", user="u1"), Round.from_texts("s1_3", user="u2")))
OTHER = Session("s2", (Round.from_texts("s2_1", user="u3"),))
FOUND = [
    Extraction(SESSION.key, "s1_3", "gold", "fact", "third"),
    Extraction(SESSION.key, "s1_1", "gold", "fact", "first"),
    Extraction(SESSION.key, "s1_1", "gold", "fact", "second"),
    Extraction(SESSION.key, "s1_1", "nlp", "fact", "by rules"),
    Extraction(SESSION.key, "", "nlp", "keyphrase", "whole"),
    Extraction(SESSION.key, "s1_1", "nlp", "keyphrase", "part"),
    Extraction(OTHER.key, "s2_1", "gold", "fact", "of another"),
]
EXTRACTIONS = Extractions.grouped(FOUND)
(WHOLE,) = whole_session(SESSION)


BLANK = st.sampled_from(["", " ", "\n\t", " "])


@given(st.lists(st.sampled_from(["a", "b"]) | BLANK, max_size=8))
def test_blank_texts_are_dropped_and_the_others_keep_their_order(texts):
    found = Extractions.grouped(Extraction("k", "r", "x", "fact", text) for text in texts)
    kept = tuple(text for text in texts if text.strip())
    assert found.texts == ({"x-fact": {("k", "r"): kept}} if kept else {})


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
