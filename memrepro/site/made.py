"""Where a site comes from: commit, machine, time, and the digests of a report's files."""

import os
import platform
import subprocess
from datetime import UTC, datetime

from memrepro import __version__
from memrepro.files import paths
from memrepro.files.atomic import read_json, root, sha256

SHOWN_DIGITS = 16


def commit() -> str:
    """The commit that the folder stands at, and whether it has been edited since."""
    found = _git("rev-parse", "HEAD")
    if not found:
        return "unknown: this folder is no git checkout"
    edited = _git("status", "--porcelain", "--untracked-files=no")
    return found + (" with uncommitted edits" if edited else "")


def facts() -> list[tuple[str, str]]:
    """What a page says of its making; the time is `SOURCE_DATE_EPOCH` where that is set."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(given), UTC) if given else datetime.now(UTC)
    return [
        ("Commit", commit()),
        ("Page made", now.strftime("%d %B %Y, %H:%M UTC")),
        ("On", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"),
        ("With", f"memrepro {__version__}"),
    ]


def digests(profile: str, paper: str) -> list[tuple[str, str, str]]:
    """The files of a report as the manifest has them: name, SHA-256, whether this one is the same.

    None where the profile has no manifest yet.
    """
    path = paths.manifest(profile)
    listed = read_json(path) if path.is_file() else {}
    found = []
    for name, digest in listed.items():
        if not name.startswith(f"{paper}/"):
            continue
        file = paths.results(profile) / name
        if not file.is_file():
            state = "not here"
        else:
            state = "same" if sha256(file) == digest["bytes"] else "other bytes"
        found.append((name, digest["bytes"][:SHOWN_DIGITS], state))
    return found


def _git(*arguments: str) -> str:
    """What git prints, '' where it fails or is not installed."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root(), capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
