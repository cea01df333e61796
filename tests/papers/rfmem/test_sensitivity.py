"""RF-Mem's sensitivity: hand-made recalls, with what must come out as formulas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memrepro.evaluate.comparison import Groups, questions
from memrepro.papers.rfmem import claims, sensitivity
from memrepro.papers.rfmem.analysis import DOCUMENT
from memrepro.papers.rfmem.grid import (
    CUTOFFS,
    ENCODERS,
    GATE,
    KINDS,
    Grid,
    signals,
)
from memrepro.papers.rfmem.sensitivity import (
    FOLDS,
    REPEATS,
    best,
    chosen,
    folds,
    left_out_users,
)

CLAIMS = {c["row"]: {**c, "note": ""} for c in DOCUMENT.claims["claims"] if "check" in c}
USERS = ("000000", "000001", "001000")
KIND = [kind for kind in KINDS.values() if kind]
QUERIES = [f"{user}{number:03d}" for user in USERS for number in range(4)]
N = len(QUERIES)
RECALLS = arrays(
    float, st.tuples(st.integers(1, 6), st.just(N)), elements=st.sampled_from([0, 0.5, 1])
)


def probes(seed=3):
    """Five familiarity scores a question, best first; the means lie between the bounds."""
    scores = np.sort(np.random.default_rng(seed).uniform(0.1, 0.55, (N, 5)))[:, ::-1]
    scores[0] = 0.7  # so familiar that no threshold matters
    scores[1] = -0.1  # so strange that none does
    return pd.DataFrame(scores, index=QUERIES, columns=range(1, 6))


def grid(encoder=ENCODERS[0], k=5, seed=0, **given):
    """A grid of random recalls; α = 1 is familiarity, as in the method."""
    rng = np.random.default_rng(seed)
    direct, deep = rng.choice([0, 0.5, 1.0], (2, N))
    alphas = {f"{a / 10:.1f}": rng.choice([0, 0.5, 1.0], N) for a in range(10)} | {"1.0": direct}
    alphas["0.9"] = deep
    sweeps = {"α": alphas} | {
        p: {v: rng.choice([0, 0.5, 1.0], N) for v in "12"} | {"3": deep} for p in ("B", "F", "seed")
    }
    made = {
        "questions": pd.DataFrame({
            "query_id": QUERIES,
            "kind": [KIND[i % 4] for i in range(N)],
            "user": [query[:6] for query in QUERIES],
        }),
        "signals": signals(probes(), GATE),
        "familiarity": direct,
        "recollection": deep,
        "groups": Groups("person", tuple(query[:6] for query in QUERIES)),
        "own": {"α": "0.9", "B": "3", "F": "3", "seed": "3"},
        "sweeps": sweeps,
    }  # fmt: skip
    one = Grid(encoder, k, None)
    one.__dict__.update(made | given)
    return one


@pytest.fixture
def table(monkeypatch):
    """A table of `sensitivity` on some grids: its cells by row and column."""

    def make(name, *grids):
        monkeypatch.setattr(sensitivity, "grids_of", lambda profile: grids)
        return cells(getattr(sensitivity, name)(None, DOCUMENT.tables[name]))

    return make


def cells(found):
    return {(c.row, c.column): c for c in found}


# Choosing


def test_each_user_is_answered_at_the_others_choice():
    users = ["a", "a", "b", "c"]
    recalls = np.array([[1, 1, 0, 0], [0, 0, 1, 0.5], [0.5, 0.5, 0.5, 0.5]])
    # Without a: means (0, .75, .5); without b: (.67, .17, .5); without c: (.67, .33, .5).
    found = chosen(recalls, left_out_users(users))
    assert found.picks == [1, 0, 0]
    assert found.recall.tolist() == [0, 0, 0, 0]
    assert best(recalls) == 0  # means (.5, .375, .5): the first of equals


def test_users_and_folds_never_choose_for_themselves():
    users = [q[:6] for q in QUERIES]
    splits = list(left_out_users(users))
    assert [{users[i] for i in test} for _, test in splits] == [{user} for user in USERS]
    assert all({users[i] for i in train} == {*USERS} - {users[test[0]]} for train, test in splits)
    splits = list(folds(N))
    assert len(splits) == FOLDS * REPEATS
    assert np.bincount([i for _, test in splits for i in test]).tolist() == [REPEATS] * N
    assert all(set(train).isdisjoint(test) for train, test in splits)
    assert all((a[1] == b[1]).all() for a, b in zip(splits, folds(N), strict=True))


@settings(max_examples=30)
@given(RECALLS)
def test_a_fair_choice_is_no_better_than_the_best_of_each_user(recalls):
    users = np.array([q[:6] for q in QUERIES])
    found = chosen(recalls, left_out_users(list(users)))
    for user in USERS:
        own = recalls[:, users == user].mean(axis=1)
        assert own.min() - 1e-9 <= found.recall[users == user].mean() <= own.max() + 1e-9
    assert recalls[best(recalls)].mean() >= recalls.mean(axis=1).max() - 1e-9
    same = np.repeat(recalls[:1], 4, axis=0)
    assert chosen(same, folds(N)).recall == pytest.approx(same[0])


# The claims


def test_each_path_is_compared_with_its_rivals_by_person():
    one = grid()
    found = claims.every_path((one,))
    assert len(found) == (1 + 2 + 2) * 5
    mask = one.of_kind(KINDS["Basic"])
    assert found[0].column == "Basic"
    assert found[0].found == one.compare(one.familiarity, one.recollection, mask)
    assert (found[0].found.unit, found[0].found.groups) == ("person", len(USERS))
    overall = [[each.path, each.rival] for each in found if each.column == "Overall"]
    assert overall[:3] == [["Recol.", "Famili."], ["RF-Mem", "Famili."], ["RF-Mem", "Recol."]]


def better_path(row, difference):
    """A claim's cells where a path differs so from familiarity, and from recollection."""
    one = grid(questions=pd.DataFrame({"kind": ["Social"] * len(difference)}),
               familiarity=0 * difference, recollection=0 * difference,
               groups=questions(len(difference)))  # fmt: skip
    every = [*claims.compared(one, CLAIMS[row]["path"], difference)]
    return cells(claims.of_path(every, CLAIMS[row]))


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (np.full(40, 0.5), "exact"),
        (np.array([0.5] + [0.0] * 39), "direction only"),
        (np.zeros(40), "undecided"),
        (np.full(40, -0.5), "not reproduced"),
    ],
)
def test_the_verdict_on_a_claim(difference, verdict):
    row = "§3.3: recollection improves over familiarity"
    claim = better_path(row, difference)[row, "verdict"]
    assert (claim.verdict, claim.n) == (verdict, 40)
    assert claim.reported == "Recollection is stronger"


