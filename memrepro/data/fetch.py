"""Fetch a data set's files: from the mirror or the network, always checked against sha256.

The mirror may hold a file packed, as `<path>.xz` or `<path>.gz`: it is unpacked once, and what
comes out is checked.
"""

import gzip
import hashlib
import json
import logging
import lzma
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.data.registry import Registration, RemoteFile, UnhashedFile
from memrepro.errors import MemreproError, cut
from memrepro.files import atomic
from memrepro.files.progress import bar

MIRROR = "MEMREPRO_MIRROR"

TRIES = 4
PAUSE = 0.5  # seconds before the second try, doubled before each one after it
CONNECT, TIMEOUT = 10.0, 30.0  # seconds
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses that a later try may not meet

# By what follows the path.
_OPENERS: dict[str, Callable[..., Any]] = {"": Path.open, ".xz": lzma.open, ".gz": gzip.open}
_BLOCK = 1 << 20

_WORD = re.compile(r"[\w-]+")

_log = logging.getLogger(__name__)


class _Page(Exception):
    """A web page came where a file was asked for."""


class _Unusable(Exception):
    """A mirror's copy is not the file, or cannot be read."""


def mirror_folder() -> Path | None:
    """The folder that MEMREPRO_MIRROR names, or None where it is not set.

    Raises:
        MemreproError: if it is set to something that is not a folder.
    """
    name = os.environ.get(MIRROR, "")
    if not name:
        return None
    folder = Path(name)
    if not folder.is_dir():
        raise MemreproError(
            f"{MIRROR} is {name!r}, which is not a folder: set it to the folder of the mirror, "
            "or unset it to use the network only"
        )
    return folder


def fetch_all(registration: Registration, folder: Path) -> str:
    """Put every file of a data set below `folder`, and say how many came from where.

    Raises:
        MemreproError: as `fetch`, for the first file that cannot be had.
    """
    mirror = mirror_folder()
    came = [
        fetch(file, folder, licence=registration.licence, mirror=mirror)
        for file in registration.files
    ]
    places = {"kept": "kept", "mirror": "from the mirror", "network": "from the network"}
    return ", ".join(f"{came.count(place)} {said}" for place, said in places.items())


def check_before_use(registration: Registration, folder: Path) -> None:
    """Hash every file of a data set again.

    Raises:
        MemreproError: if one is missing or is not what the registry says.
    """
    for file in registration.files:
        path = folder / file.path
        if not path.is_file():
            raise MemreproError(f"{path} of {registration.key} is missing: {atomic.remedy(path)}")
        found = atomic.sha256(path)
        if found not in file.accepted:
            raise MemreproError(
                f"{path} of {registration.key} was changed after it was fetched: it "
                f"{_wrong(file, found)}; {atomic.remedy(path)}"
            )


def rows_of(file: UnhashedFile, folder: Path) -> pd.DataFrame | None:
    """The pinned columns of a file that a person put in place, or None where it is not there.

    A cell is its words and numbers with one space between, so that `[14 48 12]` and `14 48 12` are
    the same: the digest is of these, and of their order.

    Args:
        file: whose rows are read.
        folder: the data set's own; after it the folder `outside` beside the mirror's is tried.

    Raises:
        MemreproError: if a column is missing or the cells are not those of the registry.
    """
    mirror = mirror_folder()
    folders = [folder, *([mirror.parent / "outside"] if mirror else [])]
    path = next((one / file.path for one in folders if (one / file.path).is_file()), None)
    if path is None:
        return None
    table = atomic.read_table(path)
    if missing := [column for column in file.columns if column not in table]:
        raise MemreproError(f"{path} has no column {missing[0]!r} but {cut(list(table))}")
    rows = table[list(file.columns)].astype(str).map(lambda cell: " ".join(_WORD.findall(cell)))
    found = hashlib.sha256(json.dumps(rows.to_numpy().tolist()).encode()).hexdigest()
    if found != file.rows:
        raise MemreproError(
            f"{path} holds other rows than the registry says of {file.url}: their SHA-256 is "
            f"{found} and not {file.rows}; put the published file in its place, or take it away"
        )
    return rows


def fetch(file: RemoteFile, folder: Path, *, licence: str, mirror: Path | None) -> str:
    """Put one file at `folder / file.path`; a right one that is there already is kept.

    Returns:
        'kept', 'mirror' or 'network': where the right file was found.

    Raises:
        MemreproError: if neither the mirror nor the network has the right file (the sentence
            says why for each), or if it cannot be written.
    """
    target = folder / file.path
    try:
        found = atomic.sha256(target) if target.is_file() else ""
    except OSError as error:  # a folder or file that is another user's
        raise MemreproError(atomic.why_not_written(target, error)) from error
    if found:
        if found in file.accepted:
            return "kept"
        _log.warning("%s %s; fetching it anew", target, _wrong(file, found))
    no_mirror = _from_mirror(file, target, mirror)
    if not no_mirror:
        return "mirror"
    no_network = _from_network(file, target)
    if not no_network:
        return "network"
    place = mirror / file.path if mirror else f"<{MIRROR}>/{file.path}"
    again = "run the same command again where the network reaches the address, or "
    raise MemreproError(
        f"{file.path} cannot be had: {no_mirror}, and {no_network}; {again if file.url else ''}put "
        f"the file{f' with sha256 {file.sha256}' if file.sha256 else ''} at {place} (its licence: "
        f"{licence})"
    )


