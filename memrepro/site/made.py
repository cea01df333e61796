"""Where a site comes from: commit, machine, time, and the digests of a report's files."""

import os
import platform
from datetime import UTC, datetime

from memrepro import __version__
from memrepro.files import paths
from memrepro.files.atomic import read_json, sha256
from memrepro.provenance import environment

SHOWN_DIGITS = 16


def commit() -> str:
    """The commit that the folder stands at, and whether it has been edited since."""
    found = environment.git()
    if not found["commit"]:
        return "unknown: this folder is no git checkout"
    return str(found["commit"]) + ("" if found["clean"] else " with uncommitted edits")


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
