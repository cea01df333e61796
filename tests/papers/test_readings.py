"""Tables on our readers' answers: on rows made at random, against what they were made of."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from memrepro.evaluate.comparison import questions
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.reading import readings
from memrepro.papers.reading.readings import Answers
from memrepro.papers.reading.report import place_cells
from memrepro.papers.reading.shares import ByUnit
from memrepro.read.plan import Condition, ReadingStudy
from memrepro.read.prompts import permutation

IDS = [f"q{n}" for n in range(200)]
COMMON = {"dataset": "d", "model": "m", "seed": 3}


def rows(condition, generator, study="options", **columns):
    """Rows of a condition; what a form of answer does not have is missing, as in a real file."""
    n = len(IDS)
    frame = pd.DataFrame(
        {
            "study": study, "condition": condition, "model": "tiny", "query_id": IDS,
            "kind": np.where(np.arange(n) % 2, "odd", "even"), "outcome": "answered",
            "chosen": -1, "right": pd.NA, "f1": np.nan, "match": pd.NA, "contains": pd.NA,
            "judged": pd.NA, "judge_outcome": "not asked", "docs": 5, "dropped": 0,
            "prompt_tokens": generator.integers(10, 99, n), "answer_tokens": 1,
            "o200k": generator.integers(10, 99, n),
        }
    ).assign(**columns)  # fmt: skip
    kinds = dict.fromkeys(("right", "match", "contains", "judged"), "boolean")
    return frame.astype(kinds)


def written(recall):
    """A run and gold of two docs a question, of which a share as recall says is among five docs."""
    gold, ranking = [], []
    for query_id, share in zip(IDS, recall, strict=True):
        gold += [(query_id, "", "round", part, f"gold{part}", "") for part in (0, 1)]
        docs = [f"gold{part}" for part in range(int(share * 2))]
        docs = [*(f"other{n}" for n in range(5 - len(docs))), *docs, "gold0", "gold1"]
        ranking += [(query_id, doc, rank, 0.0) for rank, doc in enumerate(dict.fromkeys(docs), 1)]
    columns = ["query_id", "kind", "level", "part", "doc_id", "fault"]
    write_table(paths.qrels("open", "d"), pd.DataFrame(gold, columns=columns))
    run = pd.DataFrame(ranking, columns=["query_id", "doc_id", "rank", "score"])
    write_table(paths.run("open", "found", "study"), run)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Answers of two studies, and what they were made of: recall decides, places decide."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    n = len(IDS)
    recall = generator.integers(0, 3, n) / 2
    right = generator.random(n) < np.where(recall == 1, 0.8, 0.3)
    lucky = generator.random(n) < 0.25
    # This reader chooses the place that is shown first, whatever stands there.
    first = np.array([permutation(4, query_id, 3)[0] for query_id in IDS])
    f1, judged = generator.random(n), generator.random(n) < 0.5
    words = {"study": "words", "f1": f1, "match": f1 > 0.9, "contains": f1 > 0.7}
    parts = [
        rows("nothing", generator, chosen=first, right=lucky),
        rows("five", generator, chosen=generator.integers(0, 4, n), right=right),
        rows("nothing", generator, **words | {"f1": f1 / 2}),
        rows("five", generator, **words, judged=judged, judge_outcome="answered"),
    ]
    frame = pd.concat(parts, ignore_index=True)
    # Three answers were not given: no text, no judgement, no score.
    lost = frame.index[(frame["study"] == "words") & (frame["condition"] == "five")][:3]
    frame.loc[lost, ["match", "contains", "judged"]] = pd.NA
    frame.loc[lost, "f1"] = np.nan
    frame.loc[lost, ["outcome", "judge_outcome"]] = ["refused", "not asked"]
    # And of two the judge says nothing.
    frame.loc[lost + 3, "judged"] = pd.NA
    frame.loc[lost + 3, "judge_outcome"] = "neither yes nor no"
    studies = {}
    for name, answer in (("options", "options"), ("words", "short")):
        floor = Condition(**COMMON, answer=answer, memory="none")
        five = Condition(**COMMON, answer=answer, run="found", granularity="round", tokens=99,
                         run_profile="open", judge="m" if answer == "short" else "")  # fmt: skip
        conditions = {"nothing": floor, "five": five}
        studies[name] = ReadingStudy(name, "open", "open", conditions)
    written(recall)
    by_question = ByUnit(lambda query_ids: questions(len(query_ids)))
    monkeypatch.setattr(ByUnit, "of_dataset", lambda dataset: by_question)
    return Answers(frame, studies), recall, right, lucky, f1, judged


def texts(cells):
    return {(cell.row, cell.column): cell.text for cell in cells}


def mean(text):
    return float(text.split()[0])


def test_chance_is_of_all_options_though_a_kind_never_chose_the_last(made):
    chosen = np.where(np.arange(len(IDS)) % 2, 3, 1)  # even: always the second of four
    table = rows("nothing", np.random.default_rng(0), chosen=chosen, right=False)
    condition = Condition(**COMMON, answer="options", memory="none")
    study = ReadingStudy("options", "open", "open", {"nothing": condition})
    cells = readings.accuracy_cells(Answers(table, {"options": study}))
    chance = {
        cell.row.split("; ")[-1]: cell.reproduced for cell in cells if cell.column == "chance"
    }
    assert chance == dict.fromkeys(("all kinds", "even", "odd"), "0.2500")


def test_accuracy_stands_beside_the_floor_and_chance(made):
    answers, _, right, lucky, f1, judged = made
    found = texts(readings.accuracy_cells(answers))
    row = "options; five; tiny; all kinds"
    assert mean(found[row, "right option"]) == pytest.approx(right.mean(), abs=1e-4)
    assert found[row, "chance"] == "0.2500"
    gained = found[row, "right option: gain over it"]
    assert mean(gained) == pytest.approx(right.mean() - lucky.mean(), abs=1e-4)
    assert mean(found["options; five; tiny; odd", "right option: gain over it"]) == (
        pytest.approx(right[1::2].mean() - lucky[1::2].mean(), abs=1e-4)
    )
    # What was refused has no score; what the judge left open has no verdict.
    row = "words; five; tiny; all kinds"
    assert mean(found[row, "LoCoMo's F1"]) == pytest.approx(f1[3:].mean(), abs=1e-4)
    share = judged[6:].mean()
    assert mean(found[row, "judged right"]) == pytest.approx(share, abs=1e-4)
    assert (row, "chance") not in found


def test_no_answer_is_lost(made):
    found = texts(readings.outcome_cells(made[0]))
    row = "words; five; tiny"
    assert (found[row, "answer: answered"], found[row, "answer: refused"]) == ("197", "3")
    said = {column: int(text) for (r, column), text in found.items() if r == row}
    assert sum(n for column, n in said.items() if column.startswith("judge")) == 200
    assert said["judge: neither yes nor no"] == 3


def test_better_recall_and_better_answers(made):
    answers, recall, right, lucky, *_ = made
    found = texts(readings.retrieval_cells(answers))
    row = "options; five; tiny; right option"
    whole = recall == 1
    assert mean(found[row, "all evidence shown"]) == pytest.approx(whole.mean(), abs=1e-4)
    difference = right[whole].mean() - right[~whole].mean()
    assert mean(found[row, "gap"]) == pytest.approx(difference, abs=1e-4)
    low, high = found[row, "gap"].split("[")[1].rstrip("]").split(", ")
    assert 0 < float(low) < difference < float(high)
    assert mean(found[row, "ρ of recall and score"]) == pytest.approx(
        spearmanr(recall, right).statistic, abs=1e-4
    )
    below = lucky[whole].mean() - lucky[~whole].mean()
    assert mean(found[row, "gap without memory"]) == pytest.approx(below, abs=1e-4)
    # A condition without a run has no recall.
    assert not any(row.startswith("options; nothing") for row, _ in found)


def test_a_reader_that_chooses_by_place_is_seen(made):
    found = texts(place_cells(None, made[0]))
    assert mean(found["options; nothing; tiny", "chosen at (a)"]) == 1
    shares = [mean(found["options; five; tiny", f"chosen at ({x})"]) for x in "abcd"]
    assert max(shares) < 0.4
    assert sum(shares) == pytest.approx(1, abs=1e-3)


def test_the_judge_beside_the_rules(made):
    answers, *_, f1, judged = made
    found = texts(readings.judge_cells(answers))
    row = "words; five; tiny"
    equal = ((f1 >= 0.5) == judged)[6:].mean()
    assert mean(found[row, "F1 ≥ 0.5: equal"]) == pytest.approx(equal, abs=1e-4)
    assert {r for r, _ in found} == {row}


def test_the_four_shares_of_found_and_right_add_up(made):
    answers, recall, right, *_ = made
    found = texts(readings.retrieval_cells(answers))
    row, whole = "options; five; tiny; right option", recall == 1
    assert mean(found[row, "R, G"]) == pytest.approx((whole & right).mean(), abs=1e-4)
    assert mean(found[row, "not R, G"]) == pytest.approx((~whole & right).mean(), abs=1e-4)
    shares = [mean(found[row, f"{r}, {g}"]) for r in ("R", "not R") for g in ("G", "not G")]
    assert sum(shares) == pytest.approx(1, abs=1e-3)
    # F1 is no yes or no.
    assert ("words; five; tiny; LoCoMo's F1", "R, G") not in found


def test_strict_and_lenient_rubrics_stand_side_by_side_and_each_has_its_own_floor(made):
    answers, *_, f1, judged = made
    five = answers.rows[(answers.rows["study"] == "words") & (answers.rows["condition"] == "five")]
    assert not list(readings.rubric_cells(answers))
    kind = {"condition": "five-lenient", "judged": five["judged"] | (five["f1"] > 0.5)}
    study = answers.study_of("words; five; tiny")
    lenient = replace(study.conditions["five"], rubrics="lenient")
    conditions = {**study.conditions, "five-lenient": lenient}
    both = Answers(
        pd.concat([answers.rows, five.assign(**kind)], ignore_index=True),
        {"options": answers.study_of("options"), "words": replace(study, conditions=conditions)},
    )
    found = texts(readings.rubric_cells(both))
    row = "words; five; tiny"
    assert {name for name, _ in found} == {row}
    passes = judged | (f1 > 0.5)
    assert mean(found[row, "the first passes"]) == pytest.approx(judged[5:].mean(), abs=0.01)
    assert mean(found[row, "the second alone"]) == pytest.approx(
        (passes & ~judged)[5:].mean(), abs=0.01
    )
    assert mean(found[row, "the first alone"]) == 0
    # No lenient floor was asked for.
    gains = texts(readings.accuracy_cells(both))
    assert (f"{row}; all kinds", "judged right: gain over it") not in gains
    assert ("words; five-lenient; tiny; all kinds", "judged right: gain over it") not in gains


def test_where_nothing_was_read_each_table_says_so():
    for cells in readings.tables(None, "open").values():
        (cell,) = cells
        assert cell.verdict == "not run"
        assert "memrepro read open" in cell.note
