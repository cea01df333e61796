"""RF-Mem's case studies: which questions are chosen, and which is quoted."""

import csv

import pandas as pd

from memrepro.papers.rfmem.cases import GAIN, LOSS, QUOTED, choose
from tests.data.gathered import in_mirror


def test_the_rules_by_hand_of_equals_the_first_id():
    recalls = [(0.5, 0.5), (0.0, 1.0), (0.0, 1.0), (1.0, 0.5), (1.0, 0.5)]
    both = pd.DataFrame(
        [(f"q{i}", "kind", *pair) for i, pair in enumerate(recalls)],
        columns=["query_id", "kind", "familiarity", "recollection"],
    )
    found = {case.case: case.query_id for case in choose(both.iloc[::-1])}
    assert found == {GAIN: "q1", LOSS: "q3"}


def test_the_id_is_that_of_the_printed_question():
    path = in_mirror("personamem-32k") / "personamem" / "questions_32k.csv"
    with path.open(newline="", encoding="utf-8") as file:
        (found,) = [r for r in csv.DictReader(file) if r["question_id"] == QUOTED]
    text = found["user_question_or_message"]
    assert "developing a tool to manage finances while traveling" in text  # D.7.2
