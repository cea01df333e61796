"""What is on the disk against what was published: every byte of every file that git holds.

Two records say what was published: git's last commit, and the manifest that `verify` wrote when the
results were made. A file that differs from either is named; so is one that neither knows.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_yaml, root, sha256
from memrepro.provenance.verify import committed, git, values_digest
from memrepro.study.causes import maker
from memrepro.study.plan import PROFILES

COLUMNS = ["file", "state", "stage"]


def differences(profile: str) -> pd.DataFrame:
    """Each file that is not what was published.

    Args:
        profile: whose results are looked at, besides all that git holds but for other profiles'.

    Returns:
        `file`, from the repository's root; `state`: 'changed', 'same values' (other bytes, no
        value differs at the digits of tables), 'gone', 'new' (of no commit), or 'not as in the
        manifest' (as committed, but not what `verify` saw); `stage` that makes it, or ''.

    Raises:
        MemreproError: if neither git nor a manifest tells what was published.
    """
    manifest = _manifest(profile)
    tracked = _tracked(profile)
    if not manifest and tracked is None:
        raise MemreproError(
            f"nothing says what was published of {profile}: there is no git and no "
            f"{paths.manifest(profile).relative_to(root())}"
        )
    found = dict(_against_manifest(profile, manifest))
    found |= dict(_against_git(profile, tracked or {}, manifest))
    lock = root() / "dvc.lock"
    stages = read_yaml(lock)["stages"] if found and "dvc.lock" not in found else {}
    rows = [(name, state, maker(stages, name) or "") for name, state in sorted(found.items())]
    return pd.DataFrame(rows, columns=COLUMNS)


def _manifest(profile: str) -> dict[str, dict[str, str]]:
    """The manifest by paths from the root: the committed one, or where there is none the disk's."""
    path = paths.manifest(profile)
    raw = committed(path) or (path.read_bytes() if path.is_file() else b"{}")
    folder = paths.results(profile).relative_to(root()).as_posix()
    return {f"{folder}/{name}": state for name, state in json.loads(raw).items()}


def _tracked(profile: str) -> dict[str, str] | None:
    """Path → git's hash, of what the last commit holds but for other profiles' results."""
    listed = git("ls-tree", "-r", "-z", "--full-tree", "HEAD")
    if listed is None:
        return None
    folders = (paths.results(one).relative_to(root()) for one in PROFILES if one != profile)
    others = tuple(f"{folder.as_posix()}/" for folder in folders)
    entries = (line.partition("\t") for line in listed.decode().split("\0") if line)
    blobs = {name: head.split()[2] for head, _, name in entries if head.split()[1] == "blob"}
    return {name: blob for name, blob in blobs.items() if not name.startswith(others)}


def _against_manifest(
    profile: str, manifest: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    for name, then in manifest.items():
        path = root() / name
        if not path.is_file():
            yield name, "gone"
        elif sha256(path) != then["bytes"]:
            yield name, "not as in the manifest"
    if manifest:
        for path in sorted(paths.results(profile).rglob("*")):
            name = path.relative_to(root()).as_posix()
            known = name in manifest or path == paths.manifest(profile)
            if path.is_file() and not known and not path.name.startswith("."):
                yield name, "new"


def _against_git(
    profile: str, tracked: Mapping[str, str], manifest: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    algorithm = "sha256" if len(next(iter(tracked.values()), "")) == 64 else "sha1"
    for name, then in tracked.items():
        path = root() / name
        if not path.is_file():
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
