"""What is right: golden facts of the real files, without a text of theirs, and broken entries."""

import csv
import json
from collections import Counter

import pytest

from memrepro.data import gold, locomo, longmemeval, personamem, sample
from memrepro.errors import MemreproError
from memrepro.files import paths
from tests.data.gathered import in_mirror

PERSONAMEM = "personamem-32k"


def by_id(found):
    found = list(found)
    assert len({one.query_id for one in found}) == len(found)
    return {one.query_id: one for one in found}


def same_questions(golds, pieces):
    """Gold repeats what the data set's queries say, one to one and in order."""
    asked = [q for piece in pieces for q in piece.queries]
    fields = [(g.query_id, g.kind, g.question, g.asked_at) for g in golds.values()]
    assert sorted(fields) == sorted((q.query_id, q.kind, q.text, q.at) for q in asked)


def test_locomo_says_what_is_right_or_that_it_was_never_said():
    folder = in_mirror("locomo")
    golds = by_id(locomo.gold(folder, "locomo"))
    same_questions(golds, locomo.stream(folder, "locomo"))
    assert Counter(one.kind for one in golds.values()) == {
        "multi-hop": 282, "temporal": 321, "open-domain": 96, "single-hop": 841, "adversarial": 446,
    }  # fmt: skip
    abstaining = [one for one in golds.values() if one.abstains]
    assert len(abstaining) == 444
    assert {one.answer for one in abstaining} == {gold.NEVER_SAID}
    # Two adversarial questions have an answer beside the wrong one.
    assert Counter(one.kind for one in golds.values() if one.wrong) == {"adversarial": 446}
    assert all(one.answer and one.answer != one.wrong for one in golds.values())


def test_personamem_has_four_options_and_one_is_right():
    folder = in_mirror(PERSONAMEM)
    golds = by_id(personamem.gold(folder, PERSONAMEM))
    same_questions(golds, personamem.stream(folder, PERSONAMEM))
    assert {len(one.options) for one in golds.values()} == {4}
    assert Counter(one.correct for one in golds.values()) == {0: 143, 1: 146, 2: 158, 3: 142}
    assert all(one.answer == one.options[one.correct] for one in golds.values())
    # In each question with one option twice that is the right one, of which one letter counts.
    twice = [one for one in golds.values() if len(set(one.options)) < 4]
    assert len(twice) == 17
    assert all(one.options.count(one.answer) == 2 for one in twice)
    assert not any(text[:3] in {"(a)", "(b)"} for one in golds.values() for text in one.options)


def test_numbers_are_texts_and_an_answer_that_is_none_is_counted(tmp_path):
    instances = sample.compile_benchmark(seed=1, questions=12, sessions=6)
    instances[0]["answer"], instances[1]["answer"] = 7, ["a", "list"]
    path = tmp_path / "one.json"
    path.write_text(json.dumps(instances))
    golds = by_id(longmemeval.gold(tmp_path, "x"))
    assert golds[instances[0]["question_id"]].answer == "7"
    assert len(golds) == 11
    for instance in instances:
        del instance["answer"]
    path.write_text(json.dumps(instances))
    with pytest.raises(MemreproError, match="12 of 12 questions .*None as 'answer'"):
        list(longmemeval.gold(tmp_path, "x"))


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("correct_answer", "(e)", "is not in list"),
        ("all_options", "['(a) one', '(c) two']", "another letter"),
        ("all_options", "['(a) one', 2]", "no attribute"),
        ("all_options", "['(a) one'", "never closed"),
    ],
)
def test_broken_options_are_named(tmp_path, column, cell, said):
    row = dict.fromkeys(personamem.COLUMNS, "x")
    row |= {"correct_answer": "(a)", "all_options": "['(a) one', '(b) two']", column: cell}
    path = tmp_path / "personamem" / "questions_32k.csv"
    path.parent.mkdir()
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    with pytest.raises(MemreproError, match=f"question 'x'.*{said}|{said}.*question 'x'"):
        list(personamem.gold(tmp_path, PERSONAMEM))


def test_by_name_with_its_files_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "raw", lambda name: tmp_path)
    with pytest.raises(MemreproError, match="no answers that memrepro reads"):
        gold.gold_answers("personabench-n00")
    with pytest.raises(MemreproError, match=r"locomo10.json of locomo is missing"):
        gold.gold_answers("locomo")
    source = in_mirror("locomo")
    monkeypatch.setattr(paths, "raw", lambda name: source)
    golds = gold.gold_answers("locomo")
    assert len(golds) == 1986
    # Questions call the speakers by their names, all but a few of them.
    names = gold.speakers("locomo")
    assert {len(set(one.values())) for one in names.values()} == {2}
    called = [
        any(name in one.question for name in names[query_id.rpartition("-q")[0]].values())
        for query_id, one in golds.items()
    ]
    assert sum(called) > 0.9 * len(called)
    assert gold.speakers("sample") == {}
