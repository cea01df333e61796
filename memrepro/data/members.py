"""The members of a JSON file's list, one at a time, as a file of LongMemEval has gigabytes."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from memrepro.errors import MemreproError
from memrepro.files.atomic import remedy
from memrepro.files.given import without_halves

_CHUNK = 1 << 20
_BEGINS = re.compile(rb'\s*\[\s*(\{\s*"[^"\\]*"\s*:)')


def members(path: Path) -> Iterator[Any]:
    """The members of a file's list, each as soon as it is read.

    Raises:
        MemreproError: if it is not a list, not whole JSON, or nests too deep.
    """
    done = 0
    with path.open("rb") as file:
        try:
            for part in _parts(file, path):
                for instance in _parsed(part):
                    done += 1
                    yield instance
        except ValueError as error:
            fault = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise MemreproError(
                f"{path} is not whole JSON: {fault} after {done} whole instances, "
                f"not behind byte {file.tell()} of {path.stat().st_size}; it is truncated or "
                f"damaged: {remedy(path)}"
            ) from error


def _parts(file: BinaryIO, path: Path) -> Iterator[memoryview]:
    """The file's list as lists of one member each, or of several where they begin otherwise.

    It is cut before each object that begins as the first does, which nothing within a text can, as
    the quotes there are escaped. The commas become brackets in place: to copy a part takes a third
    as long as to parse it.
    """
    held = bytearray(file.read(_CHUNK).removeprefix(BOM_UTF8))
    if (first := bytes(held.lstrip()[:1])) not in (b"[", b""):
        raise MemreproError(
            f"{path} begins with {first.decode(errors='replace')!r}: LongMemEval's files hold a "
            f"list of instances; {remedy(path)}"
        )
    begins = _BEGINS.match(held)
    opening = begins[1] if begins else b'{"question_id":'
    searched = begins.end() if begins else 0
    more = bytes(held)
    while more:
        while (cut := held.find(opening, searched)) > 0:
            comma = held.rfind(b",", 0, cut)
            if held[comma + 1 : cut].strip():
                raise ValueError("a comma is missing")
            held[comma] = ord("]")
            with memoryview(held)[: comma + 1] as part:
                yield part
            del held[: cut - 1]
            held[0] = ord("[")
            searched = len(opening)
        searched = max(searched, len(held) - len(opening))
        held += (more := file.read(_CHUNK))
    yield memoryview(held)


def _parsed(data: memoryview) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # It refuses half a surrogate pair, which the standard library does not.
        return without_halves(json.loads(bytes(data).decode()))
