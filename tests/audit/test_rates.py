"""The words certain, likely and weak mean rates, counted on made tables without a slip."""

import pytest

from memrepro.audit import audit_tables
from memrepro.audit.finding import CERTAIN, LIKELY, WEAK
from memrepro.audit.page import as_json, page, rules
from memrepro.audit.rates import ANY_RULE, MEANS, NOT_STATED, STATED, Rate, rates

COUNTED = rates()
RULES = [key for key in COUNTED if key[0] != ANY_RULE]
TABLE = {"columns": ["Easy", "Hard"], "rows": {"a": ["0.4121", "0.275"], "b": ["0.45", "0.3"]}}


def pooled(key):
    found = COUNTED[key].values()
    return Rate(sum(one.flagged for one in found), sum(one.of for one in found))


@pytest.mark.parametrize("key", RULES, ids=" ".join)
def test_the_counted_rate_of_a_rule_is_what_its_word_means(key):
    assert pooled(key).bound <= MEANS[key[1]]
    # Nor does any one family of tables speak against it.
    assert all(one.least <= MEANS[key[1]] for one in COUNTED[key].values())


@pytest.mark.parametrize("sure", [CERTAIN, LIKELY, WEAK])
def test_so_is_that_of_all_rules_together_in_each_family(sure):
    found = COUNTED[ANY_RULE, sure]
    assert all(one.least <= MEANS[sure] for one in found.values())
    assert {STATED, NOT_STATED} & found.keys()


def test_every_counted_rule_says_how_to_check_it():
    assert {rule for rule, _ in RULES} <= set(rules())


def test_a_bound_holds_what_was_counted():
    few, many = Rate(0, 300), Rate(3, 300, 30)
    assert few.least == 0 < few.bound < 0.01
    assert many.least < 3 / 300 < many.bound < many.chance < 1
    assert Rate(0, 3000, 1).chance == pytest.approx(Rate(0, 3000).bound)


def test_a_finding_is_told_with_its_rate_over_the_document():
    report = audit_tables({"t": {**TABLE, "n": 40}, "u": {**TABLE, "n": 40}})
    first = report.failing(CERTAIN)[0]
    rate = report.rate(first)
    assert (first.rule, rate.tables) == ("impossible share", 2)
    assert str(rate) in page(report, "a paper")
    told = as_json(report)["findings"][0]["without a slip"]
    assert (told["flagged"], told["of"]) == (rate.flagged, rate.of)
    assert told["bound"] < told["chance"] < 2 * told["bound"]


def test_a_rule_that_no_made_table_has_is_told_without_a_rate():
    formulas = {"a | Easy": ["2 * a", "t | b | Easy"]}
    report = audit_tables({"t": {**TABLE, "formulas": formulas}})
    (found,) = [f for f in report.failing() if f.rule == "recomputed"]
    assert report.rate(found) is None
    assert "not counted" in page(report, "a paper")
