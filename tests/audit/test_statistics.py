"""Rules on marks, F1, deviations, intervals and sentences: each on one that holds and one not."""

import pytest

from memrepro.audit import audit_tables
from memrepro.audit.finding import LIKELY, TELLS, WEAK
from memrepro.audit.rules.intervals import interval_of
from memrepro.audit.rules.text.pvalues import p_values
from memrepro.audit.rules.text.sentences import changes_in_words, shares_in_words


def failing(columns, rows, level=WEAK, **reading):
    found = audit_tables({"t": {"columns": columns, "rows": rows, **reading}}).failing(level)
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


def test_the_f1_of_an_average_may_be_the_average_of_those_above():
    rows = {
        "a": ["0.90", "0.50", "0.643"],
        "b": ["0.50", "0.90", "0.643"],
        "c": ["0.70", "0.40", "0.509"],
        "d": ["0.55", "0.45", "0.495"],
        "Weighted Avg.": ["0.70", "0.70", "0.643"],
    }
    columns = ["Precision", "Recall", "F1"]
    assert failing(columns, rows, LIKELY) == []
    rows["Weighted Avg."][2] = "0.740"
    assert failing(columns, rows, LIKELY) == [("F1 of P and R", "Weighted Avg., F1")]


def test_f1_of_percentages_whose_recall_counts_questions():
    rows = {"a": ["50.0", "40.0", "44.4"], "b": ["60.0", "40.0", "48.0"],
            "c": ["70.0", "40.0", "59.9"], "d": ["55.0", "45.0", "49.5"]}  # fmt: skip
    assert failing(["Precision", "Recall", "F1"], rows) == [("F1 of P and R", "c, F1")]


def test_the_f1_of_a_class_may_be_of_the_only_p_and_r():
    rows = {
        "a": ["0.50", "0.40", "0.444", "0.71"],
        "b": ["0.60", "0.40", "0.480", "0.72"],
        "c": ["0.70", "0.40", "0.590", "0.73"],
        "d": ["0.55", "0.45", "0.495", "0.70"],
    }
    columns = ["P", "R", "F1 (hate)", "F1 (macro)"]
    assert failing(columns, rows) == [("F1 of P and R", "c, F1 (hate)")]


@pytest.mark.parametrize(
    ("columns", "sure"),
    [
        (["R@1", "R@5", "R@5 (2)", "R@20"], ["likely"]),
        (["Size", "Acc", "Acc (2)", "F1"], ["weak"]),
        (["B", "SE", "B (2)", "SE (2)"], []),  # one model beside the other
        (["R@1", "R@5", "R@10", "R@20"], []),
    ],
)
def test_a_head_that_stands_twice(columns, sure):
    rows = {"a": ["0.11", "0.23", "0.25", "0.41"], "b": ["0.13", "0.26", "0.28", "0.44"]}
    found = audit_tables({"t": {"columns": columns, "rows": rows}}).failing()
    assert [f.sure for f in found if f.rule == "same head twice"] == sure


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
    for head, form in {"Rating, M ± SD": "{} ± {}", "Rating, mean (SD)": "{} ({})"}.items():
        both = {row: [form.format(*cells)] for row, cells in rows.items()}
        assert failing([head], both, n=4) == [
            ("mean and deviation", f"{row}, {head}") for row in ("mean", "deviation")
        ]
    # Of runs, as far as a head tells.
    assert not failing(["Rating"], both, n=4)


def test_a_cell_s_own_ratio_may_be_above_1_and_of_nothing():
    good = ["0.90 (27/30)", "0.33 (1/3)", "0.66 (2/3)", "1.40 (14/10)", "75 (34+41)"]
    bad = ["0.80 (27/30)", "1.40 (14/20)", "0.50 (0/0)", "75 (34+40)"]
    rows = {str(n): [shown] for n, shown in enumerate([*bad, *good])}
    assert failing(["of all"], rows) == [
        ("ratio in a cell", f"{n}, of all") for n in range(len(bad))
    ]


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
        ("z = +1.96, p = .50", "likely"),
        ("t(28) = 2.20, ns", "likely"),
        ("t(28) = 1.20, n.s.", None),
        ("t(28) = --2.20, p = .50", "likely"),
        ("t(28) = –2.20, two-sided p = .50", "likely"),
        ("t(28) = 2.20, p = 3.6 × 10-2", None),
        ("t(8.36) = 4.82, p = 1.15 × 10-3", None),
        (r"\deleted{$t(28) = 2.20$, $p = .50$}", None),
        (r"$t(28) = 2.20$, $p = 3.6 \times 10^{-5}$", "likely"),
        (r"$F(2, 40) = 1.10$, $\eta_p^2 = .05$, $p = .3e-2$", "likely"),
    ],
)
def test_p_values_follow_from_their_statistics(text, sure):
    assert [f.sure for f in p_values("d", "t", text)] == ([sure] if sure else [])


