"""What is on the disk against what was published: every byte of every file that git holds.

Three records say what was published: git's last commit, the manifest that `verify` wrote when the
results were made, and the hashes of its outputs that each stage left in `dvc.lock`. What differs
from one of them is named; so is what none knows. `docs/provenance.md` has the cases as a table.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import root, sha256
from memrepro.provenance.lineage import is_as_recorded, is_left_over
from memrepro.provenance.verify import committed, git, values_digest
from memrepro.study.causes import Stages, holds, maker
from memrepro.study.plan import PROFILES

NOT_AS_MADE = "not as in dvc.lock"
COLUMNS = ["file", "state", "stage"]


def differences(profile: str) -> pd.DataFrame:
    """Each file that is not what was published.

    Args:
        profile: whose results are looked at, besides all that git holds but for other profiles'.

    Returns:
        `file`, from the repository's root; `state`: 'changed', 'same values' (other bytes, no
        value differs at the digits of tables), 'gone', 'new' (of no commit), 'a link' (what git has
        as a file is reached by one), 'not as in the manifest' (as committed, but not what `verify`
        saw) or 'not as in dvc.lock' (as committed, but not what its stage left; a folder of
        results is named as a whole); `stage` that makes it, or ''.

    Raises:
        MemreproError: if neither git nor a manifest tells what was published.
    """
    manifest = _manifest(profile)
    tracked = _tracked(profile)
    if manifest is None and not tracked:
        raise MemreproError(
            f"nothing says what was published of {profile}: there is no git and no "
            f"{paths.manifest(profile).relative_to(root())}"
        )
    stages = _stages()
    found = dict(_against_lock(profile, stages))
    found |= dict(_against_manifest(profile, manifest))
    found |= dict(_against_git(profile, tracked, manifest or {}))
    rows = [(name, state, maker(stages, name) or "") for name, state in sorted(found.items())]
    return pd.DataFrame(rows, columns=COLUMNS)


def _manifest(profile: str) -> dict[str, dict[str, str]] | None:
    """The manifest by paths from the root: the committed one, or where there is none the disk's."""
    path = paths.manifest(profile)
    raw = committed(path) or (path.read_bytes() if path.is_file() else None)
    if raw is None:
        return None
    folder = paths.results(profile).relative_to(root()).as_posix()
    try:
        return {f"{folder}/{name}": {**state} for name, state in json.loads(raw).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise MemreproError(
            f"{path} is no manifest ({error}): run `git checkout -- {folder}/{path.name}`, or "
            f"`memrepro repro {profile}` to have it written"
        ) from error


def _stages() -> Stages:
    """The stages of dvc.lock: the disk's, or the committed ones where that cannot be read."""
    lock = root() / "dvc.lock"
    for raw in (lock.read_bytes() if lock.is_file() else None, committed(lock)):
        try:
            stages = dict(yaml.load(raw or b"", yaml.CSafeLoader)["stages"])
            if all({"path", "md5"} <= set(out) for one in stages.values() for out in one["outs"]):
                return stages
        except (yaml.YAMLError, ValueError, KeyError, TypeError):
            continue
    return {}


def _tracked(profile: str) -> dict[str, str]:
    """Path → git's hash, of what the last commit holds but for other profiles' results.

    Empty without git, and where this folder was unpacked within another repository.
    """
    listed = git("ls-tree", "-r", "-z", "HEAD") or b""
    folders = (paths.results(one).relative_to(root()) for one in PROFILES if one != profile)
    others = tuple(f"{folder.as_posix()}/" for folder in folders)
    entries = (line.partition("\t") for line in os.fsdecode(listed).split("\0") if line)
    blobs = {name: head.split()[2] for head, _, name in entries if head.split()[1] == "blob"}
    return {name: blob for name, blob in blobs.items() if not name.startswith(others)}


def _results(profile: str) -> Iterator[tuple[Path, str]]:
    """A profile's results, and what lies beside all profiles' folders; each with its name."""
    folder = paths.results(profile)
    beside = [path for path in folder.parent.iterdir() if path.name not in PROFILES]
    for path in sorted([*beside, *folder.rglob("*")]):
        if not is_left_over(path) and (path.is_symlink() or not path.is_dir()):
            yield path, path.relative_to(root()).as_posix()


def _against_lock(profile: str, stages: Stages) -> Iterator[tuple[str, str]]:
    """The outputs of stages that are not as they left them, and files that none made."""
    folder = paths.results(profile).relative_to(root()).as_posix()
    outs = [out for stage in stages.values() for out in stage.get("outs", ())]
    for out in outs:
        if out["path"].startswith(f"{folder}/") and not is_as_recorded(out):
            yield out["path"], NOT_AS_MADE
    measured = (f"{folder}/latency/", "results/bench.")  # by commands, not by stages
    for _, name in _results(profile):
        if not holds(outs, name) and not name.startswith(measured):
            yield name, NOT_AS_MADE


def _against_manifest(
    profile: str, manifest: Mapping[str, Mapping[str, str]] | None
) -> Iterator[tuple[str, str]]:
    if manifest is None:
        return
    for name, then in manifest.items():
        path = root() / name
        if not path.is_file():
            yield name, "gone"
        elif sha256(path) != then.get("bytes"):
            yield name, "not as in the manifest"
    for path, name in _results(profile):
        beside = path.parent == paths.results(profile).parent
        if not beside and name not in manifest and path != paths.manifest(profile):
            yield name, "new"


def _against_git(
    profile: str, tracked: Mapping[str, str], manifest: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    algorithm = "sha256" if len(next(iter(tracked.values()), "")) == 64 else "sha1"
    for _, name in _results(profile) if tracked else ():
        if name not in tracked:
            yield name, "new"
    is_link = cache(lambda part: (root() / part).is_symlink())  # a folder is asked once
    for name, then in tracked.items():
        path = root() / name
        if link := next(filter(is_link, [*map(str, reversed(Path(name).parents)), name]), ""):
            yield link, "a link"
        elif not path.is_file():
            yield name, "gone"
        elif _blob(path, algorithm) != then:
            yield name, _how(path, manifest.get(name, {}))


def _blob(path: Path, algorithm: str) -> str:
    """Git's name for a file's content."""
    content = path.read_bytes()
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def _how(path: Path, then: Mapping[str, Any]) -> str:
    try:
        same = "values" in then and values_digest(path) == then["values"]
    except Exception:  # a damaged table fails in any of its reader's ways
        same = False
    return "same values" if same else "changed"
