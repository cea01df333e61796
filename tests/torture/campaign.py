"""The engine: parts are generators of cases, drawn until there are enough and the time is used."""

import math
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from memrepro.errors import MemreproError

LONGEST, SLOWEST = 400, 5  # characters of a sentence, seconds of a case
ACCEPTED, REFUSED = "accepted", "refused"


class Case(NamedTuple):
    """What one fault came to.

    `broken` is empty where the promise held; `seconds` are what it took, where that is told.
    """

    target: str
    outcome: str
    broken: str = ""
    seconds: float = math.nan


class Part(NamedTuple):
    """A kind of fault: its cases without end, and how many there must be."""

    name: str
    cases: Callable[[Path, Random], Iterator[Case]]
    at_least: int


class Hung(BaseException):
    """A case that went on for longer than it may."""


@contextmanager
def limited(seconds: float = SLOWEST) -> Iterator[None]:
    """Raise `Hung` in the block after so many seconds."""

    def stop(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tried(target: str, use: Callable[[], object]) -> Case:
    """Use what may be damaged: it is accepted, or refused in one sentence, and soon."""
    try:
        with limited():
            use()
    except MemreproError as error:
        said = str(error)
        if len(said) > LONGEST or not said.isprintable():
            return Case(target, REFUSED, f"a sentence of {len(said)} characters: {said[:200]!a}")
        return Case(target, REFUSED)
    except Hung:
        return Case(target, "hung", f"more than {SLOWEST} seconds")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return Case(target, "traceback", f"{type(error).__name__} in {where}: {str(error)[:160]!a}")
    return Case(target, ACCEPTED)


def run(part: Part, folder: Path, seconds: float, seed: int) -> list[Case]:
    """The cases of a part."""
    cases = []
    until = time.monotonic() + seconds
    for case in part.cases(folder, Random(seed)):
        cases.append(case)
        if len(cases) >= part.at_least and time.monotonic() >= until:
            break
    return cases
