"""What is odd in one's own files: each kind named and counted, nothing repaired in silence."""

import re
from collections.abc import Iterable, Mapping, Sequence

from memrepro.core.memory import Memory, Round
from memrepro.errors import cut

# Kind → what was done about it.
KINDS: Mapping[str, str] = {
    "field that is not read": "left alone",
    "empty message": "left out",
    "empty question": "left out",
    "message that came twice": "the second was left out",
    "id of two messages": "the second got '#2' behind its own; evidence means the first",
    "same text as a message before it": "kept: evidence that names one of two counts it alone",
    "time that cannot be read": "the message stays, without a time",
    "form of time": "there are several, all read; a time without a zone counts as it is written",
    "time before that of the message above it": "kept in the file's order",
    "session without a time": "methods that use time cannot find it by its date",
    "question without evidence": "in no value",
    "evidence that names no message": "its question is in no value",
    "question of a kind that is not counted": "in no value, as in the studies",
    "conversation with one speaker": "each message is a round; a speaker's key is all of its text",
    "conversation that does not read like English": (
        "facts, dates and keyphrases are found by English rules; BM25 splits at blanks"
    ),
    "conversation without a question": "in no value",
    "many messages": "texts are encoded once and kept in the cache; the first run takes long",
    "could not be used": "left out",
}
MANY = 20_000
# Of a text of English one word in three is such; of others hardly any.
_ENGLISH = frozenset(
    """a about and are as at be but can do for from had have he her his how i if in is it its just
    like me my no not of on one or our out she so that the their them there they this to up was we
    were what when which who will with would you your it's i'm don't""".split()  # noqa: SIM905
)
_LISTED, _LONGEST = 8, 160  # items of a sentence, and their characters
_SHARE, _FEWEST = 0.12, 30  # of words; and words from which on a language can be told


class Noticed(dict[str, list[str]]):
    """Kind of `KINDS` → the items, such as 'chats.jsonl, line 3', in order."""

    def add(self, kind: str, item: str) -> None:
        """Note one item."""
        self.setdefault(kind, []).append(item)

    def sentences(self) -> list[str]:
        """One a kind: how many, the first, and what was done about it."""
        return sentences(self)


def sentences(noticed: Mapping[str, Sequence[str]]) -> list[str]:
    """One a kind, in the order of `KINDS`."""
    return [
        f"{kind}: {len(noticed[kind]):,} ({_first(noticed[kind])}): {done}"
        for kind, done in KINDS.items()
        if noticed.get(kind)
    ]


def _first(items: Sequence[str]) -> str:
    """All where they fit, else the first."""
    some = [cut(item, 40) for item in items[:_LISTED]]
    listed = ", ".join(some)
    fits = len(items) <= _LISTED and len(listed) <= _LONGEST
    return listed if fits else f"such as {some[0]}"


def look_at(memories: Iterable[Memory], noticed: Noticed) -> None:
    """Note what the conversations as a whole lack: speakers, times, English."""
    messages = 0
    for memory in memories:
        rounds = memory.rounds
        messages += sum(len(r.turns) for r in rounds)
        if len({turn.field for r in rounds for turn in r.turns}) < 2:
            noticed.add("conversation with one speaker", memory.memory_id)
        if not _is_english(rounds):
            noticed.add("conversation that does not read like English", memory.memory_id)
        for session, at in zip(memory.sessions, memory.times, strict=True):
            if not at:
                noticed.add("session without a time", session.session_id)
    if messages > MANY:
        noticed.add("many messages", f"{messages:,}")


def _is_english(rounds: Sequence[Round]) -> bool:
    words: list[str] = []
    for r in rounds:
        for turn in r.turns:
            words += re.findall(r"[^\W\d_]+(?:'\w+)?", turn.text.casefold())
        if len(words) > 2000:
            break
    return len(words) < _FEWEST or sum(w in _ENGLISH for w in words) >= _SHARE * len(words)
