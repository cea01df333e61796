"""The parts of the campaign, with how many cases each must have."""

import tempfile
from pathlib import Path

from tests.torture import faulted, killed, mutated
from tests.torture.campaign import Case, Part, run

PARTS = (
    Part("mutated input", mutated.cases, 1000),
    Part("faults of files and clock", faulted.cases, 60),
    Part("kills: tiered store", killed.memory, 240),
    Part("kills: change of encoder", killed.encoders, 60),
    Part("kills: embedding", killed.embedding, 150),
    Part("kills: answers", killed.answers, 80),
    Part("kills: download", killed.download, 60),
    Part("kills: pipeline and site", killed.commands, 12, weight=4),
)


def run_part(place: int, seconds: float, seed: int) -> list[Case]:
    """Run one of them in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return run(PARTS[place], Path(folder), seconds, seed)
