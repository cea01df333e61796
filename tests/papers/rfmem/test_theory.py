"""RF-Mem's signals and Appendix F on a few lists: every cell from its formula."""

from math import exp, log

import numpy as np
import pandas as pd
import pytest

from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.papers.rfmem.cells import run_path
from memrepro.papers.rfmem.grid import CUTOFFS
from memrepro.papers.rfmem.theory import (
    STUDIES,
    Lists,
    Study,
    build,
    concentration_cells,
    cost_cells,
    entropy_cells,
    lists_of,
    monotonicity_cells,
    signal_cells,
)
from memrepro.report.profile import Metrics
from memrepro.report.tables import show
from memrepro.study.evaluation import METRIC_COLUMNS
from memrepro.study.params import load_plan

RUN = "rfmem-mpnet-familiarity"
STUDY = Study("here", "Here", RUN)
# Two sure lists, one even list, and one below θ_low = 0.
LISTS = {"a": [0.5, 0.1], "b": [0.4, 0.1], "c": [0.3, 0.3], "d": [-0.1, -0.1]}


@pytest.fixture
def few():
    return Lists(STUDY, 2, pd.DataFrame.from_dict(LISTS, orient="index", columns=[1, 2]))


def texts(cells):
    return {c.column: c.reproduced for c in cells}


def entropy(gap):
    """The sum form of two scores' entropy at λ = 30."""
    p = 1 / (1 + exp(-30 * gap))
    return -p * log(p) - (1 - p) * log(1 - p)


def test_studies_are_planned_runs_of_similarities():
    plan = load_plan()
    for study in STUDIES:
        planned = plan.experiment(study.experiment)
        assert bool(planned.vary) == bool(study.setting)
        entry = planned.variants()[study.setting]
        assert entry.profile == "open"
        assert entry.retriever in ("familiarity", "dense")
        extracted = entry.granularity not in ("session", "round", "turn")
        level = "round" if extracted else entry.granularity
        assert study.level == ("" if entry.dataset.startswith("personamem") else level)
        assert entry.parameters["k"] >= max(CUTOFFS)


def test_short_lists_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    rows = [("whole", "d", rank, 0.1) for rank in range(1, 11)]
    rows += [("short", "d", rank, 0.1) for rank in range(1, 8)]
    write_table(
        run_path(RUN),
        pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"]),
    )
    found = {one.k: one.scores.index.tolist() for one in lists_of(STUDY)}
    assert found == {5: ["whole", "short"], 10: ["whole"]}


def test_signals_by_hand(few):
    found = texts(signal_cells(few))
    assert found["mean score, quartiles"] == "0.163 / 0.275 / 0.300"
    assert found["greatest entropy, log(K) / K"] == f"{log(2) / 2:.3f}"
    assert found["mean ≥ θ_high"] == "0 of 4 (0.0%)"
    assert found["mean ≤ θ_low"] == "1 of 4 (25.0%)"
    # c has the greatest entropy, d is below θ_low.
    assert found["recollected, τ = 0.2"] == "2 of 4 (50.0%)"


def test_the_entropy_certificate_by_hand(few):
    cells = list(entropy_cells(few))
    rows = {name: texts(c for c in cells if c.row.endswith(name)) for name in (
        "released form", "as printed")}  # fmt: skip
    # In the mean form 0.2 is 0.4 of the sum; a and b have next to none, c and d log 2.
    assert entropy(0.3) < 0.2 < 0.4 < entropy(0.0) == pytest.approx(log(2))
    for found in rows.values():
        assert found["Eq. 20 holds"] == "4 of 4 (100.0%)"
        assert found["premise: H ≤ τ"] == "2 of 4 (50.0%)"
        assert found["p_max ≥ φ, printed"] == "φ = 1.000: 0 of 2 (0.0%)"
        assert found["right bound binds"] == "2 of 4 (50.0%)"
        top = (1 / (1 + exp(-12)) + 1 / (1 + exp(-9))) / 2
        assert found["p_max there, median"] == f"{top:.3f}"
    # Of two probabilities H fixes p_max: both bounds are the p with h₂(p) = τ.
    for name, tau in (("released form", 0.4), ("as printed", 0.2)):
        bound = float(rows[name]["p_max ≥ φ, right"].split()[2].rstrip(":"))
        assert -bound * log(bound) - (1 - bound) * log(1 - bound) == pytest.approx(tau, abs=2e-3)
        assert rows[name]["p_max ≥ φ, least x"].split(":")[1] == " 2 of 2 (100.0%)"


