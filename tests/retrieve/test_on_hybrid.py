"""Ideas on top of the plain hybrid: each leaves it alone at weight 0, and adds what it says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.core.similarity import normalise
from memrepro.retrieve import make_retriever

WORDS = [
    "adopted",
    "grey",
    "cat",
    "train",
    "late",
    "refund",
    "allergic",
    "peanut",
    "sister",
    "weather",
]
RFMEM = {"k": 5, "beam_width": 2, "fanout": 1, "alpha": 0.5}


def talk(seed, sessions=3, rounds=4, n_queries=3):
    """Sessions of rounds of random words and vectors, and queries of both."""
    generator = np.random.default_rng(seed)
    said = [
        (f"s{s}", Round.from_texts(f"s{s}r{r}", user=" ".join(generator.choice(WORDS, 4))))
        for s in range(sessions)
        for r in range(rounds)
    ]
    keys = make_keys(Memory.from_rounds("m", *said), "concat")
    vectors = normalise(generator.normal(size=(len(keys.unique), 8)).astype(np.float32))
    queries = normalise(generator.normal(size=(n_queries, 8)).astype(np.float32))
    names = [f"q{i}" for i in range(n_queries)]
    texts = [" ".join(generator.choice(WORDS, 2)) for _ in names]
    sessions_of_docs = np.repeat(np.arange(sessions), rounds)
    return Request(keys.with_vectors(vectors), names, texts, queries, doc_sessions=sessions_of_docs)


def scores(family, name, asked, **parameters):
    """Doc → score of each query, over all docs."""
    found = make_retriever(family, name, parameters).search([asked])
    return [dict(zip(one.doc_ids, one.scores, strict=True)) for one in found]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from([0.0, 0.3]))
def test_a_doc_gains_a_share_of_its_better_neighbour_in_the_session(seed, alpha, share):
    asked = talk(seed)
    plain = scores("bm25", "hybrid", asked, k=12, alpha=alpha)
    found = scores("bm25", "with_neighbours", asked, k=12, alpha=alpha, share=share)
    for before, after in zip(plain, found, strict=True):
        for s in range(3):
            for r in range(4):
                near = [before[f"s{s}r{n}"] for n in (r - 1, r + 1) if 0 <= n < 4]
                assert after[f"s{s}r{r}"] == pytest.approx(
                    before[f"s{s}r{r}"] + share * max(near), abs=1e-6
                )


def test_recollection_does_not_find_a_doc_without_a_key():
    asked = talk(5)
    bare = asked.keys.only(asked.keys.owner != 3)
    whole = replace(asked, keys=bare)
    made = make_retriever("rfmem", "recollection", {**RFMEM, "k": 12, "on_empty": "grow"})
    for one in made.search([whole]):
        assert one.doc_ids
        assert asked.keys.doc_ids[3] not in one.doc_ids


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 1.0]))
def test_the_filter_over_the_hybrid_filters_the_hybrids_order(seed, alpha):
    asked = talk(seed)
    dates = [[(day, day)] for day in range(12)]
    asked = replace(asked, doc_dates=dates, ranges=[(3, 5), None, (0, 0)])
    order = [list(one) for one in scores("bm25", "hybrid", asked, k=12, alpha=alpha)]
    kept = [list(one) for one in scores("timeaware", "filtered", asked, k=12, alpha=alpha)]
    docs = {doc: day for day, doc in enumerate(asked.keys.doc_ids)}
    for before, after, span in zip(order, kept, asked.ranges, strict=True):
        first, last = span or (0, 11)
        inside = [doc for doc in before if first - 2 <= docs[doc] <= last + 2]
        assert after == inside + [doc for doc in before if doc not in inside]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.0]))
def test_recollection_adds_by_its_places(seed, cosine):
    asked = talk(seed)
    listed = make_retriever("rfmem", "recollection", RFMEM).search([asked])
    plain = scores("bm25", "hybrid", asked, k=12, alpha=cosine)
    made = make_retriever("rfmem", "on_hybrid", {**RFMEM, "cosine": cosine, "weight": 0.7})
    for one, before, after in zip(listed, plain, made.search([asked]), strict=True):
        gain = {doc: 0.7 * (5 - rank) / 5 for rank, doc in enumerate(one.doc_ids)}
        wanted = {doc: value + gain.get(doc, 0) for doc, value in before.items()}
        assert sorted(wanted.values(), reverse=True)[:5] == pytest.approx(after.scores, abs=1e-6)
