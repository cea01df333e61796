"""Recall by token budget, against lists that are counted by hand."""

import pandas as pd

from memrepro.papers.longmemeval import budgets

RANKING = pd.DataFrame(
    [("q", "m", "a"), ("q", "m", "b"), ("q", "m", "c"), ("p", "n", "b"), ("p", "n", "a")],
    columns=["query_id", "memory_id", "doc_id"],
)
# A doc has its own length in each memory.
TOKENS = pd.Series(
    {("m", "a"): 10, ("m", "b"): 20, ("m", "c"): 100, ("n", "a"): 90, ("n", "b"): 5}
).rename_axis(["memory_id", "doc_id"])


def found(gold, places=None, at=(9, 10, 29, 30, 94, 95)):
    return {
        budget: (by_query, docs)
        for budget, by_query, docs in budgets.within(RANKING, TOKENS, gold, places or {}, at)
    }


def test_docs_are_given_whole_until_the_next_would_exceed_the_budget():
    by_budget = found({"q": (("b",),), "p": (("a", "b"),)})
    assert by_budget[9] == ({"p": 1.0, "q": 0.0}, 0.5)
    assert by_budget[10] == ({"p": 1.0, "q": 0.0}, 1.0)
    assert by_budget[29][0]["q"] == 0.0
    assert by_budget[30] == ({"p": 1.0, "q": 1.0}, 1.5)


def test_all_parts_are_needed_and_a_session_brings_its_rounds():
    assert found({"q": (("a",), ("b",))})[29][0] == {"q": 0.0}
    rounds = {"r1": "a", "r2": "b", "r3": "c"}
    by_budget = found({"q": (("r1",), ("r3", "r2"))}, rounds)
    assert [by_budget[at][0]["q"] for at in (10, 29, 30)] == [0.0, 0.0, 1.0]
