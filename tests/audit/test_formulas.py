"""Formulas over printed cells: interval arithmetic, references and errors."""

import pytest

from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, WEAK
from memrepro.audit.rules.formulas import recomputed
from memrepro.audit.tables import table_of
from memrepro.errors import MemreproError

LEVELS = table_of(
    "doc",
    "table1",
    {"columns": ["A", "B"], "rows": {"ours": ["0.834", "0.50"], "base": ["0.795", "0.40"]}},
)


def said(shown, *formula):
    entry = {"columns": ["printed"], "rows": {"claim": [shown]}, "formulas": {"claim": [*formula]}}
    (found,) = recomputed([LEVELS, table_of("doc", "text", entry)])
    return found


OURS, BASE = "table1 | ours | A", "table1 | base | A"


@pytest.mark.parametrize(
    ("shown", "words"),
    # 0.834 − 0.795 lies between 0.038 and 0.040 with what rounding leaves open.
    [("+0.039", HOLDS), ("+0.038", HOLDS), ("+0.040", HOLDS), ("+0.041", FAILS), ("-0.039", FAILS)],
)
def test_a_difference_holds_within_what_rounding_leaves_open(shown, words):
    found = said(shown, "a - b", OURS, BASE)
    assert (found.words, found.sure) == (words, CERTAIN)


@pytest.mark.parametrize(
    ("shown", "formula", "reference"),
    [
        ("0.45", "mean(a)", "table1 | * | B"),
        ("0.834", "max(a)", "table1 | ours; base | A"),
        ("25%", "100 * (max(a) - min(a)) / min(a)", "table1 | * | B"),
        ("more than 0.3", "min(a)", "table1 | * | *"),
        ("0.25", "(1 - a) ** 2", "table1 | ours | B"),
        ("1", "round(a)", "table1 | ours | A"),
        ("one", "count(a > 0.45)", "table1 | * | B"),
        ("-0.92", "log(a)", "table1 | base | B"),
        ("0.5", "max(a, 0.2)", "table1 | ours | B"),
    ],
)
def test_functions(shown, formula, reference):
    assert said(shown, formula, reference).words == HOLDS


def test_a_round_number_is_held_to_its_place():
    # 104.9 % is no 100 % to the last digit, and is to the hundreds.
    rough = said("about 100%", "100 * a / b", OURS, BASE)
    assert (rough.words, rough.sure) == (HOLDS, WEAK)
    off = said("about 200%", "100 * a / b", OURS, BASE)
    assert (off.words, off.sure) == (FAILS, LIKELY)


def test_a_number_that_was_cut_off_agrees_and_says_so():
    off = said("103", "100 * a / b", OURS, BASE)
    near = said("104", "100 * a / b", OURS, BASE)
    assert (off.words, near.words, near.sure) == (FAILS, HOLDS, LIKELY)
    assert near.why == "less than one unit of the last digit away, as if cut off"


def test_a_table_of_claims_says_which_cell_each_number_is():
    rows = {
        "level": ["0.834", "table1", "ours", "", "A"],
        "gain": ["+0.10", "table1", "ours", "base", "B"],
        "wrong": ["+0.30", "table1", "ours", "base", "B"],
    }
    entry = {"columns": ["printed", "table", "row", "less row", "column"], "rows": rows}
    found = recomputed([LEVELS, table_of("doc", "text", entry)])
    assert {f.where: f.words for f in found} == {"level": HOLDS, "gain": HOLDS, "wrong": FAILS}


@pytest.mark.parametrize(
    ("formula", "reference", "sentence"),
    [
        ("a +", OURS, "is no arithmetic"),
        ("open(a)", OURS, "has the function 'open'"),
        ("a", "nowhere | ours | A", "names no table: known are table1, text"),
        ("a", "table1, ours, A", "must read 'table | rows | columns'"),
        ("a", "table1 | * | A", "gives 2 values"),
    ],
)
def test_errors_name_the_row_and_the_rule(formula, reference, sentence):
    with pytest.raises(MemreproError, match="formula of 'claim' in table 'text'") as error:
        said("0.5", formula, reference)
    assert sentence in str(error.value)
