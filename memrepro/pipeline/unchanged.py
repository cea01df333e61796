"""What must not change while a stage or its notebook runs: DVC hashes dependencies afterwards."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml, root

# The rooms below all stages.
_BELOW = {"core", "data", "encode", "evaluate", "retrieve", "study", "text"}


@contextmanager
def unchanged(
    what: str, names: Iterable[str], rooms: Iterable[str], *files: Path
) -> Iterator[None]:
    """Refuse the end of a block during which its code or parameters were edited.

    An edit meanwhile would give a lock that lies.

    Args:
        what: runs, for the error, such as "the notebook 'retrieve'".
        names: of entries of params.yaml: studies, data sets and such; others are ignored.
        rooms: of the package that it runs, beside those below all stages.
        files: read by it beside the package.

    Raises:
        MemreproError: naming the first thing that changed.
    """
    names, rooms = set(names), _BELOW | set(rooms)
    before = _state(names, rooms, files)
    yield
    after = _state(names, rooms, files)
    if changed := sorted(name for name in before | after if before.get(name) != after.get(name)):
        raise MemreproError(
            f"{changed[0]} changed while {what} ran on it: run the same command again (what was "
            "embedded is kept)"
        )


def _state(names: Iterable[str], rooms: Iterable[str], files: Iterable[Path]) -> dict[str, Any]:
    """Entries of params.yaml as they are, and each file's size and time."""
    state: dict[str, Any] = {}
    for section, entries in read_yaml(root() / "params.yaml").items():
        if section == "evaluation":
            state["evaluation of params.yaml"] = entries
        elif isinstance(entries, dict):
            state |= {f"{section}.{n} of params.yaml": entries[n] for n in names if n in entries}
    code = (
        path
        for room in sorted(rooms)
        for path in sorted((root() / "memrepro" / room).rglob("*"))
        if path.suffix in (".py", ".yaml", ".json")
    )
    for file in (*files, *code):
        stat = file.stat()
        state[file.relative_to(root()).as_posix()] = (stat.st_size, stat.st_mtime_ns)
    return state