def mirror_copies(file: RemoteFile, mirror: Path) -> Iterator[tuple[RemoteFile, Path]]:
    """What a mirror holds of a file, packed or not: which of those accepted, and where."""
    for one in (file, *file.instead):
        for suffix in _OPENERS:
            if (copy := mirror / f"{one.path}{suffix}").is_file():
                yield one, copy


def _from_mirror(file: RemoteFile, target: Path, mirror: Path | None) -> str:
    """'' if the file came from the mirror, else why not."""
    if mirror is None:
        return f"no mirror folder is given ({MIRROR} is not set)"
    why = f"the mirror {mirror} does not hold it"
    for one, copy in mirror_copies(file, mirror):
        try:
            _copy(one, copy, target)
        except _Unusable as error:
            why = f"the mirror's {copy} {error}"
            _log.warning("%s; trying the next place", why)
            continue
        _part(target).unlink(missing_ok=True)  # what an earlier try at the network may have left
        return ""
    return why


def _copy(file: RemoteFile, copy: Path, target: Path) -> None:
    """Copy or unpack a mirror's copy to `target` if the file is in it."""
    packed = copy.name.removeprefix(Path(file.path).name)
    digest, size = hashlib.sha256(), 0
    with atomic.replacing(target) as temporary, temporary.open("wb") as out:
        for block in _blocks(copy, packed):
            size += len(block)
            if packed and file.bytes is not None and size > file.bytes:
                raise _Unusable(f"unpacks to more than {file.bytes} bytes")
            digest.update(block)
            out.write(block)
        if (found := digest.hexdigest()) != file.sha256:
            raise _Unusable(_wrong(file, found))


def _blocks(copy: Path, packed: str) -> Iterator[bytes]:
    """What a copy holds, unpacked."""
    try:
        with _OPENERS[packed](copy, "rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise _Unusable(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error


def _from_network(file: RemoteFile, target: Path) -> str:
    """'' if the file came from its address, else why not."""
    if not file.url:
        return "it has no public address"
    part = _part(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        why = _download(file, part)
        if not why:
            part.replace(target)
    except OSError as error:
        # What has arrived stays in the .part file, so that the next run goes on from there.
        raise MemreproError(atomic.why_not_written(target, error)) from error
    return why


def _download(file: RemoteFile, part: Path) -> str:
    """'' if `part` is now the right file, else why not."""
    import httpx  # takes a third of a second, which only a download needs

    why, failed, most = "", 0, _size(part)
    while failed < TRIES:
        if failed:
            time.sleep(PAUSE * 2 ** (failed - 1))
        resumed = _size(part) > 0
        try:
            _transfer(file, part)
        except httpx.TransportError as error:
            # What goes on is not given up: a large file may be cut many times.
            failed, most = (1 if _size(part) > most else failed + 1), max(most, _size(part))
            reason = str(error) or type(error).__name__
            why = f"{file.url} could not be reached in {failed} tries ({reason})"
            continue
        except _Page:
            return f"{file.url} sent a web page in its place, as a proxy or a login does"
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            why = f"{file.url} answered {status} {error.response.reason_phrase}".rstrip()
            if status in _PASSING:
                failed += 1
                continue
            return why
        except (httpx.RequestError, httpx.InvalidURL) as error:
            return f"{file.url} could not be read ({error})"
        found = atomic.sha256(part)
        if found == file.sha256:
            return ""
        part.unlink()
        why = f"what {file.url} sent {_wrong(file, found)}"
        if not resumed:
            return why
        # The old beginning may be what was wrong: try the whole once more.
        failed += 1
    return why


def _transfer(file: RemoteFile, part: Path) -> None:
    """Append to `part` what it lacks, or write all of it if the server cannot go on from there."""
    import httpx

    done = _size(part)
    timeout = httpx.Timeout(TIMEOUT, connect=CONNECT)
    # Not compressed: a range counts the bytes as they travel.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
    with httpx.stream(
        "GET", file.url, headers=headers, follow_redirects=True, timeout=timeout
    ) as response:
        if done and response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing comes after what is there: its sha256 decides
        response.raise_for_status()
        if response.headers.get("Content-Type", "").startswith("text/html"):
            raise _Page  # before a byte of what has arrived is lost: no data set has such files
        if response.status_code != httpx.codes.PARTIAL_CONTENT:
            done = 0
        with (
            bar(file.bytes, part.stem, "B", done=done) as shown,
            part.open("ab" if done else "wb") as out,
        ):
            for block in response.iter_bytes():
                out.write(block)
                shown.update(len(block))


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _wrong(file: RemoteFile, found: str) -> str:
    if file.sha256 is None:
        return f"has sha256 {found}, which nobody confirms: compare, and write it in downloads.yaml"
    return (
        f"has sha256 {found[:8]}… and not {file.sha256[:8]}… (in full: found {found}, "
        f"expected {file.sha256})"
    )
