"""Rules on marks, F1, deviations, intervals and sentences: each on one that holds and one not."""

import pytest

from memrepro.audit import audit_tables
from memrepro.audit.rules.statistics import changes_in_words, interval_of, p_values


def failing(columns, rows, **reading):
    found = audit_tables({"t": {"columns": columns, "rows": rows, **reading}}).failing()
    return [(f.rule, f.where) for f in found]


def test_bold_that_is_not_the_best():
    columns = ["A ↑", "B ↑", "C ↑", "D ↓"]
    rows = {
        "x": ["1.5", "2.5", "3.5", "9.1"],
        "y": ["2.5", "1.5", "4.5", "8.2"],
        "z": ["1.2", "1.3", "3.6", "8.1"],
    }
    bold = {"x": ["B ↑"], "y": ["A ↑", "C ↑"], "z": ["D ↓"]}
    assert not failing(columns, rows, bold=bold)
    bold = {"x": ["B ↑"], "y": ["A ↑", "C ↑", "D ↓"]}
    assert failing(columns, rows, bold=bold) == [("marked best", "y, D ↓")]


def test_f1_follows_from_precision_and_recall():
    rows = {
        "a": ["0.50", "0.40", "0.44"],
        "b": ["0.60", "0.40", "0.48"],
        "c": ["0.70", "0.40", "0.59"],
    }
    assert failing(["P", "R", "F1"], rows) == [("F1 of P and R", "c, F1")]


def test_a_harmonic_mean_is_of_the_two_columns_that_most_rows_follow():
    columns = ["A, Seen", "A, Unseen", "A, Runs", "A, H", "B, Seen", "B, Unseen", "B, H"]
    rows = {
        "a": ["0.60", "0.30", "3", "0.40", "0.50", "0.50", "0.50"],
        "b": ["0.70", "0.20", "3", "0.31", "0.80", "0.20", "0.32"],
        "c": ["0.80", "0.40", "5", "0.53", "0.60", "0.40", "0.84"],
        "d": ["0.90", "0.10", "5", "0.18", "0.90", "0.60", "0.72"],
    }
    assert failing(columns, rows) == [("harmonic mean", "c, B, H")]
    # An H that follows from no two columns beside it is something else.
    other = {row: [*cells[:3], "0.9", *cells[4:6], cells[6]] for row, cells in rows.items()}
    assert failing(columns, other) == [("harmonic mean", "c, B, H")]


CHANGES = {
    "a": ["+0.050 [0.010, 0.090]", "-0.01 [-0.03, 0.01]", ".003"],
    "b": ["+0.020 [-0.010, 0.050]", "+0.06 [0.02, 0.10]", "0.21"],
    "c": ["+0.004 [-0.006, 0.014]", "+0.02 [-0.01, 0.05]", "<0.001"],
}


@pytest.mark.parametrize(
    ("starred", "found"),
    [
        ({"a": ["Δ X", "p"], "b": ["Δ Y"], "c": ["p"]}, []),
        ({"a": ["Δ X", "p"], "b": ["Δ Y"], "c": ["p", "Δ Y"]}, [("c, Δ Y", "likely")]),
        ({"a": ["Δ X", "p"], "b": ["Δ Y", "p"], "c": ["p"]}, [("b, p", "likely")]),
        ({"a": ["Δ X", "p"], "c": ["p"]}, [("b, Δ Y", "weak")]),
        ({}, []),  # nothing is marked
        ({"b": ["Δ X"], "c": ["Δ X"]}, []),  # most marks say something else
    ],
)
def test_a_mark_of_significance_against_what_is_printed_beside_it(starred, found):
    table = {"columns": ["Δ X", "Δ Y", "p"], "rows": CHANGES, "starred": starred}
    told = audit_tables({"t": table}).failing("weak")
    assert [(f.where, f.sure) for f in told] == found
    assert {f.rule for f in told} <= {"marked significant"}


def test_deviations_of_whole_numbers():
    # 1, 2, 2, 5: mean 2.50, deviation 1.73.
    rows = {"good": ["2.50", "1.73"], "mean": ["2.60", "1.73"], "deviation": ["2.50", "1.74"]}
    assert failing(["mean", "SD"], rows, n=4) == [
        ("mean and deviation", "mean, mean"), ("mean and deviation", "deviation, SD"),
    ]  # fmt: skip


def test_intervals_hold_their_value_and_fit_their_n():
    rows = {"a": ["0.80 [0.72, 0.88]"], "b": ["0.80 [0.82, 0.88]"], "c": ["0.80 [0.79, 0.81]"]}
    found = failing(["Score"], rows, n=100)
    assert ("value in its interval", "b, Score") in found
    assert ("interval and n", "c, Score") in found
    assert not [where for _, where in found if where.startswith("a")]


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("t(28) = 2.20, p = .036", None),
        ("t(28) = 2.20, p < .05", None),
        ("t(28) = 2.20, p = .018", "weak"),  # one-sided
        ("F(2, 40) = 1.10, p = .003", "likely"),
        ("z = 1.96, p = .05", None),
    ],
)
def test_p_values_follow_from_their_statistics(text, sure):
    assert [f.sure for f in p_values("d", "t", text)] == ([sure] if sure else [])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("rises from 0.483 to 0.583 (+20.7%)", False),
        ("rises from 48.3% to 58.3%, by 10.0 points", False),
        ("rises from 0.483 to 0.583 (+17.2%)", True),
    ],
)
def test_changes_in_words(text, wrong):
    assert bool(list(changes_in_words("d", "t", text))) is wrong


def test_a_cell_of_endless_digits_is_read_at_once():
    assert interval_of("9" * 10**6) is None
    assert interval_of("-0.5% [.1%, 0.9%]") == (-0.5, 0.1, 0.9)
