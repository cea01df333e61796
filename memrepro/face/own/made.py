"""Questions made of conversations that come without: known-item tests, and never more than that.

A made question has one right message because it was made of it. By rules it is a *quoted fact*, the
words of a statement without its rarest one, or a *later mention*, a sentence whose rare words an
earlier session has too. Both favour methods that match words. A model writes a question in words of
its own. Each kind begins with 'made: ', and no value of made questions is compared with others.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from memrepro.core.memory import Memory
from memrepro.errors import MemreproError
from memrepro.llm.model import LanguageModel, Prompt
from memrepro.memory.language.words import content_words
from memrepro.text.facts import user_facts
from memrepro.text.sentences import sentences

MADE = "made: "
QUOTED, LATER, BY_MODEL = (MADE + kind for kind in ("quoted fact", "later mention", "by a model"))
_RARE, _SHARED = 2, 2  # messages that have a rare word; rare words that a later mention shares
_LEAST = 3  # content words of a quotation
_PROMPT = """\
Below is one message of a conversation. Write one short question that this message answers and that
the person could ask weeks later, without quoting its rarer words. Answer with the question alone.

{said}"""


class _Message(NamedTuple):
    """A message: its id as evidence names it, its session's number, and its text."""

    own: str
    session: int
    text: str


def questions_of(
    memories: Mapping[str, Memory], n: int, model: LanguageModel | None = None
) -> list[dict[str, Any]]:
    """Up to n question rows, spread over the conversations; the same for the same messages.

    Raises:
        MemreproError: if not one can be made.
    """
    if n < 1:
        raise MemreproError(f"{n} questions are to be made: name 1 or more")
    made = [_by_rules(name, memory) for name, memory in memories.items()]
    rows: list[dict[str, Any]] = []
    # A question of each conversation, then a second of each, until there are enough.
    while made and len(rows) < n:
        each = [(one, next(one, None)) for one in made]
        rows += [row for _, row in each if row]
        made = [one for one, row in each if row]
    rows = rows[:n]
    if not rows:
        raise MemreproError(
            "no question can be made: no message states a fact or shares rare words with an "
            "earlier session; write questions with the ids of the messages that answer them"
        )
    if model is not None:
        texts = {
            (name, said.own): said.text for name, m in memories.items() for said in _messages(m)
        }
        prompts = [
            Prompt.from_user(_PROMPT.format(said=texts[row["conversation"], row["gold"][0]]))
            for row in rows
        ]
        for row, answer in zip(rows, model.answer(prompts), strict=True):
            row |= {"question": answer.text.strip() or row["question"], "kind": BY_MODEL}
    return [{"id": f"made{number}", **row} for number, row in enumerate(rows, start=1)]


def _messages(memory: Memory) -> Iterator[_Message]:
    prefix = f"{memory.memory_id}/"
    for number, session in enumerate(memory.sessions):
        for r in session.rounds:
            for turn in r.turns:
                yield _Message(turn.turn_id.removeprefix(prefix), number, turn.text)


def _by_rules(name: str, memory: Memory) -> Iterator[dict[str, Any]]:
    """Quoted facts and later mentions in turn, each message at most once as the one to find."""
    said = list(_messages(memory))
    words = {one.own: frozenset(content_words(one.text)) for one in said}
    spread = Counter(word for found in words.values() for word in found)
    quoted, later = _quoted(said, spread), _later(said, words, spread)
    taken: set[str] = set()
    kinds = [(QUOTED, quoted), (LATER, later)]
    while kinds:
        for kind, some in list(kinds):
            found = next(((text, own) for text, own in some if own not in taken), None)
            if found is None:
                kinds.remove((kind, some))
                continue
            taken.add(found[1])
            yield {"conversation": name, "question": found[0], "gold": [found[1]], "kind": kind}


def _shuffled(said: list[_Message]) -> list[_Message]:
    return sorted(said, key=lambda one: hashlib.sha256(one.own.encode()).digest())


def _quoted(said: list[_Message], spread: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for one in _shuffled(said):
        for fact in islice(user_facts(one.text), 1):
            words = content_words(fact)
            rarest = min(words, key=lambda word: (spread[word], word))
            kept = [word for word in words if word != rarest]
            if len(kept) >= _LEAST:
                yield " ".join(kept), one.own


def _later(
    said: list[_Message], words: Mapping[str, frozenset[str]], spread: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    first: dict[str, _Message] = {}
    for one in said:
        for word in words[one.own]:
            first.setdefault(word, one)
    for one in _shuffled(said):
        for sentence in sentences(one.text):
            earlier = Counter(
                first[word].own
                for word in content_words(sentence)
                if spread.get(word, 0) == _RARE and first[word].session < one.session
            )
            if earlier and (best := earlier.most_common(1)[0])[1] >= _SHARED:
                yield sentence, best[0]
                break
