"""RF-Mem's sensitivity: hand-made recalls, with what must come out as formulas."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.papers.rfmem import claims, sensitivity
from memrepro.papers.rfmem.analysis import DOCUMENT
from memrepro.papers.rfmem.cells import printed_rows, run_path, signed
from memrepro.papers.rfmem.grid import (
    ENCODERS,
    FOLDS,
    GATE,
    KINDS,
    REPEATS,
    SWEEPS,
    TAUS,
    Grid,
    best,
    chosen,
    folds,
    grids_of,
    left_out_users,
    signals,
)
from memrepro.papers.rfmem.sensitivity import Row
from memrepro.papers.rfmem.thresholds import closest
from memrepro.report.tables import write_cells
from memrepro.study.evaluation import METRIC_COLUMNS

FIXED = "fixed: α = 0.8, τ = 0.2, the released defaults"
OURS = "fixed: as Table 2's rows here"
CLAIMS = {claim["row"]: claim for claim in DOCUMENT.claims["claims"]}
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


# The grid


@pytest.mark.parametrize("tau", [0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 2.0])
def test_the_routing_at_a_threshold_is_the_gates(tau):
    at = GATE.__class__(GATE.sharpness, tau, GATE.mean_high, GATE.mean_low)
    expected = [at.is_familiar(row) for row in probes().to_numpy()]
    assert grid().familiar(tau).tolist() == expected


def test_a_low_threshold_recollects_and_a_high_one_does_not():
    one = grid()
    low, high = one.gated(one.recollection, 0.0), one.gated(one.recollection, 9.0)
    assert low.tolist() == [one.familiarity[0], *one.recollection[1:]]
    assert high.tolist() == [one.familiarity[0], one.recollection[1], *one.familiarity[2:]]
    assert one.over_tau()[0].tolist() == low.tolist()
    assert one.over_tau()[-1].tolist() == high.tolist()
    # Between two neighbouring routings exactly one question changes its path.
    paths_of = [r.familiar for r in one.routings]
    assert all((now & ~before).sum() == 1 for before, now in pairwise(paths_of))


def test_every_pair_of_alpha_and_tau_is_the_gated_recall_at_it():
    one = grid()
    pairs, recalls = one.over_alpha_and_tau()
    assert recalls.shape == (11 * len(TAUS), N) == (len(pairs), N)
    for (alpha, tau), recall in list(zip(pairs, recalls, strict=True))[::37]:
        assert recall.tolist() == one.gated(one.sweeps["α"][alpha], tau).tolist()
    assert pairs[0] == ("0.0", 0.0)
    assert pairs[-1] == ("1.0", 0.35)


# Choosing


def test_each_user_is_answered_at_the_others_choice():
    users = ["a", "a", "b", "c"]
    recalls = np.array([[1, 1, 0, 0], [0, 0, 1, 0.5], [0.5, 0.5, 0.5, 0.5]])
    # Without a: means (0, .75, .5); without b: (.67, .17, .5); without c: (.67, .33, .5).
    found = chosen(recalls, left_out_users(users))
    assert found.picks == [1, 0, 0]
    assert found.recall.tolist() == [0, 0, 0, 0]
    assert best(recalls) == 0  # means (.5, .375, .5): the first of equals


def test_the_questions_of_a_user_never_choose_for_themselves():
    users = [q[:6] for q in QUERIES]
    splits = list(left_out_users(users))
    assert len(splits) == len(USERS)
    for train, test in splits:
        assert len({users[i] for i in test}) == 1
        assert {users[i] for i in test}.isdisjoint(users[i] for i in train)
    assert sorted(i for _, test in splits for i in test) == list(range(N))


def test_folds_test_each_question_once_a_partition_and_are_the_same_each_time():
    splits = list(folds(N))
    assert len(splits) == FOLDS * REPEATS
    assert np.bincount([i for _, test in splits for i in test]).tolist() == [REPEATS] * N
    assert all(set(train).isdisjoint(test) for train, test in splits)
    again = list(folds(N))
    assert all((a[1] == b[1]).all() for a, b in zip(splits, again, strict=True))


@given(RECALLS)
def test_a_fair_choice_is_no_better_than_the_best_of_each_user(recalls):
    users = np.array([q[:6] for q in QUERIES])
    found = chosen(recalls, left_out_users(list(users)))
    for user in USERS:
        own = recalls[:, users == user].mean(axis=1)
        assert own.min() - 1e-9 <= found.recall[users == user].mean() <= own.max() + 1e-9
    assert recalls[best(recalls)].mean() >= recalls.mean(axis=1).max() - 1e-9


@given(RECALLS)
def test_where_all_settings_are_equal_nothing_is_lost_by_choosing(recalls):
    same = np.repeat(recalls[:1], 4, axis=0)
    assert chosen(same, folds(N)).recall == pytest.approx(same[0])


# The tables


def cells(found):
    return {(c.row, c.column): c for c in found}


def test_a_gain_its_interval_and_its_spreads():
    one = grid()
    found = cells(sensitivity.gains(sensitivity.rows_of(one)))
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


def test_the_papers_gains_stand_beside_its_encoder_alone():
    printed = cells(sensitivity.gains(sensitivity.rows_of(grid(k=10))))
    assert printed["mpnet Recol., R@10 Overall", "gain"].reported == "+0.0194"
    assert printed["mpnet RF-Mem, R@10 Pref Easy", "gain"].reported == "-0.0417"
    assert printed["mpnet RF-Mem, τ as printed, R@10 Overall", "gain"].reported == "+0.0220"
    other = cells(sensitivity.gains(sensitivity.rows_of(grid(ENCODERS[1]))))
    assert {c.reported for c in other.values()} == {""}
    assert {c.verdict for c in other.values()} == {"not in the paper", ""}
    assert not [row for row, _ in other if "as printed" in row]


def test_the_printed_row_is_found_where_it_is_hidden():
    """Of the routings, the one whose recalls are nearest to the printed row."""
    one = grid()
    found = closest(one, one.routings)
    printed = printed_rows("table2")["mpnet RF-Mem"]

    def distance(recall):
        return sum(
            abs(round(float(recall[one.of_kind(kind)].mean()), 4) - float(printed[f"R@5 {column}"]))
            for column, kind in KINDS.items()
        )

    least = min(distance(recall) for recall in one.over_tau())
    assert distance(one.gated(one.recollection, found.high)) == pytest.approx(least, abs=1e-6)


def test_how_the_settings_were_chosen():
    one = grid()
    found = cells(sensitivity.chosen_fairly([one]))
    row = "mpnet Recol., R@5"
    recalls, base = one.stacked("α"), one.familiarity
    top = recalls.mean(axis=1).max()
    text = found[row, "best on the test questions"].reproduced
    assert text.startswith(f"{top:.4f}, {signed(top - base.mean())} [")
    fair = chosen(recalls, left_out_users(one.questions["user"].tolist()))
    text = found[row, "chosen on the other users"].reproduced
    assert text.startswith(f"{fair.recall.mean():.4f}, {signed((fair.recall - base).mean())} [")
    released = one.sweeps["α"]["0.8"].mean()
    assert found[row, FIXED].reproduced.startswith(f"{released:.4f}, ")
    assert found[row, OURS].reproduced.startswith(f"{one.recollection.mean():.4f}, ")
    ends = found[row, "gain: test questions → users → folds"].reproduced.split(" → ")
    assert ends[:2] == [signed(top - base.mean()), signed((fair.recall - base).mean())]
    gated = found["mpnet RF-Mem, R@5", FIXED].reproduced
    assert gated.startswith(f"{one.gated(one.sweeps['α']['0.8'], 0.2).mean():.4f}, ")
    assert {c.n for c in found.values()} == {N}
    # The mean over rows is the mean of their gains.
    mean = found["mean gain of these 2 rows", OURS].reproduced
    gains = [one.recollection - base, one.gated(one.recollection, 0.2) - base]
    assert mean.startswith(signed(np.mean(gains)))


def test_each_user_at_the_others_choice():
    one = grid()
    found = cells(sensitivity.chosen_by_user([one]))
    assert len(found) == 2 * len(USERS) * 4
    mask = one.questions["user"].to_numpy() == USERS[1]
    pick = best(one.stacked("α")[:, ~mask])
    row = f"mpnet Recol., R@5, user {USERS[1]}"
    assert found[row, "the others' choice"].reproduced == f"α {list(one.sweeps['α'])[pick]}"
    own = one.stacked("α")[:, mask].mean(axis=1) - one.familiarity[mask].mean()
    assert found[row, "gain at it"].reproduced == signed(own[pick])
    assert found[row, "greatest gain at any setting"].reproduced == signed(own.max())


# The claims


def test_all_comparisons_are_one_family():
    one = grid()
    found = claims.family((one,))
    assert len(found) == (1 + 2 + 2) * 5
    assert [c.corrected for c in found] == holm([c.p for c in found])
    mask, first = one.of_kind(KINDS["Basic"]), found[0]
    part = (one.recollection - one.familiarity)[mask]
    assert (first.column, first.n, first.p) == ("Basic", 3, sign_flip(part))
    assert (first.won, first.lost) == ((part > 0).sum(), (part < 0).sum())
    rivals = [(c.row.path, c.rival) for c in found if c.column == "Overall"]
    assert rivals[:3] == [("Recol.", "Famili."), ("RF-Mem", "Famili."), ("RF-Mem", "Recol.")]


def better_path(monkeypatch, row, path, *pairs):
    """A claim's cells where the family is one path against rivals, at recalls that are given."""
    one = grid(questions=pd.DataFrame({"kind": ["Social"] * len(pairs[0][1])}))
    family = [claims.compare(Row(one, path, difference, {}), rival, 0 * difference, "Overall")
              for rival, difference in pairs]  # fmt: skip
    corrected = holm([c.p for c in family])
    family = [c._replace(corrected=p) for c, p in zip(family, corrected, strict=True)]
    monkeypatch.setattr(claims, "family", lambda grids: family)
    return cells(claims.better_path((one,), CLAIMS[row]))


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (np.full(40, 0.5), "exact"),
        (np.array([0.5] + [0.0] * 39), "direction only"),
        (np.zeros(40), "not reproduced"),
        (np.full(40, -0.5), "not reproduced"),
    ],
)
def test_the_verdict_on_a_claim(monkeypatch, difference, verdict):
    row = "§3.3: recollection improves over familiarity"
    claim = better_path(monkeypatch, row, "Recol.", ("Famili.", difference))[row, "verdict"]
    assert (claim.verdict, claim.n) == (verdict, 40)
    assert claim.reported == "Recollection is stronger"


