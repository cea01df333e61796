"""Work that may hang, such as an encoder's: it runs in a thread, for no longer than it may take."""

import atexit
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from memrepro.errors import MemreproError

_T = TypeVar("_T")
# A process that ends while a thread is in the encoder's own code is aborted: it waits so long.
_AT_EXIT = 30.0
_running: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()


@atexit.register
def _wait() -> None:
    for thread in list(_running):
        thread.join(_AT_EXIT)


class Limited:
    """Runs one thing at a time, each no longer than it may take."""

    _thread: threading.Thread | None = None

    def run(self, work: Callable[[], _T], seconds: float) -> _T:
        """What `work` returns.

        Raises:
            MemreproError: if it takes longer, fails, or one that took longer has not ended yet.
        """
        if self._thread and self._thread.is_alive():
            raise MemreproError("an earlier call of the encoder or the index has not ended yet")
        results: list[_T] = []
        errors: list[BaseException] = []

        def target() -> None:
            try:
                results.append(work())
            except BaseException as error:
                errors.append(error)

        # A daemon, so that one that hangs for ever does not keep the process from ending.
        self._thread = threading.Thread(target=target, daemon=True)
        _running.add(self._thread)
        self._thread.start()
        self._thread.join(seconds)
        if results:
            return results[0]
        if errors:
            raise MemreproError(f"{type(errors[0]).__name__}: {errors[0]}") from errors[0]
        raise MemreproError(f"it took longer than {1000 * seconds:.0f} ms")
