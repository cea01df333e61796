"""What models cost, from a file that the user gives; nothing here knows a price.

```yaml
gpt-4o-mini-2024-07-18: {currency: USD, prompt: 0.15, answer: 0.60}  # a million tokens of each
```
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.files.checked import STRICT, checked
from memrepro.llm.model import Tokens

_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, config=STRICT)
class Price:
    """What a million tokens cost, in a currency's unit."""

    currency: Annotated[str, Field(min_length=1)]
    prompt: _Amount
    answer: _Amount

    def cost(self, tokens: Tokens) -> float:
        """What so many tokens cost."""
        return (tokens.prompt * self.prompt + tokens.answer * self.answer) / 1e6


def read_prices(path: Path) -> dict[str, Price]:
    """Model, by the name that is sent → its price.

    Raises:
        MemreproError: if the file is missing or malformed, or naming its first entry that is not
            of `Price`'s form.
    """
    entries = read_yaml(path)
    if not isinstance(entries, Mapping):
        raise MemreproError(f"{path} holds {entries!r}: it must map models to prices (docs/llm.md)")
    return {str(name): checked(Price, f"{path}: {name}", entry) for name, entry in entries.items()}
