"""The registry of data sets: what `downloads.yaml` says, as frozen nouns.

A data set is name + edition + sha256: see `Registration.identity`.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from memrepro.errors import MemreproError
from memrepro.files import atomic

DOWNLOADS = Path(__file__).with_name("downloads.yaml")

_TEXTS = ("name", "edition", "module", "licence", "citation", "homepage")
_FILES = ("folder", "address", "files")
_FILE = ("path", "sha256", "bytes")
_INSTEAD = "instead"
_UNHASHED = ("path", "url", "columns", "rows")


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set.

    Attributes:
        path: where it lies below the data folder and below the mirror.
        url: its address, or '' where it has no public one.
        sha256: the hex SHA-256 of its bytes, or None where no public source confirms one: then the
            file is fetched, shown with its own, and refused.
        bytes: its size, or None where nobody has published it.
        instead: files that only a mirror has, any of which may stand in this one's place, as it
            gives the same tables.
    """

    path: str
    url: str
    sha256: str | None
    bytes: int | None
    instead: tuple["RemoteFile", ...] = ()

    @property
    def accepted(self) -> dict[str, "RemoteFile"]:
        """SHA-256 → the file that has it, for this one and those that may stand in its place."""
        return {one.sha256: one for one in (self, *self.instead) if one.sha256}

    def __post_init__(self) -> None:
        """Refuse a path that could leave the data folder, or a hash that is none."""
        path = PurePosixPath(self.path)
        if path.is_absolute() or ".." in path.parts or "\\" in self.path or not path.parts:
            raise MemreproError(
                f"the registry's file {self.path!r} would lie outside the data folder: "
                "give it a relative path without '..'"
            )
        if self.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise MemreproError(
                f"the registry's file {self.path!r} has sha256 {self.sha256!r}: "
                "give it 64 lower-case hex digits, as sha256sum prints them"
            )


@dataclass(frozen=True)
class UnhashedFile:
    """A csv file of a data set of whose bytes no hash can be given, and which no command fetches.

    Copies at hand hold its cells in other bytes; what is pinned is what is read.

    Attributes:
        path: its name, in the data set's own folder or in the folder `outside` beside the mirror's.
        url: the address where its authors published it.
        columns: those that are read.
        rows: the hex SHA-256 of their cells (`fetch.rows_of`).
    """

    path: str
    url: str
    columns: tuple[str, ...]
    rows: str


@dataclass(frozen=True)
class Registration:
    """What the registry says of one data set.

    Attributes:
        key: what experiments call it, such as `personabench-n00`.
        name: the data set, such as `personabench`.
        edition: which of its versions; numbers of two editions are never compared silently.
        module: the module of `memrepro.data` that loads it.
        licence: the terms of its files.
        citation: bibtex key, short reference and address of the paper.
        homepage: the project's page, or ''.
        files: what `download` fetches; empty if `compiled` or unhashed.
        compiled: whether the project makes the data set itself.
        unhashed: files that a person puts in place.
    """

    key: str
    name: str
    edition: str
    module: str
    licence: str
    citation: str
    homepage: str
    files: tuple[RemoteFile, ...]
    compiled: bool
    unhashed: tuple[UnhashedFile, ...] = ()

    @property
    def identity(self) -> str:
        """A digest of name, edition and the files' hashes, whatever their order."""
        hashes = [file.sha256 or "" for file in self.files] + [file.rows for file in self.unhashed]
        parts = [self.name, self.edition, sorted(hashes)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def registrations(path: Path = DOWNLOADS) -> dict[str, Registration]:
    """All data sets by key, in the registry's order.

    Raises:
        MemreproError: if an entry has an unknown key, lacks one, or holds a wrong value.
    """
    entries = atomic.read_yaml(path)
    if not isinstance(entries, dict):
        raise MemreproError(f"{path} holds no data sets by key: compare it with {DOWNLOADS}")
    return {key: _registration(key, entry) for key, entry in entries.items()}


def registration(key: str) -> Registration:
    """The data set of that key.

    Raises:
        MemreproError: if there is none; the sentence lists the known keys.
    """
    known = registrations()
    if key not in known:
        raise MemreproError(f"no data set {key[:30]!r}: choose one of {', '.join(known)}")
    return known[key]


def _registration(key: str, entry: Any) -> Registration:
    item = f"data set {key!r} of the registry"
    compiled = isinstance(entry, dict) and entry.get("compiled", False)
    if not isinstance(compiled, bool):
        raise MemreproError(f"{item} has compiled: {compiled!r}; write true or false")
    by_hand = isinstance(entry, dict) and "unhashed" in entry
    needed = ("unhashed",) if by_hand else () if compiled else _FILES
    _check_keys(item, entry, _TEXTS + needed, optional=("compiled",))
    for name in (*_TEXTS, *(one for one in needed if one in ("folder", "address"))):
        if not isinstance(entry[name], str):
            raise MemreproError(f"{item} has {name}: {entry[name]!r}; write it as text, in quotes")
    files: tuple[RemoteFile, ...] = ()
    unhashed: tuple[UnhashedFile, ...] = ()
    if by_hand:
        for file in entry["unhashed"]:
            _check_keys(f"a file of {item}", file, _UNHASHED)
        unhashed = tuple(
            UnhashedFile(**{**file, "columns": tuple(file["columns"])})
            for file in entry["unhashed"]
        )
    elif not compiled:
        if not isinstance(entry["files"], list) or not entry["files"]:
            raise MemreproError(f"{item} has no list of files; list them, or set compiled: true")
        files = tuple(
            _file(item, file, entry["folder"], entry["address"]) for file in entry["files"]
        )
        if len({file.path for file in files}) < len(files):
            raise MemreproError(f"{item} lists a path twice; keep one of the two")
    texts = {name: entry[name] for name in _TEXTS}
    return Registration(key=key, files=files, compiled=compiled, unhashed=unhashed, **texts)


def _file(item: str, entry: Any, folder: str, address: str) -> RemoteFile:
    _check_keys(f"a file of {item}", entry, _FILE, optional=(_INSTEAD,))
    path, sha256, size = (entry[name] for name in _FILE)
    if not (isinstance(path, str) and isinstance(sha256, str | None)):
        raise MemreproError(f"file {path!r} of {item}: write path and sha256 as text, in quotes")
    if size is not None and not isinstance(size, int):
        raise MemreproError(f"file {path!r} of {item} has bytes: {size!r}; write a whole number")
    instead = tuple(_file(item, other, folder, "") for other in entry.get(_INSTEAD, ()))
    return RemoteFile(folder + path, address + path if address else "", sha256, size, instead)


def _check_keys(
    item: str, entry: Any, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    if not isinstance(entry, Mapping):
        raise MemreproError(f"{item} is {entry!r}: write it as a mapping with {', '.join(needed)}")
    if unknown := [key for key in entry if key not in needed + optional]:
        raise MemreproError(f"{item} has the unknown key {unknown[0]!r}: use {', '.join(needed)}")
    if missing := [key for key in needed if key not in entry]:
        raise MemreproError(f"{item} lacks {missing[0]!r}: add it to {DOWNLOADS.name}")
