"""The scores of `text.keywords` are those of yake's own scoring, bit for bit."""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yake import KeywordExtractor

from memrepro.rehearse.prose import Prose
from memrepro.text.keywords import WORDS, scores

YAKE = KeywordExtractor(lan="en", n=WORDS, dedup_lim=1.0, top=1_000_000)
TOKENS = (
    "Lake Orta lake lakes NASA nasa the of a kayak Kayak red 3 2.5 B2B don't it's its this thi "
    "Ines state-of-the-art , . ; ! ( ) \" … — ' 'tis é 日本 Ωmega ΟΔΟΣ 😀 www.lake.org ab s bus"
)


def expected(text):
    return {phrase: float(score).hex() for phrase, score in YAKE.extract_keywords(text)}


@given(st.lists(st.sampled_from(TOKENS.split()), max_size=60).map(" ".join) | st.text())
@example("The state of the art of the state. The red lake of Orta, the Lake of Orta!")
def test_bits(text):
    found = scores(text, YAKE.stopword_set)
    assert {phrase: score.hex() for phrase, score in found.items()} == expected(text)


def test_long_texts():
    for seed in range(20):
        text = Prose(Random(seed)).text("user", 4000)
        assert len(found := scores(text, YAKE.stopword_set)) > 100
        assert {phrase: score.hex() for phrase, score in found.items()} == expected(text)


@pytest.mark.parametrize("text", ["", " . ", "the of", "3 4"])
def test_nothing(text):
    assert scores(text, YAKE.stopword_set) == {}
