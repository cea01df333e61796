"""What a sentence states, by rules: subject, attribute, value; for the conflicts between facts.

328e0f776fdaed08 has a language model decide on conflicts; these rules stand in for it where none
is recorded. They are for short English statements in the present; of any other sentence they say
that they cannot read it, and then nothing is concluded from it. How often they are wrong is
measured on sentences of our own (tests/memory/conflict_cases.yaml).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from memrepro.memory.language import english
from memrepro.memory.language.english import (
    KIND_OF,
    PEOPLE,
    SINGLE,
    SMALL,
    STATES,
    VERBS,
    WORDS,
    base_form,
    stem,
)
from memrepro.text.facts import MAX_CHARACTERS

# The user, whoever tells it.
USER = "user"
ANYTHING = ("*",)


@dataclass(frozen=True)
class Item:
    """One thing that a value names.

    Attributes:
        words: stemmed, without articles; `ANYTHING` where a name alone is told.
        name: as in "a dog named Rex", or ''.
        count: of "two cats", or None where it says none.
        more: "another", "a second".
    """

    words: tuple[str, ...]
    name: str = ""
    count: int | None = None
    more: bool = False

    @property
    def kind(self) -> str:
        """What it is one of, if anything known, such as 'drink' of green tea; by its last words."""
        for start in range(len(self.words)):
            if found := KIND_OF.get(" ".join(self.words[start:])):
                return found
        return ""


@dataclass(frozen=True)
class Statement:
    """What one clause states.

    Attributes:
        subject: `USER`, a person's name, or who or what it is of the user's ("user's sister").
        attribute: what is said of it: a verb, or a noun that it has one of.
        value: the things named; what is joined by "and" is several.
        negative: a dislike.
        denied: it says that this is not so.
        once: it tells of one of possibly several that is gone ("I sold my car").
        condition: when it holds ("in the morning"), or ''.
        replaces: the value that it says it is in place of, if any.
    """

    subject: str
    attribute: str
    value: frozenset[Item]
    negative: bool = False
    denied: bool = False
    once: bool = False
    condition: str = ""
    replaces: frozenset[Item] = frozenset()


def clauses(text: str) -> list[str]:
    """A sentence cut before each "and I", "but my" and the like; all words but those stay."""
    return [clause for part in english.CLAUSES.split(text) if (clause := part.strip(" ,"))]


@lru_cache(1 << 16)
def read(text: str, changes: bool = True) -> tuple[Statement | None, ...]:
    """What each clause of a text states; None for one that cannot be read, and for a long text.

    Args:
        text: a sentence.
        changes: whether to read wordings of change too ("the meeting moved to Friday").
    """
    if len(text) > MAX_CHARACTERS:
        return (None,)
    match = english.SPEAKER.match(text)
    speaker = match[1].casefold() if match else USER
    said = text[match.end() if match else 0 :]
    return tuple(_clause(clause, speaker, changes) for clause in clauses(said))


def _clause(text: str, speaker: str, changes: bool) -> Statement | None:
    if text.rstrip("\"')” ").endswith("?") or '"' in text:
        return None
    said = " ".join(text.replace("’", "'").casefold().rstrip(" .!…").split())
    said = english.CONTRACTIONS(said)
    if changes:
        said = english.CHANGES(said)
    if match := english.LEAD.match(said):
        said = said[match.end() :]
    if changes and (told := _changed(text, said, speaker)):
        return told
    if "user" in said:
        said = re.sub(r"^(?:the )?user's ", "my ", said)
        said = re.sub(r"^(?:the )?user ", "i ", said)
    ended = bool(english.ENDED.search(said))
    said = " ".join((english.ENDED.sub(" ", said) if ended else said).split())
    # Most clauses are about nobody that can be told.
    if not (who := _subject(said, speaker, text)) or english.PARTLY.search(said):
        return None
    named = frozenset(word.casefold() for word in re.findall(r"\b[A-Z]\w*", text))
    return _predicate(*who, ended, named)


def _changed(text: str, said: str, speaker: str) -> Statement | None:
    """A named one's death, and when or how much a thing is or has become."""
    if match := english.DIED.match(text):
        item = Item(ANYTHING, match[1].casefold(), 1)
        return Statement(speaker, "have", frozenset([item]), denied=True, once=True)
    for attribute, pattern in english.THINGS.items():
        # Of what one has one of, the rules below read more.
        if (match := pattern.match(said)) and match["thing"] not in SINGLE:
            value, _ = _trimmed(match["value"])
            words = tuple(stem(word) for word in re.findall(r"[\w.:]+", value))
            return Statement(f"{speaker}'s {match['thing']}", attribute, frozenset([Item(words)]))
    return None


