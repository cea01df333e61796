"""People's labels: agreement by its formula, and what is wrong with a file."""

import json

import pytest

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import questions
from memrepro.read import labels
from memrepro.read.labels import agreement, read_labels

VERDICTS = {"a": True, "b": False, "c": True, "d": None, "e": False, "f": True}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_strange_label_is_named(tmp_path, form):
    rows = [("a", "Yes"), ("a", "no"), ("b", "1"), ("c", "perhaps"), ("d", "no"), ("x", "yes"),
            ("e", "wrong")]  # fmt: skip
    path = tmp_path / f"labels.{form}"
    if form == "csv":
        path.write_text("question_id,label\n" + "".join(f"{q},{said}\n" for q, said in rows))
    else:
        said = {"Yes": True, "no": False, "1": 1}
        lines = [{"question_id": q, "label": said.get(label, label)} for q, label in rows]
        path.write_text("\n".join(map(json.dumps, lines)))
    found = read_labels(path, VERDICTS)
    assert found.right == {"a": True, "b": True, "e": False}
    assert found.problems == {
        labels.TWICE: ("a",), labels.UNREADABLE: ("c",), labels.UNJUDGED: ("d",),
        labels.UNKNOWN: ("x",), labels.MISSING: ("f",),
    }  # fmt: skip


def by_question(query_ids):
    return questions(len(query_ids))


def test_agreement_is_by_kind_and_beyond_chance():
    right = {"a": True, "b": True, "c": True, "e": False, "f": False}
    kinds = {"a": "one", "b": "one", "c": "one", "e": "two", "f": "two"}
    table = agreement(right, VERDICTS, kinds, by_question).set_index("kind")
    assert table[["n", "equal"]].values.tolist() == [[3, 2], [2, 1], [5, 3]]
    # Over all: observed 3/5; people call 3/5 right, the judge 3/5, so by chance 9/25 + 4/25.
    assert table.loc[labels.ALL, "kappa"] == pytest.approx((3 / 5 - 13 / 25) / (1 - 13 / 25))
    assert (table["low"] <= table["share"]).all()
    assert (table["share"] <= table["high"]).all()
    same = agreement({"a": True}, VERDICTS, kinds, by_question)
    assert same[["share", "kappa"]].values.tolist() == [[1, 1], [1, 1]]
    assert agreement({}, VERDICTS, kinds, by_question).empty


def test_a_file_without_labels_is_refused(tmp_path):
    (tmp_path / "l.csv").write_text("question_id,verdict\na,yes\n")
    with pytest.raises(MemreproError, match="no column 'label'"):
        read_labels(tmp_path / "l.csv", VERDICTS)
    (tmp_path / "l.jsonl").write_text('{"label": "yes"}')
    with pytest.raises(MemreproError, match=r"line 1: an object with question_id and label"):
        read_labels(tmp_path / "l.jsonl", VERDICTS)
