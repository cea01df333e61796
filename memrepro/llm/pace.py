"""How fast and how much an endpoint is asked: requests a minute, a budget in tokens or money."""

import threading
import time
from collections.abc import Callable

from memrepro.llm.model import Prompt, Tokens
from memrepro.llm.prices import Price

# A tokenizer that works on bytes makes at most one token of each; a chat template adds a few to
# a message, and may put a system message of its own before them.
_TOKENS_A_MESSAGE = 16
_TOKENS_A_PROMPT = 64


def most_tokens(prompt: Prompt) -> Tokens:
    """The most tokens that a prompt and its answer can take: one a byte, and what the chat adds."""
    said = sum(len(m.content.encode("utf-8", "surrogatepass")) for m in prompt.messages)
    added = _TOKENS_A_MESSAGE * len(prompt.messages) + _TOKENS_A_PROMPT
    return Tokens(said + added, prompt.parameters.maximum_tokens)


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
    """What may be spent, in tokens, in money, or both; None for no limit.

    The most that a request can take is set aside before it goes.

    Attributes:
        spent: what answered requests took.
    """

    def __init__(
        self, tokens: int | None = None, money: float | None = None, price: Price | None = None
    ) -> None:
        """Nothing is spent yet; money needs a price."""
        self.spent = self._aside = Tokens()
        self._lock = threading.Lock()
        # Of each limit: how much, what so many tokens take of it, and its unit.
        self._limits: list[tuple[float, Callable[[Tokens], float], str]] = []
        if tokens is not None:
            self._limits.append((tokens, sum, "tokens"))
        if money is not None:
            assert price is not None
            self._limits.append((money, price.cost, price.currency))

    def take(self, most: Tokens) -> bool:
        """Set tokens aside; False, and nothing done, if so many are not left."""
        with self._lock:
            if self._lacks(most):
                return False
            self._aside = self._aside.plus(most)
            return True

    def settle(self, taken: Tokens, used: Tokens) -> None:
        """Give back what was set aside for a request, but for what it used."""
        with self._lock:
            self._aside = self._aside.plus(Tokens(-taken.prompt, -taken.answer))
            self.spent = self.spent.plus(used)

    def used_up(self, most: Tokens) -> str:
        """The sentence for so many tokens that could not be taken."""
        limit, of, unit = (self._lacks(most) or self._limits)[0]
        return (
            f"the budget of {_shown(limit)} {unit} is used up: {_shown(of(self.spent))} are spent, "
            f"and the next prompt may take {_shown(of(most))}"
        )

    def _lacks(self, most: Tokens) -> list[tuple[float, Callable[[Tokens], float], str]]:
        whole = self.spent.plus(self._aside).plus(most)
        return [limit for limit in self._limits if limit[1](whole) > limit[0]]


def _shown(amount: float) -> str:
    return f"{amount}" if isinstance(amount, int) else f"{amount:.4g}"
