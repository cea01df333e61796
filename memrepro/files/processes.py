"""Processes that work beside this one, and end with it, killed or not."""

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread


def worker_pool(
    workers: int | None = None, preload: Sequence[str] = (), *, once: bool = False
) -> ProcessPoolExecutor:
    """A pool of workers that none outlives.

    Args:
        workers: how many; one a core where None.
        preload: modules that a server of forks imports, once for all workers; none for forks of
            this process.
        once: whether a worker does one item and ends.
    """
    context = get_context("forkserver" if preload else "fork")
    if preload:
        context.set_forkserver_preload([*preload, __name__])
    return ProcessPoolExecutor(
        workers, context, initializer=_end_with_parent, max_tasks_per_child=1 if once else None
    )


def _end_with_parent() -> None:
    # A worker that waits for work holds its own queue open, and would wait for ever.
    parent = parent_process()
    if parent:
        Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
