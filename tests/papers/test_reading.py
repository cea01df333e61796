"""Judged answers: agreement by its formula, and the tables on answers of which all is known."""

import pandas as pd
import pytest

from memrepro.papers.reading.published import label_cells, wrong_cells
from memrepro.read.labels import kappa


def test_kappa_is_the_agreement_beyond_chance():
    first = pd.Series([True, True, True, False, False, False])
    second = pd.Series([True, True, False, False, False, True])
    # observed 4/6, expected 1/2
    assert kappa(first, second) == pytest.approx((4 / 6 - 1 / 2) / (1 - 1 / 2))
    assert kappa(first, first) == 1
    # Where chance would agree always, agreement is all there is to say.
    same = pd.Series([True] * 4)
    assert (kappa(same, same), kappa(same, ~same)) == (1, 0)


def test_wrong_answers_that_pass_and_labels_that_are_wrong_are_counted():
    rows = [(True, True, False), (True, False, False), (True, True, True), (False, False, False)]
    scored = pd.DataFrame(rows, columns=["judged_1", "judged_2", "judged_3"]).assign(
        reader="vague", planted=True, kind="temporal", label=["", "", "answer", "evidence"],
        f1=[0.5, 0.0, 1.0, 0.1], match=False, contains=False, words=1,
    )  # fmt: skip
    cells = {(c.row, c.column): c.reproduced for c in wrong_cells(scored)}
    found = [cells["vague; all kinds", f"judged right {how}"].split()[0]
             for how in ("by two of three", "at least once", "three times")]  # fmt: skip
    assert found == ["0.5000", "0.7500", "0.2500"]
    assert cells["vague; temporal", "F1 ≥ 0.5"].startswith("0.5000")
    labels = {(c.row, c.column): c.reproduced for c in label_cells(scored)}
    row = "vague; judged right by two of three"
    # Without the one wrong answer label, one of three is judged right where it was two of four.
    assert labels[row, "change without wrong labels"] == f"{1 / 3 - 1 / 2:+.4f}"
    assert labels[row, "questions with a wrong label"] == "1"
