"""Published answers to LoCoMo's questions: the real files' facts, and what is refused."""

import json
from collections import Counter

import pytest

from memrepro.data import locomo_answers
from memrepro.errors import MemreproError
from tests.data.gathered import in_mirror


@pytest.fixture(scope="module")
def folders():
    return in_mirror(locomo_answers.DATASET), in_mirror("locomo")


def test_every_answer_is_to_its_question_and_scores_as_published(folders):
    answers = list(locomo_answers.stream(*folders))
    assert Counter(one.reader for one in answers) == dict.fromkeys(locomo_answers.READERS, 1540)
    # What the publishers print as the accuracy of each of the three rounds.
    first = [one.judged for one in answers if one.reader == "gpt-4o-mini, step by step"]
    shares = [sum(round_) / 1540 for round_ in zip(*first, strict=True)]
    assert shares == pytest.approx([0.798051948, 0.798051948, 0.800649351])
    labels = Counter(one.label for one in answers)
    assert (labels["answer"], labels["evidence"]) == (99 * 5, 57 * 5)
    # The files carry gold of their own: it is that of the data set.
    qa = {
        f"{sample['sample_id']}-q{i}": str(one.get("answer"))
        for sample in json.loads((folders[1] / "locomo/locomo10.json").read_text())
        for i, one in enumerate(sample["qa"])
    }
    assert all(one.gold == qa[one.query_id] for one in answers)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: entry.update(question="another"), "is to another question"),
        (lambda entry: entry.update(question_id="locomo_99_qa0"), "names no question"),
        (lambda entry: entry.update(category="5"), "has another category"),
    ],
)
def test_answers_to_other_questions_are_refused_by_name(folders, tmp_path, change, said):
    name = "fc-baseline/results/gpt-4o-mini-cot/eval_results.json"
    whole = json.loads((folders[0] / "locomo_audit" / name).read_text())
    for entry in [e for group in whole["detailed_results"].values() for e in group][:20]:
        change(entry)
    path = tmp_path / "locomo_audit" / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(whole))
    with pytest.raises(MemreproError, match=f"20 of 1540 .*{said}"):
        list(locomo_answers.stream(tmp_path, folders[1]))
