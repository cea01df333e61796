"""What is filled in where a caller says nothing: `defaults.yaml`."""

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import QUESTION
from memrepro.files.atomic import read_yaml


@cache
def _defaults() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = read_yaml(Path(__file__).with_name("defaults.yaml"))
    return found


def dataset_parameters(name: str) -> Mapping[str, Any]:
    """A registered data set's parameters, as params.yaml has them."""
    found: Mapping[str, Any] = _defaults()["datasets"].get(name, {})
    return found


def unit_of(module: str) -> str:
    """What an interval on the data sets of a module resamples, as params.yaml has it."""
    return str(_defaults()["units"].get(module, QUESTION))


def excluded_kinds() -> Mapping[str, str]:
    """The kinds of question that are not counted, with the reason, as params.yaml has them."""
    found: Mapping[str, str] = _defaults()["exclude"]
    return found


def method_defaults(method: str) -> dict[str, Any]:
    """What a method is asked with unless a caller says something else.

    Raises:
        MemreproError: for an unknown method; the sentence lists the nearest.
    """
    known = _defaults()["methods"]
    if method not in known:
        raise MemreproError(f"unknown method {method!r}: {nearest(method, known)}")
    return {key: value for key, value in known[method].items() if key != "as"}


def methods() -> tuple[str, ...]:
    """All methods, `family.retriever`."""
    return tuple(_defaults()["methods"])


def nearest(name: str, known: Iterable[str]) -> str:
    """What an error says of a name that is not known: those that are most like it."""
    names = list(known)
    lower = {one.lower(): one for one in names}
    found = difflib.get_close_matches(name.lower(), lower, n=5, cutoff=0.3)
    near = [lower[one] for one in found] or names[:5]
    return f"the nearest of {len(names)} are {', '.join(map(repr, near))}"


def tried() -> Mapping[str, Mapping[str, Any]]:
    """Name → `method` and what else `search` is asked with, of what `try_methods` compares."""
    found: Mapping[str, Mapping[str, Any]] = _defaults()["tried"]
    return found
