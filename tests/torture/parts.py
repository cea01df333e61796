"""The parts of the campaign, with how many cases each must have."""

import tempfile
from collections import Counter
from pathlib import Path

from tests.torture import flipped, killed, mutated
from tests.torture.campaign import Part, run

PARTS = (
    Part("mutated input", mutated.cases, 1000),
    Part("flipped bits", flipped.cases, 500),
    Part("kills: tiered store", killed.memory, 240),
    Part("kills: embedding", killed.embedding, 150),
    Part("kills: answers", killed.answers, 80),
    Part("kills: download", killed.download, 60),
    Part("kills: pipeline and site", killed.commands, 12),
)


def run_part(place: int, seconds: float, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Run one of them in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return run(PARTS[place], Path(folder), seconds, seed)
