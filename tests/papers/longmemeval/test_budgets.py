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


AT = (9, 10, 29, 30, 94, 95)


def found(gold, places=None, at=AT):
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


def test_a_budget_that_a_list_does_not_reach_is_left_out_unless_it_is_all_of_its_memory():
    gold = {"q": (("b",),), "p": (("a",),)}
    assert list(found(gold)) == list(AT)
    one_more = pd.concat([TOKENS, pd.Series({("n", "d"): 1}).rename_axis(TOKENS.index.names)])
    reached = [one[0] for one in budgets.within(RANKING, one_more, gold, {}, AT)]
    assert reached == [9, 10, 29, 30, 94]
    reached = [one[0] for one in budgets.within(RANKING, one_more, {"q": (("b",),)}, {}, AT)]
    assert reached == list(AT)


def test_a_fact_counts_as_the_round_that_it_was_taken_from():
    taken = RANKING.assign(doc_id=[f"{doc}#recorded-fact-1" for doc in RANKING["doc_id"]])
    tokens = TOKENS.rename(lambda doc: f"{doc}#recorded-fact-1", level=1)
    gold = {"q": (("b",),), "p": (("a", "b"),)}
    of_facts = list(budgets.within(taken, tokens, gold, {}, AT))
    assert of_facts == list(budgets.within(RANKING, TOKENS, gold, {}, AT))
