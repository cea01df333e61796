"""Answers that should be one JSON object of a schema: taken, or refused with the reason.

The rule: the text holds exactly one JSON object, which begins at its first '{' and is whole; what
stands around it (prose, a Markdown fence) is passed over if it holds no other '{'. Names are not
given twice and numbers are finite. The object fits the schema with no conversion: a number in
quotes is not a number. Nothing is repaired. Values are not judged by their language, but names and
choices in another language than asked do not fit, and are refused.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from memrepro.llm.model import REFUSED, Answer
from memrepro.llm.outcomes import was_cut

Schema = TypeVar("Schema", bound=BaseModel)

# What an answer can be; all but the first are kinds of refusal.
KINDS = ("used", "not answered", "no JSON", "half JSON", "bad JSON", "two objects", "misfit")


class Refused(ValueError):
    """A text without a usable object.

    Attributes:
        kind: one of `KINDS`.
    """

    def __init__(self, kind: str, reason: str) -> None:
        """Refuse for a reason."""
        super().__init__(f"{kind}: {reason}")
        self.kind = kind


@dataclass(frozen=True)
class Parsed(Generic[Schema]):
    """What a run's answers hold.

    Attributes:
        values: item → the object, for each answer that could be used, in order.
        refused: (item, reason) of the others, in order; the reason begins with its kind.
        counts: how many answers were of each of `KINDS`.
    """

    values: dict[str, Schema]
    refused: list[tuple[str, str]]
    counts: Counter[str]


def parse_all(answers: Iterable[tuple[str, Answer]], schema: type[Schema]) -> Parsed[Schema]:
    """Parse each item's answer; whatever it holds, none raises and none is lost.

    Args:
        answers: (item, answer), each item once.
        schema: a pydantic model; let it forbid extra fields where they would tell of an error.

    Raises:
        ValueError: if an item stands twice, which is the caller's mistake.
    """
    parsed = Parsed[Schema]({}, [], Counter(dict.fromkeys(KINDS, 0)))
    seen = set()
    for item, answer in answers:
        if item in seen:
            raise ValueError(f"item {item!r} stands twice")
        seen.add(item)
        try:
            parsed.values[item] = parse(answer, schema)
            parsed.counts["used"] += 1
        except Refused as error:
            parsed.refused.append((item, str(error)))
            parsed.counts[error.kind] += 1
    return parsed


def parse(answer: Answer, schema: type[Schema]) -> Schema:
    """The one object of an answer.

    Raises:
        Refused: by the module's rule.
    """
    if answer.finish_reason.startswith(REFUSED):
        raise Refused("not answered", answer.finish_reason)
    text = answer.without_reasoning
    start = text.find("{")
    if start < 0:
        shown = ascii(text[:40])
        raise Refused("no JSON", f"{len(text)} characters without an object, {shown}")
    if text[:start].rstrip().endswith("["):
        raise Refused("misfit", "an array, not an object")
    try:
        _, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        cut = was_cut(answer)
        # An open string is told by its beginning, all else by where the text ends.
        ends = not text[error.pos :].strip("` \n") or error.msg.startswith("Unterminated")
        if cut or ends:
            why = "cut at the most tokens allowed" if cut else "the text ends inside the object"
            raise Refused("half JSON", f"{why}, after {len(text)} characters") from error
        raise Refused("bad JSON", f"{error.msg} at character {error.pos}") from error
    except (ValueError, RecursionError) as error:
        raise Refused("bad JSON", ascii(str(error))[1:-1][:120]) from error
    if "{" in text[end:]:
        raise Refused("two objects", f"another one begins at character {text.find('{', end)}")
    try:
        return schema.model_validate_json(text[start:end], strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the object"
        count = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise Refused(
            "misfit", f"{ascii(place)[1:-1][:80]}: {first['msg'][:120]}{count}"
        ) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = Counter(name for name, _ in pairs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"the name {twice[0][:40]!r} stands twice")
    return dict(pairs)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