@pytest.mark.parametrize(
    "statistic",
    [
        "<i>F</i><sub>2, 57</sub> = 4.1", "<em>F</em><sub>(2,57)</sub> = 4.1",
        "χ<sup>2</sup><sub>2</sub> = 7.7", "χ<sub>2</sub><sup>2</sup> = 7.7",
        '<math alttext="F_{2,57}=4.1"><mi>F</mi></math>',
    ],
)  # fmt: skip
def test_degrees_of_freedom_below_a_statistic_of_a_web_page(statistic):
    assert not list(p_values("d", "a.html", f"<p>{statistic}, <i>p</i> = .02</p>"))
    assert len(list(p_values("d", "a.html", f"<p>{statistic}, <i>p</i> = .50</p>"))) == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("rises from 0.483 to 0.583 (+20.7%)", []),
        ("rises from 48.3% to 58.3%, by 10.0 points", []),
        ("rises from 0.483 to 0.583 (+17.2%)", ["from 0.483 to 0.583 (+17.2%)"]),
    ],
)
def test_changes_in_words(text, wrong):
    assert [f.printed for f in changes_in_words("d", "t", text)] == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("It answers 34 of 40 questions (85\\%).", []),
        ("It answers 25 of 30 questions (83.3%), and", []),
        ("It answers 25 out of the 30 hard questions (83%).", []),
        ("It answers 34 of 40 questions (87.5%).", ["34 of 40 questions (87.5%)"]),
        ("a rate of 92.5% (37/41)", ["92.5% (37/41)"]),
        ("0.34 of 40 (12%)", []),
    ],
)
def test_shares_in_words(text, wrong):
    assert [f.printed for f in shares_in_words("d", "t", text)] == wrong


def test_sums_of_counts_by_row_and_by_column():
    rows = {
        "A": ["800", "100", "120", "1,020"],
        "B": ["5,000", "500", "600", "6,100"],
        "C": ["10", "20", "30", "60"],
        "Total": ["5,810", "620", "750", "7,180"],
    }
    columns = ["Train", "Dev", "Test", "Total"]
    assert not failing(columns, rows)
    rows["B"][3] = "6,010"
    assert failing(columns, rows) == [
        ("sum of rows", "Total, Total"), ("sum of columns", "B, Total"),
    ]  # fmt: skip
    # What adds up in no row is another total.
    assert not failing(columns, {r: [*c[:3], "9,999"] for r, c in rows.items() if r != "Total"})


def test_an_average_of_scores_is_believed_where_most_rows_follow():
    rows = {
        "a": ["23.4", "30.0", "26.7"],
        "b": ["10.0", "20.0", "15.0"],
        "c": ["5.0", "9.0", "7.7"],
    }
    assert failing(["BLEU de", "BLEU fr", "Average"], rows) == [("mean of columns", "c, Average")]
    rows["b"][2] = "17.2"
    assert not failing(["BLEU de", "BLEU fr", "Average"], rows)


@pytest.mark.parametrize(
    ("head", "wrong", "found"),
    [
        ("Avg.", "72.1", True),
        ("Avg. (3) ↑", "72.1", True),
        ("Overall", "72.1", True),
        ("Avg.", "67.5", False),
        ("Overall", "67.5", False),
    ],
)
def test_an_average_of_scores_by_its_head(head, wrong, found):
    rows = {
        "a": ["61.2", "70.3", "55.4", "62.3"],
        "b": ["58.7", "81.1", "47.9", "62.6"],
        "c": ["66.6", "74.4", "59.8", "66.9"],
        "d": ["72.3", "69.9", "60.3", wrong],
        "e": ["49.1", "88.0", "51.6", "62.9"],
    }
    told = failing(["X", "Y", "Z", head], rows, LIKELY)
    assert told == ([("mean of columns", f"d, {head}")] if found else [])


def test_an_error_above_1_is_a_part_of_the_average_too():
    rows = {
        "a": ["0.353", "0.311", "0.468", "1.009", "0.535"],
        "b": ["0.344", "0.283", "0.460", "0.819", "0.477"],
        "c": ["0.355", "0.279", "0.465", "0.682", "0.445"],
    }
    assert not failing(["A", "B", "C", "D", "Avg."], rows, LIKELY)


