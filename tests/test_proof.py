"""The proof: RF-Mem's Table 2, mpnet rows, from the committed rankings and qrels alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memrepro import paths
from memrepro.experiment import load_plan
from memrepro.report.rfmem import (
    CUTOFFS,
    GATES,
    KINDS,
    Results,
    closest,
    printed_table2,
    thresholds,
)
from memrepro.stages.evaluate import evaluate_profile, evaluate_run
from memrepro.store import read_table

ROOT = Path(__file__).parents[1]
PRINTED = printed_table2()
EXPERIMENTS = {
    ("mpnet Famili.", 5): "rfmem-mpnet-familiarity",
    ("mpnet Famili.", 10): "rfmem-mpnet-familiarity",
    ("mpnet Recol.", 5): "rfmem-mpnet-recollection-k5",
    ("mpnet Recol.", 10): "rfmem-mpnet-recollection-k10",
}


@pytest.fixture(scope="module")
def plan():
    return load_plan()


def test_what_is_printed_is_whole():
    assert len(PRINTED) == 9 * 12
    assert sum(not cell.endswith("ms") for cell in PRINTED.values()) == 9 * 10


@pytest.mark.parametrize(("row", "k"), sorted(EXPERIMENTS))
def test_twenty_cells_equal_the_paper(plan, row, k):
    name = EXPERIMENTS[row, k]
    experiment = plan.experiment(name)
    run = read_table(paths.run("open", name))
    metrics, left_out = evaluate_run(name, experiment, run, plan)
    metrics = metrics[(metrics["metric"] == "recall") & (metrics["k"] == k)]
    assert len(metrics) == 230
    assert len(left_out) == 33
    for column, kind in KINDS.items():
        values = metrics["value"] if kind is None else metrics.loc[metrics["kind"] == kind, "value"]
        assert f"{values.mean():.4f}" == PRINTED[row, f"R@{k} {column}"], column


def test_the_committed_metrics_follow_from_the_rankings(plan):
    again, _ = evaluate_profile("open", plan)
    kept = read_table(paths.metrics("open"))
    assert np.allclose(again["value"], kept["value"])
    assert (again.drop(columns="value") == kept.drop(columns="value")).all(axis=None)


def test_the_printed_gated_row_is_met_in_all_ten_cells():
    results = Results("open")
    gate = GATES["θ of the paper (0.6, 0.0)"]
    for k in CUTOFFS:
        routing = closest(results, thresholds(results, k, gate), k)
        for column, kind in KINDS.items():
            shown = f"{results.mean_of(routing.recall, kind):.4f}"
            assert shown == PRINTED["mpnet RF-Mem", f"R@{k} {column}"]


def test_the_routings_are_those_of_the_gated_retriever():
    """The gated run at τ = 0.2 has the recall of the routing whose interval holds 0.2."""
    results = Results("open")
    for k in CUTOFFS:
        routings = thresholds(results, k, GATES["θ of the paper (0.6, 0.0)"])
        (at,) = (r for r in routings if r.low < 0.2 <= r.high)
        gated = results.by_question(f"rfmem-mpnet-gated-k{k}", k)
        assert at.recall.tolist() == gated.tolist()
        assert len(routings) > 200


def test_no_other_routing_than_the_listed_ones():
    """A fine grid of thresholds gives no recall that the list does not hold."""
    results = Results("open")
    gate = GATES["θ of the code (0.5, 0.2)"]
    run = read_table(paths.run("open", "rfmem-mpnet-familiarity"))
    listed = {tuple(r.recall) for r in thresholds(results, 5, gate)}
    direct = results.by_question("rfmem-mpnet-familiarity", 5)
    deliberate = results.by_question("rfmem-mpnet-recollection-k5", 5)
    probes = run[run["rank"] <= 5].groupby("query_id")["score"].agg(list)
    for threshold in np.linspace(0.0, 0.33, 60):
        at = replace(gate, entropy_threshold=float(threshold))
        familiar = [at.is_familiar(np.asarray(probes[q])) for q in direct.index]
        assert tuple(np.where(familiar, direct, deliberate)) in listed
