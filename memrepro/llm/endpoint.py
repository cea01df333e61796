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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import httpx
import tenacity

from memrepro.errors import MemreproError
from memrepro.llm.completions import Broken, said_of, seconds_to_wait, to_answer
from memrepro.llm.model import (
    OVER_LIMIT,
    REFUSED,
    Answer,
    ModelIdentity,
    Prompt,
    Tokens,
    prompt_key,
)
from memrepro.llm.pace import Budget, Pace, most_tokens
from memrepro.llm.prices import Price, read_prices

# Statuses that a later try may not meet.
_PASSING = {408, 409, 425, 429, 500, 502, 503, 504, 529}
# Codes of a 400 that are the prompt's own fault: recorded, since asking again changes nothing.
_OF_THE_PROMPT = {"context_length_exceeded", "content_filter", "content_policy_violation"}
_LONGEST_WAIT = 600.0  # seconds; an endpoint that asks for more is given up for now
_LONGEST_PAUSE = 60.0
_IN_A_ROW = 3  # so many prompts without an answer, one after the other, end the work

_BEARER = "Bearer "

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
    back. A prompt that the endpoint refuses by a code of its own (too long, filtered) gets an
    answer with that finish reason. Where a prompt stays without an answer the others go on, until
    three in a row have none; a refused key or an unknown model ends the work at once. Either way
    what was answered is kept, and the error comes last.

    Attributes:
        url: the base, such as `https://api.openai.com/v1`.
        identity: the model's name as it is sent, and the revision that the user knows of it.
        key_variable: the environment variable that holds the API key; None to send none.
        concurrency: requests at once.
        requests_per_minute: tries count too; None for no limit.
        token_budget: prompt and answer tokens that this object may spend; None for no limit. A
            request goes only if the most that it can take is left (`pace.most_tokens`); one whose
            answer was lost on the way counts as that much.
        money_budget: likewise in money, at the model's price in `prices`; None for no limit.
        prices: a file of prices (`prices.read_prices`), where there is a budget in money.
        tries: of one prompt.
        timeout: seconds without a byte after which a try has failed.
        pause: seconds before the second try.

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
    pause: float = 1.0
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
        for name, least in (("concurrency", 1), ("tries", 1), ("timeout", 0), ("pause", 0)):
            if getattr(self, name) < least:
                raise MemreproError(
                    f"endpoint {self.url}: {name} is {getattr(self, name)}: it must be at least "
                    f"{least}"
                )
        for name in ("requests_per_minute", "token_budget", "money_budget"):
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
                        if not self.budget.take(most_tokens(following)):
                            break
                        running[pool.submit(self._ask, client, following, stop)] = following
                        following = next(upcoming, None)
                    if following is not None and not running:
                        # Nothing in flight can give tokens back.
                        ending, following = self.budget.used_up(most_tokens(following)), None
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
        headers = {}
        if self.key_variable is not None:
            headers["Authorization"] = f"{_BEARER}{self._key(self.key_variable)}"
        limits = httpx.Limits(max_connections=self.concurrency)
        return httpx.Client(headers=headers, timeout=self.timeout, limits=limits)

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
        aside, used = most_tokens(prompt), Tokens()
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
        parameters = asdict(prompt.parameters)
        body = {
            "model": self.identity.model,
            "messages": [asdict(message) for message in prompt.messages],
            "temperature": parameters["temperature"],
            "max_tokens": parameters["maximum_tokens"],
            "seed": parameters["seed"],
        }
        if parameters["stop"]:
            body["stop"] = parameters["stop"]
        began = time.perf_counter()
        try:
            response = client.post(f"{self.url}/chat/completions", json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _Passing(f"no connection: {self._shown(client, error)}") from None
        except httpx.RequestError as error:
            self._charge(prompt)
            raise _Passing(f"{type(error).__name__}: {self._shown(client, error)}") from None
        seconds = time.perf_counter() - began
        if response.status_code != 200:
            return self._not_answered(client, response, seconds)
        try:
            answer = to_answer(response.content, self.identity, seconds)
        except Broken as error:
            self._charge(prompt)
            raise _Passing(f"a malformed answer: {self._shown(client, error)}") from None
        key = _key_of(client)
        if key and (key in response.text or key in answer.text):
            raise _Failed("the answer holds the API key, so it was not recorded")
        if answer.tokens.answer > prompt.parameters.maximum_tokens:
            return replace(answer, finish_reason=OVER_LIMIT + answer.finish_reason)
        return answer

    def _charge(self, prompt: Prompt) -> None:
        """Count a try whose answer was lost at the most that it can have taken."""
        most = most_tokens(prompt)
        if not self.budget.take(most):
            raise _Stop(self.budget.used_up(most))
        self.budget.settle(most, most)

    def _not_answered(
        self, client: httpx.Client, response: httpx.Response, seconds: float
    ) -> Answer:
        status = response.status_code
        code, said = said_of(response.content)
        why = f"status {status}"
        if said:
            why += f" ({self._shown(client, said)})"
        if status in {401, 403}:
            # What it said is not shown: it may hold part of the key.
            named = (
                f"the key in {self.key_variable}" if self.key_variable else "requests with no key"
            )
            raise _Stop(f"it does not accept {named} (status {status})")
        if status == 404 or status < 400 or code == "insufficient_quota":
            raise _Stop(f"{why}; asked for the model {self.identity.model!r}")
        if status in _PASSING:
            pause = seconds_to_wait(response.headers.get("Retry-After"))
            if pause > _LONGEST_WAIT:
                raise _Stop(f"{why}; it asks to wait for {pause:.0f} s")
            self._pace.hold(pause)
            raise _Passing(why)
        if code in _OF_THE_PROMPT:
            identity = self.identity
            return Answer(
                "", None, None, seconds, identity.model, identity.revision, REFUSED + code, ""
            )
        raise _Failed(why)

    def _shown(self, client: httpx.Client, what: object) -> str:
        """A foreign text for an error or a log: one line, short, without the key."""
        key, text = _key_of(client), str(what)
        text = text.replace(key, f"<{self.key_variable}>") if key else text
        return ascii(" ".join(text.split()))[1:-1][:200]

    def _why(self, ending: str, failed: list[tuple[Prompt, str]]) -> str:
        parts = [f"endpoint {self.url}, model {self.identity.model!r}"]
        if ending:
            parts.append(ending)
        if failed:
            prompt, reason = failed[0]
            key = prompt_key(self.identity, prompt).hex()[:12]
            parts.append(f"{len(failed)} prompts have no answer, first {key}… ({reason})")
        parts.append("what was answered is kept; run the same command again to go on")
        return ": ".join(parts[:2]) + "".join(f"; {part}" for part in parts[2:])


def _key_of(client: httpx.Client) -> str:
    """The key that a client sends; '' for none."""
    return str(client.headers.get("Authorization", "")).removeprefix(_BEARER)
