"""Segments of 3-5 turns, as the tiered document cuts a conversation ("Chunking strategy").

A segment ends at a gap of more than an hour, at a topic shift, at five turns, or before it would
have more than about 500 tokens; the next one begins one turn earlier, but not across a gap.

How a topic shift is seen is not in the document: here the words of the three turns before and after
hardly meet, and less than one turn earlier and one later (the idea of TextTiling, Hearst 1997); or
the turn opens with words such as "by the way".
"""

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from memrepro.errors import MemreproError
from memrepro.retrieve.tiered.keys.lexical import words

_BLOCK = 3  # turns on each side of a possible shift
_APART = 0.05  # the cosine of their words below which they are apart
LOOKAHEAD = _BLOCK + 1  # turns after an end that decide on it
_OPENS = re.compile(
    r"\W*(?:(?:oh|so|ok|okay|well)\W+)?(?:by the way|btw|anyway|anyways|speaking of"
    r"|on (?:another|a different) note|changing the subject|to change the subject"
    r"|before i forget)\b",
    re.IGNORECASE,
)
_PIECE = re.compile(r"\w+|[^\w\s]")
_FILLERS = frozenset(
    words(
        "ok okay k sure thanks thank you yes yeah yep yup no nope nah right alright great good cool"
        " nice fine perfect awesome wow lol haha hmm hm oh ah well got it i see understood agreed"
        " exactly sounds bye goodbye hi hello hey welcome youre thats so much very a lot will do"
        " indeed absolutely definitely of course problem np"
    )
)


@dataclass(frozen=True)
class Message:
    """What one person said at once, in a channel.

    Attributes:
        message_id: unique within a user's memory.
        speaker: such as 'user'.
        at: Unix seconds, UTC.
        text: the words.
        channel: where it was said.
    """

    message_id: str
    speaker: str
    at: float
    text: str
    channel: str = ""


@dataclass(frozen=True)
class Segmentation:
    """The rules ("Chunking strategy: 3-5 turns with overlap").

    Attributes:
        least: turns of a segment, where the conversation has them.
        most: turns of a segment.
        overlap: turns that a segment shares with the one before.
        max_tokens: words and signs of a segment; one longer turn is a segment by itself.
        gap_hours: a longer silence always ends a segment.
    """

    least: int = 3
    most: int = 5
    overlap: int = 1
    max_tokens: int = 500
    gap_hours: float = 1.0

    def __post_init__(self) -> None:
        """Refuse rules that cannot be kept."""
        if not 1 <= self.least <= self.most or not 0 <= self.overlap < self.least:
            raise MemreproError(
                f"segments of {self.least} to {self.most} turns with an overlap of {self.overlap}: "
                "it must be 1 <= least <= most, and 0 <= overlap < least"
            )


def cut(messages: Sequence[Message], rules: Segmentation = Segmentation()) -> list[tuple[int, int]]:
    """The segments as [start, end) of the messages, which are in order of time."""
    gap = rules.gap_hours * 3600
    gaps = [i for i in range(1, len(messages)) if messages[i].at - messages[i - 1].at > gap]
    edges = [0, *gaps, len(messages)]
    tokens = [len(_PIECE.findall(m.text)) for m in messages]
    found: list[tuple[int, int]] = []
    for first, last in itertools.pairwise(edges):
        found += _cut_stretch(messages, tokens, first, last, rules)
    return found


def final(cuts: Sequence[tuple[int, int]], n_messages: int) -> list[tuple[int, int]]:
    """Those segments of one stretch that no later message of it can change."""
    return [(start, end) for start, end in cuts if end + LOOKAHEAD <= n_messages]


def _cut_stretch(
    messages: Sequence[Message], tokens: Sequence[int], first: int, last: int, rules: Segmentation
) -> list[tuple[int, int]]:
    """The segments of messages without a gap between them."""
    shifts = _Shifts(messages[first:last])
    found: list[tuple[int, int]] = []
    start = first
    while start < last:
        end = _end(start, last, tokens, shifts, first, rules)
        if found and end <= found[-1][1]:  # nothing but the overlap fits: do without it
            start = found[-1][1]
            end = _end(start, last, tokens, shifts, first, rules)
        if end == last:
            while end - start < rules.least and start > first:
                if sum(tokens[start - 1 : end]) > rules.max_tokens:
                    break
                start -= 1
            found.append((start, end))
            break
        found.append((start, end))
        start = max(end - rules.overlap, start + 1)
    return found


