"""What each idea adds to each base, as committed: the formula, and what is not counted."""

import pytest

import memrepro as mr

S, LOCOMO = "LongMemEval S rounds, all-MiniLM-L6-v2, bfloat16", "LoCoMo rounds, all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def cells():
    return mr.table("findings", "factorial", tidy=True)


def test_tokens_are_a_budget_and_find_something_in_every_arena(cells):
    in_tokens = cells[cells["column"].str.contains("tokens")]
    for arena in (S, "LongMemEval S sessions", LOCOMO):
        here = in_tokens[in_tokens["row"].str.contains(arena, regex=False)]
        assert (here["difference"].astype(float) != 0).any(), arena


def test_an_idea_with_one_setting_is_the_mean_difference_of_two_runs(cells):
    """At the weight that all groups choose, for both the hybrid and the idea on it."""
    found = [
        mr.run(f"lme-s-minilm-{name}", setting="0.7").values("recall_all@10")
        for name in ("round-hybrid", "with-graph-high")
    ]
    there = cells[(cells["row"] == f"graph; {S}") & (cells["column"] == "on hybrid")]
    assert float(there["difference"].iloc[0]) == pytest.approx(
        (found[1] - found[0]).mean(), abs=1e-6
    )


def test_the_figure_of_the_start_page_has_each_documents_ideas_as_the_table_has_them(cells):
    drawn = mr.figure("findings", "documents_drawn").data
    documents = {"LongMemEval", "fielded max-sim", "Associa", "RF-Mem", "tiered memory"}
    assert set(drawn["idea"].str.split(": ").str[0]) == documents
    ideas = drawn["idea"].str.split(": ").str[1]
    there = cells[cells["column"] == "on hybrid"].set_index("row")["difference"].astype(float)
    assert drawn["difference"].to_numpy() == pytest.approx(
        there.loc[ideas + "; " + drawn["data"]].to_numpy(), abs=1e-6
    )
    assert drawn.groupby("data", sort=False).size().to_dict() == {S: 6, LOCOMO: 6}