def _subject(said: str, speaker: str, text: str) -> tuple[str, str] | None:
    """Who or what it is about, and the rest of the clause."""
    first, _, rest = said.partition(" ")
    if first in ("i", "we"):
        return speaker, rest
    if first in ("my", "our"):
        words = rest.split()
        for place in range(1, min(len(words), 6)):
            if words[place] in SMALL or base_form(words[place]) in VERBS:
                own = [word for word in words[:place] if word not in ("new", "current", "own")]
                return f"{speaker}'s {' '.join(own)}".strip(), " ".join(words[place:])
        return None
    if match := english.FAVOURITE.match(said):
        return f"{speaker}'s {match[2]}", f"is {match[1]}"
    # A name: a word with a capital, before a verb of the third person.
    verb = rest.partition(" ")[0]
    if text[:1].isupper() and first not in SMALL | WORDS["nobody"] and (
        verb in ("is", "has", "does", "no", "can", "used")
        or (verb.endswith("s") and base_form(verb) in VERBS)
    ):  # fmt: skip
        return first, rest
    return None


def _predicate(subject: str, rest: str, ended: bool, named: frozenset[str]) -> Statement | None:
    """Read the rest; `named` are the words with a capital."""
    rest = " ".join(english.ADVERBS.sub("", f"{rest} ").split())
    if match := re.match(r"(?:has )?(?:died|passed away|was put down|ran away)\b", rest):
        owner, _, thing = subject.partition("'s ")
        name = thing.split()[-1] if len(thing.split()) > 1 else ""
        if not thing:
            return None
        items = frozenset([Item((stem(thing.split()[0]),), name, 1)])
        return Statement(owner, "have", items, denied=True, once=True)
    rest = english.PERFECTS(rest)
    if match := re.match(r"(?:stopped|quit|gave up)(?= \w+ing\b)|used to ", rest):
        rest, ended = rest[match.end() :].strip(), True
        if rest.startswith("be "):
            rest = f"am {rest[3:]}"
        head, _, tail = rest.partition(" ")
        rest = f"{base_form(head)} {tail}".strip()
    elif match := re.match(r"gave up (?!\w+ing\b)", rest):
        return _finish(subject, "*", rest[match.end() :], denied=True, ended=True)
    if rest.startswith(("started ", "began ")):
        rest = re.sub(r"^(?:started|began) (?:to )?(?=\w)(?!work|a |an |the |at )", "", rest)
    if subject == USER or "'s " not in subject:
        for attribute, pattern in english.RESULTS:
            if match := pattern.fullmatch(rest):
                found = match.groupdict()
                if "gone" in found:
                    gone = found["gone"]
                    return _finish(subject, attribute, gone, denied=True, ended=True, once=True)
                if attribute == "be":
                    new, _ = _trimmed(found["new"])
                    known = english.AGE.fullmatch(new) or _item(new).kind in STATES
                    return _being(subject, new, False, False, named) if known else None
                return _finish(subject, attribute, found["new"], old=found.get("old") or "")
    if not rest or english.OTHER_MOOD.search(english.CONDITION.sub("", rest)):
        return None
    denied = False
    if match := re.match(r"(?:(?:do|does) not|never|not) |(?:do|does) ", rest):
        denied = match[0].strip() not in ("do", "does")
        rest = rest[match.end() :]
    elif match := re.match(r"(am|is|are|have|has|can) not (?!stand|bear)", rest):
        rest, denied = f"{match[1]} {rest[match.end() :]}", True
    elif match := re.match(r"(have|has|own|owns) no ", rest):
        rest, denied = f"have {rest[match.end() :]}", True
    rest = " ".join(english.ADVERBS.sub("", f"{rest} ").split())
    head, _, tail = rest.partition(" ")
    base = base_form(head)
    if head not in ("am", "is", "are", "can") and base in VERBS:
        rest = f"{base} {tail}"
    elif match := re.match(r"(?:am|is|are) (\w+ing) ", f"{rest} "):
        base = base_form(match[1])
        if base in VERBS:
            rest = f"{base} {rest[match.end() :]}".strip()
    denied = denied or ended
    for attribute, negative, pattern in english.PHRASES:
        if match := pattern.match(f"{rest} "):
            value = rest[match.end() :]
            # "I can't stand it any more" denies no dislike: it is one.
            denied = denied and not (match[0].startswith("c") and negative)
            return _finish(subject, attribute, value, negative=negative, denied=denied, ended=ended)
    head, _, tail = rest.partition(" ")
    if head in VERBS:
        return _finish(subject, head, tail, denied=denied, ended=ended)
    if match := re.match(r"(?:am|is|are) (.+)", rest):
        return _being(subject, match[1], denied, ended, named)
    return None


