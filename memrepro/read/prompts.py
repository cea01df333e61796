"""What a reader is shown and asked: items of a history, a question, and options in an order.

The words are those of `prompts.yaml`, or of another file of its form.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from memrepro.errors import MemreproError
from memrepro.evaluate.answers import contains
from memrepro.files.atomic import read_yaml
from memrepro.llm.model import Parameters, Prompt
from memrepro.read.plan import Form

FILE = Path(__file__).with_name("prompts.yaml")
_SPACE = re.compile(r"\s+")
_LETTER = re.compile(r"\(([a-z])\)")


class Item(NamedTuple):
    """A doc as a reader is shown it.

    Attributes:
        date: when its session took place, ISO 8601 to the minute or ''.
        place: its place in the history.
        said: (speaker, text), in order; a fact's or note's speaker says which it is.
    """

    date: str
    place: int
    said: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Prompts:
    """The prompts of a file, by name; see `prompts.yaml`."""

    path: Path = FILE

    def prompt(
        self,
        name: str,
        history: str,
        question: str,
        date: str = "",
        options: Sequence[str] = (),
        by_likelihood: bool = False,
    ) -> Prompt:
        """The prompt of that name.

        Args:
            name: a key of the file's `prompts`.
            history: from `shown`, or '' for nothing.
            question: as asked.
            date: when, ISO 8601 to the minute or ''.
            options: in the order in which they are shown.
            by_likelihood: ask which of the options' letters is the likeliest.

        Raises:
            MemreproError: if the file has no such prompt, or it asks for what is not there.
        """
        words = _read(self.path)
        entry = words["prompts"].get(name)
        if not isinstance(entry, dict) or not {"user", "maximum_tokens"} <= set(entry):
            raise MemreproError(f"{self.path} has no prompt {name!r} with user and maximum_tokens")
        places = {
            "history": history or words["nothing"],
            "question": one_line(question),
            "date": date.replace("T", " ") or words["undated"],
            "letters": ", ".join(letters(len(options))),
            "options": "\n".join(
                f"{letter} {one_line(text)}"
                for letter, text in zip(letters(len(options)), options, strict=True)
            ),
        }
        try:
            user = Template(entry["user"]).substitute(places)
        except (KeyError, ValueError) as error:
            raise MemreproError(
                f"{self.path}: prompt {name!r} has {error}: its places are $"
                f"{', $'.join(places)}; a dollar sign is written $$"
            ) from error
        # A choice by likelihood writes nothing, so that no limit belongs to it.
        given = Parameters(maximum_tokens=entry["maximum_tokens"])
        if by_likelihood:
            given = Parameters(options=tuple(letters(len(options))))
        return Prompt.from_user(user, entry.get("system", ""), given)


@cache
def _read(path: Path) -> dict[str, Any]:
    words = read_yaml(path)
    if not isinstance(words, dict) or set(words) != {"nothing", "undated", "prompts"}:
        raise MemreproError(f"{path} must have the keys nothing, undated and prompts")
    return words


def letters(count: int) -> list[str]:
    """`(a)`, `(b)` and so on."""
    return [f"({chr(ord('a') + n)})" for n in range(count)]


def one_line(text: str) -> str:
    """The text with all white space, line ends of every kind among it, as single spaces."""
    return _SPACE.sub(" ", text).strip()


def in_order(items: Sequence[Item]) -> list[Item]:
    """By date, as LongMemEval shows them (§5.1); those of one date, or none, as in the history."""
    return sorted(items, key=lambda item: (item.date, item.place))


def shown(items: Sequence[Item], form: Form) -> str:
    """The items one after another, each so that nothing in it can end its place.

    As JSON an item is an object on a line of its own. As text it is a line with its number and
    date, and each line of what was said begins with `> `.
    """
    return "\n".join(show(item, number, form) for number, item in enumerate(items, start=1))


def show(item: Item, number: int, form: Form) -> str:
    """One item, with its number where the form has one."""
    date = item.date.replace("T", " ")
    if form == "json":
        said = [{"speaker": speaker, "text": text} for speaker, text in item.said]
        line = {**({"date": date} if date else {}), "said": said}
        # Line ends that JSON does not escape would end the item's line.
        return _LINE_ENDS.sub(
            lambda end: f"\\u{ord(end[0]):04x}", json.dumps(line, ensure_ascii=False)
        )
    lines = [line for speaker, text in item.said for line in f"{speaker}: {text}".splitlines()]
    return "\n".join([f"Item {number}{date and f', {date}'}:", *(f"> {line}" for line in lines)])


_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


def permutation(count: int, query_id: str, seed: int) -> list[int]:
    """The order in which a question's options are shown: shown place → index in the data set's.

    It follows from the question's id and the seed alone, on every machine.
    """
    return sorted(
        range(count), key=lambda n: hashlib.sha256(f"{seed} {query_id} {n}".encode()).digest()
    )


def parse_option(said: str, options: Sequence[str]) -> int:
    """The place of the option that an answer in words names, or −1 if it names none or several.

    It is named by its letter in brackets, by that letter as the whole answer, or by its text.
    """
    known = [letter[1] for letter in letters(len(options))]
    text = said.strip().lower()
    named = set(_LETTER.findall(text)) & set(known)
    if bare := re.fullmatch(r"\W*([a-z])\W*", text):
        named = {bare[1]} & set(known)
    if not named:
        named = {
            letter for letter, option in zip(known, options, strict=True) if contains(said, option)
        }
    return known.index(named.pop()) if len(named) == 1 else -1
