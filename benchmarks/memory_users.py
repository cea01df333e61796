"""One folder a user, for many users on one machine.

    python benchmarks/memory_users.py [--users 10000] [--segments 1000] [--publish]

One memory is filled as `memory_scale` does and copied into the folder of every user: what a machine
does for a user depends on the size of a memory, not on its words. Users are then asked for in a
random order, one at a time, as a server would that keeps nothing open, and some are kept open.
Before a cold opening the system is told to forget a user's files.
"""

import argparse
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import memory_scale as scale
import numpy as np
import pandas as pd

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.progress import bar
from memrepro.memory.folders import user_folder
from memrepro.retrieve.tiered.keys.segments import Message

COLUMNS = [
    "users", "segments", "step", "n", "p50_ms", "p95_ms", "disk_mb", "files", "open_mb",
    "open_files", "processor", "threads",
]  # fmt: skip
_ASKED, _KEPT = 200, 200  # users of a step, and users whose memories are open together
_SPARE = 1.2  # of the disk that all copies take


def _name(number: int) -> str:
    return f"user {number}"


def fill(root: Path, n_users: int, n_segments: int) -> tuple[float, float]:
    """A folder for each user: the MB and the files of one.

    Raises:
        MemreproError: if the disk has no room for all of them.
    """
    with tempfile.TemporaryDirectory(dir=root) as first:
        scale.alone(scale.fill_tiered, Path(first), n_segments)
        one = user_folder(Path(first), scale.USER)
        files = [path for path in one.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        free = shutil.disk_usage(root).free
        if free < _SPARE * n_users * size:
            raise MemreproError(
                f"{n_users} users of {n_segments} segments take {n_users * size / 2**30:.1f} GB, "
                f"and {root} has {free / 2**30:.1f} GB free: free some, or measure fewer"
            )
        with bar(n_users, "users", " users") as progress:
            for number in range(n_users):
                shutil.copytree(one, user_folder(root, _name(number)))
                progress.update()
    return size / 2**20, float(len(files))


def _forget(root: Path, number: int) -> None:
    """Tell the system to drop a user's files from its memory."""
    for path in user_folder(root, _name(number)).rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(
    root: Path, n_users: int, n_segments: int
) -> tuple[list[tuple[str, int, float, float]], float, float]:
    """Step, users, p50 and p95 in ms; then the MB and the open files of a memory that is open."""
    now = n_segments * scale.APART
    order = np.random.default_rng(5).permutation(n_users).tolist()
    queries = scale.questions(_ASKED, 11)
    asked, kept = order[:_ASKED], order[_ASKED : _ASKED + _KEPT]

    def search(number: int) -> None:
        with scale.opened(root, user=_name(number), mode="read") as memory:
            memory.search(queries[number % len(queries)], now)

    def add(number: int) -> None:
        said = [
            Message(f"new {turn}", speaker, now + turn, f"{queries[number % len(queries)]} {turn}")
            for turn, speaker in enumerate(("user", "assistant"))
        ]
        with scale.opened(root, user=_name(number)) as memory:
            memory.add(said)

    search(order[-1])  # what the libraries read once
    steps: list[tuple[str, Sequence[int], Callable[[int], object]]] = [
        ("open, search, close; files not in memory", asked, search),
        ("open, search, close; files in memory", asked, search),
        ("open, add an exchange, close", asked, add),
    ]
    rows = []
    for step, numbers, work in steps:
        if "not in memory" in step:
            for number in numbers:
                _forget(root, number)
        rows.append((step, *_timed(numbers, work)))
    before = _resident_mb()
    memories = {n: scale.opened(root, user=_name(n), mode="read") for n in kept}

    def again(number: int) -> None:
        memories[number].search(queries[number % len(queries)], now)

    rows.append((f"first search of {len(kept)} that are open", *_timed(kept, again)))
    weighs = (_resident_mb() - before) / max(1, len(kept))
    held = _open_files(root) / max(1, len(kept))
    rows.append((f"search of {len(kept)} that are open", *_timed(kept, again)))
    for memory in memories.values():
        memory.close()
    return rows, weighs, held


def _timed(numbers: Sequence[int], work: Callable[[int], object]) -> tuple[int, float, float]:
    taken = []
    for number in numbers:
        began = perf_counter()
        work(number)
        taken.append(1000 * (perf_counter() - began))
    p50, p95 = np.quantile(taken, (0.5, 0.95)).round(3).tolist()
    return len(taken), p50, p95


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _open_files(root: Path) -> int:
    """The files under a folder that this process holds open."""
    inside = f"{root.resolve()}/"
    held = Path("/proc/self/fd")
    return sum(os.path.realpath(number).startswith(inside) for number in held.iterdir())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--publish", action="store_true", help="into results/open/latency")
    given = parser.parse_args()
    near = paths.build_folder("scale").parent
    near.mkdir(parents=True, exist_ok=True)
    n = given.segments
    with tempfile.TemporaryDirectory(dir=near) as folder:
        disk, files = fill(Path(folder), given.users, n)
        steps, weighs, held = scale.alone(measure, Path(folder), given.users, n)
    machine = (platform.processor() or platform.machine(), os.cpu_count())
    own = (round(disk, 2), files, round(weighs, 2), round(held, 1), *machine)
    rows = [(given.users, n, *step, *own) for step in steps]
    scale.write(pd.DataFrame(rows, columns=COLUMNS), "tiered-users", given.publish)


if __name__ == "__main__":
    main()