def _being(
    subject: str, value: str, denied: bool, ended: bool, named: frozenset[str]
) -> Statement | None:
    """Read what is said to be: "My boss is Ann" of the user, "My car is red" of the car."""
    if match := english.AGE.fullmatch(value):
        return _finish(subject, "age", match[1], denied=denied, ended=ended)
    owner, _, noun = subject.partition("'s ")
    if noun.endswith("'s name"):
        subject = subject[: -len("'s name")]
        return _finish(subject, "name", value, denied=denied, ended=ended)
    single = noun in SINGLE or noun.startswith(("favourite ", "favorite "))
    if single:
        noun = noun.replace("favorite", "favourite")
        value = re.sub(r"^(?:on |called |named )", "", value)
        # "My boss is Ann", not "great"; "my job is a nurse's" and "my home is in Rome", not "nice".
        if noun in PEOPLE:
            single = set(re.findall(r"\w+", _trimmed(value)[0])) <= named
        elif noun in english.ATTRIBUTE_NOUNS:
            noun, first = english.ATTRIBUTE_NOUNS[noun]
            single = value.startswith(first)
            value = value.removeprefix("in ")
    if single:
        return _finish(owner, noun, value, denied=denied, ended=ended)
    return _finish(subject, "be", value, denied=denied, ended=ended)


def _finish(
    subject: str,
    attribute: str,
    value: str,
    *,
    negative: bool = False,
    denied: bool = False,
    ended: bool = False,
    once: bool = False,
    old: str = "",
) -> Statement | None:
    """Read the value; None where there is none."""
    value, condition = _trimmed(value or (attribute if attribute in WORDS["alone"] else ""))
    if once and " and " in value:
        return None
    if attribute == "prefer":
        head = "to " if value.startswith("to ") else ""
        body = value[len(head) :]
        value = head + (english.AGAINST.sub("", body))
    elif match := re.search(r" (?:instead of|rather than|in place of) (.+)$", value):
        value, old = value[: match.start()], match[1]
    items, replaced = _items(value), _items(old)
    if not items or any(set(item.words) <= WORDS["pointers"] for item in items):
        return None
    if attribute in ("residence", "employer") and any(
        item.words[-1] in WORDS["anywhere"] for item in items
    ):
        return None
    # "I do not like tea" is a dislike; that it is over is not.
    if attribute == "like" and denied and not ended:
        negative, denied = not negative, False
    return Statement(subject, attribute, items, negative, denied, once, condition, replaced)


def _trimmed(value: str) -> tuple[str, str]:
    """A value without reasons and times at its end, and the condition that stood there."""
    value = english.REASON.sub("", f" {value}").strip()
    condition = ""
    while True:
        shorter = english.TAIL.sub("", f" {value}").strip()
        if match := english.CONDITION.search(f" {shorter}"):
            condition = f"{match[1]} {condition}".strip()
            shorter = shorter[: max(match.start() - 1, 0)].strip()
        if shorter == value:
            return english.NOT_BUT.sub("", value), condition
        value = shorter


def _items(value: str) -> frozenset[Item]:
    pieces = re.split(r",? (?:and|or) |, ", value)
    return frozenset(item for piece in pieces if (item := _item(piece)).words)


def _item(piece: str) -> Item:
    """Read "two cats", "another dog", "a dog named Rex"."""
    name = ""
    if match := english.NAMED.match(piece):
        piece, name = match[1], match[2]
    count, more = None, False
    words = re.findall(r"[\w'@.+#&-]+", piece)
    while words and (words[0] in english.NUMBERS or words[0] in WORDS["articles"]):
        first = words[0]
        if first in ("another", "second") or (first == "new" and count):
            more = True
        if first in english.NUMBERS and len(words) > 1:
            count = english.NUMBERS[first]
        if len(words) == 1 and first not in ("a", "an", "the", "any", "some"):
            break
        words = words[1:]
    if len(words) > 1 and words[0].isdigit() and len(words[0]) < 4:
        count, words = int(words[0]), words[1:]
    return Item(tuple(stem(word.rstrip(".")) for word in words), name, count, more)
