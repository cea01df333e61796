"""Switches that land on a printed value: which, how many were tried, always after the fact."""

import pytest

from memrepro.errors import MemreproError
from memrepro.provenance import explain, places, tables
from memrepro.report.tables import Cell


def cell_of(table, row, column):
    return tables.cells("sample", "toyreport", table)[row, column]


def test_a_switch_that_gives_the_printed_value_is_named(toy):
    """toy-a has 0.4 where 0.600 is printed; at 2 docs it has 3 of 5."""
    found = explain.explain("sample", "toyreport", "main", cell_of("main", "row toy-a", "all"))
    landed = {one.switches: one for one in found.landed}
    assert ("k: 1 → 2",) in landed
    assert landed["k: 1 → 2",].value == pytest.approx(0.6)
    assert all(round(one.value, 3) == 0.6 for one in found.landed)
    assert found.tried == sum(found.by_switches.values()) > len(found.landed)
    assert max(found.by_switches) <= explain.MOST
    assert 0 < found.chance <= 1
    assert found.as_dict()["mark"] == "found after the fact"


def test_neighbouring_intervals_of_one_value_are_one(toy):
    place = places.Place("toy-a", "", "session", "stated", "recall_all", 1)

    def tried(low, high, value, also=0):
        return explain.Try((f"a: τ in ({low}, {high}]",), place, value, 5, also)

    found = explain._merged(
        [tried(0.1, 0.2, 0.6), tried(0.2, 0.3, 0.6), tried(0.3, "inf", 0.6, 1),
         tried(0.5, 0.6, 0.4), tried(0.7, 0.8, 0.4), explain.Try(("k: 1 → 2",), place, 0.4, 5)]
    )  # fmt: skip
    assert [one.switches[0] for one in found] == [
        "a: τ in (0.1, 0.3]", "a: τ in (0.3, inf]", "a: τ in (0.5, 0.6]", "a: τ in (0.7, 0.8]",
        "k: 1 → 2",
    ]  # fmt: skip


def test_the_denominator_is_a_switch(toy):
    """toy-b has 3 of 5; with the excluded question counted as 0 it has 3 of 6."""
    one = cell_of("main", "row toy-b", "all")._replace(reported="0.5")
    found = explain.explain("sample", "toyreport", "main", one)
    texts = [switch for each in found.landed for switch in each.switches]
    assert any(text.startswith("denominator: 5 → 6") for text in texts)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (Cell("r", "c", "recall_all@1", "0.5", "", 0, "not run", note="a hub"), "not run.* a hub"),
        (Cell("r", "c", "recall_all@1", "", "0.5", 5, ""), "printed value '' is no number"),
    ],
)
def test_what_cannot_be_explained_says_why(toy, cell, message):
    with pytest.raises(MemreproError, match=message):
        explain.explain("sample", "toyreport", "main", cell)
