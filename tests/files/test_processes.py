"""Workers end with the process that started them."""

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memrepro.files.processes import worker_pool

PARENT = """
import os, sys, time
from memrepro.files.processes import worker_pool

with worker_pool(2, {preload}) as pool:
    print(*[pool.submit(os.getpid).result() for _ in range(2)], flush=True)
    time.sleep(600)
"""


def alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
@pytest.mark.parametrize("preload", ["[]", "['json']"], ids=["forks", "a server of forks"])
def test_no_worker_outlives_a_killed_parent(preload):
    code = PARENT.format(preload=preload)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    workers = parent.stdout.readline().split()
    assert len(workers) == 2
    assert all(map(alive, workers))
    parent.kill()
    parent.wait()
    until = time.monotonic() + 120
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, workers))


class Closed:
    """Notes in which process it is collected: what waits for its own threads would hang there."""

    def __init__(self, file):
        self.file, self.itself = file, self

    def __del__(self):
        with self.file.open("a") as out:
            print(os.getpid(), file=out)


def test_a_fork_does_not_collect_what_its_parent_has_left(tmp_path):
    gc.disable()
    try:
        Closed(tmp_path / "collected")
        with worker_pool(1) as pool:
            pool.submit(gc.collect).result()
        assert not (tmp_path / "collected").exists()
    finally:
        gc.enable()
    gc.collect()
    assert (tmp_path / "collected").read_text().split() == [str(os.getpid())]
