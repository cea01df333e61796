"""Means, intervals, and what cannot be told from the best."""

import numpy as np
import pytest

from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.comparison import Groups, mean_interval
from memrepro.files import paths
from memrepro.site import leaderboard as board
from memrepro.site import questions
from memrepro.site.leaderboard import COLUMNS
from memrepro.study.params import load_plan


def of_session(monkeypatch, *groups):
    """Experiments by sessions, each of recall_all@5 alone; those of a group had its questions."""
    values = {
        ("sample", "session", tuple(f"q{i:03}" for i in range(len(next(iter(runs.values())))))): {
            (name, ""): {("recall_all", 5): one} for name, one in runs.items()
        }
        for runs in groups
    }
    monkeypatch.setattr(board, "is_evaluated", lambda profile: True)
    monkeypatch.setattr(board, "_values", lambda profile, plan: values)


def test_the_best_the_close_and_the_rest(monkeypatch):
    n = 200
    best = np.ones(n)
    best[:20] = 0
    close = best.copy()
    close[20:22] = 0
    close[0] = 1
    far = np.zeros(n)
    runs = {"sample-bm25-user": far, "sample-dense-user": best, "sample-bm25-words": close}
    # On other questions of the same data set: not paired with those above.
    of_session(monkeypatch, runs, {"sample-dense-fielded": np.ones(9)})
    found = {entry.experiment: entry for entry in board.leaderboard("sample", load_plan())}
    score = {name: entry.scores[COLUMNS.index(("recall_all", 5))] for name, entry in found.items()}
    assert score["sample-dense-user"].standing == "best"
    assert score["sample-dense-user"].mean == pytest.approx(0.9)
    # The interval is that of the tables.
    there = paired_difference(np.zeros(n), best)
    assert (score["sample-dense-user"].low, score["sample-dense-user"].high) == there[1:]
    assert found["sample-dense-user"].resampled == "200 questions"
    assert score["sample-bm25-words"].standing == "close"
    assert score["sample-bm25-user"].standing == ""
    assert score["sample-dense-fielded"].standing == "best"
    assert found["sample-dense-fielded"].n == 9
    assert found["sample-bm25-user"].encoder == "none (lexical)"
    assert found["sample-bm25-user"].scores[1] is None  # never evaluated at 10


def test_what_stands_together_is_resampled_together(monkeypatch):
    """Half of the persons gain all, half lose nearly as much: the two are not told apart."""
    n = 200
    persons = tuple(f"p{i % 4}" for i in range(n))
    first = np.tile([1.0, 0.0, 1.0, 0.0], n // 4)
    second = np.tile([0.0, 1.0, 0.0, 1.0], n // 4)
    second[0] = 1
    groups = Groups("person", persons)
    of_session(monkeypatch, {"sample-bm25-user": first, "sample-dense-user": second})
    monkeypatch.setattr(board, "groups_of_questions", lambda *given: groups)
    found = {entry.experiment: entry for entry in board.leaderboard("sample", load_plan())}
    score = {name: entry.scores[0] for name, entry in found.items()}
    assert (score["sample-dense-user"].standing, score["sample-bm25-user"].standing) == (
        "best", "close",
    )  # fmt: skip
    assert score["sample-bm25-user"][:3] == mean_interval(first, groups)
    assert found["sample-bm25-user"].resampled == "4 persons"


@pytest.fixture(scope="module")
def of_sample():
    return board.leaderboard("sample", load_plan())


def test_the_plain_hybrids_stand_beside_all_methods(of_sample):
    """At every cut-off of the leaderboard, and in the question browser."""
    plan = load_plan()
    hybrids = {name for name, one in plan.sweeps.items() if one.retriever == "hybrid"}
    runs = {name: paths.run("open", name, plan.sweeps[name].study) for name in hybrids}
    here = {name for name, path in runs.items() if path.is_file()}
    assert {f"locomo-minilm-{level}-hybrid" for level in ("round", "session")} <= here
    browsed = {name for names in questions.browsable("open", plan).values() for name in names}
    assert here <= browsed
    entries = [e for e in of_sample if e.experiment in hybrids]
    assert {e.varied for e in entries} >= {"alpha 0.0", "alpha 0.5", "alpha 1.0"}
    assert all(None not in e.scores for e in entries)


def test_a_profile_without_results_has_no_lines(tmp_path, monkeypatch):
    plan = load_plan()
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert board.leaderboard("open", plan) == []
