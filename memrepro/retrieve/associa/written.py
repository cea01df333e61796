"""An event with its entities and relations as one extracted text, and back (Associa §4.1).

A recorded extraction is a text (`core.extractions`). A language model also says what an event's
entities are and what relates them; written as one JSON object they pass through the stages as any
text does, and stand in for what `entities` reads by rules.
"""

import json
from typing import NamedTuple

from memrepro.errors import MemreproError

_BEGINS = '{"event": '
_NAMES = {"event", "entities", "relations"}


class Told(NamedTuple):
    """An event as it was told; the parts are those of `clues.EventClues`, which checks them."""

    text: str
    entities: tuple[tuple[str, str], ...]
    relations: tuple[tuple[int, str, int], ...]


def write(told: Told) -> str:
    """One line of JSON, equal for equal events."""
    parts = {"event": told.text, "entities": told.entities, "relations": told.relations}
    return json.dumps(parts, ensure_ascii=False)


def read(text: str) -> Told | None:
    """The event of a text that `write` made; None for any other text.

    Raises:
        MemreproError: if it begins so and cannot be read.
    """
    if not text.startswith(_BEGINS):
        return None
    try:
        parts = json.loads(text)
        if set(parts) != _NAMES:
            raise ValueError(f"it has the names {', '.join(sorted(parts))}")
        return Told(
            str(parts["event"]),
            tuple((str(name), str(category)) for name, category in parts["entities"]),
            tuple((int(head), str(how), int(tail)) for head, how, tail in parts["relations"]),
        )
    except (ValueError, TypeError) as error:
        raise MemreproError(
            f"the extracted event {text[:60]!r} cannot be read ({error}): extract it again"
        ) from error
