"""`kill -9` at random moments: nothing is lost or half-written, and the end is the same."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import lancedb  # noqa: F401  (before a fork, which its threads do not survive)
import sklearn.feature_extraction.text  # noqa: F401

from memrepro.data import fetch
from memrepro.data.registry import RemoteFile
from memrepro.encode.encoder import HashEncoder
from memrepro.encode.models import cache_folder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.files.atomic import root, sha256
from memrepro.memory import control
from memrepro.rehearse.server import DATA, Content, Fault
from memrepro.rehearse.server import serving as hosting
from tests.encode import test_vectors as vectors
from tests.forked import forked
from tests.llm import test_records as records
from tests.llm.server import serving
from tests.memory import test_level as level
from tests.memory.store_made import DAY, chat, opened
from tests.torture.campaign import ACCEPTED, Case, Child, tried

KILLED = "killed, whole"
_MESSAGES = 24


def _life(work: Callable[..., None], *arguments: object, moment: float) -> bool:
    """Run work in a child and kill it after some seconds; whether it was killed in its work."""
    child = forked(work, *arguments)
    child.join(moment)
    in_work = child.is_alive()
    child.kill()
    child.join()
    return in_work


def embedding(folder: Path, chance: Random) -> Iterator[Case]:
    """The embedding store, begun anew whenever all is embedded."""
    texts = vectors.texts_to_embed()
    with VectorStore(folder / "whole.sqlite") as whole:
        wanted = embed(
            texts, HashEncoder(32), "document", whole, batch_size=vectors.BATCH
        ).tobytes()
    path, log = folder / "e.sqlite", folder / "log"
    while True:
        kills, size = 0, 0
        while _life(vectors.work, path, log, 0.01, moment=chance.uniform(0, 0.5)):
            kills, before, size = kills + 1, size, vectors.committed(path)
            yield Case(
                "embedding store",
                KILLED,
                "" if size >= before else f"{before - size} vectors are lost",
            )
        with VectorStore(path) as store:
            same = (
                embed(texts, HashEncoder(32), "document", store, progress=False).tobytes() == wanted
            )
        twice = sum(Counter(log.read_text().splitlines()).values()) - len(texts)
        told = "" if same else "other vectors than without kills"
        if twice > kills * vectors.BATCH:
            told = f"{twice} texts were encoded twice in {kills} kills"
        yield Case("embedding store", "at its end the same bytes", told)
        for left in folder.glob("e.sqlite*"):
            left.unlink()
        log.unlink()


def answers(folder: Path, chance: Random) -> Iterator[Case]:
    """Answers of an endpoint, each recorded as it comes."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    while True:
        with serving(seconds=0.005) as server:
            path, size, kills = folder / "a.sqlite", 0, 0
            while _life(records.work, path, server.url, moment=chance.uniform(0.05, 0.6)):
                kills, before, size = kills + 1, size, records.committed(path)
                yield Case(
                    "recorded answers",
                    KILLED,
                    "" if size >= before else f"{before - size} answers are lost",
                )
            told = ""
            try:
                records.check_whole(path)
            except AssertionError as error:
                told = f"not whole at its end: {error}"
            if len(server.asked) > records.PROMPTS + kills * records.AT_ONCE:
                told = f"{len(server.asked)} calls for {records.PROMPTS} answers in {kills} kills"
            yield Case("recorded answers", "at its end whole", told)
        for left in folder.glob("a.sqlite*"):
            left.unlink()


def _fetched(file: RemoteFile, folder: Path) -> None:
    fetch.fetch(file, folder, licence="", mirror=None)


def download(folder: Path, chance: Random) -> Iterator[Case]:
    """A file of a slow host."""
    (folder / "host").mkdir()
    whole = folder / "host/file.bin"
    whole.write_bytes(chance.randbytes(6_000_000))
    with hosting(Content(folder / "host")) as server:
        file = RemoteFile("file.bin", f"{server.address}{DATA}file.bin", sha256(whole), 6_000_000)
        _fetched(file, folder / "undisturbed")  # what it imports takes longer than a life
        while True:
            there = folder / "here"
            server.faults[DATA + "file.bin"] += [Fault(rate=8_000_000) for _ in range(200)]
            while _life(_fetched, file, there, moment=chance.uniform(0.05, 0.4)):
                half = (there / "file.bin").is_file() and sha256(there / "file.bin") != file.sha256
                yield Case(
                    "download", KILLED, "a half file has the name of the whole one" if half else ""
                )
            same = sha256(there / "file.bin") == file.sha256
            yield Case("download", "at its end the same bytes", "" if same else "another file")
            shutil.rmtree(there)


def memory(folder: Path, chance: Random) -> Iterator[Case]:
    """The tiered store: adding, maintaining, deleting, opening after a kill."""
    while True:
        at = folder / str(chance.random())
        command = [sys.executable, "-m", "tests.memory.killed", str(at), "24", "2"]
        done = subprocess.run(command, cwd=root(), capture_output=True, text=True, check=False)
        if done.returncode:
            yield Case("tiered store", "broken", done.stderr.strip()[-300:])
        for moment, times in (json.loads(done.stdout) if done.stdout else {}).items():
            for _ in range(times if moment != "kills" else 0):
                yield Case(f"tiered store, {moment}", KILLED)
        shutil.rmtree(at)


