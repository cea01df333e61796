"""Budgets in tokens, and the order of ties at a cut-off."""

import numpy as np
import pandas as pd
import pytest

from memrepro.evaluate.budgets import tie_orders, tied_at, tokens_until
from memrepro.evaluate.metrics import evaluate, lay_out, ranks_of


def run(*scores, query="q"):
    rows = [(query, f"d{i}", i + 1, score) for i, score in enumerate(scores)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"])


def test_docs_are_given_whole_until_one_would_exceed_the_budget():
    both = pd.concat([run(5, 4, 3, 2), run(5, 4, query="r")], ignore_index=True)
    tokens = np.array([30, 50, 40, 1, 81, 1])
    until = tokens_until(both["query_id"], tokens)
    given = both[until <= 80]
    # The short doc after the one that is too long is not given; r's first doc does not fit.
    assert given[["query_id", "doc_id"]].values.tolist() == [["q", "d0"], ["q", "d1"]]
    assert until.tolist() == [30, 80, 120, 121, 81, 82]


def test_a_tie_counts_where_it_reaches_over_the_cut_off():
    assert tied_at(run(3, 2, 2, 2, 1), 3).tolist() == [False, True, True, True, False]
    assert not tied_at(run(3, 2, 2, 1), 3).any()  # the tie ends with the third doc
    assert not tied_at(run(3, 2, 2), 3).any()  # nothing is known of what follows


def test_random_orders_of_a_tie_find_gold_as_often_as_chance_does():
    # Another query names the docs first, in another order.
    other = run(6, 5, 4, 3, 2, 1).assign(query_id="p", doc_id=["d5", "d3", "d1", "d0", "d2", "d4"])
    ranking = pd.concat([other, run(4, 3, 3, 3, 3, 1)], ignore_index=True)
    ranks, judged = ranks_of(ranking), lay_out({"q": (("d4",),)})
    orders = list(tie_orders(ranking, tied_at(ranking, 2), ranks, 600))
    found = [evaluate(one, judged, ["recall_all"], [2]).by["recall_all", 2][0] for one in orders]
    assert evaluate(ranks, judged, ["recall_all"], [2]).by["recall_all", 2][0] == 0
    assert np.mean(found) == pytest.approx(1 / 4, abs=0.06)  # one place for four docs
    for one in orders[:20]:
        assert one.ranks[:7].tolist() == [1, 2, 3, 4, 5, 6, 1]
        assert sorted(one.ranks[7:]) == [2, 3, 4, 5, 6]
        assert one.ranks[11] == 6
