"""The bodies of chat completions: what an endpoint sends back, read with care and no exception."""

import json
import math
import time
from email.utils import parsedate_to_datetime
from typing import Any

from memrepro.llm.model import REFUSED, Answer, ModelIdentity


class Broken(Exception):
    """A body that is not a chat completion; the text says how."""


def to_answer(body: bytes, identity: ModelIdentity, seconds: float) -> Answer:
    """The answer in the body of a 200 response.

    The first choice counts. Half surrogate pairs become U+FFFD, since they cannot be stored.

    Raises:
        Broken: if the body is not whole JSON of the schema.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Broken(f"{len(body)} bytes that are not JSON ({error})") from error
    choice = _first(_get(value, "choices"))
    message = _get(choice, "message")
    text, refusal = _get(message, "content"), _get(message, "refusal")
    finish = _get(choice, "finish_reason")
    if text is None and isinstance(refusal, str):
        text, finish = "", f"{REFUSED}{refusal}"
    if not isinstance(text, str):
        raise Broken(f"JSON whose choices[0].message.content is a {type(text).__name__}")
    usage = _get(value, "usage")
    maker = [_get(value, "model"), _get(value, "system_fingerprint")]
    return Answer(
        _whole_pairs(text),
        _count(_get(usage, "prompt_tokens")),
        _count(_get(usage, "completion_tokens")),
        seconds,
        identity.model,
        identity.revision,
        _whole_pairs(finish) if isinstance(finish, str) else "",
        _whole_pairs(" ".join(part for part in maker if isinstance(part, str))),
    )


def said_of(body: bytes) -> tuple[str, str]:
    """The code and the message of an error's body, each '' where it has none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return "", body[:400].decode("utf-8", "replace")
    error = _get(value, "error")
    if isinstance(error, str):
        return "", error
    # vLLM before 0.10 puts the fields at the top.
    error = error if isinstance(error, dict) else value
    code, said = _get(error, "code"), _get(error, "message")
    return code if isinstance(code, str) else "", said if isinstance(said, str) else ""


def seconds_to_wait(header: str | None) -> float:
    """What `Retry-After` asks for, in seconds or as a date (RFC 9110 §10.2.3); 0 if unreadable."""
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _whole_pairs(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
