"""Who makes the keys of a key scheme: the scheme alone says it.

Most schemes are `core`'s. A method family may have schemes of its own, whose keys only its own
retrievers understand: Associa's graphs (`base+graph:…`) and the tiered design's units (`tiers:…`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.core.extractions import Extractions
from memrepro.core.key_builder import PlainKeyBuilder
from memrepro.core.key_schemes import check_granularity
from memrepro.core.keys import Keys, Request
from memrepro.core.memory import Dataset, Memory


class KeyBuilder(Protocol):
    """Makes the keys of memories under a key scheme, as `core.key_builder` does."""

    @property
    def texts(self) -> list[str]:
        """The texts of all keys made so far, each once."""

    def make_all(self, memories: Sequence[Memory]) -> list[Keys]:
        """The keys of each memory, without vectors."""

    def sessions_of_docs(self, memory: Memory) -> NDArray[np.int64]:
        """The index of each doc's session in the memory, shape (n_docs,)."""


@dataclass(frozen=True)
class KeyFamily:
    """What is particular to the key schemes of a family.

    Attributes:
        builder: granularity, key scheme and a data set's extractions → what makes its keys.
        check: refuses a granularity and a key scheme that do not exist or go together.
        requests: gives requests what the family's retrievers need besides.
        sizes: how large what the keys make up is, over requests: a table, or None.
    """

    builder: Callable[[str, str, Extractions], KeyBuilder] = PlainKeyBuilder
    check: Callable[[str, str], object] = check_granularity
    requests: Callable[[list[Request], Dataset], list[Request]] = lambda requests, _: requests
    sizes: Callable[[Sequence[Request]], pd.DataFrame] | None = None


def key_family(scheme: str) -> KeyFamily:
    """The family of a key scheme; what it needs is imported now."""
    if scheme.startswith("tiers:"):
        from memrepro.retrieve.tiered import key_scheme as tiers

        return KeyFamily(tiers.TieredKeyBuilder, tiers.parse, tiers.timed)
    if "+graph:" in scheme:
        from memrepro.retrieve.associa.clues import Recipe
        from memrepro.retrieve.associa.key_builder import GraphKeyBuilder
        from memrepro.retrieve.associa.sizes import graph_sizes

        return KeyFamily(GraphKeyBuilder, Recipe.parse, sizes=graph_sizes)
    return KeyFamily()


def check_scheme(granularity: str, scheme: str) -> None:
    """Refuse a granularity or key scheme that is unknown, or two that do not go together."""
    key_family(scheme).check(granularity, scheme)