def test_the_best_settings_are_all_of_equals():
    low, high = np.zeros(N), np.ones(N)
    one = grid(over_beam_and_fanout={("2", "3"): high, ("2", "1"): low, ("5", "5"): high})
    assert claims.best_settings(one, "B × F") == [{"B": 2, "F": 3}, {"B": 5, "F": 5}]
    assert claims.best_settings(grid(sweeps={"α": {"0.1": low, "0.2": high}}), "α") == [{"α": 0.2}]


def test_the_best_of_the_grid_lies_in_the_claimed_range(monkeypatch):
    row = "D.2: α of 0.3 to 0.6 is best at Recall@5"
    for best_at, verdict in (([0.4], "exact"), ([0.9, 0.6], "exact"), ([0.9], "not reproduced")):
        tops = [{"α": alpha, "τ": 0.1} for alpha in best_at]
        monkeypatch.setattr(claims, "best_settings", lambda grid, tried, tops=tops: tops)
        found = cells(claims.best_between((grid(),), CLAIMS[row]))
        assert found[row, "verdict"].verdict == verdict


@pytest.mark.parametrize("row", CLAIMS)
def test_every_claim_on_recall_names_a_check_that_finds_it(row):
    check = getattr(claims, CLAIMS[row]["check"])
    found = list(check(tuple(grid(k=k) for k in CUTOFFS), CLAIMS[row]))
    assert {c.row for c in found} == {row}
    assert all(c.sources for c in found)


def test_every_number_has_its_sources(table):
    grids = [grid(encoder, k) for encoder in ENCODERS for k in CUTOFFS]
    assert all(c.sources for c in table("chosen_fairly", *grids).values())
