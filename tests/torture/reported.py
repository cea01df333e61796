"""What bug reports of people who do this work name: 21 points, each drawn with variations.

A point is a function that draws one input, uses it as a person would, and asserts what is promised
of it; what it returns names how it ended.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

from tests.torture import handed, served
from tests.torture import machines as machines_
from tests.torture.campaign import Case, failed, limited

Points = Mapping[str, Callable[[Path, Random], str]]
_SECONDS, _PATIENCE = 60, 300  # of the processor, and by the clock, where processes are started


def cases(points: Points, folder: Path, chance: Random) -> Iterator[Case]:
    """Each point in turn for half a second, one input at least, in a folder of its own."""
    while True:
        for name, draw in points.items():
            until = time.monotonic() + 0.5
            yield one_case(name, draw, folder / "at", chance.randrange(1 << 32))
            while time.monotonic() < until:
                yield one_case(name, draw, folder / "at", chance.randrange(1 << 32))


files_and_servers = partial(cases, {**handed.POINTS, **served.POINTS})
machines = partial(cases, machines_.POINTS)


def one_case(name: str, draw: Callable[[Path, Random], str], at: Path, seed: int) -> Case:
    """A drawing by its seed, which a broken one tells."""
    at.mkdir()
    try:
        with limited(_SECONDS, _PATIENCE):
            return Case(name, draw(at, Random(seed)))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Case(name, "broken", f"seed {seed}: {failed(error)}")
    finally:
        shutil.rmtree(at, ignore_errors=True)
