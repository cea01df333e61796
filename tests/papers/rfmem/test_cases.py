"""RF-Mem's case studies: which questions are chosen, and which is quoted."""

import csv

from memrepro.papers.rfmem.cases import QUOTED
from tests.data.gathered import in_mirror


def test_the_id_is_that_of_the_printed_question():
    path = in_mirror("personamem-32k") / "personamem" / "questions_32k.csv"
    with path.open(newline="", encoding="utf-8") as file:
        (found,) = [r for r in csv.DictReader(file) if r["question_id"] == QUOTED]
    text = found["user_question_or_message"]
    assert "developing a tool to manage finances while traveling" in text  # D.7.2
