"""Verdicts at the printed precision."""

import pytest

from memrepro.audit.verdicts import judge


@pytest.mark.parametrize(
    ("printed", "value", "label"),
    [
        ("0.4242", 0.42424242, "exact"),
        ("0.4000", 0.4, "exact"),
        ("0.42", 0.4242, "exact"),
        ("0.4242", 0.42428, "within tolerance"),  # truncated, not rounded
        ("0.4242", 0.42435, "not reproduced"),
        ("0.4242", 0.0, "not reproduced"),
        ("97", 97.2, "exact"),
        ("97", 98.0, "not reproduced"),
    ],
)
def test_labels(printed, value, label):
    assert judge(printed, value).label == label


def test_a_setting_that_was_picked_to_match_is_told_from_one_that_was_not():
    assert [judge("0.42", value, picked=True).label for value in (0.4242, 0.4299, 0.44)] == [
        "picked", "picked", "not reproduced",
    ]  # fmt: skip


def test_the_term_that_decided_is_named():
    assert judge("0.4242", 0.4343).term == "differs by 0.01010"


@pytest.mark.parametrize("printed", ["7.64ms", "nan", "-Infinity", ""])
def test_what_is_no_number_is_an_error_that_names_it(printed):
    with pytest.raises(ValueError, match=f"{printed!r} is no decimal number"):
        judge(printed, 7.64)
