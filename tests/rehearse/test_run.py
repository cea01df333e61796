"""A rehearsal in a scratch checkout: real stages, and nothing of it beside real results."""

import subprocess
import sys

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.rehearse import scratch
from memrepro.rehearse.run import rehearse
from memrepro.rehearse.stages import PASSED, stages_of

STAGES = ("prepare-editions@personamem", "embed-editions@full-personamem",
          "retrieve-personamem@personamem-rfmem-full")  # fmt: skip


def digests(folder):
    return {path: atomic.sha256(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def test_results_hold_nothing_rehearsed():
    assert not list((atomic.root() / "results").rglob(scratch.MARK))


def test_a_folder_that_is_no_rehearsals_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(MemreproError, match="is not empty and no rehearsal's"):
        scratch.clone(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_stages_are_those_that_the_data_changes():
    datasets = ("personabench-n00", "personamem-32k", "longmemeval-s", "personabench-n05")
    found = stages_of(atomic.root(), datasets, ())
    names = [one.name for one in found]
    assert {"prepare-editions@longmemeval", "verify-full", "read-full", "evaluate@open"} <= {*names}
    assert "embed@locomo" not in names
    for place, one in enumerate(found):
        assert not one.needs & set(names[place:])
    with pytest.raises(MemreproError, match="no stage 'verify@open': its stages are embed"):
        stages_of(atomic.root(), datasets, ["verify@open"])


@pytest.mark.slow
def test_a_small_rehearsal_passes_and_touches_no_result(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # which a scratch checkout does not inherit
    before = digests(atomic.root() / "results")
    steps = rehearse(tmp_path / "scratch", 1 / 250, STAGES)
    log = (tmp_path / "scratch/log.txt").read_text(encoding="utf-8", errors="replace")
    assert {step.outcome for step in steps} == {PASSED}, log[-3000:]
    assert [step.stage for step in steps][2:-1] == list(STAGES)
    assert all(step.peak > 50e6 and step.cpu > 0 for step in steps[2:-1])
    assert digests(atomic.root() / "results") == before
    checkout = tmp_path / "scratch/checkout"
    assert (checkout / "results/full" / scratch.MARK).is_file()
    runs = list((checkout / "results/full/runs/personamem-rfmem-full").glob("*.parquet"))
    assert len(runs) == 7
    assert all(len(pd.read_parquet(path)) for path in runs)
    remotes = subprocess.check_output(["git", "remote"], cwd=checkout, text=True)
    assert remotes == ""
    assert "hub" in [path.name for path in (tmp_path / "scratch/cache").iterdir()]
    assert sys.executable
