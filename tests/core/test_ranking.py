"""The one top-k rule and the one tie rule."""

import hashlib

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.ranking import Ranking, tie_keys, to_frame, top_k
from memrepro.errors import MemreproError


def test_ties_go_by_the_digest_of_the_id_not_by_the_id():
    ids = ["answer_1", "sharegpt_2", "0a3f"]
    places = tie_keys(ids)
    by_digest = sorted(ids, key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    assert [ids[i] for i in np.argsort(places)] == by_digest


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(1, 14), st.randoms())
def test_the_order_of_the_memory_does_not_matter(scores, k, random):
    ids = [f"d{i}" for i in range(len(scores))]
    shuffled = random.sample(range(len(ids)), len(ids))
    first = [ids[i] for i in top_k(np.array(scores, np.float32), tie_keys(ids), k)]
    moved = [ids[i] for i in shuffled]
    second = top_k(np.array([scores[i] for i in shuffled], np.float32), tie_keys(moved), k)
    assert first == [moved[i] for i in second]
    found = [scores[int(d[1:])] for d in first]
    assert found == sorted(scores, reverse=True)[:k]


def test_against_faiss():
    generator = np.random.default_rng(0)
    docs = generator.normal(size=(500, 32)).astype(np.float32)
    queries = generator.normal(size=(20, 32)).astype(np.float32)
    index = faiss.IndexFlatIP(32)
    index.add(docs)
    _, theirs = index.search(queries, 10)
    ties = tie_keys([str(i) for i in range(500)])
    ours = np.stack([top_k(docs @ query, ties, 10) for query in queries])
    assert np.array_equal(ours, theirs)


def test_errors():
    ties = tie_keys(["a", "b"])
    with pytest.raises(MemreproError, match="k is 0"):
        top_k(np.zeros(2, np.float32), ties, 0)
    with pytest.raises(MemreproError, match="1 of 2 scores are NaN"):
        top_k(np.array([np.nan, 1.0], np.float32), ties, 1)
    with pytest.raises(MemreproError, match="each doc must stand once"):
        Ranking("q", ("a", "a"), (1.0, 0.5))


def test_a_run_has_ranks_from_one():
    frame = to_frame([Ranking("q1", ("b", "a"), (0.9, 0.1)), Ranking("q2", ("c",), (0.3,))])
    assert list(frame.columns) == ["query_id", "doc_id", "rank", "score"]
    assert list(frame["rank"]) == [1, 2, 1]
    assert to_frame([]).dtypes.to_dict() == frame.dtypes.to_dict()
