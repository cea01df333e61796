"""HOT: the last messages of all channels, in memory and in order of time."""

from collections.abc import Iterable

from memrepro.retrieve.tiered.segments import Message


class Hot:
    """A queue from which the oldest message falls when a newer one comes in."""

    def __init__(self, size: int, messages: Iterable[Message] = ()) -> None:
        """Hold the last `size` of `messages`."""
        self._size = size
        self.hold(messages)

    def hold(self, messages: Iterable[Message]) -> None:
        """Hold the last of these instead; of equal times those that came first are first."""
        # The sort is stable.
        self._messages = sorted(messages, key=lambda m: m.at)[-self._size :]

    def last(self, n: int | None = None) -> list[Message]:
        """The last n messages, or all that are held, in order of time."""
        return self._messages[-n if n else 0 :]
