"""What a language model is asked and answers, as nouns, and the two protocols around them.

Whoever needs a text asks a `LanguageModel` (`recorded.Recorded` or `recorded.Recording`); only
these meet the records, and only `Recording` meets a `Backend`, so no answer goes unrecorded.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

from memrepro.errors import MemreproError

ROLES = ("system", "user", "assistant")
# Both backends begin the finish reason of a prompt that was not answered with this.
REFUSED = "refused: "
TOO_LONG = f"{REFUSED}context_length_exceeded"
# And the finish reason of an answer of more tokens than were allowed begins with this.
OVER_LIMIT = "over the limit: "


def _number(value: object) -> bool:
    return type(value) in {int, float} and math.isfinite(value) and value >= 0  # type: ignore[arg-type, operator]


def _whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) and text for text in value)


class Tokens(NamedTuple):
    """A count of tokens, or several counts added up."""

    prompt: int = 0
    answer: int = 0

    def plus(self, other: "Tokens") -> "Tokens":
        """Both together."""
        return Tokens(self.prompt + other.prompt, self.answer + other.answer)


@dataclass(frozen=True)
class Message:
    """One message of a chat: a role of `ROLES`, and what was said."""

    role: str
    content: str


@dataclass(frozen=True)
class Parameters:
    """How an answer is to be made; every field is in its key.

    Attributes:
        temperature: 0 is greedy.
        maximum_tokens: of the answer.
        seed: of the sampling; sent even where nothing is sampled.
        stop: texts before which an answer ends, in order; they are not part of it.
        options: the answer is one of these, the likeliest as what comes next; then nothing is
            generated, and `maximum_tokens` does not matter.

    Raises:
        MemreproError: naming the first field that is out of range.
    """

    temperature: float = 0.0
    maximum_tokens: int = 512
    seed: int = 0
    stop: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Name, whether it is right, what it must be.
        rules = [
            ("temperature", _number(self.temperature), "a finite number from 0"),
            ("maximum_tokens", _whole(self.maximum_tokens, 1), "a whole number from 1"),
            ("seed", _whole(self.seed, 0), "a whole number from 0"),
            ("stop", _texts(self.stop), "a tuple of texts, none empty"),
            (
                "options",
                _texts(self.options) and len(self.options) != 1
                and len(set(self.options)) == len(self.options)
                and not (self.options and self.temperature),
                "a tuple of two or more texts, none empty, none twice, at temperature 0",
            ),
        ]  # fmt: skip
        for name, good, rule in rules:
            if not good:
                raise MemreproError(
                    f"a prompt's {name} is {getattr(self, name)!r}: it must be {rule}"
                )
        # 0, 0.0 and -0.0 are equal, so they must be written alike in the key.
        object.__setattr__(self, "temperature", float(self.temperature) + 0.0)


@dataclass(frozen=True)
class Prompt:
    """A chat to be answered.

    Attributes:
        messages: in order; an optional system message comes first, the last one is not the
            assistant's.
        parameters: how to answer.

    Raises:
        MemreproError: if the messages are not so.
    """

    messages: tuple[Message, ...]
    parameters: Parameters = Parameters()

    def __post_init__(self) -> None:
        roles = [message.role for message in self.messages]
        if strange := [role for role in roles if role not in ROLES]:
            raise MemreproError(
                f"a prompt's message has the role {strange[0]!r}: it must be one of "
                f"{', '.join(ROLES)}"
            )
        if not roles or roles[-1] != "user" or "system" in roles[1:]:
            raise MemreproError(
                f"a prompt has messages of {', '.join(roles) or 'nobody'}: a system message may "
                "stand first only, and the last must be the user's"
            )

    @staticmethod
    def from_user(user: str, system: str = "", parameters: Parameters = Parameters()) -> "Prompt":
        """A prompt of one user message, after a system message where there is one."""
        first = (Message("system", system),) if system else ()
        return Prompt((*first, Message("user", user)), parameters)

    @property
    def size(self) -> int:
        """The characters of all messages."""
        return sum(len(message.content) for message in self.messages)


@dataclass(frozen=True)
class ModelIdentity:
    """Which model answers; both fields are in an answer's key.

    Attributes:
        model: its name; for an endpoint, the name that is sent.
        revision: what pins it. For transformers in process the digest of its files and the
            precision (`weights.folder_digest`); for an endpoint what the user knows of it, such as
            a date or a commit.
    """

    model: str
    revision: str

    def __str__(self) -> str:
        return f"{self.model!r} (revision {self.revision!r})"


@dataclass(frozen=True)
class Answer:
    """What a model said.

    Attributes:
        text: as it came; '' where the prompt was refused. What counts of it is `said`.
        prompt_tokens: as the model counts them, or None where it did not say.
        answer_tokens: likewise, the token that ends the answer included.
        seconds: from sending to having it, without earlier tries; in a batch, its share.
        model: of the identity that was asked.
        revision: likewise.
        finish_reason: 'stop', 'length', or what else the model said; from `REFUSED` on, the reason
            why the prompt was not answered.
        maker: what answered, as it says itself, such as a server's model and fingerprint; not in
            the key.
        scores: of a prompt with options, their natural log-probabilities, normalised over them, in
            order; `text` is the first of the highest.
    """

    text: str
    prompt_tokens: int | None
    answer_tokens: int | None
    seconds: float
    model: str
    revision: str
    finish_reason: str
    maker: str
    scores: tuple[float, ...] = ()

    @property
    def without_reasoning(self) -> str:
        """The text without a model's reasoning, which ends with `</think>` where it is shown."""
        _, ended, after = self.text.rpartition("</think>")
        if ended:
            return after.lstrip()
        return "" if self.text.lstrip().startswith("<think>") else self.text

    @property
    def identity(self) -> ModelIdentity:
        """Whose answer it is."""
        return ModelIdentity(self.model, self.revision)

    @property
    def tokens(self) -> Tokens:
        """Prompt's and answer's; what is not known counts nothing."""
        return Tokens(self.prompt_tokens or 0, self.answer_tokens or 0)


class LanguageModel(Protocol):
    """Prompts in, answers out, many at once."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model answers."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """The answers, in the order of the prompts.

        Raises:
            MemreproError: if one cannot be had; what was answered before is kept.
        """


class Backend(Protocol):
    """What makes answers that are not recorded yet."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model answers."""

    def stream(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Prompt, Answer]]:
        """Each prompt with its answer, as they come; prompts are taken when there is room.

        Raises:
            MemreproError: after the last answer that could be had, if not all could.
        """


def as_written(noun: Any) -> dict[str, Any]:
    """A noun's fields; options and scores only where there are any.

    So what has none has the key and the record that it had before there were options.
    """
    later = ("options", "scores")
    return asdict(noun, dict_factory=lambda pairs: {k: v for k, v in pairs if v or k not in later})


def prompt_key(identity: ModelIdentity, prompt: Prompt) -> bytes:
    """The 32-byte key of an answer: SHA-256 of a JSON list, so that no two inputs run together.

    All fields of identity, parameters and messages are in it, whatever is added to them.

    Raises:
        MemreproError: if a text holds a lone surrogate, which no tokenizer takes.
    """
    parts = ["memrepro answer 1", asdict(identity), as_written(prompt)]
    try:
        text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).digest()
    except UnicodeEncodeError as error:
        raise MemreproError(
            f"a prompt of {prompt.size} characters is not valid Unicode ({error.reason} near "
            f"{text[max(0, error.start - 20) : error.end]!a}): repair the data set's reader"
        ) from error
