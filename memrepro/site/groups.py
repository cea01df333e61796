"""Groups of pages that are made again only when something that they are made of has changed."""

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

from memrepro.files.atomic import root, sha256
from memrepro.site.pages import Site

_STATE = ".state"
_CODE = (".py", ".html", ".js", ".css", ".yaml")
_ABOVE = ("papers", "pipeline", "memory")  # rooms that no page is made by, but for documents
Made = TypeVar("Made")


class Group(NamedTuple):
    """Pages that were made together: of what, which files, and what making them gave."""

    digest: str
    files: list[str]
    result: object


class Groups:
    """The groups of a site that is being built beside the last one.

    Attributes:
        made: the names of the groups that were made; the others stand as they were.
    """

    def __init__(self, site: Site, last: Path) -> None:
        self._site = site
        self._last = last
        self._known = _read(last / _STATE)
        self._found: dict[str, Group] = {}
        self._common = [digest_of([_package()]), repr(site.navigation)]
        self.made: list[str] = []

    def make(
        self, name: str, inputs: Iterable[Path], make: Callable[[], Made], *texts: object
    ) -> Made:
        """What making a group gives: now, or when its inputs were last as they are.

        Args:
            name: of the group.
            inputs: the files and folders that it is made of.
            make: writes its files into the site; what it returns must not depend on anything else.
            texts: what else it is made of.
        """
        digest = digest_of(inputs, *self._common, *map(repr, texts))
        known = self._known.get(name)
        if known and known.digest == digest and self._linked(known.files):
            self._found[name] = known
            result: Made = known.result  # type: ignore[assignment]
            return result
        before = len(self._site.written)
        result = make()
        self._found[name] = Group(digest, self._site.written[before:], result)
        self.made.append(name)
        return result

    def save(self) -> None:
        """Write what the next build must know, beside the pages."""
        (self._site.root / _STATE).write_bytes(pickle.dumps(self._found))

    def _linked(self, files: list[str]) -> bool:
        """Take a group's files over from the last site; False if one is gone."""
        if not all((self._last / file).is_file() for file in files):
            return False
        for file in files:
            target = self._site.root / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            os.link(self._last / file, target)
        return True


def digest_of(inputs: Iterable[Path], *texts: str) -> str:
    """A digest of files and folders by their contents, and of texts.

    What lies under `data/` is large, and is known by its size and time.
    """
    digest = hashlib.sha256("\0".join(texts).encode())
    for path in inputs:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if not file.is_file() or (path == _package() and not _is_code(file)):
                continue
            stat = file.stat()
            state = f"{stat.st_size} {stat.st_mtime_ns}"
            if not file.is_relative_to(root() / "data"):
                state = _content(file, state)
            digest.update(f"{file.relative_to(path)}\0{state}\0".encode())
    return digest.hexdigest()


@cache
def _content(file: Path, state: str) -> str:
    return sha256(file)


def _package() -> Path:
    return Path(__file__).parents[1]


def _is_code(file: Path) -> bool:
    room = file.relative_to(_package()).parts[0]
    return file.suffix in _CODE and room not in _ABOVE


class _Records(pickle.Unpickler):
    """Reads records of this room alone: a site that came from elsewhere runs nothing."""

    def find_class(self, module: str, name: str) -> type:
        found = None
        if module.startswith(f"{__package__}.") and "." not in name:
            found = getattr(import_module(module), name)
        if not isinstance(found, type) or found.__module__ != module or not _is_record(found):
            raise pickle.UnpicklingError(f"{module}.{name} is no record of a site")
        return found


def _is_record(kind: type) -> bool:
    return issubclass(kind, tuple) or is_dataclass(kind)


def _read(path: Path) -> dict[str, Group]:
    """What the last build knew; nothing where it cannot be read, so that all is made again.

    A file that a group names outside the site is none of it, whoever wrote the state.
    """
    try:
        with path.open("rb") as file:
            known: dict[str, Group] = _Records(file).load()
        return {name: one for name, one in known.items() if all(map(_is_inside, one.files))}
    except Exception:  # of another version, or half written
        return {}


def _is_inside(file: str) -> bool:
    path = PurePosixPath(file)
    return not path.is_absolute() and ".." not in path.parts
