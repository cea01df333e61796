"""The bodies of chat completions: what an endpoint sends back, read with care."""

import json
import math
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

from memrepro.llm.model import OVER_LIMIT, REFUSED, TOO_LONG, Answer, ModelIdentity

_LONGEST = 200  # characters of what a server says of itself and of an answer's end
_MOST_TOKENS = 1 << 31  # a count beyond it is none
# Names of the prompt's own faults: asking again changes nothing.
_FILTERED = ("content_filter", "content_policy_violation")
_TOO_LONG = {
    "context_length_exceeded", "exceed_context_size_error", "string_above_max_length",
    "ContextWindowExceededError",
}  # fmt: skip
# And in words, where a server (vLLM, SGLang, TGI, Gemini, Anthropic, Mistral) has no name for it.
_SAYS_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum prompt length|range of input length"
    r"|\b(?:prompt|inputs?|input token count|request)\b.{0,80}?"
    r"(?:too (?:long|large)|exceed|longer than|must be <=|must have less)"
    r"|\bprompt length\b.{0,40}?greater than",
    re.IGNORECASE | re.DOTALL,
)
_NOT_THE_PROMPT = {"rate_limit_exceeded", "unsupported_parameter", "unsupported_value"}


class Broken(Exception):
    """A body that is not a chat completion; the text says how."""


class Erred(Exception):
    """An error that an endpoint names.

    Attributes:
        status: of the reply, or of the error that a reply of status 200 holds; 200 if it has none.
        names: its code, type and the like.
        said: its message, or '' where it has none.
    """

    def __init__(self, status: int, names: frozenset[str], said: str) -> None:
        """An error by its fields."""
        super().__init__(said)
        self.status, self.names, self.said = status, names, said

    @property
    def refusal(self) -> str:
        """The finish reason of a prompt that is refused for what it is; '' if it is not."""
        for name in _FILTERED:
            if name in self.names:
                return REFUSED + name
        if self.names & _NOT_THE_PROMPT:
            return ""
        too_long = self.status == 413 or self.names & _TOO_LONG
        return TOO_LONG if too_long or _SAYS_TOO_LONG.search(self.said) else ""


def to_answer(body: bytes, identity: ModelIdentity, seconds: float, most: int) -> Answer:
    """The answer in the body of a 200 response.

    The first choice counts. One without a text is an answer of no words if it says why it ended.
    Half surrogate pairs become U+FFFD, since they cannot be stored.

    Args:
        body: as it came.
        identity: whose answer it is.
        seconds: that it took.
        most: tokens that it may have; hidden reasoning beyond them is no fault of the answer.

    Raises:
        Erred: if the body holds an error in place of an answer.
        Broken: if it is not whole JSON of the schema.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Broken(f"{len(body)} bytes that are not JSON ({error})") from error
    choice = _first(_get(value, "choices"))
    if _get(value, "error") or _get(choice, "error"):
        raise _erred(200, value if _get(value, "error") else choice)
    message, finish = _get(choice, "message"), _get(choice, "finish_reason")
    content, refusal = _get(message, "content"), _get(message, "refusal")
    text = _text_of(content)
    if text is None and isinstance(refusal, str) and refusal:
        text, finish = "", f"{REFUSED}{refusal}"
    if text is None and content is None and isinstance(finish, str) and finish:
        text = ""
    if text is None:
        raise Broken(f"JSON whose choices[0].message.content is a {type(content).__name__}")
    finish = _whole_pairs(finish)[:_LONGEST] if isinstance(finish, str) else ""
    usage = _get(value, "usage")
    prompt_tokens, said_tokens = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    hidden = _count(_get(usage, "completion_tokens_details"), "reasoning_tokens") or 0
    beside = (_count(usage, "total_tokens") or 0) - (prompt_tokens or 0) - (said_tokens or 0)
    if prompt_tokens and said_tokens is not None and beside > 0:  # Gemini counts reasoning so
        said_tokens, hidden = said_tokens + beside, hidden + beside
    if (said_tokens or 0) - hidden > most:
        finish = OVER_LIMIT + finish
    maker = [_get(value, "model"), _get(value, "system_fingerprint")]
    return Answer(
        _whole_pairs(text),
        prompt_tokens,
        said_tokens,
        seconds,
        identity.model,
        identity.revision,
        finish,
        _whole_pairs(" ".join(part[:_LONGEST] for part in maker if isinstance(part, str))),
    )


def holds(body: bytes, text: str) -> bool:
    """Whether a text of ASCII stands in a body of JSON, however it is escaped there."""
    try:
        plain = json.dumps(json.loads(body))
    except (ValueError, RecursionError):
        return True  # not known
    return json.dumps(text)[1:-1] in plain


def _text_of(content: Any) -> str | None:
    """A text, or the texts of a list of parts; None where there is none."""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        said = [part.get("text") for part in content if part.get("type") == "text"]
        content = "".join(text for text in said if isinstance(text, str)) if said else None
    return content if isinstance(content, str) else None


def error_of(status: int, body: bytes) -> Erred:
    """The error in the body of a response that is not 200."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Erred(status, frozenset(), body[:10_000].decode("utf-8", "replace"))
    # Gemini's is a list of one.
    return _erred(status, _first(value) if isinstance(value, list) else value)


def _erred(status: int, value: Any) -> Erred:
    error = _get(value, "error")
    if isinstance(error, str):
        return Erred(status, frozenset(filter(None, [_name(_get(value, "error_type"))])), error)
    # vLLM before 0.10 puts the fields at the top.
    error = error if isinstance(error, dict) else value
    code, said = _get(error, "code"), _get(error, "message")
    if status == 200 and type(code) is int and 400 <= code < 600:
        status = code
    names = filter(None, map(_name, (code, _get(error, "type"), _get(error, "status"))))
    return Erred(status, frozenset(names), said if isinstance(said, str) else "")


def seconds_to_wait(header: str | None) -> float:
    """What `Retry-After` asks for, in seconds or as a date (RFC 9110 §10.2.3); 0 if unreadable."""
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any, name: str) -> int | None:
    found = _get(value, name)
    return found if type(found) is int and 0 <= found < _MOST_TOKENS else None


def _whole_pairs(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
