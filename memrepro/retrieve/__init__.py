"""Retrievers: one folder a method family, whose `retrievers` has `RETRIEVERS`, them by name.

A retriever is a frozen dataclass of the paper's symbols spelled out. It sees requests (keys
and queries), never a file, a data set or a qrel, and never imports another family.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Protocol, get_type_hints

from memrepro.core.keys import Request
from memrepro.core.ranking import Ranking
from memrepro.core.similarity import Floats
from memrepro.errors import MemreproError

FAMILIES = tuple(sorted(one.name for one in pkgutil.iter_modules(__path__) if one.ispkg))

_LEAST = {"seed": 0, "margin": 0, "units": 0, "hot": 0}


class Retriever(Protocol):
    """Searches many (memory, query) pairs at once."""

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        ...


# Hundreds of runs share a few retrievers.
_types = cache(get_type_hints)


def make_retriever(family: str, name: str, parameters: dict[str, Any]) -> Retriever:
    """A retriever by family, name and parameters.

    Raises:
        MemreproError: if the family, the name or a parameter is unknown, missing or unfit.
    """
    if family not in FAMILIES:
        raise MemreproError(f"unknown method {family!r}: known are {', '.join(FAMILIES)}")
    known = importlib.import_module(f"memrepro.retrieve.{family}.retrievers").RETRIEVERS
    if name not in known:
        raise MemreproError(f"unknown retriever {name!r} of {family}: known are {', '.join(known)}")
    allowed = {f.name for f in fields(known[name])}
    if strange := sorted(set(parameters) - allowed):
        raise MemreproError(
            f"unknown parameter {strange[0]!r} of {family}.{name}: known are "
            f"{', '.join(sorted(allowed))}"
        )
    for key, value in parameters.items():
        wanted = _types(known[name])[key]
        # A whole number will do for a fraction; True is no number.
        kinds = (int, float) if wanted in (float, float | None) else wanted
        if not isinstance(value, kinds) or (isinstance(value, bool) and wanted is not bool):
            raise MemreproError(
                f"{family}.{name}: {key} is {value!r}, and must be of type "
                f"{getattr(wanted, '__name__', wanted)}"
            )
        least = _LEAST.get(key, 1)
        if wanted is int and value < least:
            raise MemreproError(f"{family}.{name}: {key} is {value}, and must be at least {least}")
    try:
        made: Retriever = known[name](**parameters)
    except TypeError as error:
        raise MemreproError(f"{family}.{name} with {parameters}: {error}") from error
    return made


def attach_encoder(
    retriever: Retriever, embed: Callable[[Sequence[str]], Floats], deliberator: object = None,
    models: Mapping[str, Any] | None = None,
) -> Retriever:  # fmt: skip
    """A retriever that embeds queries of its own gets what does it; another stays as it is.

    Args:
        retriever: one that needs an encoder has `with_encoder`.
        embed: texts of queries → vectors, by the encoder of the keys.
        deliberator: says which queries to make; the retriever's own by default.
        models: name → entry of the language models that a retriever's parameter may name.
    """
    if attach := getattr(retriever, "with_encoder", None):
        attached: Retriever = attach(embed, deliberator, models or {})
        return attached
    return retriever
