"""Any OpenAI-compatible chat-completions endpoint: vLLM, llama.cpp, Ollama, hosted ones.

The key is read from the environment when it is sent, and is kept nowhere: not in this object, a
record, a log or an error.
"""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import tenacity

from memrepro.errors import MemreproError
from memrepro.llm.completions import Broken, Erred, error_of, holds, seconds_to_wait, to_answer
from memrepro.llm.exchange import (
    Reply,
    Unbounded,
    key_of,
    open_client,
    post,
    proxy_of,
    without_key,
)
from memrepro.llm.model import REFUSED, Answer, ModelIdentity, Prompt, Tokens, prompt_key
from memrepro.llm.pace import Budget, Pace
from memrepro.llm.prices import Price, read_prices
from memrepro.llm.request import Request

# Statuses that a later try may not meet; those from 520 on are Cloudflare's.
_PASSING = {408, 409, 425, 429, 500, 502, 503, 504, *range(520, 525), 529}
_LONGEST_WAIT = 600.0  # seconds; an endpoint that asks for more is given up for now
_LONGEST_PAUSE = 60.0
_IN_A_ROW = 3  # so many prompts without an answer, one after the other, end the work

_log = logging.getLogger(__name__)


class _Passing(Exception):
    """A try failed in a way that the next one may not."""


class _Failed(Exception):
    """A prompt cannot be answered; others may."""


class _Stop(Exception):
    """No prompt can be answered."""


