"""The one real instance: ranks on a memory of our own, counted by hand, and how they are told."""

from types import SimpleNamespace

import pytest

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.files import paths
from memrepro.files.atomic import write_table
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


def test_a_round_counts_as_its_session_by_the_best_of_them(table):
    for one in table.itertuples():
        assert one.rank_by_session <= one.rank
        assert one.rank_by_session == one.rank or one.level == "round"


def test_the_table_tells_ranks_and_their_file(table, tmp_path, monkeypatch):
    runs = SimpleNamespace(profile="open")
    monkeypatch.setattr(paths, "latency", lambda *_: tmp_path / "one.parquet")
    (missing,) = instance.cells(runs, {})
    assert missing.verdict == "not run"
    write_table(tmp_path / "one.parquet", table)
    told = {(c.row, c.column): c for c in instance.cells(runs, {})}
    assert len({row for row, _ in told}) == len(table)  # no two designs have one name
    cell = told["Value = round, K = the assistant's words", WORDS]
    assert (cell.reproduced, cell.n, cell.sources) == ("1 of 4", 1, "file latency/one.parquet")
    assert told["Value = round, K = nlp-event (replace)", WORDS].reproduced == "not found"
