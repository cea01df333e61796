"""How a prompt is written for an endpoint: the fields that its model takes."""

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue
from pydantic.dataclasses import dataclass

from memrepro.files.checked import STRICT
from memrepro.llm.model import ModelIdentity, Prompt, Tokens
from memrepro.llm.pace import most_tokens


@dataclass(frozen=True, config=STRICT)
class Request:
    """What differs between the models that speak of chat completions.

    All of it decides what is answered, so it stands in the revision of the identity that answers
    are recorded under (`asked_of`); the usual request adds nothing there.

    Attributes:
        limit: the field for the most tokens of an answer.
        reasoning: tokens of the answer beyond the prompt's own limit, for a model that thinks
            before it answers.
        fields: further ones; null leaves a usual one out, as `{temperature: null, seed: null}`.
    """

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning: Annotated[int, Field(ge=0)] = 0
    fields: Mapping[str, JsonValue] = field(default_factory=dict)

    def body(self, model: str, prompt: Prompt) -> dict[str, Any]:
        """The JSON object to be sent."""
        asked = prompt.parameters
        usual: dict[str, Any] = {
            "model": model,
            "messages": [asdict(message) for message in prompt.messages],
            "temperature": asked.temperature,
            self.limit: self.most_answered(prompt),
            "seed": asked.seed,
            "stop": list(asked.stop) or None,
        }
        return {
            name: value for name, value in {**usual, **self.fields}.items() if value is not None
        }

    def most_answered(self, prompt: Prompt) -> int:
        """The most tokens of its answer, reasoning included."""
        return prompt.parameters.maximum_tokens + self.reasoning

    def most(self, prompt: Prompt) -> Tokens:
        """The most tokens that the prompt and its answer can take."""
        return most_tokens(prompt).plus(Tokens(0, self.reasoning))

    def asked_of(self, identity: ModelIdentity) -> ModelIdentity:
        """The identity of a model that is asked so."""
        usual, own = asdict(Request()), asdict(self)
        unusual = {name: value for name, value in own.items() if value != usual[name]}
        if not unusual:
            return identity
        told = json.dumps(unusual, ensure_ascii=False, sort_keys=True)
        return ModelIdentity(identity.model, f"{identity.revision} asked with {told}")
