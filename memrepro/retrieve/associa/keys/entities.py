"""What an event mentions: entities of nine categories and what relates them, by rules.

Source: Associa §4.1, which has a language model extract them. This stands in for it where none is
recorded: no part-of-speech tagger comes with a package of the index, so a phrase is a run of words
between closed lists of function words and verbs, and its category is read from the words around
it, from a list of heads, or is `OTHER`, a tenth category, where neither tells. English only.
"""

import re
from collections.abc import Collection, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import yaml

CATEGORIES = (
    "Object",
    "Person/User/Organization",
    "Resource",
    "Place",
    "Event",
    "Goal/Intention",
    "Time",
    "Interest/Skill",
    "Sentiment",
)
OTHER = "Other"
FIRST_PERSON = "I"  # the text of a mention of the speaker


_DATA = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_DATA[name].split())


@cache
def stop_words() -> frozenset[str]:
    """scikit-learn's English stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # seconds

    return frozenset(ENGLISH_STOP_WORDS)


def _is_break(word: str) -> bool:
    """Whether a phrase ends before a word, which is lower-case."""
    return word in _BREAKS or word in stop_words()


_PERSON = "Person/User/Organization"
_CATEGORY_OF: dict[str, str] = {
    word: category
    for category, words in reversed(_DATA["heads"].items())  # of two the first counts
    for word in words.split()
}
_SENTIMENTS = _words("sentiments")
_PLACE_BEFORE, _LIKES = _words("place_before"), _words("likes")
_BREAKS = _words("verbs") | _words("breaks")
_BEFORE_VERB, _SPEAKER, _LINKS = _words("before_verb"), _words("speaker"), _words("links")
_MONTHS = (
    "january|february|march|april|june|july|august|september|october|november|december|"
    r"may(?=\s+\d)"
)
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_TIME = re.compile(
    rf"""\b(?:(?:\d{{1,2}}(?:st|nd|rd|th)?\s+)?(?:{_MONTHS})(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?
    (?:,?\s+(?:19|20)\d\d)?|(?:19|20)\d\d|(?:last|next|this|every|past)\s+(?:{_DAYS}|day|night|
    week|weekend|month|year|summer|winter|spring|fall|autumn|morning|evening)|(?:{_DAYS})s?|
    yesterday|today|tomorrow|tonight|recently|(?:a|an|one|two|three|four|five|six|few|\d+)\s+
    (?:day|week|month|year)s?\s+(?:ago|later))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_GOAL = re.compile(
    r"\b(?:want(?:s|ed)?|plan(?:s|ned|ning)?|hop(?:e|es|ed|ing)|intend(?:s|ed|ing)?|going|"
    r"aim(?:s|ed|ing)?|decid(?:e|es|ed|ing)|dream(?:s|ed|ing)? of|wish(?:es|ed)?)\s+(?:on\s+)?to\s+"
    r"((?:[\w'’-]+\s+){0,4}[\w'’-]+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_][\w'’&-]*|[.,;:!?()\"“”]")
_PHRASE_WORDS = 4  # at most; a longer run keeps its last words
_RELATION_WORDS = 6  # words between two mentions that still relate them


class Mention(NamedTuple):
    """One entity of a text: its words, category, and place, counted in words and marks."""

    text: str
    category: str
    start: int
    end: int


class Relation(NamedTuple):
    """Two mentions and the words from the one to the other, all three included."""

    head: int
    text: str
    tail: int


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Words that stand capitalised inside a sentence and nowhere in small letters.

    At the head of a sentence a capital tells nothing: `mentions` takes a word there for a name only
    if it is one of these.
    """
    inside, small = set[str](), set[str]()
    for text in texts:
        head = True
        for word in _WORD.findall(text):
            plain = word.removesuffix("'s").removesuffix("’s")
            if not head and plain[0].isupper() and not _is_break(plain.lower()):
                inside.add(plain)
            elif plain[0].islower():
                small.add(plain)
            head = word in '.!?:"“”'
    return frozenset(word for word in inside if word.lower() not in small)


def mentions(text: str, names: Collection[str] = ()) -> list[Mention]:
    """The entities of a text, in order, none overlapping another; the speaker is `FIRST_PERSON`.

    Args:
        text: an event or fact, in English.
        names: words known to be names, from `names_in`.
    """
    spans = [(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]
    words = [word for word, _, _ in spans]
    taken: list[Mention] = []
    free = [word[0].isalnum() for word in words]

    def take(start: int, end: int, category: str) -> None:
        if start < end and all(free[start:end]):
            free[start:end] = [False] * (end - start)
            found = text[spans[start][1] : spans[end - 1][2]]
            found = " ".join(found.removesuffix("'s").removesuffix("’s").split())
            taken.append(Mention(found, category, start, end))

    def place(first: int, last: int) -> tuple[int, int]:
        inside = [i for i, (_, a, b) in enumerate(spans) if a >= first and b <= last]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    for match in _TIME.finditer(text):
        take(*place(*match.span()), "Time")
    for match in _GOAL.finditer(text):
        start, end = place(*match.span(1))
        # A goal ends where the next clause or the time begins.
        stops = [i for i in range(start, end) if words[i].lower() in ("and", "but", "because")]
        stops += [i for i in range(start, end) if not free[i]]
        take(start, min([*stops, end]), "Goal/Intention")
    for number, word in enumerate(words):
        if free[number] and word.lower() in _SPEAKER:
            free[number] = False
            taken.append(Mention(FIRST_PERSON, _PERSON, number, number + 1))
        elif word.lower() in _SENTIMENTS:
            take(number, number + 1, "Sentiment")
    for start, end in _runs(words, free, names):
        take(start, end, _category(words, start, end, names))
    return sorted(taken, key=lambda one: one.start)


def relations(text: str, found: list[Mention]) -> list[Relation]:
    """Each mention with the next one, where at most a few words of one clause lie between.

    The text of a relation is that of the clause from the one to the other, such as 'Ann joined a
    support group'.
    """
    spans = [(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]
    related = []
    for head, (one, other) in enumerate(pairwise(found)):
        between = [word for word, _, _ in spans[one.end : other.start]]
        if not 0 < len(between) <= _RELATION_WORDS or set(between) & set(".;:!?"):
            continue
        if any(word[0].isalpha() and word.lower() not in _LINKS for word in between):
            clause = text[spans[one.start][1] : spans[other.end - 1][2]]
            related.append(Relation(head, " ".join(clause.split()), head + 1))
    return related


def _is_name(words: list[str], number: int, names: Collection[str]) -> bool:
    """Whether a word is written as a name: not at the head of a sentence, unless known."""
    plain = words[number].removesuffix("'s").removesuffix("’s")
    if not plain[0].isupper() or _is_break(plain.lower()):
        return False
    head = number == 0 or words[number - 1] in '.!?:"“”'
    return plain in names or not head


def _runs(words: list[str], free: list[bool], names: Collection[str]) -> Iterable[tuple[int, int]]:
    """Runs of words that are no function words, verbs or adverbs; a run of names stands alone."""
    start, of_names = 0, False
    for number in range(len(words) + 1):
        name = number < len(words) and free[number] and _is_name(words, number, names)
        inside = name or (
            number < len(words) and free[number] and not _breaks(words, number, names)
        )
        # "Ann painting" are two phrases, "LGBTQ support group" and "summer Olympics" one each.
        apart = of_names and start < number and not name and not words[start].isupper()
        if start < number and (not inside or apart):
            yield max(start, number - _PHRASE_WORDS), number
            start = number
        if not inside:
            start = number + 1
        elif start == number:
            of_names = name
        if inside and words[number].endswith(("'s", "’s")):
            yield max(start, number + 1 - _PHRASE_WORDS), number + 1
            start = number + 1


def _breaks(words: list[str], number: int, names: Collection[str]) -> bool:
    """Whether no phrase holds the word: it is a function word, a verb or an adverb by its form."""
    word = words[number].lower()
    if not word[0].isalpha() or _is_break(word) or len(word) < 3:
        return True
    if len(word) > 4 and word.endswith(("ed", "ly")) and word not in _CATEGORY_OF:
        return True
    before = words[number - 1].lower() if number else "."
    named = number > 0 and _is_name(words, number - 1, names)
    if before in _BEFORE_VERB or (named and not before.endswith(("'s", "’s"))):
        # "Ann paints", "to paint"; but "an LGBTQ support group".
        return not words[number - 1].isupper() or before == "i"
    following = words[number + 1].lower() if number + 1 < len(words) else "."
    verbal = word.endswith("ing") and word not in _CATEGORY_OF
    return verbal and (following in stop_words() or not following[0].isalpha())


def _category(words: list[str], start: int, end: int, names: Collection[str]) -> str:
    """By the head, by the capital and the word before, or by the verb of liking before."""
    before = [word.lower() for word in words[max(0, start - 2) : start]]
    head = words[end - 1].lower().removesuffix("'s").removesuffix("’s")
    known = _CATEGORY_OF.get(head) or _CATEGORY_OF.get(head.removesuffix("s"))
    if known:
        return known
    if all(_is_name(words, number, names) for number in range(start, end)):
        return "Place" if _PLACE_BEFORE & set(before[-1:]) else _PERSON
    return "Interest/Skill" if _LIKES & set(before[-1:]) else OTHER
