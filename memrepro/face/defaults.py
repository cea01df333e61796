"""What is filled in where a caller says nothing: `defaults.yaml`."""

from collections.abc import Mapping
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
        MemreproError: for an unknown method; the sentence lists those that are known.
    """
    known = _defaults()["methods"]
    if method not in known:
        raise MemreproError(f"unknown method {method!r}: known are {', '.join(known)}")
    return {key: value for key, value in known[method].items() if key != "as"}


def methods() -> tuple[str, ...]:
    """All methods, `family.retriever`."""
    return tuple(_defaults()["methods"])


def tried() -> Mapping[str, Mapping[str, Any]]:
    """Name → `method` and what else `search` is asked with, of what `try_methods` compares."""
    found: Mapping[str, Mapping[str, Any]] = _defaults()["tried"]
    return found
