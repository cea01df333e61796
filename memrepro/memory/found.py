"""What a memory gives to programs: the messages found, as objects or as text for a prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memrepro.memory.language.fact import Fact

# Characters of an id in a text for a prompt, where each costs tokens; what shows that it goes on.
SHOWN, CUT = 12, "…"


@dataclass(frozen=True)
class Hit:
    """A message that a search found.

    Attributes:
        id: of the message.
        role: who said it.
        text: its words; of a long message the window that was found.
        at: when, in the memory's time zone.
        score: what it is ranked by; larger is better.
        certain: whether it is similar enough or has most of the query's words.
        channel: where it was said.
        facts: the facts that it says and that hold now.
        metadata: as it was given.
    """

    id: str
    role: str
    text: str
    at: datetime
    score: float
    certain: bool
    channel: str = ""
    facts: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found(Sequence[Hit]):
    """What a search found, the best first.

    Attributes:
        hits: the messages.
        says: '' where something is certain, else what to tell the person.
        step: 'dense', or what answered where vectors failed.
        failures: why they did.
    """

    hits: tuple[Hit, ...]
    says: str
    step: str
    failures: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether one of them is."""
        return any(hit.certain for hit in self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: Any) -> Any:
        return self.hits[place]


@dataclass(frozen=True)
class Validity:
    """A fact and when it held.

    Attributes:
        fact: it.
        since, until: when it was first said, and when another took its place or it was denied;
            None for one that still holds.
    """

    fact: Fact
    since: datetime
    until: datetime | None


def as_text(found: Found, tokens: int) -> str:
    """What was found, the best first as long as it fits, in order of time, by day, with ids.

    Tokens are those of o200k_base, the tokeniser of GPT-4o.
    """
    from memrepro.text.lengths import count_tokens  # its tables take half a second

    head = [f"({found.says})"] if found.says else []
    left = tokens - sum(count_tokens(f"{line}\n") for line in head)
    if left < 0:
        return ""
    chosen: list[Hit] = []
    days: set[str] = set()
    for hit in found:
        new_day = "" if _day(hit) in days else f"{_day(hit)}\n"
        cost = count_tokens(f"{new_day}{_line(hit)}\n")
        if cost <= left:
            chosen.append(hit)
            days.add(_day(hit))
            left -= cost
    lines, last = head, ""
    for hit in sorted(chosen, key=lambda one: one.at):
        if _day(hit) != last:
            lines.append(last := _day(hit))
        lines.append(_line(hit))
    return "\n".join(lines)


def _day(hit: Hit) -> str:
    return f"{hit.at:%A} {hit.at:%Y-%m-%d}"


def _line(hit: Hit) -> str:
    shown = hit.id if len(hit.id) <= SHOWN else f"{hit.id[:SHOWN]}{CUT}"
    return f"- {hit.role}: {' '.join(hit.text.split())} [{shown}]"
