"""Sentences without end: they make a rehearsed text as long as a real one, and as varied."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from memrepro.files import atomic

# How many words of a list one session draws from, so that its texts are about something.
_OWN = {"thing": 30, "notion": 60, "quality": 40, "deed": 20, "way": 8, "when": 4}
_NAMES, _STRANGER = 12, 0.25  # one name in four is nobody of the session's
_HOSTILE = 60  # one sentence in so many is markup, control codes, a formula, an order
# Rounds, and the mean number of characters of a user's and of an assistant's turn.
Sizes = tuple[int, int, int]


@cache
def words() -> dict[str, list[str]]:
    """The lists of `words.yaml`."""
    found: dict[str, list[str]] = atomic.read_yaml(Path(__file__).with_name("words.yaml"))
    return found


class Prose(dict[str, Any]):
    """The words of one session, as a mapping whose every look-up of a slot draws anew."""

    def __init__(self, rng: Random) -> None:
        """Draw the session's words."""
        super().__init__()
        self.rng = rng
        self._pools = {slot: rng.sample(words()[slot], n) for slot, n in _OWN.items()}
        self._pools["name"] = [self._name() for _ in range(_NAMES)]

    def __missing__(self, slot: str) -> str:
        """A word for a slot of a pattern."""
        rng = self.rng
        if slot == "name" and rng.random() < _STRANGER:
            return self._name()
        if slot in self._pools:
            word = rng.choice(self._pools[slot])
            return word.format_map(self) if slot == "when" else word
        return str(rng.randrange(*{"year": (1950, 2024), "day": (4, 21)}.get(slot, (2, 95))))

    def text(self, role: str, size: int) -> str:
        """Sentences of a role, of about `size` characters in all; at least one."""
        return " ".join(self._sentences(role, size))

    def around(self, size: int) -> int:
        """A number from half of `size` to one and a half times it."""
        return size // 2 + self.rng.randrange(size + 1)

    def turn(self, role: str, size: int, said: str = "") -> dict[str, Any]:
        """A turn of about that many characters that begins with what is said."""
        left = self.around(size) - len(said)
        more = self.text(role, left) if left > 0 or not said else ""
        return {"role": role, "content": f"{said} {more}".strip()}

    def _sentences(self, role: str, size: int) -> Iterator[str]:
        patterns, length = words()[role], 0
        while True:
            hostile = not self.rng.randrange(_HOSTILE)
            sentence = self.rng.choice(words()["hostile"] if hostile else patterns)
            if not hostile:
                sentence = sentence.format_map(self)
            yield sentence
            # A sentence has about 90 characters: it is left out when it would rather be too long.
            length += len(sentence) + 1
            if length + 45 > size:
                return

    def _name(self) -> str:
        parts = (self.rng.choice(words()[part]) for part in ("onset", "middle", "coda"))
        return "".join(parts).capitalize()