def test_concentration_by_hand(few):
    found = texts(concentration_cells(few))
    assert found["premise"] == "1 of 4 (25.0%)"  # d, 0.1 below θ_low
    assert found["δ there, median"] == "0.100"
    assert found["binds, σ² = 1"] == "0 of 4 (0.0%)"
    # d's scores are equal: its own variance is 0, and any δ impossible.
    assert found["binds, the list's own σ²"] == "1 of 4 (25.0%)"
    scores = np.array(list(LISTS.values()))
    effect = 2 * scores.mean(axis=1).var() / scores.var()
    assert found["design effect"] == f"{effect:.2f}"


def test_monotonicity_by_hand(few, tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    # d has no relevant doc. Mean: a 0.3, b 0.25, c 0.3; the error of the surest list.
    rows = [(RUN, "", "session", q, "kind", "recall_all", 2, v)
            for q, v in (("a", 0.0), ("b", 1.0), ("c", 1.0))]  # fmt: skip
    write_table(paths.metrics("open"), pd.DataFrame(rows, columns=METRIC_COLUMNS))
    cells = {c.column: c for c in monotonicity_cells(few, Metrics("open"))}
    assert cells["p_max falls in H"].reproduced == "0.0000"
    assert cells["p_max falls in H"].n == 4
    # a is told apart from b by the mean (from c it is not), and from both by H: all against it.
    mean = cells["familiarity's error falls in the mean score"]
    assert (mean.reproduced.split()[0], mean.n) == ("1.0000", 3)
    assert cells["familiarity's error rises in H"].reproduced.split()[0] == "1.0000"
    assert cells["all evidence found"].reproduced == "0.6667"


def test_cost_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    write_table(paths.statistics("open", "personabench-n00"), pd.DataFrame({"sessions": [80, 96]}))
    cells = {(c.row, c.column): c.reproduced for c in cost_cells("open")}
    row = "PersonaBench, Recall@5"
    assert cells[row, "docs, M"] == "88"
    assert cells[row, "candidates of one path, Σ N_r"] == str(sum(3 + r for r in range(10)))
    assert cells[row, "candidates of all branches"] == str(3 + 3 * sum(3 + r for r in range(1, 10)))
    assert cells[row, "similarities"] == str(88 * (1 + 3 * 9))
    assert (cells[row, "R·B·F"], cells[row, "B·F + R·F"]) == ("30", "13")
    assert cells["LongMemEval-M", "docs, M"] == "502"


def test_all_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    rows, runs = [], {}
    for number, study in enumerate(STUDIES):
        scores = np.sort(np.random.default_rng(number).uniform(0, 0.7, (6, 10)))[:, ::-1]
        lines = [(f"q{i}", f"d{j}", j + 1, scores[i, j]) for i in range(6) for j in range(10)]
        run = pd.DataFrame(lines, columns=["query_id", "doc_id", "rank", "score"])
        run = run.assign(setting=study.setting) if study.setting else run
        where = run_path(study.experiment)
        runs[where] = pd.concat([runs[where], run]) if where in runs else run
        rows += [
            (study.experiment, study.setting, study.level, f"q{i}", "kind", "recall_all", k,
             float(i % 2))
            for i in range(5)
            for k in CUTOFFS
        ]  # fmt: skip
    for path, run in runs.items():
        write_table(path, run)
    write_table(paths.metrics("open"), pd.DataFrame(rows, columns=METRIC_COLUMNS))
    write_table(paths.statistics("open", "personabench-n00"), pd.DataFrame({"sessions": [5]}))
    written = build("open", Metrics("open"), tmp_path / "out")
    drawn = [study for study in STUDIES if study.key]
    assert len(written) == 3 * (5 + len(drawn))
    assert all(path.is_file() for path in written)
    assert len(show(tmp_path / "out", "signals")) == 2 * len(STUDIES)
    data = read_table(tmp_path / "out" / f"signals_{drawn[0].key}.csv")
    assert data.columns.tolist() == ["query_id", "mean score", "entropy", "path", "k"]
    assert len(data) == 6 * len(CUTOFFS)
