"""The command that frees disk space: it lists what can go, and deletes just that when told to."""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.encode.models import cache_folder
from memrepro.errors import MemreproError
from memrepro.files.atomic import root, why_not_written
from memrepro.pipeline.printing import Add, print_table
from memrepro.study.plan import PROFILES

_HOUR = 3600
# A line of `dvc gc`: the object's name ends with two characters and the rest of its digest.
_OBJECT = re.compile(r"Removing \S*?([0-9a-f]{2})/([0-9a-f]{30}(?:\.dir)?)$", re.MULTILINE)


class Part(NamedTuple):
    """What can be deleted by one name: where it is below the root or the cache, and what then."""

    what: str
    names: tuple[str, ...]
    then: str
    cached: bool = False


LEFT, OBJECTS = "left", "objects"
PARTS = {
    LEFT: Part(
        "temporary files of writers that were killed over an hour ago",
        ("build/**/.*.part", "data/**/.*.part", "results/**/.*.part"),
        "nothing needs them",
    ),
    OBJECTS: Part(
        "what DVC keeps and no line of dvc.lock names", (), "`dvc repro` of an older state works"
    ),
    "build": Part(
        "notebooks that were executed, pages, the site", ("build/**/*",), "`make report`"
    ),
    "vectors": Part(
        "the vectors of texts", ("embeddings.sqlite*",), "texts are encoded again", cached=True
    ),
    "answers": Part(
        "answers of language models", ("answers.sqlite*",),
        "models are asked again, which may cost money", cached=True,
    ),
    "models": Part(
        "encoders and language models",
        ("models/**/*", "graphs/**/*", "wheels/**/*", "tuned/**/*", "tuning/**/*"),
        "they are fetched or made again", cached=True,
    ),
}  # fmt: skip
FREELY = (LEFT, OBJECTS, "build")
# What stages, the site and a rehearsal write below build/; scores and a user's own files stay.
_BUILT = {*PROFILES, "site", "stages", "rehearsal"}


def add_to(add: Add) -> None:
    """Add the command to the parser."""
    clean = add(
        "clean", _clean,
        more="Without names: "
        + ", ".join(FREELY)
        + ". "
        + "; ".join(f"{name}: {part.what}" for name, part in PARTS.items())
        + ". Raw data and results are never deleted.",
    )  # fmt: skip
    clean.add_argument("part", nargs="*", choices=[[], *PARTS], metavar="PART")
    clean.add_argument("--yes", action="store_true", help="delete what is listed")


def _clean(arguments: argparse.Namespace) -> int:
    chosen = [name for name in PARTS if name in (arguments.part or FREELY)]
    if not arguments.part:
        _check_repository()
    found = {name: sorted(_objects() if name == OBJECTS else _files(name)) for name in chosen}
    rows: list[dict[str, Any]] = [
        {
            "part": name, "what": PARTS[name].what, "files": len(files),
            "MB": round(sum(path.lstat().st_size for path in files) / 1e6, 1),
            "then": PARTS[name].then,
        }
        for name, files in found.items()
    ]  # fmt: skip
    print_table(pd.DataFrame(rows), arguments.json)
    if not arguments.yes:
        print("nothing is deleted without --yes", file=sys.stderr)
        return 0
    for name, files in found.items():
        if name == OBJECTS and files:
            _gc()
            continue
        for path in files:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise MemreproError(why_not_written(path, error)) from error
        # What is empty now, the deepest first.
        within = cache_folder() if PARTS[name].cached else root()
        folders = {up for path in files for up in path.parents if within in up.parents}
        for folder in sorted(folders, reverse=True):
            if not any(folder.iterdir()):
                folder.rmdir()
    return 0


def _check_repository() -> None:
    """What is deleted freely is part of a repository; elsewhere a part of the cache is named."""
    try:
        root()
    except MemreproError as error:
        cached = ", ".join(name for name, part in PARTS.items() if part.cached)
        raise MemreproError(f"{error}; or name a part of {cache_folder()}: {cached}") from error


def _files(name: str) -> Iterator[Path]:
    """The files of a part; links are taken as they are and not followed."""
    part = PARTS[name]
    folder = cache_folder() if part.cached else root()
    for pattern in part.names:
        for path in folder.glob(pattern):
            if name == "build" and path.relative_to(folder).parts[1] not in _BUILT:
                continue
            if (path.is_symlink() or not path.is_dir()) and (
                name != LEFT or time.time() - path.lstat().st_mtime > _HOUR
            ):
                yield path


def _objects() -> list[Path]:
    """What DVC's cache has and `dvc.lock` does not name."""
    cache = root() / ".dvc/cache"
    named = {Path(*found) for found in _OBJECT.findall(_gc("--dry"))}
    places = [cache / folder / name for name in named for folder in ("files/md5", "")]
    return [path for path in places if path.exists()]


def _gc(*options: str) -> str:
    """What DVC says of its own collection; it has locks that keep a running pipeline apart."""
    if not (root() / ".dvc/cache").is_dir():
        return ""
    command = [sys.executable, "-m", "dvc", "gc", "--workspace", "--force", *options]
    environment = dict(os.environ, COLUMNS="1000")
    done = subprocess.run(
        command, cwd=root(), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MemreproError(
            f"dvc gc ended with {done.returncode}: {done.stderr.strip()[-300:]}; nothing of its "
            "cache was deleted"
        )
    return done.stdout + done.stderr
