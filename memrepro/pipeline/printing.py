"""What the modules of commands share: how a command is added, and how it prints."""

from __future__ import annotations

import argparse
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

from memrepro.errors import MemreproError, cut, printable

if TYPE_CHECKING:
    import pandas as pd

_CELL = 1000  # characters of a table's cell that people are shown
Action = Callable[[argparse.Namespace], int]


class Add(Protocol):
    """Gives a command of `cli.py` its action, and what its help says beyond its description."""

    def __call__(
        self, name: str, action: Action, as_json: bool = True, more: str = ""
    ) -> argparse.ArgumentParser:
        """Return the command's own parser, to which its arguments are added."""


def print_table(frame: pd.DataFrame, as_json: bool = False) -> None:
    """A table for people, or as a JSON list of records, which has all of a long cell.

    What is not known is an empty cell, and null in JSON.
    """
    if as_json:
        print_json(frame.to_dict("records"))
    else:
        shown = frame.map(lambda cell: cut(cell, _CELL) if isinstance(cell, str) else cell)
        known = shown.astype(object).where(shown.notna(), None)
        print_text(known.to_markdown(index=False, disable_numparse=True))


def print_text(text: str) -> None:
    """Lines that may hold a data set's texts, which do nothing to the terminal."""
    print("\n".join(map(printable, text.split("\n"))))


def print_json(value: Any) -> None:
    """JSON, indented, in ASCII; null for NaN and infinity, which JSON does not have."""
    plain = json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
    print(json.dumps(plain, indent=1))


def warn(text: str) -> None:
    """One sentence on stderr, as that of an error."""
    print(f"memrepro: {MemreproError(text)}", file=sys.stderr)


class _Plain:
    """A stream to which only lines of printable characters are written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failed: OSError | None = None  # argparse passes over it

    def write(self, text: str) -> int:
        try:
            return self._stream.write("\n".join(map(printable, text.split("\n"))))
        except OSError as error:
            self.failed = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def plain_output() -> Iterator[None]:
    """Whatever a command prints changes no terminal, and is all written when the block ends.

    A character that the terminal's encoding lacks is its escape.

    Raises:
        MemreproError: if the output cannot be written, as on a full disk.
        BrokenPipeError: if nobody reads it.
    """
    stream = sys.stdout
    if stream is None:  # as of `>&-`
        raise MemreproError("the output was not written (it is closed): write it elsewhere")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    plain = _Plain(stream)
    try:
        with redirect_stdout(cast(TextIO, plain)):
            try:
                yield
            finally:
                stream.flush()
                if plain.failed:
                    raise plain.failed
    except OSError as error:
        if error.filename is not None:
            raise
        # What is left to be written must not fail again as the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if error.errno == errno.EPIPE:
            raise
        raise MemreproError(
            f"the output was not written ({error.strerror or error}): write it elsewhere"
        ) from error
