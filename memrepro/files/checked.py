"""Entries of YAML files as dataclasses: every key known, none missing, each of its field's type."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TypeVar

from pydantic import ConfigDict, ValidationError

from memrepro.errors import MemreproError

T = TypeVar("T")
# Of dataclasses by pydantic: no text becomes a number, and no number a truth value.
STRICT = ConfigDict(strict=True)


def checked(cls: type[T], where: str, entry: object) -> T:
    """A dataclass (of pydantic's, where its types are to be checked) from an entry of a file.

    Lists become tuples.

    Raises:
        MemreproError: naming the key, what it holds, and what it must be.
    """
    if not isinstance(entry, Mapping):
        raise MemreproError(f"{where} is {entry!r}: it must be a mapping")
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    if strange := sorted(set(entry) - set(known)):
        raise MemreproError(
            f"{where} has the unknown key {strange[0]!r}: known are {', '.join(known)}"
        )
    required = [
        name
        for name, f in known.items()
        if f.default is MISSING and f.default_factory is MISSING and name not in entry
    ]
    if required:
        raise MemreproError(f"{where} lacks the key {required[0]!r}")
    try:
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join([where, *map(str, first["loc"])])
        rule = first["msg"][0].lower() + first["msg"][1:]
        raise MemreproError(f"{place} is {first['input']!r}: {rule}") from error