@pytest.mark.parametrize(
    ("lower", "upper"), [("95% CI lower", "95% CI upper"), ("CI, 2.5", "CI, 97.5"), ("LL", "UL")]
)
def test_the_ends_of_an_interval_in_columns_of_their_own(lower, upper):
    rows = {
        "a": ["0.75", "0.2", "0.57", "0.91"],
        "b": ["-0.02", "0.1", "-0.17", "0.14"],
        "c": ["0.26", "0.1", "0.25", "0.27"],
        "d": ["0.60", "0.1", "-0.05", "0.12"],
    }
    told = [("value in its interval", "d, B")]
    assert failing(["B", "SE", lower, upper], rows, LIKELY) == told
    # Where two rows differ, it may be of something else.
    rows["a"][0] = "0.17"
    assert not failing(["B", "SE", lower, upper], rows)


def test_a_difference_may_be_of_columns_under_other_heads():
    columns = ["Main, Mean", "Main, SD", "Other, Mean", "Other, SD", "Means, Diff", "Means, t"]
    rows = {
        "a": ["0.81", "0.56", "0.90", "0.64", "-0.09", "-2.30"],
        "b": ["5.22", "1.60", "4.95", "1.90", "0.27", "2.34"],
        "c": ["72.51", "16.44", "76.67", "17.48", "-4.16", "-3.93"],
        "d": ["18.21", "11.64", "19.96", "14.31", "1.25", "2.05"],
        "e": ["9.78", "12.05", "11.69", "15.47", "-1.91", "-2.07"],
    }
    assert failing(columns, rows, LIKELY) == [("change of two", "d, Means, Diff")]


def test_three_marks_at_one_end_of_several_rows_tell_of_the_fourth():
    columns = ["h = 1", "h = 3", "h = 6", "h = 12"]
    rows = {
        "x": ["6.4", "12.8", "18.8", "26.6"],
        "y": ["11.7", "13.9", "17.3", "23.7"],
        "z": ["11.9", "14.0", "17.5", "23.9"],
        "w": ["6.5", "13.8", "19.9", "30.9"],
    }
    bold = {"x": ["h = 1", "h = 3"], "y": ["h = 6"], "z": ["h = 12"]}
    assert failing(columns, rows, LIKELY, bold=bold) == [("marked best", "z, h = 12")]
    # Those of one row may be its own method's.
    rows["x"][2] = "17.2"
    bold = {"x": ["h = 1", "h = 3", "h = 6"], "z": ["h = 12"]}
    assert not failing(columns, rows, LIKELY, bold=bold)


def test_a_mean_of_other_weights_lies_between_its_parts():
    rows = {
        "GPT": ["61.5", "83.3", "25.0", "75.3"], "Llama": ["48.0", "70.2", "10.1", "74.3"],
        "Phi": ["24.0", "31.0", "5.4", "35.0"], "Qwen": ["46.9", "68.7", "18.0", "65.4"],
    }  # fmt: skip
    columns = ["Average", "BLEU de", "BLEU fr", "BLEU it"]
    assert not failing(columns, rows)
    rows["Qwen"][0] = "86.9"
    assert failing(columns, rows) == [("mean of columns", "Qwen, Average")]
    # Means that lie outside by little here and by more there are of parts that are not shown.
    rows["Phi"][0] = "34.9"
    assert not failing(columns, rows)


def test_the_average_of_a_section_is_of_its_rows():
    rows = {
        "A, x": ["0.41", "0.93", "0.37"], "A, y": ["0.47", "0.95", "0.12"],
        "A, z": ["0.84", "0.43", "0.50"], "A, Average": ["0.57", "0.77", "0.33"],
        "B, x": ["0.16", "0.35", "0.14"], "B, y": ["0.22", "0.47", "0.06"],
        "B, Average": ["0.19", "0.41", "0.10"], "Average": ["0.42", "0.63", "0.24"],
    }  # fmt: skip
    columns = ["BLEU", "chrF", "TER"]
    assert not failing(columns, rows)
    rows["A, Average"][1] = "0.71"
    assert failing(columns, rows) == [("mean of rows", "A, Average, chrF")]


def test_all_of_counts_is_their_sum():
    rows = {"1": ["200", "71", "129"], "-1": ["94", "22", "72"], "All": ["294", "93", "201"]}
    columns = ["Samples", "Tested", "Trained"]
    assert not failing(columns, rows)
    rows["All"][2] = "210"
    assert failing(columns, rows) == [("sum of rows", "All, Trained")]


