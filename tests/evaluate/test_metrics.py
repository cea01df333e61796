"""Metrics: hand-computed cases, properties, and ir_measures as a peer."""

from itertools import product
from math import log2

import ir_measures
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS, evaluate, lay_out, ranks_of

DOCS = [f"d{i}" for i in range(8)]


def run_of(**rankings):
    rows = [(q, d, r) for q, docs in rankings.items() for r, d in enumerate(docs, start=1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])


def value(name, ranking, parts, k):
    gold = {"q": tuple(tuple(part) for part in parts)}
    return float(
        evaluate(ranks_of(run_of(q=ranking)), lay_out(gold), [name], [k]).by[name, k].item()
    )


@pytest.mark.parametrize(
    ("name", "k", "expected"),
    [
        ("recall_all", 3, 0.0),
        ("recall_all", 4, 1.0),
        ("precision", 10, 2 / 10),
        ("ndcg", 5, (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3))),
        ("ndcg_longmemeval", 5, (1 + 1 / 2) / (1 + 1)),
        ("ndcg_longmemeval", 2, 1 / 2),
    ],
)
def test_by_hand(name, k, expected):
    assert value(name, ["d0", "d1", "d2", "d3", "d4"], [["d1"], ["d3"]], k) == pytest.approx(
        expected
    )


def test_alternatives_take_the_best_combination():
    # Part one is answered by d5 or d1, part two by d3: with d1 both are found.
    assert value("recall", ["d1", "d3"], [["d5", "d1"], ["d3"]], 2) == 1.0
    assert value("recall_all", ["d5"], [["d5", "d1"], ["d3"]], 2) == 0.0
    assert value("recall", ["d5"], [["d5", "d1"], ["d3"]], 2) == 0.5


rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(0, len(docs)).map(lambda n: list(docs)[:n])
)
part_lists = st.lists(
    st.lists(st.sampled_from(DOCS), min_size=1, max_size=3, unique=True), min_size=1, max_size=4
)


def plain_recall(ranking, parts, k):
    """PersonaBench's definition, as loops."""
    return max(len(set(ranking[:k]) & set(c)) / len(set(c)) for c in product(*parts))


@given(rankings, part_lists, st.integers(1, 9))
@settings(max_examples=50)
def test_recall_is_the_benchmarks_definition(ranking, parts, k):
    assert value("recall", ranking, parts, k) == pytest.approx(plain_recall(ranking, parts, k))


@given(rankings, part_lists, st.integers(1, 8))
@settings(max_examples=30)
def test_properties(ranking, parts, k):
    values = {name: value(name, ranking, parts, k) for name in METRICS}
    assert all(0.0 <= v <= 1.0 + 1e-12 for v in values.values())
    assert values["recall_all"] <= values["recall"] <= values["recall_any"]
    assert (values["ndcg"] > 0) == (values["recall_any"] > 0)
    for name in ("recall_all", "recall_any", "recall"):
        assert value(name, ranking, parts, k) <= value(name, ranking, parts, k + 1)


@given(
    st.permutations(DOCS),
    st.lists(st.sampled_from(DOCS), min_size=1, max_size=5, unique=True),
    st.integers(1, 9),
)
@settings(max_examples=60)
def test_against_ir_measures(ranking, gold, k):
    run = [ir_measures.ScoredDoc("q", d, 100.0 - i) for i, d in enumerate(ranking)]
    qrels = [ir_measures.Qrel("q", d, 1) for d in gold]
    measures = [ir_measures.nDCG @ k, ir_measures.R @ k, ir_measures.Success @ k, ir_measures.P @ k]
    theirs = ir_measures.calc_aggregate(measures, qrels, run)
    parts = [[d] for d in gold]
    for measure, name in zip(measures, ("ndcg", "recall", "recall_any", "precision"), strict=True):
        assert value(name, list(ranking), parts, k) == pytest.approx(theirs[measure])


@pytest.mark.parametrize(
    ("gold", "names", "ks", "sentence"),
    [
        ({}, ["recall"], [5], "no query with gold"),
        ({"q": ()}, ["recall"], [5], "query 'q' has no gold"),
        ({"q": (("d1",),)}, ["recal"], [5], "unknown metric 'recal'"),
        ({"q": (tuple(DOCS),) * 9}, ["recall"], [5], "combinations of alternatives"),
    ],
)
def test_errors(gold, names, ks, sentence):
    with pytest.raises(MemreproError, match=sentence):
        evaluate(ranks_of(run_of(q=["d1"])), lay_out(gold), names, ks)


def test_a_doc_named_twice_is_refused():
    with pytest.raises(MemreproError, match="names doc 'd1' twice for query 'q'"):
        ranks_of(run_of(q=["d1", "d1"]))
