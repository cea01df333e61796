"""Workers of a Ray cluster: this process hands out the items and keeps the results.

`$MEMREPRO_CLUSTER` is the cluster's address (`host:port`), which `memrepro repro --cluster` sets
for its stages; without it no item leaves this machine. A worker makes its tools once, from a
function that it imports; one that dies is started again by Ray and does its items again, a few
times, so that no more is lost than what it had in hand. Only this process writes what is kept.
"""

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic

from memrepro.cluster.spread import Item, Result, in_order
from memrepro.errors import MemreproError
from memrepro.files.processes import worker_pool

VARIABLE = "MEMREPRO_CLUSTER"
# How long a port, and then Ray behind it, may take to answer.
_PORT_SECONDS, _RAY_SECONDS = 10, 60
# How long all workers may take to start, and after how long it is said what is waited for.
_START_SECONDS, _SILENT_SECONDS = 600, 5
# How often a batch is done again whose worker died of it, perhaps, as where memory is short.
_RETRIES = 3
# Items to a worker at once, where one item is little work.
_CHUNK = 16


def address() -> str:
    """The cluster's address, or '' where there is none."""
    return os.environ.get(VARIABLE, "")


@contextmanager
def opened(asked: str) -> Iterator[str]:
    """The address of a cluster that answers.

    Args:
        asked: `host:port` of a cluster of which this machine is a node; `local` or `local:N` for
            one of N workers (one a core) on this machine, which ends with this block; '' for none.

    Raises:
        MemreproError: if it does not answer, or Ray is not installed.
    """
    kind, _, number = asked.partition(":")
    if kind == "local":
        if number and (not number.isdecimal() or not int(number)):
            raise MemreproError(f"--cluster {asked}: write local, or local:N with N from 1")
        ray = _ray()
        workers = int(number or os.cpu_count() or 1)
        started = ray.init(
            num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
        try:
            yield started.address_info["gcs_address"]
        finally:
            ray.shutdown()
    else:
        if asked:
            check(asked)
        yield asked


def check(asked: str) -> None:
    """Ask a cluster for a sign of life, for a bounded time.

    Raises:
        MemreproError: naming the address, if there is none.
    """
    _ray()
    host, _, port = asked.rpartition(":")
    what = f"the cluster {asked!r} does not answer"
    rule = "give the host:port that `ray start --head` prints, or local:N"
    try:
        with socket.create_connection((host, int(port)), _PORT_SECONDS):
            pass
        command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", asked]
        # Ray's own client would wait for minutes on a port that is not Ray's.
        subprocess.run(command, timeout=_RAY_SECONDS, check=True, capture_output=True)
    except (OSError, ValueError, OverflowError) as error:
        raise MemreproError(f"{what} ({str(error)[:100]}): {rule}") from error
    except subprocess.SubprocessError as error:
        raise MemreproError(
            f"{what} as Ray of this version within {_RAY_SECONDS} s: {rule}; all its machines have "
            "this checkout and its environment"
        ) from error


class Workers(Generic[Item, Result]):
    """Processes of the cluster at `address()`, one a GPU, or one a core where there is no GPU."""

    def __init__(self, make: Callable[[], Callable[[Item], Result]], *, gpus: bool) -> None:
        """Reach the cluster; the processes are started with the first item.

        Args:
            make: makes what does an item, once a worker; a function of a module, so that it can be
                imported there, or a `partial` of one.
            gpus: whether a GPU is of use.

        Raises:
            MemreproError: if the cluster does not answer, or has no cores.
        """
        self._ray = _connected(address())
        self._make, self._resource = make, _resource(self._ray, gpus)
        self._actors: list[Any] = []

    def each(self, item: Item) -> list[Result]:
        """The item done by every worker."""
        return self._asked([actor.do.remote(item) for actor in self._started()])

    def stream(self, items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Each item with its result, in order; an item is taken when there is room.

        Raises:
            MemreproError: what an item raised, or that the cluster was lost.
        """
        submits = [actor.do.remote for actor in self._started()]
        return in_order(items, submits, lambda handle: self._asked([handle])[0])

    def _started(self) -> list[Any]:
        """The workers' actors; those of other `Workers` of this process end, and begin anew."""
        for other in [one for one in _ALIVE if one is not self]:
            for actor in other._actors:
                self._ray.kill(actor)
            other._actors = []
            _ALIVE.remove(other)
        if not self._actors:
            _ALIVE.append(self)
            on, number = self._resource
            kind = self._ray.remote(max_restarts=-1, max_task_retries=_RETRIES)(_Worker)
            placed = kind.options(num_gpus=1) if on == "GPU" else kind.options(num_cpus=1)
            self._actors = [placed.remote(self._make) for _ in range(number)]
            digests = [actor.code.remote() for actor in self._actors]
            if late := self._ray.wait(digests, num_returns=number, timeout=_SILENT_SECONDS)[1]:
                print(
                    f"memrepro: waiting up to {_START_SECONDS} s for {len(late)} of {number} "
                    f"workers of the cluster {address()!r} to start: if another command holds its "
                    f"{on}s, they start when that one ends",
                    file=sys.stderr,
                )
            if set(self._asked(digests, _START_SECONDS)) != {code()}:
                self._actors = []
                raise MemreproError(
                    f"a machine of the cluster {address()!r} has other files of memrepro than this "
                    "one: bring all of them to one commit, with the same changes"
                )
        return self._actors

    def _asked(self, handles: Sequence[Any], seconds: float | None = None) -> list[Any]:
        try:
            return list(self._ray.get(list(handles), timeout=seconds))
        except self._ray.exceptions.RayActorError as error:
            raise MemreproError(
                f"the cluster {address()!r} failed: it is lost, or a worker died of one batch "
                f"{_RETRIES + 1} times: see that the memory of its machine suffices for one "
                "worker a core (`ray start --num-cpus=N` offers fewer) and run the same command "
                "again; what was done is kept"
            ) from error
        except self._ray.exceptions.RayError as error:
            # What the worker raised itself, without Ray's account of where.
            if isinstance(cause := getattr(error, "cause", None), MemreproError):
                raise cause from None
            raise MemreproError(
                f"the cluster {address()!r} failed ({type(error).__name__}: "
                f"{str(error).strip().splitlines()[-1][:120]}): see that its cores are free and "
                "run the same command again; what was done is kept"
            ) from error


# Those of this process that hold cores: at most one, or two would wait for each other's for ever.
_ALIVE: list[Workers[Any, Any]] = []


def _resource(ray: Any, gpus: bool) -> tuple[str, int]:
    """What a worker takes one of, and how many there are."""
    has = ray.cluster_resources()
    on = "GPU" if gpus and has.get("GPU") else "CPU"
    if not has.get(on):
        raise MemreproError(f"the cluster {address()!r} has no cores: start its nodes with some")
    return on, int(has[on])


class _Worker:
    """In a process of the cluster; its tools are made with the first item."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._make = cache(make)

    def do(self, item: Any) -> Any:
        return self._make()(item)

    def code(self) -> str:
        return code()


def each_of(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """The result of each item, in order: by the cluster where there is one, else by forks of this.

    Args:
        work: a function of a module; it needs no tools, and an item is little work.
        items: what to do.
    """
    if address():
        chunks = (list(items[start : start + _CHUNK]) for start in range(0, len(items), _CHUNK))
        found: Workers[list[Item], list[Result]] = Workers(partial(_all, work), gpus=False)
        for _, results in found.stream(chunks):
            yield from results
        return
    with worker_pool() as pool:
        yield from pool.map(work, items, chunksize=_CHUNK)


def _all(work: Callable[[Item], Result]) -> Callable[[list[Item]], list[Result]]:
    return lambda items: [work(item) for item in items]


def code() -> str:
    """A digest of the package's files, the same on machines that do the same."""
    package = Path(__file__).parents[1]
    paths = sorted(p for kind in ("*.py", "*.yaml") for p in package.rglob(kind))
    digests = [hashlib.sha256(path.read_bytes()).digest() for path in paths]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _ray() -> Any:
    # Set before the import: nothing is reported to Ray's makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MemreproError(
            "a cluster needs Ray, which is not installed: `pip install 'memrepro[cluster]'`"
        ) from error
    return ray


@cache
def _connected(asked: str) -> Any:
    ray = _ray()
    if not ray.is_initialized():
        check(asked)
        try:
            ray.init(address=asked, log_to_driver=False, logging_level="ERROR")
        # Ray has no family of its own for this.
        except (ConnectionError, RuntimeError, ValueError, AssertionError) as error:
            raise MemreproError(
                f"this machine cannot join the cluster {asked!r} "
                f"({' '.join(str(error).split())[:150]}): run `ray start --address={asked}` on it"
            ) from error
    return ray
