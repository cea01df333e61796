"""Faults of the file system and the clock: refused in one sentence, nothing is lost, it goes on."""

import hashlib
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import lancedb  # noqa: F401  (before a fork, which its threads do not survive)
import pandas as pd
import sklearn.feature_extraction.text  # noqa: F401

from memrepro.data import fetch
from memrepro.data.registry import RemoteFile
from memrepro.encode.encoder import HashEncoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.files.atomic import read_table, write_table
from memrepro.llm.model import Answer, Message, Prompt
from memrepro.llm.records import AnswerStore, Record
from memrepro.memory import control
from tests.memory.store_made import OLD, chat, check_whole, opened
from tests.torture.campaign import ACCEPTED, REFUSED, Case, Child, tried

_NOBODY = 65534


class Target(NamedTuple):
    """What is written: `work(folder, step)` for the steps 0 and 1, and what must be there then.

    `check(folder, steps)` raises an AssertionError unless just these steps are there. `file` is
    what a folder or a link takes the place of.
    """

    name: str
    file: str
    work: Callable[[Path, int], object]
    check: Callable[[Path, int], object]


def _frame(step: int) -> pd.DataFrame:
    return pd.DataFrame({"query_id": [f"q{n}" for n in range(500 * (step + 1))], "rank": step})


def _write(name: str, folder: Path, step: int) -> None:
    write_table(folder / name, _frame(step))


def _written(name: str, folder: Path, steps: int) -> None:
    found, wanted = read_table(folder / name), _frame(steps - 1)
    pd.testing.assert_frame_equal(found.astype(str), wanted.astype(str))


_BYTES = Random(0).randbytes(300_000)


def _fetch(folder: Path, step: int) -> None:
    digest = hashlib.sha256(_BYTES[step:]).hexdigest()
    file = RemoteFile(f"{step}.bin", f"http://127.0.0.1:9/{step}.bin", digest, len(_BYTES) - step)
    fetch.fetch(file, folder, licence="", mirror=folder.parent / "mirror")


def _mirror(folder: Path) -> None:
    folder.mkdir()
    for step in range(2):
        (folder / f"{step}.bin").write_bytes(_BYTES[step:])


def _fetched(folder: Path, steps: int) -> None:
    for step in range(2):
        path = folder / f"{step}.bin"
        assert path.exists() == (step < steps)
        assert not path.exists() or path.read_bytes() == _BYTES[step:]


def _texts(step: int) -> list[str]:
    return [f"text {n} of step {step}" for n in range(200)]


def _embed(folder: Path, step: int) -> None:
    with VectorStore(folder / "e.sqlite") as store:
        embed(_texts(step), HashEncoder(32), "document", store, progress=False)


def _embedded(folder: Path, steps: int) -> None:
    with VectorStore(folder / "e.sqlite") as store:
        assert len(store) >= 200 * steps
        wanted = HashEncoder(32).encode(_texts(0), "document")
        assert (
            embed(_texts(0), HashEncoder(32), "document", store, progress=False) == wanted
        ).all()


def _records(step: int) -> list[Record]:
    answer = Answer("yes", 3, 1, 0.1, "toy", "1", "stop", "m", ())
    return [Record(Prompt((Message("user", text),)), answer) for text in _texts(step)]


def _answer(folder: Path, step: int) -> None:
    with AnswerStore(folder / "a.sqlite") as store:
        store.add(_records(step))


def _answered(folder: Path, steps: int) -> None:
    with AnswerStore(folder / "a.sqlite") as store:
        assert len(store) == 200 * steps
        assert all(record.answer.text == "yes" for record in store.records())


def _remember(folder: Path, step: int) -> None:
    with opened(folder) as memory:
        memory.add(chat(20, first=20 * step))


def _remembered(folder: Path, steps: int) -> None:
    with opened(folder) as memory:
        check_whole(memory)
        assert len(control.messages(memory)) == 20 * steps
        memory.maintain(OLD)
        check_whole(memory)


TARGETS = (
    Target("csv", "t.csv", partial(_write, "t.csv"), partial(_written, "t.csv")),
    Target("parquet", "t.parquet", partial(_write, "t.parquet"), partial(_written, "t.parquet")),
    Target("download", "1.bin", _fetch, _fetched),
    Target("embedding store", "e.sqlite", _embed, _embedded),
    Target("recorded answers", "a.sqlite", _answer, _answered),
    Target("memory", "*/memory.sqlite", _remember, _remembered),
)


@contextmanager
def _full(folder: Path, chance: Random) -> Iterator[None]:
    filler = folder / "filler"
    room = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    filler.write_bytes(b"x" * (room - chance.choice((0, 4096, 20_000, 100_000, 400_000))))
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def _read_only(folder: Path, chance: Random) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)


@contextmanager
def _quota(folder: Path, chance: Random) -> Iterator[None]:
    """No file may become larger than this; only in a child, as nobody may raise it again."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    most = max(sizes) + chance.choice((0, 100, 5000, 50_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    yield


@contextmanager
def _not_allowed(folder: Path, chance: Random) -> Iterator[None]:
    """Only in a child: the user nobody, and the folder is another's."""
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
    yield


@contextmanager
def _clock(folder: Path, chance: Random) -> Iterator[None]:
    """Only in a child: each look at the clock finds it at another time in twenty years."""
    now = time.time()
    time.time = lambda: now + chance.uniform(-10, 10) * 365 * 86400
    yield


