"""Answers in the forms of two benchmarks' scripts: out, in again, and what is wrong with a file."""

import json
import re
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memrepro.core.memory import Query
from memrepro.data.gold import Gold
from memrepro.errors import MemreproError
from memrepro.llm.model import Answer, ModelIdentity
from memrepro.pipeline import cli, commands_judge
from memrepro.read import reader
from memrepro.read.history import Shown
from memrepro.read.plan import Condition, ReadingStudy
from memrepro.read.shipping import (
    EMPTY,
    MISSING,
    TWICE,
    UNKNOWN,
    Said,
    answers_of,
    export_hypotheses,
    export_predictions,
    import_hypotheses,
    import_predictions,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = TEXTS.map(Said)
JUDGED = PLAIN | st.builds(Said, TEXTS, st.booleans(), TEXTS)
SAMPLES = [
    {"sample_id": "conv-1", "qa": [{"question": f"q{n}", "answer": n, "category": 1 + n % 4}
                                   for n in range(3)], "conversation": {}},
    {"sample_id": "conv-2", "qa": [{"question": "?", "adversarial_answer": "x", "category": 5}]},
]  # fmt: skip
IDS = ["conv-1-q0", "conv-1-q1", "conv-1-q2", "conv-2-q0"]
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@SAME_FOLDER
@given(answers=st.dictionaries(TEXTS.filter(bool), JUDGED))
def test_hypotheses_come_back_as_they_went(answers, tmp_path):
    export_hypotheses(answers, tmp_path / "h.jsonl")
    found = import_hypotheses(tmp_path / "h.jsonl", list(answers))
    assert found.answers == answers
    assert set(found.problems.get(EMPTY, ())) == {
        query_id for query_id, said in answers.items() if not said.text.strip()
    }
    # The benchmark's script reads a file line by line, and asks each line for these names.
    lines = [json.loads(line) for line in (tmp_path / "h.jsonl").open(encoding="utf-8")]
    assert [(one["question_id"], one["hypothesis"]) for one in lines] == [
        (query_id, said.text) for query_id, said in answers.items()
    ]


@SAME_FOLDER
@given(answers=st.dictionaries(st.sampled_from(IDS), PLAIN, min_size=1))
def test_predictions_come_back_as_they_went(answers, tmp_path):
    samples, path = tmp_path / "samples.json", tmp_path / "out.json"
    samples.write_text(json.dumps(SAMPLES))
    export_predictions(answers, samples, "m", path, dict.fromkeys(answers, 0.5))
    found = import_predictions(path, "m", IDS)
    assert found.answers == answers
    assert found.problems.get(MISSING, ()) == tuple(q for q in IDS if q not in answers)
    written = json.loads(path.read_text())
    assert [one["sample_id"] for one in written] == ["conv-1", "conv-2"]
    for sample, before in zip(written, SAMPLES, strict=True):
        for entry, old in zip(sample["qa"], before["qa"], strict=True):
            assert {k: v for k, v in entry.items() if not k.startswith("m_")} == old
            assert ("m_prediction" in entry) == ("m_f1" in entry)


def test_what_is_wrong_with_a_file_is_named(tmp_path):
    path = tmp_path / "h.json"
    entries = [("a", "one"), ("a", "two"), ("stranger", "three"), ("b", " ")]
    path.write_text(json.dumps([{"question_id": q, "hypothesis": said} for q, said in entries]))
    found = import_hypotheses(path, ["a", "b", "c"])
    assert found.answers == {"a": Said("one"), "b": Said(" ")}
    assert found.problems == {
        TWICE: ("a",), UNKNOWN: ("stranger",), EMPTY: ("b",), MISSING: ("c",),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"question_id": "a"}', "entry 1 has no 'hypothesis'"),
        ('{"question_id": "a", "hypothesis": 3}', "a int as 'hypothesis', no str"),
        ('{"question_id": "a", "hypothesis": "x"}\n{"question', "line 2: no JSON"),
        ('["a"]', "entry 1 has no 'question_id'"),
    ],
)
def test_what_is_no_file_of_answers_is_refused(tmp_path, text, said):
    (tmp_path / "h.jsonl").write_text(text)
    with pytest.raises(MemreproError, match=said):
        import_hypotheses(tmp_path / "h.jsonl", ["a"])


