"""The time filter against the official one, written as a loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.papers.longmemeval.time import MARGIN
from memrepro.retrieve import make_retriever
from memrepro.retrieve.timeaware.retrievers import TimeFiltered


def request(dates, ranges, similarities=None):
    """Docs d0, d1, … with dates, and one query a range; the similarities fall if not given."""
    docs = [f"d{i}" for i in range(len(dates))]
    keys = make_keys(Memory.of("m", *((i, Round.of(i, user=f"text {i}")) for i in docs)), "concat")
    if similarities is None:
        similarities = [1 - i / 100 for i in range(len(dates))]
    vectors = np.array([[s] for s in similarities], np.float32)
    names = [f"q{i}" for i in range(len(ranges))]
    queries = np.ones((len(ranges), 1), np.float32)
    return Request(keys.with_vectors(vectors), names, names, queries, dates, ranges)


def search(asked, k, **parameters):
    found = make_retriever("timeaware", "filtered", {"k": k, **parameters}).search([asked])
    assert [r.query_id for r in found] == list(asked.query_ids)
    return [list(r.doc_ids) for r in found]


def official(order, dates, asked, margin):
    """The released filter: the docs in range in their old order, then the others in theirs."""
    if asked is None:
        return order
    inside, outside = [], []
    for doc in order:
        in_range = False
        for start, end in dates[int(doc[1:])]:
            if start <= asked[1] + margin and end >= asked[0] - margin:
                in_range = True
        (inside if in_range else outside).append(doc)
    return inside + outside


SPANS = st.tuples(st.integers(1, 30), st.integers(0, 6)).map(lambda s: (s[0], s[0] + s[1]))


@given(
    st.lists(st.lists(SPANS, max_size=3), min_size=1, max_size=9),
    st.lists(st.none() | SPANS, min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 12),
    st.randoms(),
)
@settings(deadline=None)
def test_equals_the_official_filter(dates, ranges, margin, k, random):
    similarities = [random.choice([0.1, 0.2, 0.3, -0.4]) for _ in dates]  # with ties
    asked = request(dates, ranges, similarities)
    (order, *_) = make_retriever("dense", "dense", {"k": len(dates)}).search([asked])
    expected = [official(list(order.doc_ids), dates, r, margin)[:k] for r in ranges]
    assert search(asked, k, margin=margin) == expected


@given(st.lists(st.lists(SPANS, max_size=3), min_size=1, max_size=9), SPANS)
def test_nothing_is_lost_and_no_doc_stands_twice(dates, asked):
    (docs,) = search(request(dates, [asked]), k=20)
    assert sorted(docs) == sorted(f"d{i}" for i in range(len(dates)))


@pytest.mark.parametrize(
    ("span", "first"),
    [
        ((10, 12), "d1"),
        ((7, 8), "d1"),  # two days before the range
        ((14, 20), "d1"),  # two days after it
        ((1, 30), "d1"),  # around it
        ((11, 11), "d1"),
        ((6, 7), "d0"),
        ((15, 16), "d0"),
    ],
)
def test_a_span_that_overlaps_the_range_widened_by_two_days_is_in_range(span, first):
    assert TimeFiltered(5).margin == MARGIN == 2
    # d0 is more similar, and far away in time.
    (docs,) = search(request([[(100, 100)], [span]], [(10, 12)]), k=2)
    assert docs[0] == first


def test_one_date_of_many_is_enough_and_none_is_out_of_range():
    dates = [[], [(1, 1), (50, 50)], [(1, 1), (10, 10)]]
    assert search(request(dates, [(10, 10)]), k=3) == [["d2", "d0", "d1"]]


def test_a_question_without_a_range_keeps_its_order():
    dates = [[(1, 1)], [(10, 10)], []]
    assert search(request(dates, [None, (10, 10)]), k=3) == [["d0", "d1", "d2"], ["d1", "d0", "d2"]]


def test_docs_without_any_date_at_all_keep_their_order():
    assert search(request([[], [], []], [(10, 10)]), k=2) == [["d0", "d1"]]


def test_the_scores_are_those_of_the_similarity():
    asked = request([[(1, 1)], [(10, 10)]], [(10, 10)], [0.9, 0.25])
    (ranking,) = TimeFiltered(2).search([asked])
    assert dict(zip(ranking.doc_ids, ranking.scores, strict=True)) == pytest.approx(
        {"d1": 0.25, "d0": 0.9}
    )


def test_several_memories_keep_their_own_dates():
    first = request([[(1, 1)], [(10, 10)]], [(10, 10)])
    second = request([[(10, 10)], [(1, 1)]], [(10, 10)])
    found = TimeFiltered(2).search([first, second])
    assert [r.doc_ids for r in found] == [("d1", "d0"), ("d0", "d1")]


def test_fielded_keys_are_filtered_by_their_doc():
    encoder = HashEncoder()
    memory = Memory.of(
        "m",
        ("s1", Round.of("d0", user="red car", assistant="blue sky")),
        ("s2", Round.of("d1", user="hot tea", assistant="cold milk")),
    )
    keys = make_keys(memory, "fielded")
    keys = keys.with_vectors(encoder.encode(keys.unique, "document"))
    vectors = encoder.encode(["red car"], "query")
    asked = Request(keys, ["q"], ["red car"], vectors, [[(1, 1)], [(9, 9)]], [(9, 9)])
    assert search(asked, k=2) == [["d1", "d0"]]


@pytest.mark.parametrize("missing", ["doc_dates", "ranges"])
def test_without_ranges_or_dates_it_is_refused(missing):
    whole = request([[(1, 1)]], [(1, 1)])
    parts = {"doc_dates": whole.doc_dates, "ranges": whole.ranges, missing: None}
    asked = Request(whole.keys, whole.query_ids, whole.query_texts, whole.query_vectors, **parts)
    with pytest.raises(MemreproError, match="these queries have no ranges or these docs no dates"):
        TimeFiltered(5).search([asked])
