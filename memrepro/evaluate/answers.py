"""How right an answer is by rule: LoCoMo's F1 and two stricter and laxer comparisons of words."""

import re
import string
from collections import Counter
from functools import lru_cache
from typing import Any

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SEVERAL, _FIRST_PART = "multi-hop", "open-domain"


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer  # takes a second, which only this needs

    return PorterStemmer()


def normalised(text: str) -> list[str]:
    """A text's words: lower case, without punctuation and articles (`and` counts as one).

    Source: LoCoMo's released evaluation, `normalize_answer`; commas go first, joining numbers.
    """
    plain = text.replace(",", "").lower().translate(_PUNCTUATION)
    return _ARTICLES.sub(" ", plain).split()


def token_f1(answer: str, gold: str) -> float:
    """F1 of the stems of two texts' normalised words, counted with repetition, from 0 to 1."""
    first, second = (
        Counter(_stemmer().stem(word) for word in normalised(text)) for text in (answer, gold)
    )
    same = (first & second).total()
    return 2 * same / (first.total() + second.total()) if same else 0.0


def locomo_f1(answer: str, gold: str, kind: str) -> float:
    """LoCoMo's F1 for a question of kinds 1 to 4 (its `eval_question_answering`).

    A multi-hop answer and its gold are lists between commas: the mean over gold's parts of the best
    F1 of any part of the answer. Of an open-domain gold only the text before `;` counts.
    """
    if kind == _SEVERAL:
        parts = answer.split(",")
        best = [max(token_f1(part, wanted) for part in parts) for wanted in gold.split(",")]
        return sum(best) / len(best)
    return token_f1(answer, gold.split(";")[0] if kind == _FIRST_PART else gold)


def matches(answer: str, gold: str) -> bool:
    """Whether both are the same words in the same order once normalised."""
    return normalised(answer) == normalised(gold)


def contains(answer: str, gold: str) -> bool:
    """Whether gold's normalised words stand in the answer, in order and side by side."""
    wanted = f" {' '.join(normalised(gold))} "
    return bool(wanted.strip()) and wanted in f" {' '.join(normalised(answer))} "
