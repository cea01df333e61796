"""How fast and how much an endpoint is asked: requests a minute, and a budget in tokens."""

import threading
import time

from memrepro.llm.model import Prompt

# A tokenizer that works on bytes makes at most one token of each; a chat template adds a few to
# a message, and may put a system message of its own before them.
_TOKENS_A_MESSAGE = 16
_TOKENS_A_PROMPT = 64


def most_tokens(prompt: Prompt) -> int:
    """The most tokens that a prompt and its answer can take: one a byte, and what the chat adds."""
    said = sum(len(m.content.encode("utf-8", "surrogatepass")) for m in prompt.messages)
    added = _TOKENS_A_MESSAGE * len(prompt.messages) + _TOKENS_A_PROMPT
    return said + added + prompt.parameters.maximum_tokens


class Pace:
    """Lets requests through one by one, evenly spaced, and none while the endpoint asks to wait."""

    def __init__(self, per_minute: float | None) -> None:
        """At most so many requests a minute; None for as many as there are."""
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, stop: threading.Event) -> None:
        """Return when the next request may go, or when `stop` is set."""
        while not stop.is_set():
            with self._lock:
                now = time.monotonic()
                pause = self._next - now
                if pause <= 0:
                    self._next = now + self._gap
                    return
            stop.wait(pause)

    def hold(self, seconds: float) -> None:
        """Let no request through for so long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


class Budget:
    """Tokens that may be spent; what a request can take at most is set aside before it goes.

    Attributes:
        total: the budget, or None for no limit.
        spent: what answered requests took.
    """

    def __init__(self, total: int | None) -> None:
        """Nothing is spent yet."""
        self.total = total
        self.spent = self._aside = 0
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        """What is neither spent nor set aside; only where there is a total."""
        assert self.total is not None
        return self.total - self.spent - self._aside

    def take(self, tokens: int) -> bool:
        """Set tokens aside; False, and nothing done, if so many are not left."""
        with self._lock:
            if self.total is not None and self.left < tokens:
                return False
            self._aside += tokens
            return True

    def settle(self, taken: int, used: int) -> None:
        """Give back what was set aside for a request, but for what it used."""
        with self._lock:
            self._aside -= taken
            self.spent += used
