"""The proof: RF-Mem's Table 2, mpnet rows, from the committed rankings and qrels alone."""

from dataclasses import replace

import numpy as np
import pytest

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem.cells import printed_rows
from memrepro.papers.rfmem.grid import GATES, KINDS, grids_of, routings
from memrepro.papers.rfmem.thresholds import closest
from memrepro.report.profile import Metrics
from memrepro.study.evaluation import (
    evaluate_run,
    read_gold,
)
from memrepro.study.params import load_plan


def printed_table(name):
    """A table as printed: (row, column) → string."""
    return {(r, c): s for r, cells in printed_rows(name).items() for c, s in cells.items()}


PRINTED = printed_table("table2")
EXPERIMENTS = {
    ("mpnet Famili.", 5): "rfmem-mpnet-familiarity",
    ("mpnet Famili.", 10): "rfmem-mpnet-familiarity",
    ("mpnet Recol.", 5): "rfmem-mpnet-recollection-k5",
    ("mpnet Recol.", 10): "rfmem-mpnet-recollection-k10",
}


@pytest.fixture(scope="module")
def plan():
    return load_plan()


@pytest.fixture(autouse=True)
def committed(metrics_of_rfmem, monkeypatch):
    monkeypatch.setattr("memrepro.report.profile.metrics_file", lambda profile: metrics_of_rfmem)


def test_what_is_printed_is_whole():
    assert len(PRINTED) == 9 * 12
    assert sum(not cell.endswith("ms") for cell in PRINTED.values()) == 9 * 10


@pytest.mark.parametrize(("row", "k"), sorted(EXPERIMENTS))
def test_twenty_cells_equal_the_paper(plan, row, k):
    name = EXPERIMENTS[row, k]
    experiment = plan.experiment(name)
    run = read_table(paths.run("open", name))
    gold = read_gold("open", experiment.dataset, plan.evaluation.protocols)
    found = evaluate_run(name, experiment, run, plan, gold)
    (metrics,) = (values.frame() for _, _, protocol, values in found if protocol == "stated")
    metrics = metrics[(metrics["metric"] == "recall") & (metrics["k"] == k)]
    assert len(metrics) == 230
    assert len(gold.left_out("session", plan.evaluation.protocols["stated"])) == 33
    kinds = metrics["query_id"].map(gold.kinds)
    for column, kind in KINDS.items():
        values = metrics["value"] if kind is None else metrics.loc[kinds == kind, "value"]
        assert f"{values.mean():.4f}" == PRINTED[row, f"R@{k} {column}"], column


def mpnet():
    """Its recalls and routings at K = 5 and 10."""
    return [grid for grid in grids_of("open") if grid.encoder.short == "mpnet"]


def test_the_printed_gated_row_is_met_in_all_ten_cells():
    gate = GATES["θ of the paper (0.6, 0.0)"]
    for grid in mpnet():
        routing = closest(grid, routings(grid.signals, gate, every=True))
        recall = grid.gated(grid.recollection, routing.familiar)
        for column, kind in KINDS.items():
            shown = f"{recall[grid.of_kind(kind)].mean():.4f}"
            assert shown == PRINTED["mpnet RF-Mem", f"R@{grid.k} {column}"]


def test_the_routings_are_those_of_the_gated_retriever():
    """The gated run at τ = 0.2 has the recall of the routing whose interval holds 0.2."""
    for grid in mpnet():
        every = routings(grid.signals, GATES["θ of the paper (0.6, 0.0)"], every=True)
        (at,) = (r for r in every if r.low < 0.2 <= r.high)
        assert grid.gated(grid.recollection, at.familiar).tolist() == grid.recall("gated").tolist()
        assert len(every) > 200


def test_no_other_routing_than_the_listed_ones():
    """A fine grid of thresholds gives no recall that the list does not hold."""
    grid, gate = mpnet()[0], GATES["θ of the code (0.5, 0.2)"]
    run = read_table(paths.run("open", "rfmem-mpnet-familiarity"))
    listed = {
        tuple(grid.gated(grid.recollection, r.familiar))
        for r in routings(grid.signals, gate, every=True)
    }
    direct, deliberate = (
        Metrics("open").values(name, "session", "recall", 5).set_index("query_id")["value"]
        for name in ("rfmem-mpnet-familiarity", "rfmem-mpnet-recollection-k5")
    )
    probes = run[run["rank"] <= 5].groupby("query_id")["score"].agg(list)
    for threshold in np.linspace(0.0, 0.33, 60):
        at = replace(gate, entropy_threshold=float(threshold))
        familiar = [at.is_familiar(np.asarray(probes[q])) for q in direct.index]
        assert tuple(np.where(familiar, direct, deliberate.loc[direct.index])) in listed
