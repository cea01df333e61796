"""A data set as tables: nothing is lost, and the qrels stay apart."""

from memrepro.memory import Dataset, Memory, Query, Round
from memrepro.prepared import load, load_qrels, save, save_qrels

ROUNDS = (
    Round("s1_1", "s1", "2023-05-01T10:00", {"user": "same text", "assistant": "yes"}),
    Round("s1_3", "s1", "2023-05-01T10:00", {"user": "same text"}),
    Round("s2_1", "s2", "", {"assistant": "ünïcode\nline"}),
)
DATASET = Dataset(
    "toy",
    {"m1": Memory("m1", ROUNDS), "m2": Memory("m2", ROUNDS[:1])},
    (
        Query("q1", "m1", "who?", "2023-05-02T10:00", "a kind"),
        Query("q2", "m2", "what?", "", "abstention"),
    ),
    {"session": {"q1": (("s1", "s2"), ("s2",))}, "round": {"q1": (("s1_3",),)}},
)


def test_round_trip(tmp_path):
    save(DATASET, tmp_path)
    loaded = load(tmp_path, "toy")
    assert loaded.memories == dict(DATASET.memories)
    assert loaded.queries == DATASET.queries
    assert loaded.qrels == {}


def test_no_gold_id_is_written_with_the_rounds(tmp_path):
    written = save(DATASET, tmp_path)
    assert {p.stem for p in written} == {"rounds", "texts", "queries"}


def test_each_text_is_stored_once(tmp_path):
    save(DATASET, tmp_path)
    import pandas as pd

    assert sorted(pd.read_parquet(tmp_path / "texts.parquet")["text"]) == [
        "same text",
        "yes",
        "ünïcode\nline",
    ]


def test_qrels_keep_parts_alternatives_levels_and_kinds(tmp_path):
    save_qrels(DATASET, tmp_path / "toy.parquet")
    kinds, gold = load_qrels(tmp_path / "toy.parquet", "session")
    assert kinds == {"q1": "a kind", "q2": "abstention"}
    assert gold == {"q1": (("s1", "s2"), ("s2",))}
    assert load_qrels(tmp_path / "toy.parquet", "round")[1] == {"q1": (("s1_3",),)}
