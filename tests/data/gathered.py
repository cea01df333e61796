"""What tests of readers share: a data set gathered from its pieces, the mirror, broken entries."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memrepro.data.fetch import check_before_use
from memrepro.data.registry import registration

ROOT = Path(__file__).parents[2]
MIRROR = Path(os.environ.get("MEMREPRO_MIRROR") or ROOT.parent / "shared" / "mirror")


@dataclass
class Gathered:
    """All the pieces of a data set as one; fields as `Piece`'s."""

    pieces: list
    memories: dict = field(default_factory=dict)
    queries: list = field(default_factory=list)
    qrels: dict = field(default_factory=dict)
    faults: dict = field(default_factory=dict)
    skipped: list = field(default_factory=list)


def gather(pieces):
    found = Gathered(list(pieces))
    for piece in found.pieces:
        found.memories[piece.memory.memory_id] = piece.memory
        found.queries += piece.queries
        for level, gold in piece.qrels.items():
            found.qrels.setdefault(level, {}).update(gold)
        found.faults |= piece.faults
        found.skipped += piece.skipped
    return found


def in_mirror(name):
    """The mirror's folder, its files of that data set checked; without them the test is skipped."""
    if missing := [f.path for f in registration(name).files if not (MIRROR / f.path).is_file()]:
        pytest.skip(f"no mirror with {name}: {MIRROR / missing[0]} is missing")
    check_before_use(registration(name), MIRROR)
    return MIRROR


def change(entry, path, key, value):
    """Set what stands under a key at the end of a path, or delete it if the value is None."""
    for step in path:
        entry = entry[step]
    if value is None:
        del entry[key]
    else:
        entry[key] = value
