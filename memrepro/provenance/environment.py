"""The machine and the versions: of what is installed here, and as results recorded theirs."""

import os
import platform
import re
import subprocess
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from memrepro import __version__
from memrepro.files import paths
from memrepro.files.atomic import read_json, read_table, root
from memrepro.files.cached import until_changed
from memrepro.files.machine import processor

_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.M)
_VERSION = re.compile(r"^Version: *(\S+)", re.M)


@lru_cache(maxsize=1)
def here() -> dict[str, Any]:
    """This machine: Python, packages of the lock files, processor and system; no time, no name."""
    return {
        "memrepro": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": processor(),
        "threads": os.cpu_count() or 1,
        "packages": packages(),
    }


def packages() -> dict[str, str]:
    """Package → installed version, of those of the lock files that are installed."""
    found = {}
    for name in locked():
        with suppress(PackageNotFoundError):
            # Of hundreds of packages the whole metadata takes longer to parse than all else.
            written = _VERSION.search(distribution(name).read_text("METADATA") or "")
            found[name] = written.group(1) if written else distribution(name).version
    return found


def locked() -> dict[str, str]:
    """Package → version of the lock files."""
    files = (root() / "requirements.lock", root() / "requirements-torch.txt")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path.is_file())
    return dict(sorted(_LOCKED.findall(text)))


def git() -> dict[str, Any]:
    """The commit that is checked out, and whether the files are as committed; None without git."""
    commit, status = _git("rev-parse", "HEAD"), _git("status", "--porcelain")
    return {"commit": commit or None, "clean": None if status is None else not status}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root(), capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def recorded(profile: str, paper: str, experiments: set[str]) -> list[str]:
    """What the committed results say of where they were made, a line each.

    The footer of the paper's executed notebook names the version and Python; a latency file, where
    one of the experiments was timed, the processor and the libraries.
    """
    lines = []
    notebook = paths.results(profile) / paper / "report.ipynb"
    if notebook.is_file():
        lines += [f"report: {footer}" for footer in _footer(notebook)]
    for path in sorted((paths.results(profile) / "latency").glob("*.csv")):
        lines += [text for experiment, text in _timed(path) if experiment in experiments]
    return list(dict.fromkeys(lines))


@until_changed(32)
def _timed(path: Path) -> list[tuple[str, str]]:
    """The experiments of a latency file, each with what it was timed on."""
    columns = ["experiment", "processor", "threads", "versions"]
    return [
        (experiment, f"timed: {processor_}, {threads} threads, {versions}")
        for experiment, processor_, threads, versions in read_table(path)[columns].to_numpy()
    ]


@until_changed(16)
def _footer(notebook: Path) -> list[str]:
    """The first line of an executed notebook's footer, if it has one."""
    for cell in reversed(read_json(notebook)["cells"]):
        for output in cell.get("outputs", ()):
            text = "".join(output.get("text", ""))
            if text.startswith("memrepro "):
                return text.splitlines()[:1]
    return []
