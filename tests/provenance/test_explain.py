"""Switches that land on a printed value: which, how many were tried, always after the fact."""

import pytest

from memrepro.provenance import explain, tables


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
    assert not found.already
    assert found.as_dict()["mark"] == "found after the fact"


def test_a_place_that_gives_the_printed_value_needs_no_switch(toy):
    one = cell_of("main", "row toy-a", "all")._replace(reported="0.4")
    assert explain.explain("sample", "toyreport", "main", one).already


def test_the_denominator_is_a_switch(toy):
    """toy-b has 3 of 5; with the excluded question counted as 0 it has 3 of 6."""
    one = cell_of("main", "row toy-b", "all")._replace(reported="0.5")
    found = explain.explain("sample", "toyreport", "main", one)
    texts = [switch for each in found.landed for switch in each.switches]
    assert any(text.startswith("denominator: 5 → 6") for text in texts)
