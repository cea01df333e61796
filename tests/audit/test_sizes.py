"""Sizes that no one states: inferred from all shares together, and slips against them."""

import numpy as np
import pytest

import memrepro as mr
from memrepro.audit import audit_tables
from memrepro.audit.consistency import of_documents
from memrepro.audit.finding import FAILS
from memrepro.audit.page import rules
from memrepro.audit.percent import in_shares
from memrepro.audit.sizes.block import blocks
from memrepro.audit.sizes.joint import MICRO, explain
from tests.audit.made import changed, table

SIZES = {"Easy": 97, "Hard": 53, "New": 126}
ROWS = {
    "a": [80, 31, 60],
    "b": [61, 40, 17],
    "c": [44, 22, 93],
    "d": [70, 11, 101],
    "e": [33, 29, 55],
}


def explained(made):
    (block,) = blocks(made)
    return explain(block.units, block.whole, block.digits, block.stated)


def failing(made):
    return audit_tables([made]).failing("likely")


@pytest.mark.parametrize("digits", [3, 4])
def test_sizes_and_the_kind_of_the_whole_are_inferred(digits):
    found = explained(table(ROWS, SIZES, digits=digits, n=None))
    assert found.sizes == tuple(SIZES.values())
    assert (found.kind, found.way) == (MICRO, "rounded")
    assert found.sure > 0.95 > 0.5 > found.slip
    assert found.rival != found.sizes
    assert not failing(table(ROWS, SIZES, digits=digits, n=None))


@pytest.mark.parametrize(
    ("row", "column", "shown"),
    [
        ("b", "Hard", "0.7574"),
        ("d", "Overall", "0.6495"),
        ("c", "New", "0.4762"),
        ("a", "Easy", "0.8427"),
    ],
)
def test_a_slip_is_found_in_its_row_with_no_size_stated(row, column, shown):
    made = changed(table(ROWS, SIZES, n=None), row, column, shown)
    found = failing(made)
    assert found
    assert {f.where.partition(",")[0] for f in found} == {row}


@pytest.mark.parametrize(
    "head", ["Accuracy (n=200)", "Accuracy (%) (n=200)", "Accuracy (%), n=200"]
)
def test_a_head_in_percent_counts_questions_too(head):
    shown = "".join(
        f"| {name} | {value} |\n"
        for name, value in zip("abcd", (51.5, 52.3, 60.5, 61.0), strict=True)
    )
    (found,) = mr.audit(f"| Model | {head} |\n|---|---|\n{shown}", form="md").failing("weak")
    assert (found.rule, found.printed, found.sure) == ("impossible share", "52.3", "certain")


@pytest.mark.parametrize(
    "caption", ["Results.", r"Results, $n = 200$.", r"Accuracy (\%), $n = 200$."]
)
def test_a_stated_size_hides_no_mean_of_columns(caption):
    rows = (
        "p & 51.5 & 60.0 & 70.5 & 60.7", "q & 52.5 & 61.0 & 72.0 & 61.8",
        "r & 55.5 & 60.5 & 74.0 & 67.3", "s & 58.0 & 59.0 & 75.0 & 64.0",
    )  # fmt: skip
    lines = r" \\ ".join(("Model & A & B & C & Avg.", *rows))
    text = (
        rf"\begin{{table}}\caption{{{caption}}}\begin{{tabular}}{{lrrrr}}{lines}"
        r"\end{tabular}\end{table}"
    )
    (found,) = mr.audit(text, form="tex").failing("likely")
    assert (found.rule, found.where, found.printed) == ("mean of columns", "r, Avg.", "67.3")


def test_percentages_are_shares_and_are_told_as_printed():
    shares = table(ROWS, SIZES, n=None, metric="accuracy")
    rows = {
        r: [f"{100 * float(c):.2f}" for c in cells.values()] for r, cells in shares.rows.items()
    }
    rows["b"][1] = "75.74"
    made = audit_tables({"t": {"columns": shares.columns, "rows": rows, "metric": "accuracy"}})
    assert in_shares(made.tables[0]).rows["a"] == shares.rows["a"]
    assert "75.74" in {f.printed for f in made.failing("likely")}


def test_numbers_that_are_no_shares_have_no_sizes():
    rng = np.random.default_rng(7)
    rows = {f"r{i}": [f"{x:.4f}" for x in rng.uniform(0.2, 0.9, 4)] for i in range(6)}
    made = audit_tables({"t": {"columns": [f"Acc {c}" for c in "wxyz"], "rows": rows}})
    (block,) = blocks(made.tables[0])
    found = explain(block.units, block.whole, block.digits, block.stated)
    assert found.sizes == (0, 0, 0, 0)
    assert not made.failing()


def test_a_plain_mean_of_parts_is_no_slip():
    shown = {r: [k / n for k, n in zip(k_, SIZES.values(), strict=True)] for r, k_ in ROWS.items()}
    rows = {r: [f"{x:.4f}" for x in (*own, sum(own) / 3)] for r, own in shown.items()}
    entry = {"columns": [*SIZES, "Average"], "rows": rows}
    assert not audit_tables({"t": {**entry, "n": SIZES}}).failing("likely")
    assert not audit_tables({"t": entry}).failing("likely")
    rows["c"][3] = "0.5500"
    assert {f.where for f in audit_tables({"t": {**entry, "n": SIZES}}).failing("likely")} == {
        "c, Average"
    }


def test_few_digits_and_many_questions_are_no_slip():
    # 2 digits of 56, 170 and 171 questions: more questions than a share has strings.
    sizes = dict(zip(SIZES, (56, 170, 171), strict=True))
    counts = {"a": [47, 49, 84], "b": [39, 26, 67], "c": [23, 19, 38], "d": [52, 53, 121],
              "e": [33, 14, 46], "f": [35, 12, 27]}  # fmt: skip
    assert not failing(table(counts, sizes, digits=2, n=None))


def test_the_search_says_where_it_stopped(monkeypatch):
    monkeypatch.setattr("memrepro.audit.sizes.inferred._SEARCHED", 1)
    tables = [table(ROWS, SIZES, n=None, name=name) for name in ("first", "second", "third")]
    told = [f for f in audit_tables(tables).findings if f.rule == "inferred sizes"]
    assert [f.table for f in told] == ["first", "second, third"]
    assert "not searched" in told[1].found


def test_every_rule_that_fails_says_how_to_check_it():
    assert {f.rule for f in of_documents() if f.words == FAILS} <= set(rules())
