"""A rehearsal in a scratch checkout: real stages, and nothing of it beside real results."""

import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

from memrepro.encode.models import registry
from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.rehearse import models, run, scratch
from memrepro.rehearse.contexts import write_contexts
from memrepro.rehearse.data import write_data
from memrepro.rehearse.run import rehearse
from memrepro.rehearse.stages import PASSED, stages_of

# Small enough for CI; `make rehearse` runs all stages.
STAGES = ("prepare-editions@personamem", "prepare@personamem-128k", "embed-full@personamem")
ENCODER = "multi-qa-minilm-l6-cos-v1"  # theirs


def times(folder, kind="*.parquet"):
    return {path: path.stat().st_mtime_ns for path in folder.rglob(kind)}


def test_results_hold_nothing_rehearsed():
    assert not list((atomic.root() / "results").rglob(scratch.MARK))


def test_a_folder_that_is_no_rehearsals_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(MemreproError, match="is not empty and no rehearsal's"):
        scratch.clone(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_stages_are_those_that_the_data_changes(tmp_path):
    datasets = ("personabench-n00", "personamem-32k", "longmemeval-s", "personabench-fields")
    found = stages_of(scratch.clone(tmp_path), datasets, ())
    names = [one.name for one in found]
    # What they read beside the generated data is in git, or it is made.
    assert "prepare@sample" in names
    assert "prepare@locomo" not in names
    assert {"prepare-editions@longmemeval", "verify-full", "read-full", "evaluate@open"} <= {*names}
    assert "embed@locomo" not in names
    for place, one in enumerate(found):
        assert not one.needs & set(names[place:])
    with pytest.raises(MemreproError, match="no stage 'verify@open': its stages are embed"):
        stages_of(atomic.root(), datasets, ["verify@open"])


def test_a_stage_that_is_none_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(MemreproError, match="no stage 'nope': its stages are embed"):
        rehearse(tmp_path / "scratch", 1 / 250, ["nope"])
    assert not (tmp_path / "scratch").exists()


def clone_without_notebooks(folder, clone=scratch.clone):
    """A clone whose stages show nothing, as each notebook starts a kernel.

    The commands of a stage have one process, as each would import the same for seconds.
    """
    checkout = clone(folder)
    line = atomic.read_yaml(checkout / "dvc.yaml")
    for stage in line["stages"].values():
        made = stage.get("do", stage)
        commands = [made["cmd"]] if isinstance(made["cmd"], str) else made["cmd"]
        words = [one.split(" --notebook ")[0].split("memrepro", 1)[1] for one in commands]
        calls = " or ".join(f"main('{one} '.split())" for one in words if "'" not in one)
        made["cmd"] = f'python -c "from memrepro.pipeline.cli import main; exit({calls})"'
    atomic.write_text(checkout / "dvc.yaml", yaml.safe_dump(line, sort_keys=False))
    return checkout


def write_contexts_alone(folder, scale):
    """Of the data what the stages read: test_data.py has all of them."""
    folder.mkdir()
    write_contexts(folder / "personamem", scale, 17)


@pytest.mark.slow
def test_a_small_rehearsal_passes_and_touches_no_result(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "clone", clone_without_notebooks)
    monkeypatch.setattr(run, "write_data", write_contexts_alone)
    # Of the models too: test_models.py has all of them.
    monkeypatch.setattr(models, "registry", lambda: {ENCODER: registry()[ENCODER]})
    monkeypatch.setenv("MEMREPRO_MIRROR", "/nowhere")  # which a scratch checkout does not inherit
    folder, checkout = tmp_path / "scratch", tmp_path / "scratch/checkout"
    before = times(atomic.root() / "results", "*")

    def done(step):
        """While the server still answers, a study searches the vectors, and one reads."""
        if step.stage == STAGES[-1]:
            readers = atomic.read_yaml(checkout / "params.yaml")["models"]
            address = readers["gpt-4.1-mini"]["endpoint"]["url"].removesuffix("/v1")
            environment = scratch.environment(folder, address)
            program = (
                "from memrepro.pipeline.cli import main;"
                "exit(main('stage retrieve personamem-rfmem-full'.split())"
                " or main('read full --study personamem-gpt'.split()))"
            )
            called = [sys.executable, "-c", program]
            subprocess.run(called, cwd=checkout, env=environment, check=True)

    steps = rehearse(folder, 1 / 250, STAGES, done=done)
    log = (folder / "log.txt").read_text(encoding="utf-8", errors="replace")
    assert {step.outcome for step in steps} == {PASSED}, log[-3000:]
    assert {step.stage for step in steps[2:-1]} == set(STAGES)
    assert all(step.peak > 50e6 and step.cpu > 0 for step in steps[2:-1])
    assert times(atomic.root() / "results", "*") == before

    results = checkout / "results/full"
    assert (results / scratch.MARK).is_file()
    runs = list((results / "runs/personamem-rfmem-full").glob("*.parquet"))
    assert len(runs) == 10
    assert all(len(pd.read_parquet(path)) for path in runs)
    readings = pd.read_parquet(results / "readings.parquet")
    assert set(readings["outcome"]) == {"answered"}
    assert readings["right"].notna().all()
    # It goes on where it was: nothing is written or fetched anew.
    made = times(checkout / "data")
    again = rehearse(folder, 1 / 250, STAGES[-1:])
    assert [one.stage for one in again] == [STAGES[-1], steps[-1].stage]
    assert {step.outcome for step in again} == {PASSED}
    assert times(checkout / "data") == made
    # Nothing leads back, and the models lie in a cache of the scratch's own.
    assert subprocess.check_output(["git", "remote"], cwd=checkout) == b""
    assert list((folder / "cache/hub/hub").glob("models--*/snapshots/*/model.safetensors"))


def test_vectors_without_an_encoder_have_its_dimension(tmp_path):
    write_data(tmp_path / "data", 1 / 1000)
    room = tmp_path / "memrepro"
    (room / "encode").mkdir(parents=True)
    shutil.copy(atomic.root() / "params.yaml", tmp_path)
    for name in ("load.py", "vectors.py"):
        shutil.copy(atomic.root() / "memrepro/encode" / name, room / "encode")
    scratch.rewire(tmp_path, tmp_path / "data", tmp_path / "none", "http://h", False)
    led = scratch.led_to(tmp_path, "http://h")
    assert {"longmemeval-m", "personabench-n07"} <= set(led)
    names = {"__name__": "rewired"}
    for name in ("load.py", "vectors.py"):
        exec((room / "encode" / name).read_text(encoding="utf-8"), names)
    encoder = names["load_encoder"]("gte-qwen2-7b-instruct")
    # No store is there to be filled.
    vectors = names["embed"](["a", "b", "a"], encoder, "document", None)
    assert vectors.shape == (3, 3584)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert (vectors[0] == vectors[2]).all()
    assert abs(vectors[0] @ vectors[1]) < 0.1
