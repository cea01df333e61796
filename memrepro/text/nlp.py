"""Keyphrases and a summary of a user's words, without a language model.

LongMemEval (7be397bb177bc8b7, section 5.3, Appendix D "Value Decomposition", Figure 11) extracts
them with Llama 3.1 8B Instruct from the user's side of a session or round. Where no recorded
extraction exists these functions stand in: the same text gives the same result on any machine, in
any order. All of them are for English.
"""

import re
from importlib.metadata import version

import numpy as np
from sklearn import config_context
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from yake import KeywordExtractor

from memrepro.text.keywords import scores
from memrepro.text.sentences import sentences

RULES = 1  # one more at every change of what is extracted
LIBRARIES = ("sentencex", "yake", "scikit-learn")
VERSION = f"memrepro-nlp {RULES} ({', '.join(f'{name} {version(name)}' for name in LIBRARIES)})"

KEYPHRASES = 10  # at most
SUMMARY_SENTENCES = 3
SENTENCE_CHARACTERS = 400  # what a summary keeps of one sentence
LONGEST = 100_000  # characters that keyphrases and summary read of a text

# A sentence as similar as this to one that the summary has says nothing new.
_ALIKE = 0.7
# What chats say about themselves; yake's own list is of news text.
_CHAT_WORDS = (
    "advice also anyway can't couldn't curious definitely didn't doesn't don't give good great "
    "hear heard hey hi i'd i'll i'm i've idea ideas isn't it's let's looking lot maybe mention "
    "mentioned nice please pretty provide really recommend recommendations recommended "
    "recommending sounds suggest suggestions sure tell that's thanks there's thing things think "
    "thinking tips try trying way wondering wow yeah yes you're"
)
_SUMMARY_STOP = sorted(
    ENGLISH_STOP_WORDS.union(re.findall(r"\w\w+", _CHAT_WORDS), ["like", "want", "need", "use"])
)
_LINKS = {"of", "and", "in", "for", "the", "to", "on", "de", "&"}  # stop words a phrase may hold

# Fitted anew to each text; made once, as it checks its stop words first.
_tfidf = TfidfVectorizer(stop_words=_SUMMARY_STOP, sublinear_tf=True)
_STOP = frozenset(KeywordExtractor(lan="en").stopword_set.union(_CHAT_WORDS.split()))


def keyphrases(text: str) -> list[str]:
    """At most KEYPHRASES phrases of up to `keywords.WORDS` words, lower-case, best first.

    By yake's score, which is of the text alone; a phrase that adds no word to better ones is left
    out. The time grows in step with the length up to LONGEST characters, about a second, where
    reading stops.
    """
    # yake reads line breaks as spaces: every sentence gets its end.
    told = " . ".join(sentences(text[:LONGEST]))
    # Nine digits, as another machine's logarithm may differ in the last; then by the alphabet.
    scored = sorted(
        {(float(f"{s:.9g}"), " ".join(p.split())) for p, s in scores(told, _STOP).items()}
    )
    chosen: list[str] = []
    seen: set[str] = set()
    for _, phrase in scored:
        words = phrase.split()
        if set(words) <= seen or not any(len(w) > 2 and w.isalnum() for w in words):
            continue
        if any(w in _STOP and w not in _LINKS for w in words):
            continue
        chosen.append(phrase)
        seen.update(words)
        if len(chosen) == KEYPHRASES:
            break
    return chosen


def summary(text: str) -> str:
    """The SUMMARY_SENTENCES most central sentences, in the text's order, joined by spaces.

    Central is near (by TF-IDF cosine) to the sum of all sentences, as in centroid summaries. Each
    is cut at SENTENCE_CHARACTERS; reading stops at LONGEST characters.
    """
    found = list(dict.fromkeys(_head(s) for s in sentences(text[:LONGEST])))
    if len(found) <= SUMMARY_SENTENCES:
        return " ".join(found)
    try:
        with config_context(skip_parameter_validation=True, assume_finite=True):
            rows = _tfidf.fit_transform(found)
    except ValueError:  # no words
        return " ".join(found[:SUMMARY_SENTENCES])
    # Rounded, as sums may differ in the last digits between machines; ties go to the earlier.
    central = np.round(rows @ np.asarray(rows.sum(axis=0)).ravel(), 9)
    chosen: list[int] = []
    for place in np.argsort(-central, kind="stable"):
        if not chosen or (rows[chosen] @ rows[place].T).max() < _ALIKE:
            chosen.append(int(place))
        if len(chosen) == SUMMARY_SENTENCES:
            break
    return " ".join(found[place] for place in sorted(chosen))


def _head(sentence: str) -> str:
    """At most SENTENCE_CHARACTERS of it, cut between words where it can be."""
    if len(sentence) <= SENTENCE_CHARACTERS:
        return sentence
    cut = sentence[: SENTENCE_CHARACTERS + 1]
    return cut[: cut.rfind(" ")].strip() if " " in cut.strip() else cut[:-1]
