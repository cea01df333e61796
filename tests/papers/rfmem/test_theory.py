"""RF-Mem's signals and Appendix F on a few lists: every cell from its formula."""

from math import exp, log

import numpy as np
import pandas as pd
import pytest

from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.papers.rfmem import certificates, theory
from memrepro.papers.rfmem.cells import run_path
from memrepro.papers.rfmem.theory import Lists, lists_of, signals_figures
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource
from tests.measured import write_metrics
from tests.papers.rfmem import toy

RUN = "rfmem-mpnet-familiarity"
ENTRY = {"title": "Here", "run": RUN, "level": "session", "figure": "here"}
# Two sure lists, one even list, and one below θ_low = 0.
LISTS = {"a": [0.5, 0.1], "b": [0.4, 0.1], "c": [0.3, 0.3], "d": [-0.1, -0.1]}


@pytest.fixture
def few(folder, monkeypatch):
    """A table of theory on the few lists: its cells by row and column."""
    scores = pd.DataFrame.from_dict(LISTS, orient="index", columns=[1, 2])
    place = RunSource(RUN, "", "session", "recall_all", 2)
    monkeypatch.setattr(
        theory, "lists_of", lambda entries: [Lists("Here", place, theory.GATE, scores)]
    )
    # d has no relevant doc; the error of the surest list.
    rows = [(RUN, "", "session", q, "kind", "recall_all", 2, v)
            for q, v in (("a", 0.0), ("b", 1.0), ("c", 1.0))]  # fmt: skip
    write_metrics(paths.metrics("open"), rows)
    runs = Runs(["open"], toy.plan())

    def table(of):
        return {(c.row, c.column): c for c in of(runs, {"lists": [], "note": ""})}

    return table


def texts(cells, row="Here, K = 2"):
    return {column: c.reproduced for (of, column), c in cells.items() if of == row}


def entropy(gap):
    """The sum form of two scores' entropy at λ = 30."""
    p = 1 / (1 + exp(-30 * gap))
    return -p * log(p) - (1 - p) * log(1 - p)


def test_signals_by_hand(few):
    found = texts(few(theory.signals_table))
    assert found["mean score, quartiles"] == "0.163 / 0.275 / 0.300"
    assert found["greatest entropy, log(K) / K"] == f"{log(2) / 2:.3f}"
    assert found["mean ≥ θ_high"] == "0 of 4 (0.0%)"
    assert found["mean ≤ θ_low"] == "1 of 4 (25.0%)"
    # c has the greatest entropy, d is below θ_low.
    assert found["recollected, τ = 0.2"] == "2 of 4 (50.0%)"


def test_the_entropy_certificate_by_hand(few):
    cells = few(theory.entropy_certificate)
    # In the mean form 0.2 is 0.4 of the sum; a and b have next to none, c and d log 2.
    assert entropy(0.3) < 0.2 < 0.4 < entropy(0.0) == pytest.approx(log(2))
    for form, tau in (("released form", 0.4), ("as printed", 0.2)):
        found = texts(cells, f"Here, K = 2, τ = 0.2 {form}")
        assert found["Eq. 20 holds"] == "4 of 4 (100.0%)"
        assert found["premise: H ≤ τ"] == "2 of 4 (50.0%)"
        assert found["p_max ≥ φ, printed"] == "φ = 1.000: 0 of 2 (0.0%)"
        assert found["right bound binds"] == "2 of 4 (50.0%)"
        top = (1 / (1 + exp(-12)) + 1 / (1 + exp(-9))) / 2
        assert found["p_max there, median"] == f"{top:.3f}"
        # Of two probabilities H fixes p_max: both bounds are the p with h₂(p) = τ.
        bound = float(found["p_max ≥ φ, right"].split()[2].rstrip(":"))
        assert -bound * log(bound) - (1 - bound) * log(1 - bound) == pytest.approx(tau, abs=2e-3)
        assert found["p_max ≥ φ, least x"].split(":")[1] == " 2 of 2 (100.0%)"


def test_concentration_by_hand(few):
    found = texts(few(theory.concentration))
    assert found["premise"] == "1 of 4 (25.0%)"  # d, 0.1 below θ_low
    assert found["δ there, median"] == "0.100"
    assert found["binds, σ² = 1"] == "0 of 4 (0.0%)"
    table = certificates.concentration(np.array([[0.8, 0.6], [0.5, 0.3], [0.1, -0.3]]), 0.0, 0.6)
    assert table["delta"].tolist() == pytest.approx([0.1, 0, 0.1])
    # Variances 0.02 and 0.08: exp(-2·0.01/(2·0.02)) and exp(-2·0.01/(2·0.08)).
    assert table["bound"].tolist() == pytest.approx([exp(-0.5), 1, exp(-0.125)])
    assert table["sure_bound"].tolist() == pytest.approx([exp(-0.01), 1, exp(-0.01)])
    # d's scores are equal: its own variance is 0, and any δ impossible.
    assert found["binds, the list's own σ²"] == "1 of 4 (25.0%)"
    scores = np.array(list(LISTS.values()))
    effect = 2 * scores.mean(axis=1).var() / scores.var()
    assert found["design effect"] == f"{effect:.2f}"


def test_monotonicity_by_hand(few):
    cells = {column: c for (_, column), c in few(theory.monotonicity).items()}
    assert (cells["p_max falls in H"].reproduced, cells["p_max falls in H"].n) == ("0.0000", 4)
    # Mean: a 0.3, b 0.25, c 0.3. a is told apart from b by it, and from both by H: all against it.
    mean = cells["familiarity's error falls in the mean score"]
    assert (mean.reproduced.split()[0], mean.n) == ("1.0000", 3)
    assert cells["familiarity's error rises in H"].reproduced.split()[0] == "1.0000"
    assert cells["all evidence found"].reproduced == "0.6667"


def test_cost_by_hand(folder):
    write_table(paths.statistics("open", "personabench-n00"), pd.DataFrame({"sessions": [80, 96]}))
    cells = toy.cells("cost")
    assert texts(cells, "PersonaBench, Recall@5") == {
        "B": "3", "F": "1", "R": "10", "docs, M": "88", "similarities": str(88 * (1 + 3 * 9)),
        "candidates of one path, Σ N_r": str(sum(3 + r for r in range(10))),
        "candidates of all branches": str(3 + 3 * sum(3 + r for r in range(1, 10))),
        "R·B·F": "30", "B·F + R·F": "13",
    }  # fmt: skip
    assert cells["LongMemEval-M", "docs, M"].reproduced == "502"


def test_short_lists_are_left_out_and_the_rest_is_drawn(folder):
    rows = [(f"q{i}", "d", rank, 0.5 - i * rank / 50) for i in range(5) for rank in range(1, 11)]
    rows += [("short", "d", rank, 0.1) for rank in range(1, 8)]
    write_table(run_path(RUN), pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"]))
    sizes = {one.place.k: len(one.scores) for one in lists_of([ENTRY])}
    assert sizes == {5: 6, 10: 5}
    changed = next(lists_of([{**ENTRY, "gate": {"sharpness": 20.0}}])).gate
    assert (changed.sharpness, changed.mean_high) == (20.0, 0.6)
    assert len(signals_figures([ENTRY, {**ENTRY, "figure": ""}], folder)) == 3
    data = read_table(folder / "signals_here.csv")
    assert data.columns.tolist() == ["query_id", "mean score", "entropy", "path", "k"]
    assert len(data) == 6 + 5
