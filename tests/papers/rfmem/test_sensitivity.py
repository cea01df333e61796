"""RF-Mem's sensitivity: hand-made recalls, with what must come out as formulas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.papers.rfmem import claims, sensitivity, sweep_figures
from memrepro.papers.rfmem.analysis import DOCUMENT
from memrepro.papers.rfmem.cells import run_path, signed
from memrepro.papers.rfmem.grid import (
    BEAMS,
    CUTOFFS,
    ENCODERS,
    GATE,
    KINDS,
    SWEEPS,
    TAUS,
    Depth,
    Grid,
    grids_of,
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
from memrepro.study.evaluation import METRIC_COLUMNS
from tests.papers.rfmem import toy

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


# The grid


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
    interval = paired_difference(base, now)
    assert found[cell.row, "95 % interval"].reproduced == (
        f"[{signed(interval.low)}, {signed(interval.high)}]"
    )
    won, lost = (now > base).sum(), (now < base).sum()
    assert found[cell.row, "won, lost"].reproduced == f"{won}, {lost}"
    over = np.array([v[mask].mean() for v in one.sweeps["α"].values()]) - base.mean()
    assert found[cell.row, "over α"].reproduced == (
        f"{signed(over.min())} / {signed(np.median(over))} / {signed(over.max())} (11)"
    )
    assert (cell.row, "over τ") not in found
    gated = found["mpnet RF-Mem, R@5 Overall", "over τ"].reproduced
    assert gated.endswith(f"({len(one.routings)})")
    assert found["mpnet RF-Mem, R@5 Overall", "over α and τ"].reproduced.endswith("(396)")


# The claims


def test_all_comparisons_are_one_family():
    one = grid()
    found = claims.family((one,))
    assert len(found) == (1 + 2 + 2) * 5
    assert found["corrected"].tolist() == holm(found["p"].tolist())
    first = found.iloc[0]
    part = (one.recollection - one.familiarity)[one.of_kind(KINDS["Basic"])]
    assert (first["column"], first["n"], first["p"]) == ("Basic", 3, sign_flip(part))
    assert (first["won"], first["lost"]) == ((part > 0).sum(), (part < 0).sum())
    overall = found.loc[found["column"] == "Overall", ["path", "rival"]].to_numpy().tolist()
    assert overall[:3] == [["Recol.", "Famili."], ["RF-Mem", "Famili."], ["RF-Mem", "Recol."]]


def better_path(row, difference):
    """A claim's cells where a path differs so from familiarity, and from recollection."""
    one = grid(questions=pd.DataFrame({"kind": ["Social"] * len(difference)}),
               familiarity=0 * difference, recollection=0 * difference)  # fmt: skip
    every = claims.compared([Row(one, CLAIMS[row]["path"], difference, {})])
    return cells(claims.of_path(every, CLAIMS[row]))


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (np.full(40, 0.5), "exact"),
        (np.array([0.5] + [0.0] * 39), "direction only"),
        (np.zeros(40), "not reproduced"),
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


@pytest.mark.parametrize("row", CLAIMS)
def test_every_claim_on_recall_names_a_check_that_finds_it(row):
    check = getattr(claims, CLAIMS[row]["check"])
    rng, more = np.random.default_rng(1), {}
    more["over_beam_and_fanout"] = {(b, f): rng.random(N) for b in BEAMS for f in "12"}
    both = [grid(k=k, **more) for k in CUTOFFS]
    for one in both:
        deep = Depth(5, np.zeros(N), np.ones(N), np.full(N, 5.0), probes())
        object.__setattr__(one, "over_k", lambda deep=deep: iter([deep]))
        object.__setattr__(one, "deep_alphas", lambda k: {a: rng.random(N) for a in "01"})
    found = list(check(tuple(both), CLAIMS[row]))
    assert {c.row for c in found} == {row}
    assert all(c.sources for c in found)


# From files


