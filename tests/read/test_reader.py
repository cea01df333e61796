"""From a data set's files to rows: with a real tiny model, and with one that says as it is told."""

import numpy as np
import pandas as pd
import pytest

from memrepro.data.gold import Gold
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.llm.in_process import InProcess
from memrepro.llm.model import TOO_LONG, Answer, ModelIdentity, Prompt
from memrepro.llm.outcomes import OUTCOMES
from memrepro.llm.recorded import Recorded, Recording
from memrepro.llm.records import AnswerStore
from memrepro.read import reader
from memrepro.read.forecast import forecast
from memrepro.read.plan import Condition, ReadingStudy
from memrepro.read.prompts import permutation
from memrepro.read.reader import COLUMNS, cases_of, read, tokens_of
from tests.llm import tiny
from tests.study import toy

ENTRIES = {"tiny": {"model": "tiny", "revision": "r", "transformers": {"folder": "."}},
           "said": {"model": "said", "revision": "r"}}  # fmt: skip


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """The toy data set with options, a run and evidence of it."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    made = toy.prepare(n_memories=2, n_docs=6, n_queries=4)
    golds = {
        q.query_id: Gold(q.query_id, q.kind, q.text, q.at, "tea", ("tea", "cat", "rain"), 0)
        for q in made.queries
    }
    monkeypatch.setattr(reader, "gold_answers", lambda name: golds)
    monkeypatch.setattr(reader, "speakers", lambda name: {})
    rows = [(q.query_id, f"d{n}", n + 1) for q in made.queries for n in range(3)]
    run = pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"]).astype({"rank": np.int32})
    write_table(paths.run("sample", "toy-run", "all"), run)
    gold = [(q.query_id, q.kind, "round", 0, "d5", "", "") for q in made.queries]
    columns = ["query_id", "kind", "level", "part", "doc_id", "reason", "field"]
    write_table(paths.qrels("sample", "toy"), pd.DataFrame(gold, columns=columns))
    return made


def study_of(**conditions):
    shared = {"dataset": "toy", "questions": 6, "seed": 3}
    shown = {"run": "toy-run", "granularity": "round", "run_profile": "sample"}
    made = {}
    for name, settings in conditions.items():
        own = {} if "memory" in settings else shown
        made[name] = Condition(**(shared | {"model": "said", "answer": "open"} | own | settings))
        made[name].check(name)
    return ReadingStudy("s", "sample", "sample", made)


class Saying:
    """A backend that answers each prompt as it is told to, and keeps what it was asked."""

    def __init__(self, says, finish="stop"):
        self.identity, self.says, self.finish = ModelIdentity("said", "r"), says, finish
        self.asked = []

    def stream(self, prompts):
        for prompt in prompts:
            self.asked.append(prompt)
            yield prompt, Answer(self.says(prompt), 7, 2, 0.5, "said", "r", self.finish, "test")


def answered(study, backend_, folder):
    with AnswerStore(folder / "answers.sqlite") as store:
        model = Recording(store, backend_, progress=False)
        return read(study, lambda name: model, ENTRIES)


def test_the_whole_path_with_a_real_tiny_model_and_a_second_run_asks_nothing(
    dataset, tmp_path, monkeypatch
):
    monkeypatch.setattr(tiny, "CONTEXT", 2048)
    model = InProcess(tiny.make_model(tmp_path / "tiny"), "tiny", device="cpu")
    entries = {"tiny": {**ENTRIES["tiny"], "revision": model.identity.revision}}
    study = study_of(
        none={"memory": "none", "answer": "options", "model": "tiny"},
        found={"answer": "options", "model": "tiny", "k": 2},
        again={"answer": "options", "model": "tiny", "k": 2},
        said={"answer": "short", "model": "tiny", "judge": "tiny", "history": "text"},
        oracle={"memory": "oracle", "granularity": "round", "answer": "letter", "model": "tiny"},
    )
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        rows, _ = read(study, lambda name: Recording(store, model, progress=False), entries)
        replayed = Recorded(store, model.identity, "second run")
        again, _ = read(study, lambda name: replayed, entries)
        planned = forecast(study, entries, store, {})
    pd.testing.assert_frame_equal(rows, again)
    assert {name: str(dtype) for name, dtype in rows.dtypes.items()} == COLUMNS
    assert list(rows["condition"].unique()) == list(study.conditions)
    assert rows.groupby("condition").size().eq(6).all()
    order = [q.query_id for q in dataset.queries]
    for _, part in rows.groupby("condition"):
        assert list(part["query_id"]) == [q for q in order if q in set(part["query_id"])]
    assert set(rows["outcome"]) <= {*OUTCOMES, reader.NO_OPTION}
    by = {name: part.reset_index(drop=True) for name, part in rows.groupby("condition")}
    likely = pd.concat([by["none"], by["found"]])
    assert (likely["chosen"] >= 0).all()
    assert (likely["right"] == (likely["chosen"] == 0)).all()
    assert by["found"]["prompt"].equals(by["again"]["prompt"])
    assert by["none"]["docs"].eq(0).all()
    assert by["found"]["docs"].eq(2).all()
    assert by["oracle"]["docs"].eq(1).all()
    words = by["said"]
    assert words["right"].isna().all()
    assert words[["f1", "match", "contains"]].notna().all().all()
    asked = words["outcome"] != "empty"
    assert words["judged"][asked].notna().all()
    # All is recorded but what is judged, which the plan cannot know.
    answers = planned[planned["step"] == "answers"].set_index("condition")
    assert answers.loc["again", "calls"] == 0
    assert answers["left"].eq(0).all()
    assert planned["left"].sum() == planned["calls"][planned["step"] == "judgements"].sum() == 6


def right_letter(prompt: Prompt) -> str:
    """The letter before the option 'tea'."""
    return next(line[:3] for line in prompt.messages[-1].content.splitlines() if line[4:] == "tea")


def test_options_are_counted_in_the_data_sets_order_however_they_are_shown(dataset, tmp_path):
    study = study_of(letter={"answer": "letter"})
    backend_ = Saying(right_letter)
    rows, seconds = answered(study, backend_, tmp_path)
    assert rows["chosen"].eq(0).all()
    assert rows["right"].all()
    assert seconds == 0.5 * len(rows)
    # By (a) alone the right one is hit where the question's own order puts it first.
    first, _ = answered(study, Saying(lambda prompt: "(a)"), tmp_path / "other")
    orders = [permutation(3, query_id, 3) for query_id in first["query_id"]]
    assert list(first["chosen"]) == [order[0] for order in orders]
    assert len({order[0] for order in orders}) > 1


@pytest.mark.parametrize(
    ("says", "finish", "outcome"),
    [
        ("(a) or (b)", "stop", "names no option"),
        ("I'm sorry, but I can't help with that.", "stop", "declined"),
        ("", "refused: content_filter", "refused"),
        ("", TOO_LONG, "too long"),
    ],
)
def test_what_names_no_option_has_a_name(dataset, tmp_path, says, finish, outcome):
    rows, _ = answered(study_of(x={"answer": "letter"}), Saying(lambda p: says, finish), tmp_path)
    assert set(rows["outcome"]) == {outcome}
    assert rows["chosen"].eq(-1).all()
    assert not rows["right"].any()


def test_a_refused_question_has_no_score_and_an_empty_answer_is_not_judged(dataset, tmp_path):
    study = study_of(x={"answer": "short", "judge": "said"})
    refused, _ = answered(study, Saying(lambda p: "", TOO_LONG), tmp_path)
    assert refused[["f1", "match", "contains", "judged"]].isna().all().all()
    empty, _ = answered(study, Saying(lambda p: " "), tmp_path / "other")
    assert set(empty["outcome"]) == {"empty"}
    assert empty["f1"].eq(0).all()
    assert set(empty["judge_outcome"]) == {reader.NOT_ASKED}


def test_a_note_is_taken_of_each_doc_and_empty_ones_are_left_out(dataset, tmp_path):
    def says(prompt):
        text = prompt.messages[-1].content
        if "Write down what" in text:
            return "Empty." if '"date"' in text or "cat" in text else "NOTE: tea"
        return "tea" if "NOTE" in text else "nothing"

    backend_ = Saying(says)
    study = study_of(each={"notes": "each"}, one={"notes": "one"})
    rows, _ = answered(study, backend_, tmp_path)
    each = rows[rows["condition"] == "each"]
    finals = [p for p in backend_.asked if "Notes on past" in p.messages[-1].content]
    notes = [p for p in backend_.asked if "Write down what" in p.messages[-1].content]
    assert each["docs"].eq(3).all()
    # Each answer's tokens count its three notes'.
    assert each["prompt_tokens"].eq(4 * 7).all()
    assert all("mpty" not in p.messages[-1].content for p in finals)
    first = next(c for c in cases_of(study) if c.condition == "each")
    assert each["o200k"].iloc[0] == tokens_of(finals_of(first, says)) + sum(
        map(tokens_of, map(first.note_prompt, first.noting))
    )
    assert len(notes) == len({c.note_prompt(n) for c in cases_of(study) for n in c.noting})


def finals_of(case, says):
    return case.noted(
        Answer(says(case.note_prompt(item)), 1, 1, 0.0, "said", "r", "stop", "")
        for item in case.noting
    )


def test_a_prompt_without_room_is_not_asked(dataset, tmp_path):
    whole = {"memory": "whole", "granularity": "round"}
    study = study_of(whole={**whole, "room": 20}, wide={**whole, "room": 9000})
    backend_ = Saying(lambda p: "tea")
    rows, _ = answered(study, backend_, tmp_path)
    by = rows.groupby("condition")["outcome"].agg(set).to_dict()
    assert by == {"whole": {"too long"}, "wide": {"answered"}}
    assert rows["docs"].eq(6).all()
    with AnswerStore(tmp_path / "empty.sqlite") as store:
        planned = forecast(study, ENTRIES, store, {}).set_index("condition")
    assert planned.loc["whole", "too_long"] == 6
    assert planned.loc["whole", "calls"] == 0
    assert planned.loc["wide", "left"] == 6


def test_options_are_asked_only_where_there_are_some(dataset, monkeypatch):
    golds = {q.query_id: Gold(q.query_id, "kind", q.text, "", "tea") for q in dataset.queries}
    monkeypatch.setattr(reader, "gold_answers", lambda name: golds)
    with pytest.raises(MemreproError, match=r"s: x asks for one of the options of question"):
        cases_of(study_of(x={"answer": "letter"}))