def test_answers_to_no_question_and_models_without_answers_are_refused(tmp_path):
    samples, path = tmp_path / "samples.json", tmp_path / "out.json"
    samples.write_text(json.dumps(SAMPLES))
    with pytest.raises(MemreproError, match=r"1 answers are to no question .*conv-9-q0"):
        export_predictions({"conv-9-q0": Said("x")}, samples, "m", path, {})
    with pytest.raises(MemreproError, match="holds no m_prediction"):
        import_predictions(samples, "m", IDS)


@dataclass
class Echo:
    """A model that answers with the question; as a judge it says yes to the first of them."""

    identity: ModelIdentity

    def answer(self, prompts):
        found = []
        for prompt in prompts:
            content = prompt.messages[-1].content
            if content.startswith("{"):
                said = json.loads(content)["answer_to_grade"]
                text = {"first": "Yes", "second": "perhaps"}[said]
            else:
                text = next((one for one in ("first", "second") if one in content), "")
            found.append(Answer(text, 1, 1, 0.0, "echo", "1", "stop", ""))
        return found


def test_a_study_is_shipped_with_its_texts_and_verdicts(monkeypatch):
    settings = Condition(dataset="d", model="m", answer="short", memory="none", judge="m")
    study = ReadingStudy("s", "open", "open", {"none": settings, "other": settings})

    def cases_of(study):
        for name, one in study.conditions.items():
            for query_id, text in (("a", "first"), ("b", "second"), ("c", "?")):
                query = Query(query_id, "memory", text, "", "single-hop")
                gold = Gold(query_id, "single-hop", text, "", "first")
                yield reader.Case(name, one, query, gold, Shown((), 0), ())

    monkeypatch.setattr(reader, "cases_of", lambda study: list(cases_of(study)))
    model = Echo(ModelIdentity("echo", "1"))
    entries = {"m": {"model": "echo"}}
    answers, f1 = answers_of(study, "none", lambda name: model, entries)
    # What the judge leaves open, and what is empty and not judged, has no verdict.
    assert answers == {"a": Said("first", True, "echo"), "b": Said("second"), "c": Said("")}
    assert f1 == {"a": 1.0, "b": 0.0, "c": 0.0}
    with pytest.raises(MemreproError, match="no condition 'third': it has none, other"):
        answers_of(study, "third", lambda name: model, entries)


def test_verdicts_of_two_judges_and_the_numbers_of_longmemeval_s_script(
    tmp_path, monkeypatch, capsys
):
    """Its own formulas: the mean of each type's mean, of all labels, and of the ids with `_abs`."""
    types = {"a": "temporal", "b": "temporal", "c": "preference"}
    untold = ["45972f1c_abs", "e3cea8cd_abs"]  # their types are in the sample's types.csv
    labels = {"a": True, "b": False, "c": True, untold[0]: False, untold[1]: False}
    golds = {q: Gold(q, kind, "?", "", "x") for q, kind in types.items()}
    golds |= {q: Gold(q, "abstention", "?", "", "x", abstains=True) for q in untold}
    monkeypatch.setattr(commands_judge, "gold_answers", lambda dataset: golds)
    lines = [
        {"question_id": q, "hypothesis": "x", "autoeval_label": {"model": judge, "label": label}}
        for (q, label), judge in zip(labels.items(), ["m1", "m1", "m2", "m2", "m1"], strict=True)
    ]
    path = tmp_path / "h.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli.main(["judge", str(path), "--dataset", "sample", "--json"]) == 1
    told = capsys.readouterr()
    assert "verdict of another judge than the first (m1, m2): 2, such as c (all count)" in told.err
    rows = {one["of"]: (one["n"], one["accuracy"]) for one in json.loads(told.out)["longmemeval"]}
    assert rows == {
        "temporal": (2, 0.5), "preference": (1, 1.0), "multi-session": (1, 0.0),
        "temporal-reasoning": (1, 0.0), "task-averaged": (5, pytest.approx((0.5 + 1 + 0 + 0) / 4)),
        "overall": (5, pytest.approx(2 / 5)), "abstention": (2, 0.0),
    }  # fmt: skip
    path.write_text(json.dumps(lines[0]) + "\n")
    cli.main(["judge", str(path), "--dataset", "sample"])  # no answer to a question without one
    assert not re.search(r"\bnan\b|abstention", capsys.readouterr().out)
