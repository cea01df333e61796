"""A file read by a process of its own, with a limit of memory and time.

What a file asks of its reader is not known before: a page of a PDF may draw itself ten times in
each of ten levels. So it is read apart, in a fork, which starts in some ten milliseconds, and a
file that asks too much is listed while the others are read. A small text is read here: what it can
ask is bounded by its reader.
"""

import os
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from memrepro.errors import MemreproError, cut

SMALL = 20_000  # bytes
SECONDS = 120  # of computing; and four times as long by the clock, on a machine that is busy
MEGABYTES = 4_000
Made = TypeVar("Made")


def read_apart(read: Callable[..., Made], path: Path, *more: Any) -> Made:
    """What `read(path, *more)` gives, in whole.

    Where a system has no forks, it is read in this process.

    Raises:
        MemreproError: as of `read`, if it needs more than the limits, or a library that is missing,
            or if the file is damaged.
    """
    if not hasattr(os, "fork"):
        return read(path, *more)
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(theirs, read, path, *more))
    with warnings.catch_warnings():  # of threads, none of which the child needs
        warnings.simplefilter("ignore")
        child.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(4 * SECONDS) else None
    except EOFError:  # ended by a limit
        found = None
    finally:
        child.kill()
        child.join()
        ours.close()
    if found is None:
        raise MemreproError(
            f"{path} cannot be read within {SECONDS} seconds and {MEGABYTES:,} MB of memory: give "
            "the source that it was made of"
        )
    made, why = found
    if why:
        raise MemreproError(why)
    return made  # type: ignore[no-any-return]


def _answer(pipe: Connection, read: Callable[..., Any], path: Path, *more: Any) -> None:
    """The child: send what the reader gives and '', or None and why it gives nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries say of a file
    _limit()
    try:
        said: tuple[Any, str] | None = read(path, *more), ""
    except MemreproError as error:
        said = None, error.args[0]
    except ModuleNotFoundError as error:
        said = None, missing(path.suffix, error)
    except (MemoryError, ImportError):  # a library that finds no room is not imported
        said = None
    # Each library has errors of its own for a file that is broken, and lets others' through.
    except Exception as error:
        why = f"it is damaged, or not what its name says ({type(error).__name__}: {cut(error)})"
        said = None, f"{path} cannot be read: {why}"
    pipe.send(said)


def missing(reader: str, error: ModuleNotFoundError) -> str:
    """What is said where a reader's library is not there."""
    return (
        f"the reader {reader!r} needs the library {error.name!r}, which is not installed: install "
        "the project's own dependencies (docs/audit.md)"
    )


def _limit() -> None:
    import resource

    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0]) if _HAS_PROC else 0
    size = pages * resource.getpagesize() + (MEGABYTES << 20)  # what the parent has, and more
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))


_HAS_PROC = Path("/proc/self/statm").is_file()