@pytest.fixture
def written(folder):
    """Runs and metrics of all experiments and sweeps, of random recalls."""
    rng = np.random.default_rng(5)
    rows = []

    def add(experiment, setting, k, values):
        for cut in (c for c in (1, 3, 5, 10, 50) if c <= k):
            rows.extend(
                (experiment, setting, "session", q, KIND[i % 4], "recall", cut, value)
                for i, (q, value) in enumerate(zip(QUERIES, values, strict=True))
            )

    def listed(name, settings):
        """The run of a sweep: five docs a question and setting, with the toy scores."""
        scores = probes().melt(ignore_index=False, var_name="rank", value_name="score")
        run = scores.rename_axis("query_id").reset_index().assign(doc_id="d")
        write_table(run_path(name), pd.concat([run.assign(setting=s) for s in settings]))

    values_of = {
        "α": [f"{a / 10}" for a in range(11)],
        "F": list("12345"),
        "seed": [*"012345678", "42"],
    }
    for encoder in ENCODERS:
        stem = f"rfmem-{encoder.short}"
        add(f"{stem}-familiarity", "", 10, rng.choice([0, 0.5, 1.0], N))
        for k in (5, 10, 50):
            for path in ("familiarity", "recollection"):
                add(f"{stem}-{path}-by-k", str(k), k, rng.choice([0, 0.5, 1.0], N))
        for alpha in ("0.0", "1.0"):
            add(f"{stem}-recollection-k50-by-alpha", alpha, 50, rng.choice([0, 0.5, 1.0], N))
        for name in ("familiarity-by-k", "recollection-by-k", "recollection-k50-by-alpha"):
            listed(f"{stem}-{name}", ("0.0", "1.0") if "alpha" in name else ("5", "10", "50"))
        scores = probes().melt(ignore_index=False, var_name="rank", value_name="score")
        run = scores.rename_axis("query_id").reset_index().assign(doc_id="d")
        write_table(run_path(f"{stem}-familiarity"), run)
        for k, own in ((5, ("0.9", "3", "1", "42")), (10, ("0.2", "3", "2", "42"))):
            name, whole = f"{stem}-recollection-k{k}", rng.choice([0, 0.5, 1.0], N)
            add(name, "", k, whole)
            add(f"{stem}-gated-k{k}", "", k, whole)
            alpha, beam, fanout, seed = own
            mine = {"α": alpha, "F": fanout, "seed": seed}
            listed(f"{name}-by-alpha", values_of["α"])
            for parameter, values in values_of.items():
                for value in values:
                    recall = whole if value == mine[parameter] else rng.choice([0, 0.5, 1.0], N)
                    add(f"{name}-by-{SWEEPS[parameter]}", value, k, recall)
            for other in set(BEAMS) - {beam}:
                for value in values_of["F"]:
                    recall = rng.choice([0, 0.5, 1.0], N)
                    add(f"{name}-b{other}-by-fanout", value, k, recall)

    def write(frame=None):
        table = pd.DataFrame(rows, columns=METRIC_COLUMNS) if frame is None else frame
        write_table(paths.metrics("open"), table)
        return table

    write()
    return write


def test_a_sweep_that_is_not_of_its_experiment_is_refused(written):
    table = written()
    place = (table["experiment"] == "rfmem-mpnet-recollection-k5-by-fanout") & (table["k"] == 5)
    place &= table["setting"] == "1"
    written(table.assign(value=table["value"].where(~place, 0.123)))
    with pytest.raises(MemreproError, match=r"over B does not hold its run at 3"):
        _ = grids_of("open")[0].sweeps


@pytest.mark.slow
def test_all_is_drawn_and_every_number_has_its_sources(written, folder):
    assert len(sweep_figures.draw_all(grids_of("open"), folder / "a")) == 3 * 5
    sizes = {"figure14": 4 * 11 * len(TAUS), "figure15": 4 * 25, "figure16": 4 * 11 + 2 * 2,
             "figure17": 2 * 3 * 4}  # fmt: skip
    for name, size in sizes.items():
        assert len(read_table(folder / "a" / f"{name}.csv")) == size
    for name in ("gains", "chosen_fairly", "chosen_by_user", "comparisons"):
        assert all(c.sources for c in toy.cells(name).values())
