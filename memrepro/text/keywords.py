"""YAKE's score of the words and phrases of one text, in one pass.

Campos et al., "YAKE! Keyword extraction from single documents using multiple local features",
Information Sciences 509, 2020. Sentences, tokens and tags are those of the package `yake`, and so
are the scores, bit for bit (tests/text/test_keywords.py); its own scoring, a graph and an object a
candidate, takes several times as long.
"""

import string
from collections import Counter
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from math import log
from statistics import median

import numpy as np
from yake.data.utils import (
    get_tag,
    pre_filter,
    split_contractions,
    split_multi,
    web_tokenizer,
)

WORDS = 3  # of a phrase, at most

_SIGNS = frozenset(string.punctuation)
_NO_SIGNS = str.maketrans("", "", string.punctuation)
_UNUSUAL = ("u", "d")  # tags of numbers, and of words with digits or signs


class _Term:
    """A word with its plural: how often, in which sentences and how written, and its neighbours."""

    __slots__ = ("acronyms", "count", "names", "score", "sentences", "stop")

    def __init__(self, stop: bool) -> None:
        self.stop = stop
        self.count = self.acronyms = self.names = 0
        self.sentences: list[int] = []
        self.score = 0.0


def scores(text: str, stop_words: AbstractSet[str]) -> dict[str, float]:
    """Each phrase that may be a keyword, in lower case, and its score: the lower the better.

    A phrase has up to `WORDS` words with no sign between them, no number, and a stop word neither
    first nor last.
    """
    sentences = [s for s in split_multi(pre_filter(text.replace("\n", " "))) if s.strip()]
    terms: dict[str, _Term] = {}
    pairs = Counter[tuple[_Term, _Term]]()
    counts = Counter[str]()
    phrases: dict[str, list[_Term]] = {}  # of those that stand somewhere with usual words alone
    for number, sentence in enumerate(sentences):
        for block in _blocks(sentence):
            found: list[tuple[str, _Term, bool]] = []
            for lower, tag in block:
                term = _term(lower, terms, stop_words)
                term.count += 1
                term.acronyms += tag == "a"
                term.names += tag == "n"
                if not term.sentences or term.sentences[-1] != number:
                    term.sentences.append(number)
                usual = tag not in _UNUSUAL
                if usual and found and found[-1][2]:
                    pairs[found[-1][1], term] += 1
                found.append((lower, term, usual))
                if term.stop:
                    continue
                for start in range(max(0, len(found) - WORDS), len(found)):
                    if not found[start][1].stop:
                        phrase = " ".join([one[0] for one in found[start:]])
                        counts[phrase] += 1
                        if phrase not in phrases and all(one[2] for one in found[start:]):
                            phrases[phrase] = [one[1] for one in found[start:]]
    _score(terms.values(), pairs, len(sentences))
    return {phrase: _of_phrase(of, pairs, counts[phrase]) for phrase, of in phrases.items()}


# A session's sentences are its rounds' again.
@lru_cache(1 << 12)
def _blocks(sentence: str) -> tuple[list[tuple[str, str]], ...]:
    """The runs of words between signs, each word in lower case with its tag."""
    blocks: list[list[tuple[str, str]]] = [[]]
    words = [w for w in split_contractions(web_tokenizer(sentence)) if w]
    words = [w for w in words if w == "'" or not w.startswith("'")]
    for place, word in enumerate(words):
        if _SIGNS.issuperset(word):
            blocks.append([])
        else:
            blocks[-1].append((word.lower(), get_tag(word, place, _SIGNS)))
    return tuple(block for block in blocks if block)


def _term(lower: str, terms: dict[str, _Term], stop_words: AbstractSet[str]) -> _Term:
    name = lower[:-1] if lower.endswith("s") and len(lower) > 3 else lower
    if name not in terms:
        stop = lower in stop_words or name in stop_words or len(name.translate(_NO_SIGNS)) < 3
        terms[name] = _Term(stop)
    return terms[name]


def _score(terms: Collection[_Term], pairs: Counter[tuple[_Term, _Term]], sentences: int) -> None:
    """Score the terms by case, place, frequency, spread and how many neighbours they have."""
    usual = np.array([float(term.count) for term in terms if not term.stop])
    if not len(usual):
        return
    most = max(term.count for term in terms)
    typical = float(usual.mean() + usual.std())
    left, right = Counter[_Term](), Counter[_Term]()
    left_kinds, right_kinds = Counter[_Term](), Counter[_Term]()
    for (one, other), count in pairs.items():
        right[one] += count
        right_kinds[one] += 1
        left[other] += count
        left_kinds[other] += 1
    for term in terms:
        share = term.count / most
        before = left_kinds[term] / left[term] if left[term] else 0
        after = right_kinds[term] / right[term] if right[term] else 0
        relation = (0.5 + before * share) + (0.5 + after * share)
        case = max(term.acronyms, term.names) / (1.0 + log(term.count))
        place = log(log(3.0 + median(term.sentences)))
        spread = len(term.sentences) / sentences
        term.score = (place * relation) / (
            case + term.count / typical / relation + spread / relation
        )


def _of_phrase(terms: Sequence[_Term], pairs: Counter[tuple[_Term, _Term]], count: int) -> float:
    """A stop word within counts by how often it stands between its two neighbours."""
    total, product = 0.0, 1.0
    for place, term in enumerate(terms):
        if term.stop:
            before, after = terms[place - 1], terms[place + 1]
            between = pairs[before, term] / before.count * (pairs[term, after] / after.count)
            product *= 1 + (1 - between)
            total -= 1 - between
        else:
            product *= term.score
            total += term.score
    return product / ((total + 1) * count)