def test_no_worse_is_also_equal(monkeypatch):
    row = "§3.3: RF-Mem at τ = 0.2 is no worse than either path"
    pairs = [(rival, np.zeros(9)) for rival in ("Famili.", "Recol.")]
    found = better_path(monkeypatch, row, "RF-Mem", *pairs)
    assert found[row, "verdict"].verdict == "direction only"
    assert found[row, "in this direction"].reproduced == "2 of 2"


def test_robust_is_what_never_falls_below_familiarity():
    base = grid().familiarity * 0.5
    better = base + 0.25
    row = "D.2 to D.5: recollection gains at every B"

    def verdict(*recalls):
        by_value = {str(i): recall for i, recall in enumerate(recalls, start=1)}
        made = grid(familiarity=base, recollection=better, sweeps={"B": by_value})
        found = cells(claims.robust((made,), CLAIMS[row]))
        return found[row, "verdict"].verdict, found[row, "in this direction"].reproduced

    assert verdict(better, better) == ("exact", "2 of 2, 0 against")
    assert verdict(better, base) == ("exact", "1 of 2, 0 against")
    assert verdict(better + 0.25, base) == ("direction only", "1 of 2, 0 against")
    assert verdict(better, base - 0.25) == ("not reproduced", "1 of 2, 1 against")


