"""Judged answers: agreement by its formula, and the tables on answers of which all is known."""

import numpy as np
import pandas as pd
import pytest

from memrepro.audit import documents
from memrepro.audit.coverage import Place
from memrepro.evaluate.comparison import questions
from memrepro.files.atomic import read_yaml
from memrepro.papers.reading import items
from memrepro.papers.reading.published import judge_cells, label_cells, wrong_cells
from memrepro.papers.reading.shares import ByUnit
from memrepro.read.labels import kappa, kappa_interval

BY = ByUnit(lambda query_ids: questions(len(query_ids)))


def test_kappa_is_the_agreement_beyond_chance():
    first = pd.Series([True, True, True, False, False, False])
    second = pd.Series([True, True, False, False, False, True])
    # observed 4/6, expected 1/2
    assert kappa(first, second) == pytest.approx((4 / 6 - 1 / 2) / (1 - 1 / 2))
    assert kappa(first, first) == 1
    # Where chance would agree always, agreement is all there is to say.
    same = pd.Series([True] * 4)
    assert (kappa(same, same), kappa(same, ~same)) == (1, 0)


def test_the_interval_of_kappa_is_that_of_answers_drawn_one_by_one():
    generator = np.random.default_rng(2)
    first = pd.Series(generator.random(300) < 0.6)
    second = first ^ (generator.random(300) < 0.2)
    found = kappa_interval(first, second, questions(300))
    assert found.mean == kappa(first, second)
    drawn = generator.integers(0, 300, (400, 300))
    each = [kappa(first[one], second[one]) for one in drawn]
    assert found[1:] == pytest.approx(np.percentile(each, [2.5, 97.5]), abs=0.02)
    same = pd.Series([True] * 4)
    assert kappa_interval(same, same, questions(4)) == (1, 1, 1)
    assert kappa_interval(same, ~same, questions(4)) == (0, 0, 0)


def test_judge_against_judge_says_what_each_lets_pass():
    rows = [(True, True, False)] * 3 + [(True, True, True)] * 4 + [(False, False, False)] * 3
    scored = pd.DataFrame(rows, columns=["judged_1", "judged_2", "judged_3"]).assign(
        reader="vague", planted=True, match=False, contains=[True] * 2 + [False] * 8, f1=0.0
    )
    found = {(c.row, c.column): c.reproduced.split()[0] for c in judge_cells(scored, BY)}
    votes = "vague; lenient vote and strict vote"
    assert found[votes, "the first passes"] == "0.7000"
    assert found[votes, "the second passes"] == "0.4000"
    assert (found[votes, "the first alone"], found[votes, "the second alone"]) == (
        "0.3000",
        "0.0000",
    )
    # equal 7 of 10; by chance 0.7 · 0.4 + 0.3 · 0.6
    assert found[votes, "κ"] == f"{(0.7 - 0.46) / 0.54:.4f}"
    assert found["vague; judgement 1 and judgement 2", "κ"] == "1.0000"
    assert found["vague; majority and gold's words in it", "the second passes"] == "0.2000"


def test_each_item_has_its_state_and_one_without_numbers_says_so(monkeypatch):
    entries = read_yaml(items.FILE)
    known = {
        (document, table.name)
        for document in documents.documents()
        for table in documents.tables(document)
    }
    assert {tuple(entry["table"].split("/")) for entry in entries.values()} <= known
    places = [
        Place(
            "table3", "0.6", "accuracy", "not run", "", "needs GPT-4o; more", "table3 | r | Top-5"
        ),
        Place("table3", "0.5", "recall_all@5", "exact", "", "", "table3 | r | Recall@5"),
        Place("figure5", "–", "as printed", "not run", "", "an image", "figure5 | r | c"),
    ]
    monkeypatch.setattr(items, "cells", lambda profile, document: places)
    found = {(c.row, c.column): c.reproduced for c in items.item_cells("open")}
    half = "LongMemEval, Table 3, answers"
    assert (found[half, "printed numbers"], found[half, "state"]) == ("1", "not run: 1")
    assert found[half, "why"] == "needs GPT-4o"
    assert found["LongMemEval, Figure 5", "state"] == items.NO_NUMBER
    assert "is not here" in found["Associa, Table 2", "state"]
    assert {row for row, _ in found} == set(entries)


def test_wrong_answers_that_pass_and_labels_that_are_wrong_are_counted():
    rows = [(True, True, False), (True, False, False), (True, True, True), (False, False, False)]
    scored = pd.DataFrame(rows, columns=["judged_1", "judged_2", "judged_3"]).assign(
        reader="vague", planted=True, kind="temporal", label=["", "", "answer", "evidence"],
        f1=[0.5, 0.0, 1.0, 0.1], match=False, contains=False, words=1,
    )  # fmt: skip
    cells = {(c.row, c.column): c.reproduced for c in wrong_cells(scored, BY)}
    found = [cells["vague; all kinds", f"judged right {how}"].split()[0]
             for how in ("by two of three", "at least once", "three times")]  # fmt: skip
    assert found == ["0.5000", "0.7500", "0.2500"]
    assert cells["vague; temporal", "F1 ≥ 0.5"].startswith("0.5000")
    labels = {(c.row, c.column): c.reproduced for c in label_cells(scored, BY)}
    row = "vague; judged right by two of three"
    # Without the one wrong answer label, one of three is judged right where it was two of four.
    assert labels[row, "change without wrong labels"] == f"{1 / 3 - 1 / 2:+.4f}"
    assert labels[row, "questions with a wrong label"] == "1"