def _end(
    start: int, last: int, tokens: Sequence[int], shifts: "_Shifts", first: int,
    rules: Segmentation,
) -> int:  # fmt: skip
    """Where the segment that begins at `start` ends."""
    end, held = start + 1, tokens[start]
    while end < last and end - start < rules.most:
        held += tokens[end]
        if held > rules.max_tokens or (end - start >= rules.least and shifts.before(end - first)):
            break
        end += 1
    return end


class _Shifts:
    """Whether the topic shifts before a message; looked at where a segment may end alone."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._said: dict[int, Counter[str]] = {}
        self._met: dict[int, float] = {}

    def before(self, i: int) -> bool:
        """Whether it does before the message of this number."""
        if i > 0 and _OPENS.match(self._messages[i].text):
            return True
        if not 0 < i < len(self._messages) - 1:
            return False
        meet = self._meet(i)
        return meet < _APART and meet < self._meet(i - 1) and meet <= self._meet(i + 1)

    def _meet(self, i: int) -> float:
        """The cosine of what is said in the turns before and from a message on."""
        if (known := self._met.get(i)) is None:
            before, after = self._words(max(0, i - _BLOCK), i), self._words(i, i + _BLOCK)
            known = self._met[i] = _cosine(before, after)
        return known

    def _words(self, start: int, end: int) -> Counter[str]:
        """The words of some turns, but for those that all texts have."""
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # seconds

        found: Counter[str] = Counter()
        for i in range(start, min(end, len(self._messages))):
            if i not in self._said:
                said = words(self._messages[i].text)
                self._said[i] = Counter(w for w in said if w not in ENGLISH_STOP_WORDS)
            found.update(self._said[i])
        return found


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    norms = sum(c * c for c in one.values()) * sum(c * c for c in other.values())
    return shared / norms**0.5 if norms else 1.0  # nothing said, nothing changed


def clock(at: float) -> str:
    """A time as segments show it, `2023-05-08 13:56`, UTC."""
    # To the microsecond, as a datetime is.
    return _minute(int(round(at, 6) // 60))


@lru_cache(1 << 12)
def _minute(number: int) -> str:
    return datetime.fromtimestamp(60 * number, UTC).isoformat(" ", "minutes")[:16]


def segment_text(messages: Sequence[Message]) -> str:
    """One line a message, whatever it holds: `[2023-05-08 13:56] speaker: text`."""
    return "\n".join(f"[{clock(m.at)}] {one_line(m.speaker)}: {one_line(m.text)}" for m in messages)


def one_line(text: str) -> str:
    """The text with each run of white space as one space, so that no message can feign another."""
    return " ".join(text.split())


def is_filler(text: str) -> bool:
    """Whether a message is an acknowledgment alone ("Importance filtering").

    It has no question, no number, at most six words, and none but such as "ok" and "thanks".
    """
    found = words(text.replace("'", "").replace("’", ""))
    return "?" not in text and len(found) <= 6 and all(word in _FILLERS for word in found)


def says_something(messages: Sequence[Message]) -> bool:
    """Whether one of the messages is no mere acknowledgment, so that they are worth a vector."""
    return not all(is_filler(message.text) for message in messages)


def in_context(messages: Sequence[Message], before: int = 3) -> list[tuple[int, int]]:
    """Each message that says something, as [start, end), with up to three before it as its context.

    Source: "Context augmentation".
    """
    told = [place for place, message in enumerate(messages) if not is_filler(message.text)]
    return [(max(0, place - before), place + 1) for place in told]


def content_hash(message: Message) -> str:
    """Of speaker, words and minute: two copies of a message in two channels share it."""
    said = one_line(message.text).casefold()
    parts = (message.speaker.casefold(), clock(message.at), said)
    return hashlib.sha256("".join(f"{len(p)}:{p}" for p in parts).encode()).hexdigest()[:32]