def test_every_claim_names_a_check_that_finds_it():
    for row, claim in CLAIMS.items():
        if claim["check"] in claims.CHECKS:
            found = list(claims.CHECKS[claim["check"]]((grid(), grid(k=10)), claim))
            assert {c.row for c in found} == {row}
            assert all(c.sources for c in found)


# From files


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Runs and metrics of all experiments and sweeps, of random recalls."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    rng = np.random.default_rng(5)
    rows = []

    def add(experiment, setting, k, values):
        for cut in (c for c in (1, 3, 5, 10) if c <= k):
            rows.extend(
                (experiment, setting, "session", q, KIND[i % 4], "recall", cut, value)
                for i, (q, value) in enumerate(zip(QUERIES, values, strict=True))
            )

    settings = {
        "α": [f"{a / 10}" for a in range(11)],
        "B": list("12345"),
        "F": list("12345"),
        "seed": [*"012345678", "42"],
    }
    for encoder in ENCODERS:
        stem = f"rfmem-{encoder.short}"
        add(f"{stem}-familiarity", "", 10, rng.choice([0, 0.5, 1.0], N))
        scores = probes().melt(ignore_index=False, var_name="rank", value_name="score")
        run = scores.rename_axis("query_id").reset_index().assign(doc_id="d")
        write_table(run_path(f"{stem}-familiarity"), run)
        for k, own in ((5, ("0.9", "3", "1", "42")), (10, ("0.2", "3", "2", "42"))):
            name, whole = f"{stem}-recollection-k{k}", rng.choice([0, 0.5, 1.0], N)
            add(name, "", k, whole)
            add(f"{stem}-gated-k{k}", "", k, whole)
            for (parameter, values), mine in zip(settings.items(), own, strict=True):
                for value in values:
                    recall = whole if value == mine else rng.choice([0, 0.5, 1.0], N)
                    add(f"{name}-by-{SWEEPS[parameter][0]}", value, k, recall)

    def write(frame=None):
        table = pd.DataFrame(rows, columns=METRIC_COLUMNS) if frame is None else frame
        write_table(paths.metrics("open"), table)
        return table

    write()
    return write


