import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memrepro.text.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" \n\t ", []),
        ("My boat leaks. Can it be fixed?  Help!", ["My boat leaks.", "Can it be fixed?", "Help!"]),
        ("I saw Dr. Abel at 7 a.m. in St. Ives.", ["I saw Dr. Abel at 7 a.m. in St. Ives."]),
        ("It cost $1,250.75 in all. Ouch!", ["It cost $1,250.75 in all.", "Ouch!"]),
        ("Thanks\nMy oar broke\r\n\r\nBye", ["Thanks", "My oar broke", "Bye"]),
        ("1. Paint the hull. It is red.\n2. Sail", ["1. Paint the hull.", "It is red.", "2. Sail"]),
        ("Torn \ud800 text.", ["Torn ? text."]),
    ],
)
def test_expected(text, expected):
    assert sentences(text) == expected


@given(st.text() | st.text(alphabet="aI .!?\n\"'(1)é😀\u200d\u2028"))
@example("1. 2. 3. go")
@example("...")
def test_only_white_space_is_lost(text):
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence and sentence == sentence.strip() for sentence in found)
    assert sentences(text) == found


@pytest.mark.parametrize(
    "unit", ["a", "word ", ".", "I am. ", "1. ", "😀.", '"a. ', "(", "\n", "A."]
)
def test_very_long(unit):
    text = unit * (100_000 // len(unit))
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
