"""What makes keys: the interface that the stages embed and retrieve share."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memrepro.core.extractions import Extractions
from memrepro.core.keys import Keys
from memrepro.core.memory import Memory


class KeyBuilder(Protocol):
    """Makes the keys of memories under a key scheme, as `core.key_builder.PlainKeyBuilder` does."""

    @property
    def texts(self) -> list[str]:
        """The texts of all keys made so far, each once."""

    def make_all(self, memories: Sequence[Memory]) -> list[Keys]:
        """The keys of each memory, without vectors."""

    def sessions_of_docs(self, memory: Memory) -> NDArray[np.int64]:
        """The index of each doc's session in the memory, shape (n_docs,)."""


# Granularity, key scheme and a data set's extractions → what makes its keys.
KeyBuilderOf = Callable[[str, str, Extractions], KeyBuilder]
