"""The commonest checks of real papers, each on a table that holds and with one slip in it.

Expected values are SciPy's or plain arithmetic.
"""

import math

import pytest
from scipy import stats

from memrepro.audit import audit_tables
from memrepro.audit.finding import LIKELY
from memrepro.audit.rules.stars import legend_of
from memrepro.audit.rules.text.pvalues import Test, p_of, p_values

T_OF_R = 0.21 * math.sqrt(98 / (1 - 0.21**2))


def failing(columns, rows, level=LIKELY, **reading):
    found = audit_tables({"t": {"columns": columns, "rows": rows, **reading}}).failing(level)
    return {(f.rule, f.where) for f in found}


def stars_of(z):
    p = 2 * stats.norm.sf(abs(z))
    return 3 if p < 0.001 else 2 if p < 0.01 else 1 if p < 0.05 else 0


def regression():
    rows = {}
    for name, b, se in (("x", 0.52, 0.11), ("y", -0.31, 0.14), ("z", 0.05, 0.21), ("u", 1.20, 0.33),
                        ("v", 0.12, 0.10)):  # fmt: skip
        t = b / se
        p = 2 * stats.t.sf(abs(t), 120)
        rows[name] = [
            f"{b:.2f}",
            f"{se:.2f}",
            f"{t:.2f}",
            "120",
            f"{p:.3f}" if p >= 0.001 else "<.001",
        ]
    return rows


def ratios():
    rows = {}
    for name, log, se in (("age", 0.41, 0.12), ("sex", 0.10, 0.20), ("bmi", -0.53, 0.15),
                          ("smoker", 0.62, 0.25)):  # fmt: skip
        low, mid, high = (math.exp(log + s * 1.96 * se) for s in (-1, 0, 1))
        p = 2 * stats.norm.sf(abs(log / se))
        rows[name] = [f"{mid:.2f} ({low:.2f}, {high:.2f})", f"{p:.3f}"]
    return rows


def starred():
    cells, marks = {}, {}
    for name, b, se in (
        ("x", 0.52, 0.11),
        ("y", -0.31, 0.14),
        ("z", 0.05, 0.21),
        ("u", 1.20, 0.33),
    ):
        cells[name], cells[f"{name}, SE"] = [f"{b:.2f}"], [f"({se:.2f})"]
        marks[name] = {"(1)": stars_of(b / se)}
    return cells, marks


