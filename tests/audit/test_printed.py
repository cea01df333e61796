"""What a printed string says: value, precision, unit, bound and kind."""

from decimal import Decimal

import pytest

from memrepro.audit.printed import KINDS, kind_of, parse


@pytest.mark.parametrize(
    ("shown", "value", "step", "unit"),
    [
        ("0.50", "0.50", "0.01", ""),
        ("25,112", "25112", "1", ""),
        ("3.6k", "3600", "100", ""),
        ("1.5 million", "1500000", "100000", ""),
        ("30.3%↓", "30.3", "0.1", "%"),
        ("~1 week", "1", "1", "week"),
        ("four", "4", "1", ""),
        ("1.00 (30/30)", "1.00", "0.01", ""),
    ],
)
def test_value_step_and_unit(shown, value, step, unit):
    number = parse(shown)
    assert (number.value, number.step, number.unit) == (Decimal(value), Decimal(step), unit)


@pytest.mark.parametrize(
    "shown",
    ["GPT-4o (gpt-4o-2024-11-20)", "[2025-05-02]", "all-MiniLM-L6-v2", "Yes", "", "✓", "two-phase"],
)
def test_names_and_dates_are_no_numbers(shown):
    assert parse(shown) is None
    assert kind_of(shown) == "word"


@pytest.mark.parametrize(
    ("shown", "bound"),
    [("≥0.35", "more"), ("more than 97%", "more"), ("65k+", "more"), ("90% or higher", "more"),
     ("≤ 0.005", "less"), ("up to 35", "less"), ("∼0.47", "about"), ("about 5%", "about"),
     ("0.5", "")],
)  # fmt: skip
def test_bounds(shown, bound):
    assert parse(shown).bound == bound


def test_the_values_that_round_to_a_number():
    number = parse("0.664")
    assert (number.low, number.high) == (pytest.approx(0.6635), pytest.approx(0.6645))
    assert parse("≥0.35").high == float("inf")
    assert parse("up to 35").low == -float("inf")


@pytest.mark.parametrize(
    ("shown", "heading", "kind"),
    [
        ("0.664", "", "share"), ("1.0000", "", "share"), ("+0.018", "", "number"),
        ("0.000", "Δ Overall", "number"), ("0.1-0.2", "", "number"), ("464.6", "", "number"),
        ("30%", "", "percent"), ("37", "drop (%)", "percent"), ("5.09ms", "", "time"),
        ("8", "least time (ms)", "time"), ("589", "", "count"), ("five", "", "count"),
        ("Contriever", "", "word"), ("0." + "3" * 30, "", "number"), ("1.00001%", "", "number"),
        ("0.123456", "", "share"),
    ],
)  # fmt: skip
def test_kinds(shown, heading, kind):
    assert kind in KINDS
    assert kind_of(shown, heading) == kind
