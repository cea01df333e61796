"""RF-Mem's sensitivity: hand-made recalls, with what must come out as formulas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memrepro.evaluate.comparison import Groups, compare, questions
from memrepro.papers.rfmem import claims, sensitivity
from memrepro.papers.rfmem.analysis import DOCUMENT
from memrepro.papers.rfmem.cells import signed
from memrepro.papers.rfmem.grid import (
    BEAMS,
    CUTOFFS,
    ENCODERS,
    GATE,
    KINDS,
    Depth,
    Grid,
    signals,
)
from memrepro.papers.rfmem.sensitivity import (
    FOLDS,
    REPEATS,
    Row,
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


# The tables


def test_a_gain_its_interval_and_its_spreads(table):
    one = grid()
    found = table("gains", one)
    mask = one.of_kind(KINDS["Basic"])
    base, now = one.familiarity[mask], one.recollection[mask]
    cell = found["mpnet Recol., R@5 Basic", "gain"]
    assert cell.reproduced == signed(now.mean() - base.mean())
    assert (cell.reported, cell.n) == (f"{0.4333 - 0.4242:+.4f}", 3)
    assert found[cell.row, "with its interval"].comparison == compare(
        base, now, Groups("person", tuple(one.questions["user"][mask]))
    )
    over = np.array([v[mask].mean() for v in one.sweeps["α"].values()]) - base.mean()
    assert found[cell.row, "over α"].reproduced == (
        f"{signed(over.min())} / {signed(np.median(over))} / {signed(over.max())} (11)"
    )
    assert (cell.row, "over τ") not in found
    gated = found["mpnet RF-Mem, R@5 Overall", "over τ"].reproduced
    assert gated.endswith(f"({len(one.routings)})")
    assert found["mpnet RF-Mem, R@5 Overall", "over α and τ"].reproduced.endswith("(396)")


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
    every = claims.compared([Row(one, CLAIMS[row]["path"], difference, {})])
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


def best_at(row, recalls, ks=(5, 10)):
    """The verdict where recollection is best at a B and F, given as (B, F) → recall."""
    made = tuple(grid(k=k, over_beam_and_fanout=recalls) for k in ks)
    found = cells(claims.best_between(made, {**CLAIMS[row], "elsewhere": False}))
    return found[row, "verdict"].verdict, found[row, "in this direction"].reproduced


def test_the_best_of_the_grid_lies_in_the_claimed_corner():
    row = "D.3: B = 2 or 3 with F = 1 or 2 is best (LongMemEval in the paper)"
    low, high = np.zeros(N), np.ones(N)
    assert best_at(row, {("2", "1"): high, ("4", "1"): low}) == ("exact", "2 of 2")
    assert best_at(row, {("2", "3"): high, ("2", "1"): low}) == ("not reproduced", "0 of 2")
    # Of equals one within is enough.
    assert best_at(row, {("5", "5"): high, ("3", "2"): high}) == ("exact", "2 of 2")
    told = cells(claims.best_between((grid(over_beam_and_fanout={("2", "1"): high}),), CLAIMS[row]))
    assert told[row, "verdict"].verdict == "not comparable"


def whole(k, encoder=ENCODERS[0]):
    """A grid with all that claims and figures ask of it."""
    rng = np.random.default_rng(1)
    at = {(beam, fanout): rng.random(N) for beam in BEAMS for fanout in "12"}
    one = grid(encoder, k, over_beam_and_fanout=at)
    depths = [Depth(k, np.zeros(N), np.ones(N), np.full(N, 5.0), probes()) for k in (5, 50)]
    object.__setattr__(one, "over_k", lambda: iter(depths))
    object.__setattr__(one, "deep_alphas", lambda k: {a: rng.random(N) for a in "01"})
    return one


@pytest.mark.parametrize("row", CLAIMS)
def test_every_claim_on_recall_names_a_check_that_finds_it(row):
    check = getattr(claims, CLAIMS[row]["check"])
    found = list(check(tuple(map(whole, CUTOFFS)), CLAIMS[row]))
    assert {c.row for c in found} == {row}
    assert all(c.sources for c in found)


def test_every_number_has_its_sources(table):
    grids = tuple(whole(k, encoder) for encoder in ENCODERS for k in CUTOFFS)
    for name in ("gains", "chosen_fairly"):
        assert all(c.sources for c in table(name, *grids).values())
