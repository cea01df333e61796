"""What the readers share: errors that name the item, and how many questions may be unusable.

The released files hold single faults that are theirs, and each is skipped with its reason; many at
once mean a damaged file. That rule is this project's own.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memrepro.errors import MemreproError
from memrepro.files import given

SHARE = 0.01
COUNT = 5

T = TypeVar("T")

# (item, reason) of what cannot be used.
Skipped = list[tuple[str, str]]


def damaged(said: str) -> MemreproError:
    """The error for a file whose structure is broken."""
    return MemreproError(
        f"{said}; the file is not of this edition or is damaged: fetch it anew, or repair it if it "
        "is your own"
    )


def check_skipped(skipped: Sequence[tuple[str, str]], total: int, where: str) -> None:
    """Refuse too many unusable questions: more than 1 % of them and more than 5.

    Args:
        skipped: (question, reason), in the file's order.
        total: how many questions there are, the skipped ones too.
        where: the file.

    Raises:
        MemreproError: if there are too many; it names the first of them.
    """
    if len(skipped) > COUNT and len(skipped) > SHARE * total:
        item, reason = skipped[0]
        raise damaged(
            f"{where}: {len(skipped)} of {total} questions cannot be used, the first is {item!r}: "
            f"{reason}; at most {COUNT} or {SHARE:.0%} may be skipped"
        )


def json_list(path: Path) -> list[Any]:
    """The list that a JSON file holds."""
    value = given.read_json(path)
    if not isinstance(value, list):
        raise damaged(f"{path} is a {type(value).__name__}, no list")
    return value


@contextmanager
def not_too_deep(item: str) -> Iterator[None]:
    """Name the item that nests deeper than Python follows."""
    try:
        yield
    except RecursionError as error:
        raise damaged(f"{item} nests too deep") from error


def uncollected(items: Iterator[T]) -> Iterator[T]:
    """The items, with no garbage collection while one is made.

    It would visit each of an item's objects several times, none of them garbage: a fifth of the
    time that LongMemEval's tables take.
    """
    while True:
        enabled = gc.isenabled()
        gc.disable()
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            if enabled:
                gc.enable()
        yield item


def value_of(value: Any, key: str, kind: type, item: str) -> Any:
    """What an object of a file holds under a key, which must be there and of that kind."""
    if not isinstance(value, dict) or key not in value:
        found = sorted(value) if isinstance(value, dict) else f"is a {type(value).__name__}"
        raise damaged(f"{item} has no {key!r}: {found}")
    if not isinstance(value[key], kind):
        found = type(value[key]).__name__
        raise damaged(f"{item} has a {found} as {key!r}, no {kind.__name__}")
    return value[key]


def minute(said: Any, form: str = "") -> str:
    """A date of a form (ISO 8601) as ISO 8601 to the minute, as its clock had it; '' if of none."""
    try:
        date = datetime.strptime(said, form) if form else datetime.fromisoformat(said)
        return date.replace(tzinfo=None).isoformat(timespec="minutes")
    except (TypeError, ValueError):
        return ""
