"""Processes that work beside this one, and end with it, killed or not."""

import gc
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import forkserver, get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread

_THREADS = "OMP_NUM_THREADS"


def worker_pool(
    workers: int | None = None, preload: Sequence[str] = (), *, once: bool = False
) -> ProcessPoolExecutor:
    """A pool of workers that none outlives.

    Args:
        workers: how many; one a core where None.
        preload: modules that a server of forks imports, once for all workers, which share the
            cores among them; none for forks of this process.
        once: whether a worker does one item and ends.
    """
    context = get_context("forkserver" if preload else "fork")
    if preload:
        context.set_forkserver_preload([*preload, __name__])
        _start_server(max(1, (os.cpu_count() or 1) // (workers or os.cpu_count() or 1)))
    return ProcessPoolExecutor(
        workers, context, initializer=_end_with_parent, max_tasks_per_child=1 if once else None
    )


def _start_server(threads: int) -> None:
    """Start the server of forks; its libraries take so many threads where nothing else is said."""
    given = os.environ.get(_THREADS)
    os.environ.setdefault(_THREADS, str(threads))
    forkserver.ensure_running()
    if given is None:
        del os.environ[_THREADS]


def _end_with_parent() -> None:
    # To collect the parent's garbage may wait for threads that a fork does not have (OpenVINO's).
    gc.freeze()
    # A worker that waits for work holds its own queue open, and would wait for ever.
    parent = parent_process()
    if parent:
        Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
