"""An encoder whose batches are computed by a cluster's workers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from memrepro.cluster.workers import Workers
from memrepro.encode.encoder import Encoder, Role, Vectors, encode_in_batches
from memrepro.errors import MemreproError


class ShardedEncoder:
    """An encoder on every worker of the cluster, as one.

    Batches are formed here, as the encoder would form them itself, and come back in order: how many
    workers there are, and which of them die, does not change a byte.
    """

    def __init__(self, make: Callable[[], Encoder]) -> None:
        """Start the workers and load an encoder on each.

        Args:
            make: a function of a module, or a `partial` of one.

        Raises:
            MemreproError: if the cluster or an encoder cannot be had, or two workers' encoders are
                not the same.
        """
        # An item is a batch and its role, or None: what the worker's encoder is.
        self._workers: Workers[tuple[list[str], Role] | None, Any] = Workers(
            partial(_working, make), gpus=True
        )
        found = self._workers.each(None)
        self.identity, self.dimension, self.prompts, self.tokens = found[0]
        for identity, _, _, tokens in found[1:]:
            if identity != self.identity:
                raise MemreproError(
                    f"encoder {self.identity.model!r} is of {self.identity.runtime} on one machine "
                    f"of the cluster and of {identity.runtime} on another: give all of them one "
                    "environment"
                )
            self.tokens = min(self.tokens, tokens) if tokens else None

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, d) float32, in order.

        Raises:
            MemreproError: as of `stream`.
        """
        return encode_in_batches(self, texts, role)

    def stream(
        self, batches: Iterable[list[str]], role: Role
    ) -> Iterator[tuple[list[str], Vectors]]:
        """Each batch with its vectors, in order.

        Raises:
            MemreproError: as the encoder, or if the cluster is lost.
        """
        return (
            (item[0], vectors)
            for item, vectors in self._workers.stream((batch, role) for batch in batches)
            if item
        )


def _working(make: Callable[[], Encoder]) -> Callable[[tuple[list[str], Role] | None], Any]:
    encoder = make()

    def work(item: tuple[list[str], Role] | None) -> Any:
        if item is None:
            return encoder.identity, encoder.dimension, dict(encoder.prompts), encoder.tokens
        batch, role = item
        [(_, vectors)] = encoder.stream([batch], role)
        return vectors

    return work
