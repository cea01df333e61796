"""Judged answers: agreement by its formula, the state of each item, and tables of nothing."""

import numpy as np
import pandas as pd
import pytest

from memrepro.audit import documents
from memrepro.audit.coverage import Place
from memrepro.evaluate.comparison import questions
from memrepro.files.atomic import read_yaml
from memrepro.papers.reading import items
from memrepro.read.labels import kappa, kappa_interval


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
    drawn = generator.integers(0, 300, (150, 300))
    each = [kappa(first[one], second[one]) for one in drawn]
    assert found[1:] == pytest.approx(np.percentile(each, [2.5, 97.5]), abs=0.03)
    same = pd.Series([True] * 4)
    assert kappa_interval(same, same, questions(4)) == (1, 1, 1)
    assert kappa_interval(same, ~same, questions(4)) == (0, 0, 0)


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