def _changed(root: Path, encoder: HashEncoder) -> None:
    with opened(root, encoder=encoder) as memory:
        level.check_vectors(memory)
        items = memory.search("what fruit do I like?", level.NOW).items
        assert len(items) > 0, "nothing is found"
        assert len(control.messages(memory)) == 2 * _MESSAGES, "messages are lost"


def _filled(root: Path) -> None:
    with opened(root) as memory:
        memory.add(chat(_MESSAGES, text="I like fruit{i}"))
        later = chat(_MESSAGES, first=_MESSAGES, text="I like fruit{i}")
        memory.add([replace(one, at=one.at + 8 * DAY) for one in later])
        memory.maintain(level.NOW)


def encoders(folder: Path, chance: Random) -> Iterator[Case]:
    """The tiered store while its vectors are made anew by another encoder, to and fro."""
    name, root, known = (
        "tiered store, change of encoder",
        folder / "m",
        (HashEncoder(), level.Other()),
    )
    filling = forked(_filled, root)
    filling.join()
    if filling.exitcode:
        raise SystemExit("a memory cannot be filled")
    turn = 0
    while True:
        turn += 1
        kills = 0
        while _life(_changed, root, known[turn % 2], moment=chance.uniform(0, 0.35)):
            kills += 1
            # By the one that it was to be, or back by the one that it was.
            one = known[chance.randrange(2)]
            case = Child(lambda one=one: tried(name, lambda: _changed(root, one))).case(name)
            yield Case(
                name, KILLED, case.broken or ("" if case.outcome == ACCEPTED else case.outcome)
            )
        if kills:
            yield Case(name, "at its end whole")


COMMANDS = {"dvc repro of the sample": "memrepro repro sample", "the site": "memrepro.site sample"}
# Kept while the stages are run again: what is encoded once is killed as the embedding store.
_KEPT = ("embeddings.sqlite*", "models", "wheels")


def commands(folder: Path, chance: Random) -> Iterator[Case]:
    """`dvc repro` of the sample, reports among its stages, and the site, in a clone.

    What some stages gave is deleted, drawn anew for each turn. After each kill each file that is
    there has the bytes of an undisturbed run, and at a turn's end all are there again.
    """
    clone = folder / "clone"
    if not clone.is_dir():
        subprocess.run(["git", "clone", "--quiet", str(root()), str(clone)], check=True)
    made = (clone / "results/sample", clone / "build/site")
    for path in (one for name in _KEPT for one in cache_folder().glob(name)):
        (clone / ".cache").mkdir(exist_ok=True)
        copied = shutil.copytree if path.is_dir() else shutil.copy2
        copied(path, clone / ".cache" / path.name)
    environment = dict(os.environ, PYTHONPATH=str(clone), PYTHONHASHSEED="0")
    environment["SOURCE_DATE_EPOCH"] = "0"  # pages say when they were made
    for name in ("PYTHONDONTWRITEBYTECODE", "MEMREPRO_CACHE"):
        environment.pop(name, None)

    def life(words: str, seconds: float | None = None) -> int | None:
        """The exit status of a command, or None where it was killed with all its children."""
        with (folder / "log.txt").open("ab") as log:
            where = {"cwd": clone, "env": environment, "stdout": log, "stderr": log}
            command = [sys.executable, "-m", *words.split()]
            child = subprocess.Popen(command, start_new_session=True, **where)
            try:
                return child.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                # DVC takes a lock for held until its process is gone, which takes a moment.
                with suppress(ProcessLookupError):
                    while True:
                        os.killpg(child.pid, 0)
                        time.sleep(0.05)
                return None

    def found() -> dict[str, str]:
        return {
            str(path.relative_to(clone)): sha256(path)
            for one in made
            for path in one.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        }

    def clear(every: bool = False) -> None:
        # Latencies are measured by a command of their own; the stages read them.
        outputs = [*made[0].glob("runs/*"), *(one for one in made[0].iterdir() if one.is_dir())]
        outputs = [one for one in outputs if one.name not in ("latency", "runs")]
        outputs += [clone / "data/vectors", clone / "data/prepared", clone / "data/metrics"]
        for one in outputs if every else chance.sample(outputs, 3):
            shutil.rmtree(one, ignore_errors=True)
        # DVC's own memory of stages that were run would give back the vectors.
        for one in (clone / ".dvc/cache/runs", clone / "build/site"):
            shutil.rmtree(one, ignore_errors=True)

    if not (clone / "build").is_dir():
        clear(every=True)
    for words in COMMANDS.values():
        if life(words):
            raise SystemExit(
                f"{words} fails undisturbed: {(folder / 'log.txt').read_text()[-500:]}"
            )
    wanted = found()
    while True:
        clear()
        for target, words in COMMANDS.items():
            longest = 45.0  # and longer each time, for what must begin anew
            while (status := life(words, chance.uniform(2, longest))) is None:
                longest *= 1.2
                half = [name for name, digest in found().items() if wanted.get(name) != digest]
                yield Case(target, KILLED, f"{half[0]} is half-written" if half else "")
            told = "" if status == 0 else f"it ends with {status} after kills"
            yield Case(target, "at its end without error", told)
        other = {name for name, _ in found().items() ^ wanted.items()}
        told = f"{len(other)} files differ, first {min(other)}" if other else ""
        yield Case("results and site", "at its end the same bytes", told)
