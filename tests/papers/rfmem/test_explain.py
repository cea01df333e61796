"""The committed runs: what their sweeps hold, and what `explain` tries of a gated row."""

import pytest

from memrepro.errors import MemreproError
from memrepro.papers.rfmem.explain import further_tries
from memrepro.papers.rfmem.grid import TAUS, Grid, grids_of
from memrepro.provenance.places import Place

OWN = Place("rfmem-mpnet-gated-k5", "", "session", "stated", "recall", 5, "Social")


@pytest.fixture(autouse=True)
def metrics_as_written(metrics_of_rfmem, monkeypatch):
    monkeypatch.setattr("memrepro.report.profile.metrics_file", lambda profile: metrics_of_rfmem)


def test_every_routing_and_each_alpha_and_tau_is_tried():
    grid = grids_of("open")[0]
    chosen = grid.of_kind("Social")
    tries = {switches: (value, n) for switches, value, n in further_tries(OWN)}
    assert {n for _, n in tries.values()} == {int(chosen.sum())}
    assert len(tries) == len(grid.routings) + (len(grid.sweeps["α"]) - 1) * len(TAUS)
    # The gated run itself is one of the routings, that which holds τ = 0.2.
    (at,) = (one for one in grid.routings if one.low < 0.2 <= one.high)
    switch = f"entropy_threshold: τ in ({at.low:.6f}, {at.high:.6f}]"
    assert tries[switch,][0] == grid.recall("gated")[chosen].mean()
    # At α = 1 recollection is familiarity, whatever τ is.
    for tau in ("0.00", "0.35"):
        value, _ = tries["alpha: 0.9 → 1.0", f"entropy_threshold: {tau}"]
        assert value == pytest.approx(grid.familiarity[chosen].mean(), abs=0.02)


def test_the_committed_sweeps_hold_the_grids_own_runs():
    grid = grids_of("open")[0]
    at = grid.over_beam_and_fanout[grid.own["B"], grid.own["F"]]
    assert at.tolist() == grid.recollection.tolist()
    depths = {one.k: one for one in grid.over_k()}
    assert depths[grid.k].familiarity.tolist() == grid.familiarity.tolist()
    # At α = 1 recollection looks for what familiarity does.
    deep = grid.deep_alphas(50)["1.0"].mean()
    assert deep == pytest.approx(depths[50].familiarity.mean(), abs=0.05)
    other = Grid(grid.encoder, grid.k, grid.metrics)
    other.__dict__["recollection"] = 1 - grid.recollection
    with pytest.raises(MemreproError, match="over α does not hold its run at 0.9"):
        _ = other.sweeps
