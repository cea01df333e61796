"""DVC as a program: one at a time in a checkout, and a sentence where another one is at work."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

from memrepro.errors import MemreproError
from memrepro.files.atomic import root


def repro(stage: str, environment: Mapping[str, str]) -> int:
    """Run a stage and all before it; DVC's exit status.

    DVC holds the lock too, so that one which outlives its front end is found by the next.

    Raises:
        MemreproError: if the folder is in no git repository, or naming the process that already
            runs stages here.
    """
    if not any((folder / ".git").exists() for folder in (root(), *root().parents)):
        raise MemreproError(
            f"{root()} is in no git repository, and DVC runs stages in one alone: run `git init` "
            "there once (`plan`, `verify` and the other commands need none)"
        )
    folder = root() / ".dvc/tmp"
    folder.mkdir(parents=True, exist_ok=True)
    with _taken(folder / "memrepro.lock") as lock:
        with _taken(folder / "lock"):  # DVC's own, of one that was started by hand
            _sweep(folder / "rwlock")
        command = [sys.executable, "-m", "dvc", "repro", stage]
        with subprocess.Popen(
            command, cwd=root(), env=dict(environment), pass_fds=[lock.fileno()]
        ) as running:
            _sign(lock, os.getpid(), running.pid)
            return running.wait()


@contextmanager
def _taken(path: Path) -> Iterator[IO[str]]:
    """A lock file, locked and with this process's id until the block ends."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            alive = [pid for pid in file.read().split() if pid.isdecimal() and _runs(int(pid))]
            raise MemreproError(
                f"stages of {root()} are already being run by the process "
                f"{' and the process '.join(alive) or 'that holds ' + str(path)}: wait for its "
                f"end, or end it (kill {' '.join(alive) or 'and its id'}) and run the same "
                "command again; what is done is kept"
            ) from None
        _sign(file, os.getpid())
        yield file


def _sign(file: IO[str], *pids: int) -> None:
    file.truncate(0)
    file.write(" ".join(map(str, pids)) + "\n")
    file.flush()


def _sweep(path: Path) -> None:
    """Delete DVC's list of who reads and writes what, if no DVC that it names is running.

    DVC itself takes any process that has the id of a killed one for it, and gives up on half a
    list.
    """
    try:
        held = json.loads(path.read_text("utf-8"))
        holders = [*held.get("write", {}).values(), *chain(*held.get("read", {}).values())]
        pids = {int(one["pid"]) for one in holders}
    except FileNotFoundError:
        return
    except (ValueError, TypeError, AttributeError, KeyError):
        pids = set()
    if not any(map(_runs_dvc, pids)):
        path.unlink(missing_ok=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _runs_dvc(pid: int) -> bool:
    command = Path(f"/proc/{pid}/cmdline")
    try:
        return b"dvc" in command.read_bytes() if Path("/proc/self").exists() else _runs(pid)
    except OSError:
        return False
