"""What prompts will cost, before money is spent."""

from collections.abc import Mapping, Sequence

import pandas as pd

from memrepro.llm.model import ModelIdentity, Prompt, Tokens, prompt_key
from memrepro.llm.prices import Price
from memrepro.llm.records import AnswerStore
from memrepro.text.lengths import count_tokens

# As gpt-4o's server counts: four around each message, and three that begin the answer.
_A_MESSAGE, _A_PROMPT = 4, 3


def estimated_tokens(prompt: Prompt) -> Tokens:
    """The prompt's tokens by o200k_base, an estimate for other models; the answer's at most.

    Of options one is chosen, and none is written.
    """
    said = sum(count_tokens(message.content) + _A_MESSAGE for message in prompt.messages)
    asked = prompt.parameters
    return Tokens(said + _A_PROMPT, 0 if asked.options else asked.maximum_tokens)


def spending(
    prompts: Sequence[tuple[ModelIdentity, Prompt]],
    store: AnswerStore,
    prices: Mapping[str, Price],
    tokens_per_second: float | None = None,
) -> pd.DataFrame:
    """What is left to ask, a row a model, in the order in which they first come.

    Args:
        prompts: whom to ask what; what is asked twice is asked once.
        store: of what is recorded.
        prices: by model.
        tokens_per_second: of prompts and answers together; None where the rate is not known.

    Returns:
        `model`, `revision`; `calls` in all, `recorded`, `left`; of those left `prompt_tokens` by
        o200k_base (an estimate) and `answer_tokens` at most; `currency`, `low` (the prompts alone)
        and `high` (with answers of full length), missing where the model has no price; `minutes`
        for those tokens at that rate, missing where there is none.
    """
    asked: dict[ModelIdentity, dict[bytes, Prompt]] = {}
    for identity, prompt in prompts:
        asked.setdefault(identity, {})[prompt_key(identity, prompt)] = prompt
    rows = []
    for identity, by_key in asked.items():
        lacking = store.missing(list(by_key))
        tokens = Tokens()
        for key in lacking:
            tokens = tokens.plus(estimated_tokens(by_key[key]))
        row = {
            "model": identity.model,
            "revision": identity.revision,
            "calls": len(by_key),
            "recorded": len(by_key) - len(lacking),
            "left": len(lacking),
            "prompt_tokens": tokens.prompt,
            "answer_tokens": tokens.answer,
            "minutes": sum(tokens) / tokens_per_second / 60 if tokens_per_second else None,
        }
        if price := prices.get(identity.model):
            low, high = price.cost(Tokens(tokens.prompt)), price.cost(tokens)
            row |= {"currency": price.currency, "low": low, "high": high}
        rows.append(row)
    return pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)


_TYPES = (
    dict.fromkeys(("model", "revision"), "str")
    | dict.fromkeys(("calls", "recorded", "left", "prompt_tokens", "answer_tokens"), "int64")
    | {"currency": "str", "low": "float64", "high": "float64", "minutes": "float64"}
)
