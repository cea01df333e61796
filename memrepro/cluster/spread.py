"""Items to workers, results back in the items' order, whichever worker is done first."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Handle = TypeVar("Handle")

# One in work and one waiting, so that a worker is never idle while a result is kept.
_UNDER_WAY = 2


def in_order(
    items: Iterable[Item],
    submits: Sequence[Callable[[Item], Handle]],
    result: Callable[[Handle], Result],
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in order; an item is taken when there is room.

    Args:
        items: what to do; read ahead by two for each worker.
        submits: of each worker: starts an item and returns at once.
        result: waits for what a `submit` started.
    """
    pending = deque[tuple[Item, Handle]]()
    for submit, item in zip(cycle(submits), items, strict=False):
        pending.append((item, submit(item)))
        if len(pending) == _UNDER_WAY * len(submits):
            first, handle = pending.popleft()
            yield first, result(handle)
    for first, handle in pending:
        yield first, result(handle)


def in_threads(
    items: Iterable[Item], workers: Sequence[Callable[[Item], Result]]
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in order; one worker works here, several in a thread each."""
    if len(workers) == 1:
        for item in items:
            yield item, workers[0](item)
        return
    with ExitStack() as stack:
        pools = [stack.enter_context(ThreadPoolExecutor(1)) for _ in workers]

        def submit(place: int, item: Item) -> "Future[Result]":
            return pools[place].submit(workers[place], item)

        yield from in_order(
            items, [partial(submit, place) for place in range(len(workers))], Future.result
        )
