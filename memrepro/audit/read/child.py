"""A file read by a process of its own, with a limit of memory and time.

What a PDF, a Word document or a spreadsheet asks of the library that reads it is not known before:
a page may draw itself ten times in each of ten levels. So these are read apart, and a file that
asks too much is listed while the others are read.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from memrepro.audit.read.grid import Cell, Grid, Place, Sentences, Unread
from memrepro.errors import MemreproError, cut

SECONDS = 120  # of computing; and four times as long by the clock, on a machine that is busy
MEGABYTES = 4_000
_START = "import sys; from memrepro.audit.read.child import answer; answer(*sys.argv[1:])"


def read_apart(path: Path, module: str, function: str = "grids") -> list[Grid | Unread | Sentences]:
    """What a reader's function gives for a file.

    Raises:
        MemreproError: if it needs more than the limits, or a library that is missing, or if the
            file is damaged.
    """
    command = [
        sys.executable,
        "-c",
        _START,
        str(path),
        module,
        function,
        f"{SECONDS}",
        f"{MEGABYTES}",
    ]
    refused = (
        f"{path} cannot be read within {SECONDS} seconds and {MEGABYTES:,} MB of memory: give the "
        "source that it was made of"
    )
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=4 * SECONDS,
            check=False,
            encoding="utf-8",
        )
        said = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:  # ended by the limit, so no JSON
        raise MemreproError(refused) from error
    if said.get("memory"):
        raise MemreproError(refused)
    if "error" in said:
        raise MemreproError(said["error"])
    return [_made(one) for one in said["found"]]


def _made(said: dict[str, list[object]]) -> Grid | Unread | Sentences:
    if "sentences" in said:
        return Sentences(*said["sentences"])  # type: ignore[arg-type]
    if "unread" in said:
        return Unread(*said["unread"])  # type: ignore[arg-type]
    place, rows, ruled = said["grid"]
    cells = [[Cell(*cell) for cell in row] for row in rows]  # type: ignore[attr-defined]
    return Grid(Place(*place), cells, None if ruled is None else frozenset(ruled))  # type: ignore[misc, call-overload]


def answer(path: str, module: str, function: str, seconds: str, megabytes: str) -> None:
    """The child: print what the reader gives as JSON."""
    _limit(int(seconds), int(megabytes) << 20)
    try:
        read: Callable[[Path], Iterator[Grid | Unread | Sentences]] = getattr(
            import_module(f"memrepro.audit.read.{module}"), function
        )
        found: list[dict[str, object]] = []
        for one in read(Path(path)):
            if isinstance(one, Unread | Sentences):
                found.append({type(one).__name__.lower(): list(one)})
            else:
                ruled = None if one.ruled is None else sorted(one.ruled)
                found.append(
                    {"grid": [list(one.place), [list(map(list, r)) for r in one.rows], ruled]}
                )
        said: dict[str, object] = {"found": found}
    except MemreproError as error:
        said = {"error": str(error)}
    except ModuleNotFoundError as error:
        said = {
            "error": f"the reader {module!r} needs the library {error.name!r}, which is not "
            "installed: install the project's own dependencies (docs/audit.md)"
        }
    except (MemoryError, ImportError):  # a library that finds no room is not imported
        said = {"memory": True}
    # Each library has errors of its own for a file that is broken, and lets others' through.
    except Exception as error:
        why = f"it is damaged, or not what its name says ({type(error).__name__}: {cut(error)})"
        said = {"error": f"{path} cannot be read: {why}"}
    sys.stdout.write(json.dumps(said))


def _limit(seconds: int, size: int) -> None:
    try:
        import resource
    except ImportError:  # no such limits on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
