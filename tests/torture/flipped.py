"""One bit turned over: what `verify` names in published files, and the caches at use."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from random import Random

import numpy as np

from memrepro.data.fetch import check_before_use, fetch_all, mirror_folder
from memrepro.data.registry import registration
from memrepro.encode.encoder import HashEncoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.files.atomic import root
from memrepro.llm.model import Answer, Message, Prompt, prompt_key
from memrepro.llm.records import AnswerStore, Record
from memrepro.provenance import published
from tests.torture.campaign import SLOWEST, Case, Hung, limited

RECORDS = ("results/sample/manifest.json", "dvc.lock")
TEXTS = [f"text number {n}" for n in range(300)]


def flip(path: Path, chance: Random) -> None:
    """Turn over one bit of a file."""
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def vectors(folder: Path, chance: Random) -> Iterator[Case]:
    """The embedding store: each vector read is the one that was kept, or its damage is named."""
    encoder, whole = HashEncoder(32), folder / "whole.sqlite"
    with VectorStore(whole) as store:
        wanted = embed(TEXTS, encoder, "document", store, progress=False)

    def same(path: Path) -> bool:
        with VectorStore(path) as store:
            # A key that was hit is a vector that is missing: it is made anew.
            return np.array_equal(embed(TEXTS, encoder, "document", store, progress=False), wanted)

    return _used("embedding store", whole, folder / "flipped.sqlite", same, chance)


def answers(folder: Path, chance: Random) -> Iterator[Case]:
    """The store of recorded answers, likewise."""
    whole = folder / "answers.sqlite"
    answer = Answer("yes", 3, 1, 0.1, "toy", "1", "stop", "m", ())
    records = [Record(Prompt((Message("user", text),)), answer) for text in TEXTS]
    keys = [prompt_key(answer.identity, one.prompt) for one in records]
    with AnswerStore(whole) as store:
        store.add(records)

    def same(path: Path) -> bool:
        with AnswerStore(path) as store:
            lacking = set(store.missing(keys))
            return all(one == answer for one in store.read([k for k in keys if k not in lacking]))

    return _used("recorded answers", whole, folder / "flipped.sqlite", same, chance)


def _used(
    target: str, whole: Path, path: Path, same: Callable[[Path], bool], chance: Random
) -> Iterator[Case]:
    with sqlite3.connect(whole) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    while True:
        for left in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            left.unlink(missing_ok=True)
        shutil.copy(whole, path)
        flip(path, chance)
        yield _outcome(target, path, same)


def _outcome(target: str, path: Path, same: Callable[[Path], bool]) -> Case:
    try:
        with limited():
            right = same(path)
    except MemreproError:
        return Case(target, "named")
    except Hung:
        return Case(target, "hung", f"more than {SLOWEST} seconds")
    except Exception as error:
        return Case(target, "traceback", f"{type(error).__name__}: {str(error)[:160]!a}")
    return (
        Case(target, "same values") if right else Case(target, "wrong", "another value was given")
    )


def results(folder: Path, chance: Random) -> Iterator[Case]:
    """Published files of the sample: rankings, tables, figures, the manifest, DVC's lock."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(root()), str(clone)], check=True)
    listed = ["git", "ls-files", "results/sample", "dvc.lock"]
    tracked = subprocess.check_output(listed, cwd=clone, text=True).split()
    with chdir(clone):
        while True:
            name = chance.choice(tracked if chance.random() < 0.7 else list(RECORDS))
            before = (clone / name).read_bytes()
            flip(clone / name, chance)
            found = set(published.differences("sample")["file"])
            (clone / name).write_bytes(before)
            told = f"{name} was changed, and {sorted(found)[:3]} are named"
            yield Case(Path(name).suffix.lstrip("."), "named", "" if found == {name} else told)


def inputs(folder: Path, chance: Random) -> Iterator[Case]:
    """Raw files of a real data set: named before use, and fetched anew."""
    told = registration("personabench-n00")
    if not mirror_folder():
        while True:
            yield Case("raw file", "not run: no mirror")
    fetch_all(told, folder)
    while True:
        path = folder / chance.choice(told.files).path
        before = path.read_bytes()
        flip(path, chance)
        try:
            check_before_use(told, folder)
        except MemreproError as error:
            broken = "" if str(path) in str(error) else f"{path} was changed, and not named"
        else:
            broken = f"{path} was changed, and taken"
        fetch_all(told, folder)
        if path.read_bytes() != before:
            broken = f"{path} was not fetched anew"
        yield Case("raw file", "named", broken)


def cases(folder: Path, chance: Random) -> Iterator[Case]:
    """All four in turn."""
    parts = []
    for part in (vectors, answers, inputs, results):
        (folder / part.__name__).mkdir()
        parts.append(part(folder / part.__name__, chance))
    while True:
        for part in parts:
            yield next(part)