@contextmanager
def _slow(folder: Path, chance: Random) -> Iterator[None]:
    """Only in a child: each call that writes takes 2 ms more, and one that syncs 40 ms."""
    delays = ("write,pwrite64,pwritev:delay_enter=2000", "fsync,fdatasync:delay_enter=40000")
    injected = [word for delay in delays for word in ("-e", f"inject={delay}")]
    command = ["strace", "-f", "-qq", "-o", os.devnull, "-p", str(os.getpid()), *injected]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as tracer:
        while "TracerPid:\t0\n" in Path("/proc/self/status").read_text():
            assert tracer.poll() is None, "strace does not trace"
            time.sleep(0.01)
        try:
            yield
        finally:
            tracer.terminate()


@contextmanager
def _instead(make: Callable[[Path, Path], object], file: str, folder: Path) -> Iterator[None]:
    """Something else in a file's place, and the file again afterwards."""
    at = next(folder.glob(file), folder / file)
    away, precious = folder.parent / "away", folder.parent / "precious"
    precious.write_text("not yours")
    if there := at.exists():
        at.rename(away)
    make(at, precious)
    try:
        yield
        assert precious.read_text() == "not yours", "a file that a link led to was changed"
    finally:
        if at.is_dir() and not at.is_symlink():
            shutil.rmtree(at)
        else:
            at.unlink(missing_ok=True)
        if there:
            away.rename(at)


# In the parent, around the child that works; a folder of its own is mounted for each.
AROUND = {"full disk": _full, "read-only file system": _read_only}
# In the child.
WITHIN = {
    "quota": _quota, "no permission": _not_allowed, "a clock that jumps": _clock,
    "slow disk": _slow,
}  # fmt: skip
INSTEAD: dict[str, Callable[[Path, Path], object]] = {
    "a folder in its place": lambda at, _: at.mkdir(),
    "a link to nothing": lambda at, _: at.symlink_to("nowhere/at/all"),
    "a link to itself": lambda at, _: at.symlink_to(at.name),
    "a link elsewhere": lambda at, precious: at.symlink_to(precious),
}
TWO = "two at once"
FAULTS = (*AROUND, *WITHIN, *INSTEAD, TWO)


def _worked(target: Target, name: str, folder: Path, fault: str, seed: int) -> Case:
    """The second step, under a fault that lies within the process."""

    def work() -> None:
        with WITHIN[fault](folder, Random(seed)) if fault in WITHIN else nullcontext():
            target.work(folder, 1)

    return tried(name, work)


def _checked(target: Target, name: str, folder: Path, steps: int) -> Case:
    case = tried(name, lambda: target.check(folder, steps))
    return case._replace(broken=case.broken or ("" if case.outcome == ACCEPTED else case.outcome))


def _one(target: Target, fault: str, folder: Path, seed: int) -> Case:
    """Step 0 undisturbed, step 1 under the fault, a look, and step 1 again."""
    name, chance = f"{target.name}: {fault}", Random(seed)
    disk = folder / "disk"
    disk.mkdir()
    _mirror(folder / "mirror")
    if fault in AROUND:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "t", str(disk)], check=True)
    try:
        first = Child(lambda: tried(name, lambda: target.work(disk, 0))).case(name)
        if first.outcome != ACCEPTED:
            return first._replace(broken=f"undisturbed: {first.outcome} {first.broken}")
        around: Any = nullcontext()
        if fault in AROUND:
            around = AROUND[fault](disk, chance)
        elif fault in INSTEAD:
            around = _instead(INSTEAD[fault], target.file, disk)
        with around:
            both = [
                Child(partial(_worked, target, name, disk, fault, seed))
                for _ in range(2 if fault == TWO else 1)
            ]
            cases = [child.case(name) for child in both]
        case = next((one for one in cases if one.broken), cases[0])
        # Two at once need not both be taken; one must.
        taken = any(one.outcome == ACCEPTED for one in cases)
        if not case.broken and fault == TWO and not taken:
            return case._replace(broken="neither of two was taken")
        if case.broken:
            return case
        # What a file's stand-in took is gone with it.
        steps = 2 if taken and fault not in INSTEAD else 1
        look = Child(partial(_checked, target, name, disk, steps)).case(name)
        if look.broken and case.outcome == REFUSED:
            # What was refused may be there as a whole: the refusal can be of what came after.
            look = Child(partial(_checked, target, name, disk, 2)).case(name)
        if look.broken:
            return case._replace(broken=f"{case.outcome}, then: {look.broken}")
        again = Child(lambda: tried(name, lambda: target.work(disk, 1))).case(name)
        if again.outcome != ACCEPTED:
            return case._replace(broken=f"without the fault: {again.outcome} {again.broken}")
        end = Child(partial(_checked, target, name, disk, 2)).case(name)
        return case._replace(broken=f"at its end: {end.broken}" if end.broken else "")
    finally:
        if fault in AROUND:
            subprocess.run(["umount", str(disk)], check=True)


def cases(folder: Path, chance: Random) -> Iterator[Case]:
    """Every target under every fault, in turn."""
    can_mount, can_trace = os.geteuid() == 0, shutil.which("strace")
    for number in count():
        for target in TARGETS:
            for fault in FAULTS:
                at = folder / f"{number}-{chance.random()}"
                at.mkdir()
                if not can_mount and fault in (*AROUND, "no permission"):
                    yield Case(f"{target.name}: {fault}", "not run: root alone can")
                    continue
                if not can_trace and fault == "slow disk":
                    yield Case(f"{target.name}: {fault}", "not run: strace is not installed")
                    continue
                try:
                    yield _one(target, fault, at, chance.randrange(10**9))
                finally:
                    shutil.rmtree(at, ignore_errors=True)
