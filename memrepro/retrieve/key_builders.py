"""Which `KeyBuilder` a key scheme needs: the plain one, or that of a method family.

A family with key schemes of its own says in its package what marks them, `KEY_SCHEME_MARK`, and
has their builder in its module `keys.key_builder`, as `BUILDER`. Where its keys make up something
that has a size, such as a graph, its module `sizes` measures it, as `MEASURE`.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec

import pandas as pd

from memrepro.core.key_builder import KeyBuilder, PlainKeyBuilder
from memrepro.core.keys import Request
from memrepro.retrieve import FAMILIES


def family_of(key_scheme: str) -> str:
    """The family that a key scheme belongs to; '' for the plain ones, which all retrievers read."""
    for family in FAMILIES:
        mark = getattr(import_module(f"memrepro.retrieve.{family}"), "KEY_SCHEME_MARK", None)
        if mark and mark in key_scheme:
            return family
    return ""


def key_builder_for(key_scheme: str) -> type[KeyBuilder]:
    """The class that builds the keys of a key scheme; its parts are checked when it is made."""
    if not (family := family_of(key_scheme)):
        return PlainKeyBuilder
    builder: type[KeyBuilder] = import_module(
        f"memrepro.retrieve.{family}.keys.key_builder"
    ).BUILDER
    return builder


def check_key_scheme(granularity: str, key_scheme: str) -> None:
    """Refuse a granularity or key scheme that is unknown, or two that do not go together.

    Raises:
        MemreproError: saying what to write instead.
    """
    key_builder_for(key_scheme).parse(granularity, key_scheme)


def measure_for(key_scheme: str) -> Callable[[Sequence[Request]], pd.DataFrame] | None:
    """What measures what the keys of a scheme make up, over requests; None where nothing does."""
    module = f"memrepro.retrieve.{family_of(key_scheme)}.sizes"
    if not family_of(key_scheme) or find_spec(module) is None:
        return None
    measure: Callable[[Sequence[Request]], pd.DataFrame] = import_module(module).MEASURE
    return measure
