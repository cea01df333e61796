"""What the modules of commands share: how a command is added, and how it prints."""

import argparse
import json
from collections.abc import Callable
from typing import Any, Protocol

import pandas as pd

from memrepro.errors import printable

Action = Callable[[argparse.Namespace], int]


class Add(Protocol):
    """Adds a command to the parser: its name, what it does, and its description."""

    def __call__(
        self, name: str, action: Action, description: str, as_json: bool = True, more: str = ""
    ) -> argparse.ArgumentParser:
        """Return the command's own parser, to which its arguments are added."""


def print_table(frame: pd.DataFrame, as_json: bool = False) -> None:
    """A table for people, or as a JSON list of records."""
    if as_json:
        print_json(frame.to_dict("records"))
    else:
        print_text(frame.to_markdown(index=False, floatfmt=".4f", disable_numparse=True))


def print_text(text: str) -> None:
    """Lines that may hold a data set's texts, which do nothing to the terminal."""
    print("\n".join(map(printable, text.split("\n"))))


def print_json(value: Any) -> None:
    """JSON, indented, in ASCII."""
    print(json.dumps(value, indent=1, default=str))