@pytest.mark.parametrize("columns", [["PRE(%)", "REC(%)", "F1(%)"], ["Prec", "Rec", "F1-Score"]])
def test_one_row_of_three_that_is_far_off(columns):
    rows = {"a": ["20", "65", "31"], "b": ["55", "37", "44"], "c": ["53", "48", "5"]}
    assert failing(columns, rows) == [("F1 of P and R", "c, " + columns[2])]


def test_a_difference_of_three_rows_under_another_name():
    rows = {"1": ["0.999", "1.006", "0.067"], "5": ["1.001", "1.197", "0.196"],
            "10": ["1.002", "1.346", "0.344"]}  # fmt: skip
    assert failing(["Kafka", "Redis", "Shift"], rows) == [("change of two", "1, Shift")]


@pytest.mark.parametrize("name", ["Standardised difference", "SMD gap", "drop05", "drop3"])
def test_a_name_that_is_no_difference_of_two_columns(name):
    rows = {"1": ["0.999", "1.006", "0.067"], "5": ["1.001", "1.197", "0.196"],
            "10": ["1.002", "1.346", "0.344"]}  # fmt: skip
    assert not failing(["Kafka", "Redis", name], rows)


def test_zeros_do_not_tell_of_which_two_a_change_is():
    rows = {str(n): ["0.00", "0.00", "0.00"] for n in range(3)} | {"9": ["0.41", "0.52", "0.30"]}
    assert not failing(["A", "B", "Gain"], rows)
    rows = {str(n): [f"0.{n}0", "0.50", f"0.{5 - n}0"] for n in range(1, 4)} | {"9": rows["9"]}
    assert failing(["A", "B", "Gain"], rows) == [("change of two", "9, Gain")]


def test_a_change_is_of_the_column_before_it():
    rows = {"a": ["23.4", "-"], "b": ["25.0", "+1.6"], "c": ["20.0", "-3.4"], "d": ["24.4", "+2.0"]}
    assert failing(["BLEU", "Δ"], rows) == [("change in a column", "d, Δ")]


def test_hits_do_not_fall_with_k():
    rows = {"a": ["0.41", "0.37", "0.36"], "b": ["0.51", "0.57", "0.56"]}
    found = failing(["Hit@1", "Hit@5", "MRR@10"], rows)
    assert found == [("rises with k", "a, Hit@5")]


def test_mixed_digits_are_a_question_where_zeros_are_printed():
    rows = {"a": ["0.412"], "b": ["0.51"], "c": ["0.630"], "d": ["0.123"]}
    assert failing(["BLEU"], rows) == [("mixed digits", "b, BLEU")]
    rows["c"] = ["0.631"]
    assert not failing(["BLEU"], rows)
    told = audit_tables({"t": {"columns": ["BLEU"], "rows": rows}}).findings
    assert ("mixed digits", TELLS) in {(f.rule, f.words) for f in told}
    # A row of another source is short throughout.
    two = {"a": ["0.412", "0.310"], "b": ["0.51", "0.42"], "c": ["0.630", "0.220"],
           "d": ["0.123", "0.450"]}  # fmt: skip
    assert not failing(["BLEU", "chrF"], two)


def test_a_row_of_two_tables_is_the_same_in_both():
    columns = ["Single", "Multi", "Temporal"]
    main = {"BM25": ["0.412", "0.275", "0.366"], "Ours": ["0.512", "0.475", "0.566"]}
    other = {"BM25": ["0.412", "0.257", "0.366"], "without": ["0.511", "0.375", "0.466"]}
    tables = {name: {"columns": columns, "rows": rows}
              for name, rows in (("main", main), ("ablation", other))}  # fmt: skip
    (found,) = audit_tables(tables).failing("likely")
    assert found.rule == "printed twice"
    assert "multi: 0.275 and 0.257" in found.found


def test_a_share_that_is_cut_off_where_others_are_rounded():
    rows = {f"r{k}": [f"{k / 66:.3f}"] for k in range(5, 65, 4)}
    assert not failing(["Accuracy"], rows, n=66)
    rows["x"] = ["0.666"]  # 44 of 66, cut off
    assert failing(["Accuracy"], rows, n=66) == [("rounded or cut off", "x, Accuracy")]


def test_a_cell_of_endless_digits_is_read_at_once():
    assert interval_of("9" * 10**6) is None
    assert interval_of("-0.5% [.1%, 0.9%]")[:3] == (-0.5, 0.1, 0.9)
    assert not failing(["BLEU"], {"a": ["9" * 5000 + ".25"], "b": ["27.45"], "c": ["28.10"]})
