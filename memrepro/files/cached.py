"""Readers of one file that keep what they read until the file changes."""

from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def until_changed(states: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keep what a reader gives for its first argument, a path, and the rest; so many answers."""

    def keep(read: Callable[..., T]) -> Callable[..., T]:
        @lru_cache(maxsize=states)
        def of_state(path: Path, changed: int, *more: Any) -> T:
            return read(path, *more)

        @wraps(read)
        def current(path: Path, *more: Any) -> T:
            return of_state(path, path.stat().st_mtime_ns if path.is_file() else 0, *more)

        return current

    return keep
