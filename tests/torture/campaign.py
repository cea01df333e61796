"""The engine: parts are generators of cases, drawn until there are enough and the time is used."""

import multiprocessing
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from memrepro.errors import MemreproError

LONGEST, SLOWEST = 400, 5  # characters of a sentence, processor seconds of a case
_PATIENCE = 60  # seconds by the clock for a case or a child
ACCEPTED, REFUSED = "accepted", "refused"


class Case(NamedTuple):
    """What one fault came to; `broken` is empty where the promise held."""

    target: str
    outcome: str
    broken: str = ""


class Part(NamedTuple):
    """A kind of fault: its cases without end, how many there must be, and its part of the time."""

    name: str
    cases: Callable[[Path, Random], Iterator[Case]]
    at_least: int
    weight: int = 1


class Hung(BaseException):
    """A case that went on for longer than it may."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise `Hung` after `SLOWEST` seconds of the processor, or `_PATIENCE` by the clock.

    Whatever else a machine does, a case takes the same seconds of its processor.
    """

    def stop(*_: object) -> None:
        raise Hung

    limits = {
        signal.ITIMER_PROF: (signal.SIGPROF, SLOWEST),
        signal.ITIMER_REAL: (signal.SIGALRM, _PATIENCE),
    }
    before = {number: signal.signal(number, stop) for number, _ in limits.values()}
    for timer, (_, most) in limits.items():
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        for timer in limits:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


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
        return Case(target, "traceback", failed(error))
    return Case(target, ACCEPTED)


def failed(error: BaseException) -> str:
    """What broke, and where."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__} in {where}: {str(error)[:160]!a}"


def _tell(pipe: Any, work: Callable[[], Case]) -> None:
    pipe.send(work())


class Child:
    """A fork at work, and the case that it comes to."""

    def __init__(self, work: Callable[[], Case]) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe(False)
        self._process = context.Process(target=_tell, args=(theirs, work))
        with warnings.catch_warnings():
            # LanceDB is imported here and opened in children alone.
            warnings.simplefilter("ignore", RuntimeWarning)
            self._process.start()
        theirs.close()

    def case(self, target: str) -> Case:
        try:
            if not self._pipe.poll(_PATIENCE):
                self._process.kill()
                return Case(target, "hung", f"more than {_PATIENCE} seconds")
            found: Case = self._pipe.recv()
            return found
        except EOFError:
            self._process.join()
            return Case(target, "died", f"its status is {self._process.exitcode}")
        finally:
            self._process.join(_PATIENCE)


def run(part: Part, folder: Path, seconds: float, seed: int) -> list[Case]:
    """The cases of a part."""
    cases = []
    until = time.monotonic() + seconds
    for case in part.cases(folder, Random(seed)):
        cases.append(case)
        if len(cases) >= part.at_least and time.monotonic() >= until:
            break
    return cases
