from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.retrieve.associa.keys.entities import CATEGORIES, OTHER, mentions, names_in, relations

PERSON = "Person/User/Organization"


def test_the_nine_categories_are_the_papers():
    assert CATEGORIES == (
        "Object", "Person/User/Organization", "Resource", "Place", "Event", "Goal/Intention",
        "Time", "Interest/Skill", "Sentiment",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann bought a red car.", [("Ann", PERSON), ("red car", "Object")]),
        ("Ann joined an LGBTQ support group.", [("Ann", PERSON), ("LGBTQ support group", PERSON)]),
        ("Ann went to Paris.", [("Ann", PERSON), ("Paris", "Place")]),
        ("Ann watched a movie.", [("Ann", PERSON), ("movie", "Resource")]),
        ("Ann ran a charity race.", [("Ann", PERSON), ("charity race", "Event")]),
        ("Ann wants to open a bakery.", [("Ann", PERSON), ("open a bakery", "Goal/Intention")]),
        ("Ann loves pottery.", [("Ann", PERSON), ("pottery", "Interest/Skill")]),
        ("Ann felt happy.", [("Ann", PERSON), ("happy", "Sentiment")]),
        ("Ann saw the transgender stories.", [("Ann", PERSON), ("transgender stories", OTHER)]),
        ("I met Ann on 8 May 2023.", [("I", PERSON), ("Ann", PERSON), ("8 May 2023", "Time")]),
        ("It was so.", []),
    ],
)  # fmt: skip
def test_each_category(text, expected):
    assert [(m.text, m.category) for m in mentions(text, {"Ann"})] == expected


def test_relations_join_neighbours_of_one_clause():
    text = "Ann joined a choir; Bob painted a picture."
    found = mentions(text, {"Ann", "Bob"})
    assert [found[i].text for i in range(4)] == ["Ann", "choir", "Bob", "picture"]
    assert relations(text, found) == [(0, "Ann joined a choir", 1), (2, "Bob painted a picture", 3)]


@given(st.text(max_size=200), st.sets(st.sampled_from(["Ann", "Bob"])))
def test_any_text_gives_mentions_in_order_that_do_not_overlap(text, names):
    found = mentions(text, names)
    assert found == mentions(text, names)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(one.text.strip() and one.category in (*CATEGORIES, OTHER) for one in found)
    for head, said, tail in relations(text, found):
        assert tail == head + 1 < len(found)
        assert said.strip()
    names_in([text])
