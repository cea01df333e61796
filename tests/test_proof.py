"""The proof: RF-Mem's Table 2, mpnet rows, from the committed rankings and qrels alone."""

from pathlib import Path

import numpy as np
import pytest

from memrepro import paths
from memrepro.experiment import load_plan
from memrepro.report.rfmem import CUTOFFS, KINDS, Results, closest_setting, printed_table2
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


def test_the_closest_threshold_is_the_nearest(plan):
    results = Results("open")
    for k in CUTOFFS:
        sweep = f"rfmem-mpnet-gated-k{k}-by-threshold"
        target = np.array([float(PRINTED["mpnet RF-Mem", f"R@{k} {c}"]) for c in KINDS])
        distances = {
            s: np.abs(
                np.array([round(results.mean(sweep, k, kind, s), 4) for kind in KINDS.values()])
                - target
            ).sum()
            for s in results.settings(sweep)
        }
        assert distances[closest_setting(results, sweep, k)] == min(distances.values())
