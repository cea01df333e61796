"""LongMemEval's time ranges: which questions got one, and how often it leaves gold out."""

import pytest

from memrepro.core.extractions import DatedEvent, QueryRange
from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.core.prepared import save_dates, save_qrels, save_ranges
from memrepro.files import paths
from memrepro.papers.longmemeval import time
from memrepro.retrieve.timeaware.retrievers import TimeFiltered


@pytest.fixture
def times(tmp_path, monkeypatch):
    """Four questions of one memory, with ranges and dates of their own."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    memory = Memory.from_rounds(
        "m", *((s, Round.from_texts(f"{s}_1", user="x")) for s in ("s1", "s2", "s3"))
    )
    kinds = {"both": "a", "one": "a", "none": "b", "no gold": "b", "no range": "b"}
    queries = tuple(Query(q, "m", "?", "", kind) for q, kind in kinds.items())
    two = (("s1",), ("s2",))
    gold = {"both": two, "one": (("s1", "s3"),), "none": (("s3",),), "no range": two}
    piece = Piece(memory, queries, {"session": gold})
    list(save_qrels([piece], paths.qrels("sample", "toy")))
    margin = time.MARGIN
    ranges = {"both": (100, 110), "one": (100, 110), "none": (100, 110), "no gold": (1, 1)}
    asked = [QueryRange(q, "m", "nlp", *span) for q, span in ranges.items()]
    save_ranges([*asked, QueryRange("no range", "m", "llm", 1, 1)], paths.ranges("sample", "toy"))
    dates = [
        DatedEvent("m", "s1", "nlp", 1, 1),
        DatedEvent("m", "s1", "nlp", 90, 100 - margin),
        DatedEvent("m", "s2", "said", 110 + margin, 110 + margin),
        DatedEvent("m", "s3", "nlp", 110 + margin + 1, 200),
        DatedEvent("other", "s3", "nlp", 105, 105),
    ]
    save_dates(dates, paths.dates("sample", "toy"))


def test_the_margin_is_the_filters():
    assert TimeFiltered(1).margin == time.MARGIN


@pytest.mark.parametrize(
    ("sources", "inside"),
    [
        (("nlp",), {"both": 1, "one": 1, "none": 0, "no gold": 0}),
        (("said",), {"both": 1, "one": 0, "none": 0, "no gold": 0}),
        (("nlp", "said"), {"both": 2, "one": 1, "none": 0, "no gold": 0}),
        (("recorded",), {"both": 0, "one": 0, "none": 0, "no gold": 0}),
    ],
)
def test_the_gold_sessions_that_a_range_keeps(times, sources, inside):
    found = time.covered("sample", "toy", sources).set_index("query_id")
    assert found["inside"].to_dict() == inside
    assert found["gold"].to_dict() == {"both": 2, "one": 2, "none": 1, "no gold": 0}
    assert found["kind"].to_dict() == {"both": "a", "one": "a", "none": "b", "no gold": "b"}
