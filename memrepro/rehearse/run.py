"""The full profile end to end in a scratch checkout: real stages, generated data, tiny models."""

import os
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from memrepro.files.atomic import read_yaml, root
from memrepro.rehearse import scratch
from memrepro.rehearse.data import write_data
from memrepro.rehearse.models import write_models
from memrepro.rehearse.replies import reply
from memrepro.rehearse.server import DATA, Content, Fault, Hosted, Loopback, moved, serving
from memrepro.rehearse.stages import (
    FAILED,
    PASSED,
    Stage,
    Step,
    check_stages,
    run_stages,
    stages_of,
)

# Data set → path → bytes.
Downloads = Mapping[str, Mapping[str, int]]
# Above this scale a stage has the machine for itself, as its memory counts.
_ALONE = 1 / 10
# What the largest files meet, one each: a redirect, a cut, a cut after other bytes, a busy server,
# a broken one, a closed connection, a slow one.
_BAD_DAYS: tuple[Callable[[str], Fault], ...] = (
    moved,
    lambda path: Fault(half=True),
    lambda path: Fault(body=b"of another edition" * 99, half=True),
    lambda path: Fault(429, b"", {"Retry-After": "1"}),
    lambda path: Fault(500, b"<html>oops</html>"),
    lambda path: Fault(drop=True),
    lambda path: Fault(seconds=0.5, rate=4_000_000),
)


def rehearse(
    folder: Path, scale: float, only: Sequence[str] = (), *, encoders: bool = True,
    done: Callable[[Step], None] = lambda step: None,
) -> list[Step]:  # fmt: skip
    """Run the full profile's stages on generated data; where one fails, the others go on.

    A rehearsal of the same commit and scale goes on in its folder: what was done is not done again.

    Args:
        folder: of the scratch; another rehearsal's is replaced.
        scale: of the data (`data.write_data`).
        only: names of stages, where not all are to run.
        encoders: False for random vectors of the true dimension in place of tiny models'.
        done: called with each step as it ends.

    Returns:
        All steps: the making of data and models where they were not there, the stages, and whether
        each planned fault was met.

    Raises:
        MemreproError: if the scratch cannot be made, or a stage is unknown.
    """
    steps: list[Step] = []

    def add(step: Step) -> None:
        steps.append(step)
        done(step)

    checkout, data, models = folder / "checkout", folder / "data", folder / "models"
    port = scratch.begun(folder, scale, encoders)
    if not port:
        check_stages(root(), only)
        scratch.clone(folder)
        works = {"data": partial(write_data, data, scale), "models": partial(write_models, models)}
        for what, write in works.items():
            began = time.perf_counter()
            write()
            add(Step(f"generate {what}", PASSED, time.perf_counter() - began))
    with serving(Content(data, (), reply, scratch.SECRET), port=port) as server:
        server.keeps = False
        environment = scratch.environment(folder, server.address)
        if not port:
            scratch.rewire(checkout, data, models, server.address, encoders)
            scratch.write_keys(checkout, environment)
            scratch.begin(folder, scale, encoders, server.server_address[1])
        downloads = scratch.led_to(checkout, server.address)
        server.content.hub = tuple(_hosted(checkout, models))
        stages = stages_of(checkout, downloads, only)
        _plan_faults(server, [one for one in stages if one.name not in _done(checkout)], downloads)
        # The largest data's chain takes longest: its stages go first.
        stages.sort(key=lambda stage: -_bytes_below(stage, stages, downloads))
        cores = os.cpu_count() or 1
        at_once = 1 if scale > _ALONE else min(cores, 4)
        # Threads of one stage that wait for cores which another holds take the processor meanwhile.
        environment["OMP_NUM_THREADS"] = str(max(1, cores // at_once))
        for step in run_stages(stages, checkout, environment, folder / "log.txt", at_once):
            add(step)
        unmet = any(server.faults.values()) or server.mistakes
        add(Step("all planned faults met", FAILED if unmet else PASSED))
    return steps


def _done(checkout: Path) -> Container[str]:
    """The stages that have run."""
    lock = checkout / "dvc.lock"
    return read_yaml(lock)["stages"] if lock.is_file() else ()


def _hosted(checkout: Path, models: Path) -> Iterator[Hosted]:
    """What the hub has: each encoder's files at the commit that the registry names."""
    for name, entry in read_yaml(checkout / "memrepro/encode/encoders.yaml").items():
        if (models / name).is_dir():
            yield Hosted(entry["source"]["repository"], entry["revision"], models / name)


def _bytes_below(stage: Stage, stages: Sequence[Stage], downloads: Downloads) -> int:
    """The bytes of all data sets that a stage stands on."""
    below = [one for one in stages if one.name in {stage.name, *stage.needs}]
    return sum(
        sum(files.values())
        for key, files in downloads.items()
        if any(one.prepares(key) for one in below)
    )


def _plan_faults(server: Loopback, stages: Sequence[Stage], downloads: Downloads) -> None:
    """A fault for each of the largest files that the stages will download."""
    fetched = [
        item
        for key, files in downloads.items()
        if any(stage.prepares(key) for stage in stages)
        for item in files.items()
    ]
    largest = sorted(dict(fetched).items(), key=lambda item: (-item[1], item[0]))
    for (path, _), bad in zip(largest, _BAD_DAYS, strict=False):
        server.faults[DATA + path].append(bad(DATA + path))
