from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.text import nlp
from memrepro.text.facts import user_facts
from memrepro.text.nlp import keyphrases, summary
from memrepro.text.sentences import sentences

SESSION = """Hi! My sister Ines lent me her kayak last May, and I paddled it across Lake Orta.
By the way, I've been learning to roll the kayak since June, can you recommend a roll drill?
What is a good dry bag for a kayak trip? I'd like to know the price of a dry bag.
I am allergic to neoprene, so I wear a wool suit. Thanks for those tips!
I'll definitely try those drills. A kayak trip with a dry bag sounds great."""

FACTS = [
    "My sister Ines lent me her kayak last May, and I paddled it across Lake Orta.",
    "I've been learning to roll the kayak since June",
    "I am allergic to neoprene, so I wear a wool suit.",
]

WORDS = (
    "I we my I'm I've I'd I'll was have bought like this it. went? and by the way, boat. Yes! "
    "\n can you Is 3. 日本 é 😀 \ud800 \x00 \u2028 - …"
)
TEXTS = st.text() | st.lists(st.sampled_from(WORDS.split(" "))).map(" ".join)


def squeezed(text):
    return " ".join(text.encode("utf-8", "replace").decode().split())


def test_session():
    assert user_facts(SESSION) == FACTS
    assert summary(SESSION) == (
        "By the way, I've been learning to roll the kayak since June, can you recommend a roll "
        "drill? What is a good dry bag for a kayak trip? I'd like to know the price of a dry bag."
    )
    found = keyphrases(SESSION)
    assert found[0] == "lake orta"
    assert {"dry bag", "kayak", "drill"} <= set(found)


@pytest.mark.parametrize(
    "fact",
    [
        "I moved to Turin in 2019.", "i bought a red bicycle yesterday",
        "I'm left-handed and short.", "I can't eat peanuts at all.",
        "I’ve had two cats since March.", "We got married in a barn.",
        "My dog Bruno is nine years old.", "Swimming helps me sleep at night.",
        "I'll visit my aunt in Oslo next week.", 'I have read "Who are you?" many times.',
    ],
)  # fmt: skip
def test_a_fact(fact):
    assert user_facts(fact) == [fact]


@pytest.mark.parametrize(
    "text",
    [
        "  \n ",
        "I moved.",
        "Did I tell you that I moved to Turin?",
        "Write a letter saying that I was ill last week.",
        "I'll definitely try those recipes tonight.",
        "I'm looking for some advice on hiking boots.",
        "I had no idea that whales sing.",
        "We can all make a difference.",
        "If there is more, let me know soon.",
        "Whales are larger than any dinosaur.",
        "I walked " + "far and " * 80 + "home.",
    ],
)
def test_not_a_fact(text):
    assert user_facts(text) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Also, by the way, I sold the boat in May.", "I sold the boat in May."),
        ("I sold the boat and was wondering if taxes apply.", "I sold the boat"),
        ("2. I sold the boat, what should I do now?", "I sold the boat"),
        ("I sold the boat. I SOLD the  boat.", "I sold the boat."),
    ],
)
def test_cut_to_the_fact(text, fact):
    assert user_facts(text) == [fact]


def test_keyphrases_add_words():
    assert keyphrases("High blood pressure. High blood pressure!") == ["high blood pressure"]
    words = [f"{a}{b}lm" for a in "bcdfghjk" for b in "aeiou"]
    assert len(keyphrases(". ".join(words))) == nlp.KEYPHRASES


@given(TEXTS)
def test_properties(text):
    facts, phrases, told = user_facts(text), keyphrases(text), summary(text)
    whole = squeezed(text)
    assert all(squeezed(fact) in whole for fact in facts)
    if len(text) <= nlp.SENTENCE_CHARACTERS:
        found = dict.fromkeys(sentences(text))
        sizes = range(nlp.SUMMARY_SENTENCES + 1)
        assert told in {" ".join(some) for n in sizes for some in combinations(found, n)}
    assert len({f.casefold() for f in facts}) == len(facts)
    assert len(set(phrases)) == len(phrases) <= nlp.KEYPHRASES
    assert all(phrase == phrase.lower().strip() != "" for phrase in phrases)
    keyphrases(SESSION)  # no state between texts
    assert (user_facts(text), keyphrases(text), summary(text)) == (facts, phrases, told)
