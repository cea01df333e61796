"""`memrepro read`: what it prints, plans and writes, on a toy data set with recorded answers."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from memrepro.data.gold import Gold
from memrepro.files import paths
from memrepro.llm.model import Answer, ModelIdentity
from memrepro.llm.recorded import Recording
from memrepro.llm.records import AnswerStore
from memrepro.pipeline import cli
from memrepro.read import reader
from memrepro.read.plan import Condition, ReadingStudy
from memrepro.read.reader import COLUMNS, cases_of
from memrepro.study import params
from tests.study import toy

MODELS = {"said": {"model": "said-1", "revision": "r"}}


class Saying:
    identity = ModelIdentity("said-1", "r")

    def stream(self, prompts):
        for prompt in prompts:
            yield prompt, Answer("tea", 7, 2, 0.5, "said-1", "r", "stop", "test")


@pytest.fixture
def studies(tmp_path, monkeypatch):
    """Two reading studies of the toy data set, in a repository of their own."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    made = toy.prepare(n_memories=1, n_docs=4, n_queries=3)
    golds = {q.query_id: Gold(q.query_id, q.kind, q.text, q.at, "tea") for q in made.queries}
    monkeypatch.setattr(reader, "gold_answers", lambda name: golds)
    monkeypatch.setattr(reader, "speakers", lambda name: {})
    none = Condition("toy", "said", "short", memory="none")
    whole = replace(none, memory="whole", granularity="round")
    found = {
        name: ReadingStudy(name, "sample", "sample", {"none": none, "whole": whole})
        for name in ("one", "two")
    }
    plan = replace(toy.plan({}), models=MODELS, reading=found)
    monkeypatch.setattr(params, "load_plan", lambda: plan)
    return found


def record(study):
    with AnswerStore() as store:
        asked = [case.prompt() for case in cases_of(study)]
        Recording(store, Saying(), progress=False).answer(asked)


def test_answers_are_replayed_and_one_study_leaves_the_others_rows(studies, capsys):
    record(studies["one"])
    assert cli.main(["read", "sample"]) == 0
    printed = capsys.readouterr()
    assert "results/sample/readings.parquet" in printed.out
    assert "| one" in printed.out
    assert "one: 6 answers" in printed.err
    table = pd.read_parquet(paths.readings("sample"))
    assert list(table.columns) == list(COLUMNS)
    assert list(table["study"]) == ["one"] * 6 + ["two"] * 6
    assert table["f1"].eq(1).all()
    before = paths.readings("sample").read_bytes()
    assert cli.main(["read", "sample", "--study", "one", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["study"], row["condition"], row["answered"]) for row in rows] == [
        ("one", "none", 3), ("one", "whole", 3),
    ]  # fmt: skip
    assert paths.readings("sample").read_bytes() == before


def test_without_answers_it_says_how_many_are_missing(studies, capsys):
    assert cli.main(["read", "sample"]) == 1
    assert "6 of 6 answers of 'said-1'" in capsys.readouterr().err
    assert not paths.readings("sample").exists()


def test_a_plan_before_money_is_spent(studies, tmp_path, capsys):
    prices = tmp_path / "prices.yaml"
    prices.write_text("said-1: {currency: EUR, prompt: 2.0, answer: 1000000.0}\n")
    asked = ["read", "sample", "--plan", "--json", "--rate", "1", "--prices", str(prices)]
    assert cli.main(asked) == 0
    *rows, total = json.loads(capsys.readouterr().out)
    assert [row["left"] for row in rows] == [3, 3] * 2
    assert total["calls"] == total["left"] == 12
    tokens = sum(row["prompt_tokens"] for row in rows)
    # 16 tokens a short answer at most, at a unit each.
    assert total["low"] == pytest.approx(tokens * 2 / 1e6)
    assert total["high"] == pytest.approx(tokens * 2 / 1e6 + 12 * 16)
    assert total["currency"] == "EUR"
    assert total["minutes"] == pytest.approx((tokens + 12 * 16) / 60, abs=0.1)
    record(studies["one"])
    assert cli.main(["read", "sample", "--plan", "--study", "one"]) == 0
    assert "| 3" in capsys.readouterr().out
    assert not paths.readings("sample").exists()


def test_a_study_that_cannot_be_planned_is_named_beside_the_others(studies, capsys, monkeypatch):
    (paths.prepared("toy") / "turns.parquet").unlink()
    assert cli.main(["read", "sample", "--plan"]) == 1
    printed = capsys.readouterr().err
    assert "memrepro: one, 2 conditions, cannot be planned here: " in printed
    assert "turns.parquet is missing" in printed