@dataclass
class Endpoint:
    """A backend that posts to `<url>/chat/completions`, several prompts at once.

    A try that met a timeout, a broken connection, a malformed answer or a status such as 429 or
    503 is made again, after a pause that doubles, with jitter; `Retry-After` holds all requests
    back. A prompt that the endpoint refuses for what it is (too long, filtered) gets an answer with
    that finish reason. Where a prompt stays without an answer the others go on, until
    three in a row have none; a refused key or an unknown model ends the work at once. Either way
    what was answered is kept, and the error comes last.

    Attributes:
        url: the base, such as `https://api.openai.com/v1`.
        identity: the model's name as it is sent, and the revision that the user knows of it.
        key_variable: the environment variable that holds the API key; None to send none.
        concurrency: requests at once.
        requests_per_minute: tries count too; None for no limit.
        token_budget: prompt and answer tokens that this object may spend; None for no limit. A
            request goes only if the most that it can take is left (`Request.most`); one whose
            answer was lost on the way counts as that much.
        money_budget: likewise in money, at the model's price in `prices`; None for no limit.
        prices: a file of prices (`prices.read_prices`), where there is a budget in money.
        tries: of one prompt.
        timeout: seconds without a byte after which a try has failed.
        longest: seconds after which it has failed whatever comes.
        pause: seconds before the second try.
        request: the fields that the model takes; they are part of the identity.

    Raises:
        MemreproError: naming the first setting that is wrong.
    """

    url: str
    identity: ModelIdentity
    key_variable: str | None = None
    concurrency: int = 8
    requests_per_minute: float | None = None
    token_budget: int | None = None
    money_budget: float | None = None
    prices: str | None = None
    tries: int = 6
    timeout: float = 120.0
    longest: float = 1200.0
    pause: float = 1.0
    request: Request = field(default_factory=Request)
    budget: Budget = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.url)
        except (httpx.InvalidURL, TypeError):
            url = httpx.URL("")
        if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query:
            # Not shown: what is wrong with it may be that it holds a key.
            raise MemreproError(
                "an endpoint's url must be http(s)://<host>/<path>, with no user, password or "
                "query: the key comes from the environment variable that key_variable names"
            )
        self.url = self.url.rstrip("/")
        for name, least in (("concurrency", 1), ("tries", 1), ("pause", 0)):
            if getattr(self, name) < least:
                raise MemreproError(
                    f"endpoint {self.url}: {name} is {getattr(self, name)}: it must be at least "
                    f"{least}"
                )
        for name in ("timeout", "longest", "requests_per_minute", "token_budget", "money_budget"):
            if (limit := getattr(self, name)) is not None and limit <= 0:
                raise MemreproError(
                    f"endpoint {self.url}: {name} is {limit}: it must be above 0, or absent"
                )
        self.budget = Budget(self.token_budget, self.money_budget, self._price())
        self._pace = Pace(self.requests_per_minute)

    def _price(self) -> Price | None:
        if self.money_budget is None:
            return None
        prices = read_prices(Path(self.prices)) if self.prices else {}
        if self.identity.model not in prices:
            raise MemreproError(
                f"endpoint {self.url} has a money_budget, and {self.prices or 'no file of prices'} "
                f"has no price of {self.identity.model!r}: name one in prices (docs/llm.md)"
            )
        return prices[self.identity.model]

    def stream(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Prompt, Answer]]:
        """Each prompt with its answer, as they come.

        Raises:
            MemreproError: if the key is not there, or after the last answer that could be had, if
                a prompt has none or the budget does not allow the next one.
        """
        stop = threading.Event()
        ending = ""
        failed: list[tuple[Prompt, str]] = []
        in_a_row = 0
        upcoming = iter(prompts)
        running: dict[Future[Answer], Prompt] = {}
        with self._client() as client, ThreadPoolExecutor(self.concurrency) as pool:
            try:
                following = next(upcoming, None)
                while running or following is not None:
                    while following is not None and len(running) < self.concurrency:
                        if not self.budget.take(self.request.most(following)):
                            break
                        running[pool.submit(self._ask, client, following, stop)] = following
                        following = next(upcoming, None)
                    if following is not None and not running:
                        # Nothing in flight can give tokens back.
                        most = self.request.most(following)
                        ending, following = self.budget.used_up(most), None
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        prompt = running.pop(future)
                        try:
                            answer = future.result()
                        except _Stop as error:
                            ending = ending or str(error)
                        except _Failed as error:
                            failed.append((prompt, str(error)))
                            in_a_row += 1
                            if in_a_row >= _IN_A_ROW:
                                ending = ending or f"{in_a_row} prompts in a row have no answer"
                        else:
                            in_a_row = 0
                            yield prompt, answer
                    if ending:
                        following = None
                        stop.set()
            finally:
                # Those that wait for another try end now, whoever closes this generator.
                stop.set()
        if ending or failed:
            raise MemreproError(self._why(ending, failed))

    def _client(self) -> httpx.Client:
        key = self._key(self.key_variable) if self.key_variable is not None else ""
        return open_client(self.url, key, self.concurrency, self.timeout)

    def _key(self, variable: str) -> str:
        key = os.environ.get(variable, "").strip()
        # httpx shows a header that it cannot send, so it must never be given one.
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise MemreproError(
                f"endpoint {self.url} needs an API key in the environment variable "
                f"{variable}, which {'holds no valid one' if key else 'is not set'}"
            )
        return key

    def _ask(self, client: httpx.Client, prompt: Prompt, stop: threading.Event) -> Answer:
        """One prompt, tried as often as it takes; its tokens were set aside before."""
        aside, used = self.request.most(prompt), Tokens()
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.tries) | tenacity.stop_when_event_set(stop),
            wait=tenacity.wait_exponential_jitter(
                self.pause, max=_LONGEST_PAUSE, jitter=self.pause
            ),
            retry=tenacity.retry_if_exception_type(_Passing),
            sleep=tenacity.sleep_using_event(stop),
            before_sleep=self._log_try,
            reraise=True,
        )
        try:
            answer = retrying(self._try, client, prompt, stop)
            if not answer.finish_reason.startswith(REFUSED):
                said = None not in (answer.prompt_tokens, answer.answer_tokens)
                used = answer.tokens if said else aside
            return answer
        except _Passing as error:
            raise _Failed(f"{error}, {retrying.statistics['attempt_number']} tries") from error
        finally:
            self.budget.settle(aside, used)

    def _log_try(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        _log.info("%s: try %d failed (%s)", self.url, state.attempt_number, error)

    def _try(self, client: httpx.Client, prompt: Prompt, stop: threading.Event) -> Answer:
        self._pace.wait(stop)
        if stop.is_set():
            raise _Failed("it was not asked for again")
        if prompt.parameters.options:
            raise _Stop(
                "a prompt has options, and an endpoint does not say how likely each is: use a "
                "model in process, or ask for the choice as text"
            )
        body = self.request.body(self.identity.model, prompt)
        began = time.perf_counter()
        try:
            reply = post(client, f"{self.url}/chat/completions", body, self.longest)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise _Passing(f"no connection: {self._shown(client, error)}") from None
        except httpx.RequestError as error:
            self._charge(prompt)
            raise _Passing(f"{type(error).__name__}: {self._shown(client, error)}") from None
        except Unbounded as error:
            self._charge(prompt)
            raise _Passing(self._shown(client, error)) from None
        seconds, most = time.perf_counter() - began, self.request.most_answered(prompt)
        try:
            if reply.status != 200:
                raise error_of(reply.status, reply.body)
            answer = to_answer(reply.body, self.identity, seconds, most)
        except Erred as error:
            answer = self._not_answered(client, reply, error, seconds)
        except Broken as error:
            self._charge(prompt)
            raise _Passing(f"a malformed answer: {self._shown(client, error)}") from None
        if reply.status == 200 and (key := key_of(client)) and holds(reply.body, key):
            raise _Failed("the answer holds the API key, so it was not recorded")
        return answer

    def _charge(self, prompt: Prompt) -> None:
        """Count a try whose answer was lost at the most that it can have taken."""
        most = self.request.most(prompt)
        if not self.budget.take(most):
            raise _Stop(self.budget.used_up(most))
        self.budget.settle(most, most)

    def _not_answered(
        self, client: httpx.Client, reply: Reply, error: Erred, seconds: float
    ) -> Answer:
        status = error.status
        why = f"status {status}"
        if error.said:
            why += f" ({self._shown(client, error.said)})"
        if status in {401, 403}:
            # What it said is not shown: it may hold part of the key.
            named = (
                f"the key in {self.key_variable}" if self.key_variable else "requests with no key"
            )
            raise _Stop(f"it does not accept {named} (status {status})")
        if (
            status == 404
            or status < 200
            or 300 <= status < 400
            or "insufficient_quota" in error.names
        ):
            raise _Stop(f"{why}; asked for the model {self.identity.model!r}")
        if error.names & {"unsupported_parameter", "unsupported_value"}:
            raise _Stop(f"{why}; say in `request` of its entry what it takes (docs/llm.md)")
        # Some servers say 500 where they mean the prompt.
        if status in _PASSING and not (status == 500 and error.refusal):
            pause = seconds_to_wait(reply.headers.get("Retry-After"))
            if pause > _LONGEST_WAIT:
                raise _Stop(f"{why}; it asks to wait for {pause:.0f} s")
            self._pace.hold(pause)
            raise _Passing(why)
        if refusal := error.refusal:
            identity = self.identity
            return Answer("", None, None, seconds, identity.model, identity.revision, refusal, "")
        raise (_Passing if status < 300 else _Failed)(why)

    def _shown(self, client: httpx.Client, what: object) -> str:
        """A foreign text for an error or a log: one line, short, without the key."""
        text = without_key(str(what), key_of(client), self.key_variable)
        return ascii(" ".join(text.split()))[1:-1][:200]

    def _why(self, ending: str, failed: list[tuple[Prompt, str]]) -> str:
        way = f" by way of the proxy {proxy}" if (proxy := proxy_of(self.url)) else ""
        parts = [f"endpoint {self.url}{way}, model {self.identity.model!r}"]
        if ending:
            parts.append(ending)
        if failed:
            prompt, reason = failed[0]
            key = prompt_key(self.identity, prompt).hex()[:12]
            parts.append(f"{len(failed)} prompts have no answer, first {key}… ({reason})")
        parts.append("what was answered is kept; run the same command again to go on")
        return ": ".join(parts[:2]) + "".join(f"; {part}" for part in parts[2:])
