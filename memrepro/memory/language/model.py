"""A language model in place of the rules: it makes facts of messages, and decides on them."""

from collections.abc import Mapping, Sequence
from typing import Any

from memrepro.llm.choose import backend
from memrepro.llm.model import Answer, Backend, Prompt
from memrepro.memory.language.conflicts import ModelDecider, by_shared_words
from memrepro.memory.language.extract import ModelExtractor


class Unrecorded:
    """A model that is asked each time: its records would keep what a person has forgotten."""

    def __init__(self, answers: Backend) -> None:
        """Ask this backend."""
        self.identity, self._backend = answers.identity, answers

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """The answers, in the order of the prompts; each unique prompt is asked for once.

        Raises:
            MemreproError: if the backend cannot answer all.
        """
        found = dict(self._backend.stream(dict.fromkeys(prompts)))
        return [found[prompt] for prompt in prompts]


def by_model(entry: Mapping[str, Any], name: str = "memory") -> dict[str, Any]:
    """What `Memory` takes to have a model make facts and decide on them.

    Args:
        entry: a `model`, a `revision`, and an `endpoint` or `transformers` (`llm.choose`).
        name: of the model, in errors.

    Raises:
        MemreproError: if the entry is wrong, or names nothing that answers.

    Example:
        >>> local = {"model": "m", "revision": "1", "endpoint": {"url": "http://localhost:8000/v1"}}
        >>> sorted(by_model(local))
        ['decide', 'extract']
    """
    model = Unrecorded(backend(name, entry))
    return {"extract": ModelExtractor(model), "decide": ModelDecider(model, by_shared_words)}