def load(place):
    return grids_of("open")[place]


def test_a_grid_from_files(written):
    one = load(1)
    assert (one.encoder.short, one.k) == ("mpnet", 10)
    assert one.own == {"α": "0.2", "B": "3", "F": "2", "seed": "42"}
    assert {p: len(v) for p, v in one.sweeps.items()} == {"α": 11, "B": 5, "F": 5, "seed": 10}
    assert one.questions["user"].unique().tolist() == list(USERS)
    assert one.sweeps["seed"]["42"].tolist() == one.recollection.tolist()
    assert one.familiar(0.2).tolist() == grid().familiar(0.2).tolist()


def test_a_sweep_that_is_not_of_its_experiment_is_refused(written):
    table = written()
    place = (table["experiment"] == "rfmem-mpnet-recollection-k5-by-beam") & (table["k"] == 5)
    place &= table["setting"] == "3"
    written(table.assign(value=table["value"].where(~place, 0.123)))
    with pytest.raises(MemreproError, match=r"over B does not hold its run at 3"):
        _ = load(0).sweeps


def test_runs_of_other_questions_are_refused(written):
    table = written()
    written(table[(table["experiment"] != "rfmem-mpnet-recollection-k5") | (table.index % 2 == 0)])
    with pytest.raises(MemreproError, match="is not of familiarity's questions"):
        _ = load(0).recollection


@pytest.mark.slow
def test_all_is_drawn_twice_the_same(written, tmp_path):
    grids = grids_of("open")
    first, again = (sensitivity.draw_all(grids, tmp_path / name) for name in "ab")
    assert len(first) == 3 * 5
    for one, other in zip(first, again, strict=True):
        assert one.name == other.name
        assert one.suffix == ".png" or one.read_bytes() == other.read_bytes()
    assert len(read_table(tmp_path / "a" / "figure14.csv")) == 4 * 11 * len(TAUS)
    assert len(read_table(tmp_path / "a" / "figure15.csv")) == 4 * 2 * 5
    assert len(read_table(tmp_path / "a" / "figure16.csv")) == 4 * 11
    rows = [row for one in grids for row in sensitivity.rows_of(one)]
    assert len({c.row for c in sensitivity.gains(rows)}) == (2 * 3 + 2 * 2) * 5
    written_cells = [*sensitivity.gains(rows), *sensitivity.chosen_fairly(grids)]
    assert all(c.sources for c in written_cells)
    write_cells(sensitivity.chosen_by_user(grids), tmp_path, "by_user")