NOTE = "Standard errors in parentheses. * p < 0.05, ** p < 0.01, *** p < 0.001"
CHECKS = {
    "Δ of two columns": (
        ["Base", "Ours", "Δ"],
        {"a": ["40.1", "42.3", "+2.2"], "b": ["51.0", "50.2", "-0.8"],
         "c": ["33.7", "38.9", "+5.2"],
         "d": ["61.5", "61.9", "+0.4"]},
        {}, ("c", "Δ", "+2.5"), "change of two",
    ),
    "relative gain of two columns": (
        ["Base", "Ours", "Gain (%)"],
        {"a": ["40.0", "42.0", "5.0"], "b": ["50.0", "60.0", "20.0"], "c": ["30.0", "33.0", "10.0"],
         "d": ["80.0", "84.0", "5.0"]},
        {}, ("b", "Gain (%)", "10.0"), "change of two",
    ),
    "Δ of two rows": (
        ["A", "B", "C", "D"],
        {"Base": ["40.1", "51.0", "33.7", "61.5"], "Ours": ["42.3", "50.2", "38.9", "61.9"],
         "Δ": ["+2.2", "-0.8", "+5.2", "+0.4"]},
        {}, ("Δ", "C", "+2.5"), "change of two",
    ),
    "improvement over the best of the others": (
        ["A", "B", "C", "D"],
        {"X": ["40.1", "51.0", "33.7", "60.0"], "Y": ["41.1", "49.0", "35.7", "61.5"],
         "Ours": ["42.3", "53.2", "38.9", "61.9"], "Improvement": ["1.2", "2.2", "3.2", "0.4"]},
        {}, ("Improvement", "B", "2.9"), "change of two",
    ),
    "a change in a cell": (
        ["A", "B"],
        {"Base": ["40.1", "51.0"], "Ours": ["42.3 (+2.2)", "50.2 (-0.8)"],
         "Large": ["45.0 (+4.9)", "55.5 (+4.5)"]},
        {}, ("Large", "A", "45.0 (+9.4)"), "change in a cell",
    ),
    "a count and its percent under N in the head": (
        ["Control (n=120)", "Treated (n=118)"],
        {"Female": ["66 (55.0%)", "60 (50.8%)"], "Smoker": ["30 (25.0%)", "31 (26.3%)"],
         "Diabetes": ["12 (10.0%)", "9 (7.6%)"]},
        {}, ("Smoker", "Control (n=120)", "30 (52.0%)"), "count and percent",
    ),
    "a count and its percent of one N that is not told": (
        ["Control"],
        {"a": ["66 (55.0)"], "b": ["31 (25.8)"], "c": ["13 (10.8)"], "d": ["57 (47.5)"]},
        {"caption": "Counts (%)"}, ("d", "Control", "57 (74.5)"), "count and percent",
    ),
    "shares against counts in one row": (
        ["Correct", "Total", "Acc (%)"],
        {"a": ["30", "40", "75.0"], "b": ["11", "50", "22.0"], "c": ["17", "20", "85.0"],
         "d": ["9", "30", "30.0"]},
        {}, ("d", "Acc (%)", "33.0"), "share of counts",
    ),
    "counts against their sum": (
        ["Count", "%"],
        {"a": ["30", "30.0"], "b": ["11", "11.0"], "c": ["17", "17.0"], "d": ["42", "42.0"],
         "Total": ["100", "100.0"]},
        {}, ("c", "%", "71.0"), "share of counts",
    ),
    "GRIM with n in a column": (
        ["n", "M", "SD"],
        {"a": ["12", "3.50", "1.17"], "b": ["15", "3.40", "1.12"], "c": ["11", "2.64", "1.36"],
         "d": ["14", "3.14", "1.23"]},
        {"caption": "Ratings"}, ("c", "M", "2.60"), "mean and deviation",
    ),
    "GRIM with n in the row's name": (
        ["M (SD)"],
        {"a (n=12)": ["3.50 (1.17)"], "b (n=15)": ["3.40 (1.12)"], "c (n=11)": ["2.64 (1.36)"],
         "d (n=14)": ["3.14 (1.23)"]},
        {"caption": "Ratings"}, ("c (n=11)", "M (SD)", "2.60 (1.36)"), "mean and deviation",
    ),
    "t of an estimate and its SE": (
        ["B", "SE", "t", "df", "p"], regression(), {}, ("u", "t", "6.34"), "estimate and SE",
    ),
    "p of t with its degrees of freedom": (
        ["B", "SE", "t", "df", "p"], regression(), {}, ("v", "p", "0.023"), "p of its statistic",
    ),
    "t of an estimate as R prints it": (
        ["Estimate", "Std. Error", "t value", "df", "Pr(>|t|)"], regression(), {},
        ("u", "t value", "6.34"), "estimate and SE",
    ),
    "p of t as R prints it": (
        ["Coef.", "Standard Error", "T-stat", "DF", "P-value"], regression(), {},
        ("v", "P-value", "2.3e-2"), "p of its statistic",
    ),
    "p of an F whose head has its degrees of freedom": (
        ["F(1, 38)", "p"],
        {"a": ["4.10", "0.050"], "b": ["3.73", "0.061"], "c": ["5.00", "0.031"],
         "d": ["2.00", "0.165"]},
        {}, ("c", "p", "0.310"), "p of its statistic",
    ),
    "a test and its p in one cell": (
        ["Mean", "Test"],
        {"a": ["3.1", "t(28) = 2.10, p = 0.045"], "b": ["2.2", "F(1, 38) = 3.73, p = 0.061"]},
        {}, ("a", "Test", "t(28) = 2.10, p = 0.30"), "p of its statistic",
    ),
    "stars of an estimate and the SE below": (
        ["(1)"], starred()[0], {"stars": starred()[1], "note": NOTE},
        ("z", "(1)", "0.50"), "stars",
    ),
    "a ratio in the middle of its interval": (
        ["OR (95% CI)", "p"], ratios(), {}, ("smoker", "OR (95% CI)", "1.46 (1.14, 3.03)"),
        "interval and estimate",
    ),
    "a ratio's interval and p": (
        ["OR (95% CI)", "p"], ratios(), {}, ("age", "p", "0.320"), "interval and p",
    ),
    "a ratio, its interval and p in columns of their own": (
        ["Odds ratio", "95% CI", "P value"],
        {row: [*cells[0].split(" ", 1), cells[1]] for row, cells in ratios().items()}, {},
        ("age", "P value", "0.320"), "interval and p",
    ),
    "a ratio outside of its interval": (
        ["OR (95% CI)", "p"], ratios(), {}, ("age", "OR (95% CI)", "1.15 (1.19, 1.91)"),
        "value in its interval",
    ),
    "F of labelled precision and recall": (
        ["LP", "LR", "LF"],
        {"a": ["80.0", "70.0", "74.7"], "b": ["85.0", "75.0", "79.7"],
         "c": ["90.0", "60.0", "72.0"],
         "d": ["88.0", "66.0", "75.4"]},
        {}, ("c", "LF", "92.0"), "F1 of P and R",
    ),
    "F of what PPV and TPR are": (
        ["TPR", "PPV", "F1 score"],
        {"a": ["0.47", "0.53", "0.50"], "b": ["0.49", "0.53", "0.51"],
         "c": ["0.53", "0.48", "0.50"], "d": ["0.20", "0.65", "0.31"]},
        {}, ("d", "F1 score", "0.42"), "F1 of P and R",
    ),
    "a micro F1 of the P and R of all": (
        ["P", "R", "Micro F1", "Macro F1"],
        {"a": ["0.558", "0.552", "0.555", "0.581"], "b": ["0.846", "0.457", "0.593", "0.562"],
         "c": ["0.577", "0.704", "0.634", "0.660"], "d": ["0.991", "0.305", "0.466", "0.431"]},
        {}, ("d", "Micro F1", "0.666"), "F1 of P and R",
    ),
    "F0.5": (
        ["P", "R", "F0.5"],
        {"a": ["80.0", "40.0", "66.7"], "b": ["60.0", "30.0", "50.0"],
         "c": ["70.0", "70.0", "70.0"],
         "d": ["50.0", "25.0", "41.7"]},
        {}, ("d", "F0.5", "47.1"), "F1 of P and R",
    ),
    "a total of times": (
        ["Encoder (ms)", "Head (ms)", "Total Time (ms)"],
        {"a": ["10.78", "0.20", "10.98"], "b": ["10.89", "0.20", "11.09"],
         "c": ["0.73", "0.18", "0.91"], "d": ["0.74", "0.18", "0.92"]},
        {}, ("d", "Total Time (ms)", "0.29"), "sum of columns",
    ),
    "bold in a row": (
        ["A", "B", "C"],
        {"x": ["1.5", "2.5", "3.5"], "y": ["2.5", "1.5", "4.5"], "z": ["5.2", "1.3", "3.6"],
         "w": ["9.1", "8.0", "7.0"]},
        {"bold": {"x": ["C"], "y": ["C"], "z": ["A"], "w": ["A"]}, "caption": "Best in bold"},
        ("z", "B", "6.3"),
        "marked best",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_a_true_table_holds_and_its_slip_is_found(name):
    columns, rows, reading, (row, column, shown), rule = CHECKS[name]
    assert failing(columns, rows, **reading) == set()
    at = columns.index(column)
    slipped = {r: [shown if (r, i) == (row, at) else s for i, s in enumerate(cells)]
               for r, cells in rows.items()}  # fmt: skip
    found = failing(columns, slipped, **reading)
    marked = "A" if rule == "marked best" else column
    assert (rule, f"{row}, {marked}") in found
    assert {rule for rule, _ in found} <= {rule, "interval and p", "p of its statistic",
                                           "interval and estimate"}  # fmt: skip


SENTENCES = {
    r"\(t(28) = 2.10\), \(p = .30\)": LIKELY,
    r"\(t(28) = 2.10\), \(p = .045\)": None,
    r"$\chi^2(2) = 6.97$, $p = .31$": LIKELY,
    r"$\chi^2(2) = 6.97$, $p = .031$": None,
    r"$\chi^2_{(2)} = 6.97$, $p = .31$": LIKELY,
    r"$\chi^{2}(2, N = 1{,}028) = 6.97$, $p = .031$": None,
    "t(28) = 2.20, p &lt; .01": LIKELY,
    "t(28) = 2.20, p &lt; .05": None,
    r"\textit{t}(28) = 2.20, \textit{p} = .9": LIKELY,
    r"$t_{28} = 2.20$, $p = .036$": None,
    r"$F_{2,40} = 1.10$, $p = .003$": LIKELY,
    r"$F(2, 40) = 5.10$, $\eta_p^2 = .20$, $p = .011$": None,
    r"$F(2, 40) = 5.10$, $\eta_p^2 = .20$, $p = .11$": LIKELY,
    r"t(45) = 3.10, 95\% CI [0.10, 0.44], d = 0.45, p = .003": None,
    r"t(45) = 3.10, 95\% CI [0.10, 0.44], d = 0.45, p = .03": LIKELY,
    "t(1,028) = 1.10, p = .27": None,
    "t(1,028) = 1.10, p = .02": LIKELY,
    "r(98) = .21, p = .036": None,
    "r(98) = .21, p < .001": LIKELY,
    "r = .45, n = 50, p = .001": None,
    "r = .45, n = 50, p = .30": LIKELY,
    "H(2) = 9.1, p = .011": None,
    "H(2) = 9.1, p = .30": LIKELY,
    "*z* = 1.96, *p* = .05": None,
    "z = 1.10, p < .05": LIKELY,
    "Q(5) = 30.2, p < .001": None,
    "Q(5) = 10.2, p < .001": LIKELY,
    "F(1, 20) < 1, p = .02": LIKELY,
    "t(28) = 2.20, p = 3.6 x 10-2": None,
    "t = 2.10, p = .9": LIKELY,
    "b = 0.5, SE = 0.2, t(96.4) = 2.50, p = .014": None,
}


@pytest.mark.parametrize("text", SENTENCES)
def test_p_wherever_papers_put_it(text):
    name = "page.html" if "&lt;" in text else "paper.md" if text.startswith("*") else "paper.tex"
    found = [f.sure for f in p_values("d", name, f"There was an effect, {text}, as said.")]
    assert found == ([SENTENCES[text]] if SENTENCES[text] else [])


def test_a_p_is_told_with_the_line_of_its_source():
    (found,) = p_values("d", "a.tex", "% t(1) = 9, p = .9\n\nText\n" + r"$t(28)=2.20$, $p=.9$")
    assert found.where.startswith("line 4: t(28)=2.20")


@pytest.mark.parametrize(
    ("test", "p"),
    [
        (Test("t", 28, None, "2.100", ".1", "="), 2 * stats.t.sf(2.1, 28)),
        (Test("F", 2, 40, "5.100", ".1", "="), stats.f.sf(5.1, 2, 40)),
        (Test("chi2", 3, None, "8.200", ".1", "="), stats.chi2.sf(8.2, 3)),
        (Test("z", None, None, "-1.700", ".1", "="), 2 * stats.norm.sf(1.7)),
        (Test("r", 98, None, "0.210", ".1", "="), 2 * stats.t.sf(T_OF_R, 98)),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)  # fmt: skip
def test_a_p_lies_within_what_rounding_leaves_open(test, p):
    low, high = p_of(test)
    assert low < p < high < low * 1.06


def test_a_legend_of_stars():
    assert legend_of("* p < 0.05, ** p < 0.01, *** p < .001") == {1: 0.05, 2: 0.01, 3: 0.001}
    assert legend_of("*p<0.1; **p<0.05; ***p<0.01") == {1: 0.1, 2: 0.05, 3: 0.01}
    assert legend_of("*** 1%, ** 5%, * 10%") == {1: 0.1, 2: 0.05, 3: 0.01}
    assert legend_of("***, **, * denote significance at 1%, 5%, 10%.") == {1: 0.1, 2: 0.05, 3: 0.01}
    assert legend_of("*, ** and *** mean 10%, 5% and 1%") == {1: 0.1, 2: 0.05, 3: 0.01}
    assert legend_of("no legend") == {}
