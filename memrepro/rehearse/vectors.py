"""Random vectors in place of an encoder's: of its true dimension, of length 1, without meaning.

A scratch checkout without encoders loads this where `encode.load` would load weights
(`scratch.rewire`), so that all that follows works on as many bytes as the real thing. The store of
`encode.vectors` is left out, as a vector is drawn anew in less time than it takes to keep it.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from memrepro.encode.encoder import Encoder, EncoderIdentity, HashEncoder, Role, Vectors
from memrepro.encode.models import ModelCard, model_card


class RandomEncoder(HashEncoder):
    """An encoder of the registry by name and dimension, to which a text is nothing but its hash."""

    def __init__(self, card: ModelCard) -> None:
        """Take an encoder's place."""
        super().__init__(card.dimension)
        self.prompts = card.prompts
        self.identity = EncoderIdentity(
            card.name, "random", card.maximum_length, "random", True, "float32", "numpy"
        )

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, d) float32 of length 1; equal texts have equal vectors."""
        made: Vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in zip(made, texts, strict=True):
            seed = int.from_bytes(hashlib.sha256(f"{role} {text}".encode()).digest()[:8], "big")
            drawn = np.random.Generator(np.random.SFC64(seed))
            row[:] = drawn.standard_normal(self.dimension, np.float32)
            row /= np.linalg.norm(row)
        return made


def random_encoder(name: str, **options: Any) -> RandomEncoder:
    """In the place of `encode.load.load_encoder`."""
    return RandomEncoder(model_card(name))


def drawn(texts: Sequence[str], encoder: Encoder, role: Role, store: object) -> Vectors:
    """In the place of `encode.vectors.stored`."""
    return encoder.encode(texts, role)


def nothing_kept(texts: Sequence[str], *_: object, **options: object) -> None:
    """In the place of `encode.vectors.fill`."""
