"""The one real instance: ranks on a memory of our own, counted by hand, and how they are told."""

import pytest

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.papers.longmemeval import instance

WORDS = "BM25, words in lower case"
MEMORY = Memory.from_rounds(
    "m",
    ("near", Round.from_texts("near_1", user="my boat is blue", assistant="What a boat!")),
    ("gold", Round.from_texts("gold_1", user="nice weather", assistant="It is.")),
    (
        "gold",
        Round.from_texts("gold_3", user="we called her Kittiwake", assistant="A name for a boat."),
    ),
    ("far", Round.from_texts("far_1", user="soup again", assistant="Enjoy it.")),
)
GOLD = {"session": {"q": (("gold",),)}, "round": {"q": (("gold_3",),)}}
PIECE = Piece(MEMORY, (Query("q", "m", "name of my boat", "", "single-session-user"),), GOLD)


@pytest.fixture(scope="module")
def table():
    key = {s.session_id: s.key for s in MEMORY.sessions}
    said = [
        Extraction(key["gold"], "gold_3", "nlp", "fact", "the boat has the name Kittiwake"),
        *(Extraction(key["far"], "far_1", "nlp", kind, "soup") for kind in ("keyphrase", "event")),
        Extraction(key["near"], "", "nlp", "summary", "a blue boat"),
    ]
    return instance.ranks(PIECE, Extractions.grouped(said), [WORDS])


def rank(table, level, scheme):
    ((found,),) = table[(table["level"] == level) & (table["key_scheme"] == scheme)][
        ["rank"]
    ].to_numpy()
    return found


def test_every_design_is_ranked_on_both_levels(table):
    assert len(table) == sum(map(len, instance.DESIGNS.values()))
    assert table.groupby("level")["docs"].unique().map(list).to_dict() == {
        "session": [3], "round": [4],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("level", "scheme", "at"),
    [
        ("round", "assistant_only", 1),  # 'name' and 'boat', against 'boat' alone
        ("round", "user_only+replace:nlp-fact", 1),  # the only key
        ("round", "user_only+replace:nlp-event", 0),  # nothing was taken from it
        ("session", "user_only+replace:nlp-summary", 0),
        ("session", "user_only+replace:nlp-fact", 1),
    ],
)
def test_the_rank_is_that_of_the_gold(table, level, scheme, at):
    assert rank(table, level, scheme) == at
