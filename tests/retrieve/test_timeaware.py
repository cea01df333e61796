"""The time filter against the official one, written as a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.keys import Request
from memrepro.errors import MemreproError
from memrepro.papers.longmemeval.time import MARGIN
from memrepro.retrieve import make_retriever
from memrepro.retrieve.timeaware.retrievers import TimeFiltered

from .made import request


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
    st.integers(0, 3),
    st.integers(1, 12),
    st.randoms(),
)
def test_equals_the_official_filter(dates, ranges, margin, k, random):
    similarities = [random.choice([0.1, 0.2, 0.3, -0.4]) for _ in dates]  # with ties
    queries = np.ones((len(ranges), 1))
    asked = request([[s] for s in similarities], queries, dates, ranges)
    (order, *_) = make_retriever("dense", "dense", {"k": len(dates)}).search([asked])
    expected = [official(list(order.doc_ids), dates, r, margin)[:k] for r in ranges]
    assert search(asked, k, margin=margin) == expected


@pytest.mark.parametrize("missing", ["doc_dates", "ranges"])
def test_without_ranges_or_dates_it_is_refused(missing):
    assert TimeFiltered(5).margin == MARGIN == 2
    whole = request([[1]], [[1]], [[(1, 1)]], [(1, 1)])
    parts = {"doc_dates": whole.doc_dates, "ranges": whole.ranges, missing: None}
    asked = Request(whole.keys, whole.query_ids, whole.query_texts, whole.query_vectors, **parts)
    with pytest.raises(MemreproError, match="these queries have no ranges or these docs no dates"):
        TimeFiltered(5).search([asked])
