"""A model in process on every worker of the cluster, as one backend."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from memrepro.cluster.workers import Workers
from memrepro.llm.model import Answer, Backend, Prompt


class SharedOut:
    """Answers by the workers of the cluster, in the order of the prompts.

    A worker is given as many prompts at once as its own backend takes (`batch_size`), so that
    batches are the same as on one machine.
    """

    def __init__(self, make: Callable[[], Backend], batch_size: int = 1) -> None:
        """Start the workers and load the model on each.

        Args:
            make: makes a worker's backend; a `partial` of a module's function.
            batch_size: prompts at once.

        Raises:
            MemreproError: if the cluster or the model cannot be had.
        """
        # An item is a batch of prompts, or none: which model answers.
        self._workers: Workers[list[Prompt], Any] = Workers(partial(_answering, make), gpus=True)
        self.identity = self._workers.each([])[0]
        self._batch_size = batch_size

    def stream(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Prompt, Answer]]:
        """Each prompt with its answer, in order; prompts are taken when there is room.

        Raises:
            MemreproError: as the model, or if the cluster is lost.
        """
        upcoming = iter(prompts)
        batches = iter(lambda: list(islice(upcoming, self._batch_size)), [])
        for _, answered in self._workers.stream(batches):
            yield from answered


def _answering(make: Callable[[], Backend]) -> Callable[[list[Prompt]], Any]:
    backend = make()
    return lambda prompts: list(backend.stream(prompts)) if prompts else backend.identity
