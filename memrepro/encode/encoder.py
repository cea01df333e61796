"""Texts to vectors: what an encoder is, and one for tests."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memrepro.errors import MemreproError

Role = Literal["query", "document"]
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class EncoderIdentity:
    """All that decides a vector besides role, prompt and text; every field is in the cache key.

    Attributes:
        model: the registry's name.
        revision: of the weights.
        maximum_length: in tokens.
        pooling: how token states become a vector: `models.ModelCard.recipe` (the pooling and, where
            there are any, head, layer norm, truncation, attention, end token and padding side),
            or the test encoder's own.
        normalise: whether vectors have length 1.
        dtype: of the weights, 'float32', 'bfloat16' or 'float16' (vectors are always float32).
        runtime: what multiplies, its version, and the kind of device: 'openvino 2026.4.1 cpu'.
    """

    model: str
    revision: str
    maximum_length: int
    pooling: str
    normalise: bool
    dtype: str
    runtime: str


class Encoder(Protocol):
    """What turns texts into vectors."""

    @property
    def identity(self) -> EncoderIdentity:
        """What the vectors depend on."""

    @property
    def dimension(self) -> int:
        """The vectors' d."""

    @property
    def tokens(self) -> int | None:
        """A batch's tokens, padding included; None where a batch has so many texts."""

    @property
    def prompts(self) -> Mapping[Role, str]:
        """Role → what `encode` puts before a text."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, d) float32, in order.

        Raises:
            MemreproError: if a vector is not finite.
        """

    def stream(
        self, batches: Iterable[list[str]], role: Role
    ) -> Iterator[tuple[list[str], Vectors]]:
        """Each batch with its vectors, in order; a batch is taken when there is room.

        Raises:
            MemreproError: at the first batch that cannot be had.
        """


def about_tokens(text: str) -> int:
    """A text's tokens, estimated: three bytes each, more than English or Chinese has."""
    return 2 + len(text.encode("utf-8", "surrogatepass")) // 3


def batches_of(texts: Sequence[str], encoder: Encoder, size: int = 32) -> Iterator[list[str]]:
    """Texts as batches for an encoder's `stream`, in order.

    Args:
        texts: the longest first waste least padding.
        encoder: its `tokens` are asked for anew with each text, since they may become fewer; a
            text is a batch however long it is.
        size: texts to a batch where tokens are not counted.
    """
    if encoder.tokens is None:
        yield from (list(texts[start : start + size]) for start in range(0, len(texts), size))
        return
    prompt = max(map(about_tokens, encoder.prompts.values()))
    batch: list[str] = []
    longest = 0
    for text in texts:
        length = min(encoder.identity.maximum_length, prompt + about_tokens(text))
        longest = max(longest, length)
        if batch and longest * (len(batch) + 1) > encoder.tokens:
            yield batch
            batch, longest = [], length
        batch.append(text)
    if batch:
        yield batch


def encode_in_batches(encoder: Encoder, texts: Sequence[str], role: Role) -> Vectors:
    """Texts → (n, d) float32 in their order, through `stream`, the longest first."""
    vectors = np.zeros((len(texts), encoder.dimension), np.float32)
    order = sorted(range(len(texts)), key=lambda i: (-len(texts[i]), texts[i]))
    done = 0
    for batch, found in encoder.stream(batches_of([texts[i] for i in order], encoder), role):
        vectors[order[done : done + len(batch)]] = found
        done += len(batch)
    return vectors


def check_vectors(
    vectors: Vectors, texts: Sequence[str], identity: EncoderIdentity, dimension: int
) -> None:
    """Refuse vectors of another shape or type, or with NaN or infinity.

    Raises:
        MemreproError: naming the encoder, and the first bad text by its sha256 and length.
    """
    who = f"encoder {identity.model!r} on {identity.runtime} ({identity.dtype})"
    if vectors.shape != (len(texts), dimension) or vectors.dtype != np.float32:
        raise MemreproError(
            f"{who} gave {vectors.dtype} of shape {vectors.shape} for {len(texts)} texts; it must "
            f"be float32 of shape ({len(texts)}, {dimension}): its encode is wrong"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        text = texts[int(np.argmin(finite))]
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        raise MemreproError(
            f"{who} gave a vector with NaN or infinity for the text with sha256 {digest}… "
            f"({len(text)} characters): nothing of its batch was kept; try float32 or another "
            "runtime"
        )


class HashEncoder:
    """A deterministic encoder for tests: no model, no meaning beyond shared words.

    Each word has a direction of ±1 entries drawn from its hash; a text is the sum of its words'
    directions scaled to length 1, so that texts which share words are near each other. A text
    without words counts as one word. The same bits on every machine.
    """

    def __init__(self, dimension: int = 64) -> None:
        """Make one whose vectors have `dimension` entries."""
        self.dimension = dimension
        self.tokens = None
        self.prompts: Mapping[Role, str] = {"query": "", "document": ""}
        self.identity = EncoderIdentity(
            model=f"hash-{dimension}",
            revision="1",
            maximum_length=0,
            pooling="sum of hashed words",
            normalise=True,
            dtype="float32",
            runtime="hashlib",
        )

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, d) float32 of length 1; both roles are alike."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            words = re.findall(r"\w+", text.lower())
            total = sum(map(self._direction, words), np.zeros(self.dimension, np.int64))
            if not total.any():
                total = self._direction(text)
            row[:] = total / np.sqrt(float(total @ total))
        return vectors

    def stream(
        self, batches: Iterable[list[str]], role: Role
    ) -> Iterator[tuple[list[str], Vectors]]:
        """Each batch with its vectors."""
        return ((batch, self.encode(batch, role)) for batch in batches)

    def _direction(self, word: str) -> NDArray[np.int64]:
        data = word.encode("utf-8", "surrogatepass")
        raw = hashlib.shake_256(data).digest(-(-self.dimension // 8))
        bits = np.unpackbits(np.frombuffer(raw, np.uint8))[: self.dimension]
        return bits.astype(np.int64) * 2 - 1
