"""Closed lists of English words and wordings that the rules know, from `english.yaml`."""

import re
from collections.abc import Sequence
from pathlib import Path

from memrepro.files.atomic import read_yaml

_LISTS = read_yaml(Path(__file__).with_name("english.yaml"))


def _pattern(name: str) -> re.Pattern[str]:
    entry = _LISTS["patterns"][name]
    if isinstance(entry, list):
        entry = {"before": r"\b", "any": entry, "after": r"\b"}
    return re.compile(f"{entry['before']}(?:{'|'.join(entry['any'])}){entry['after']}")


class Rewrites:
    """What is written, and what is read instead, one after the other."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Compile the pairs of a regular expression and what stands in its place."""
        self._pairs = [(re.compile(written), instead) for written, instead in pairs]
        self._any = re.compile("|".join(f"(?:{written})" for written, _ in pairs))

    def __call__(self, text: str) -> str:
        """A text with all of them read."""
        # Most texts have none of them.
        if self._any.search(text):
            for written, instead in self._pairs:
                text = written.sub(instead, text)
        return text


KIND_OF: dict[str, str] = {word: kind for kind, words in _LISTS["kinds"].items() for word in words}
WORDS: dict[str, frozenset[str]] = {n: frozenset(words) for n, words in _LISTS["words"].items()}
STATES, VERBS, SMALL, PEOPLE = (WORDS[name] for name in ("states", "verbs", "small", "people"))
# What one has one of.
SINGLE = PEOPLE | WORDS["single"]
NUMBERS: dict[str, int] = _LISTS["numbers"]
ATTRIBUTE_NOUNS = {noun: (name, tuple(heads)) for noun, (name, heads) in
                   _LISTS["attribute_nouns"].items()}  # fmt: skip

LEAD, TAIL, ADVERBS, PARTLY, OTHER_MOOD, HEDGE, TASTE, PAST, KIN, TIES = map(_pattern, (
    "lead", "tail", "adverbs", "partly", "other_mood", "hedge", "taste", "past", "kin", "ties",
))  # fmt: skip
CONTRACTIONS, CHANGES, PERFECTS = (
    Rewrites(_LISTS[name]) for name in ("contractions", "changes", "perfects")
)
RESULTS = tuple((name, re.compile(pattern)) for name, pattern in _LISTS["results"])
PHRASES = tuple((name, dislike, re.compile(p)) for name, dislike, p in _LISTS["phrases"])

SPEAKER = re.compile(r"(?!(?:[Ii]|[Mm]y|[Ww]e|[Oo]ur)\b)(\w[\w.' -]{0,40}): (?=\w)")
CLAUSES = re.compile(r"(?:;|,? (?:and|but|so))\s+(?=(?:i|we|my|our|i'm|i've)\b)", re.IGNORECASE)
# "The meeting is on Friday", "the rent went up to 950 euros": the thing, how, and its new value.
_THINGS = _LISTS["things"]
THINGS = {
    attribute: re.compile(
        rf"(?:the|my|our) (?P<thing>[\w' -]{{2,40}}?) (?:{_THINGS['is']}(?: {lead})?|"
        rf"{_THINGS['changes']}) (?P<value>{_THINGS[attribute]})"
    )
    for attribute, lead in (("when", "(?:on|at)"), ("amount", ""))
}
FAVOURITE = re.compile(r"(.+?) (?:is|are) (?:my|our) (favou?rite [\w ]+)$")
DIED = re.compile(r"([A-Z]\w+) (?:has |just )*(?:died|passed away|was put down|ran away)\b")
ENDED = re.compile(r"\b(?:any ?more|any longer|no longer)\b")
# Not "but" or "that", which say that it holds in part only.
REASON = re.compile(r"[\s,]+(?:because|so that|so|as i|as my|since i|since it)\b.*")
CONDITION = re.compile(
    r"[\s,]+((?:when|whenever|if|while|unless|after|before|during|except|without)\b.*|"
    r"(?:in|on|at|for|with|to) (?:the |my |our |a )?(?:early |late )?(?:mornings?|evenings?|"
    r"afternoons?|nights?|weekends?|weekdays?|\w+days|work|home|office|school|breakfast|lunch|"
    r"dinner|dessert|summers?|winters?|spring|autumn|holidays?|travel|travelling|parties|trips?|"
    r"long trips|short trips|flights?|pizza|salads?|meetings?|friends|family))$"
)
NOT_BUT = re.compile(r",? (?:and )?not (?:in |at |a |an |the )?[\w -]+$")
AGAINST = re.compile(r" (?:to|over|than|rather than|more than|instead of|and not) (.+)$")
NAMED = re.compile(r"^(.*?),? (?:named|called|whose name is) (\w+)$")
AGE = re.compile(r"(\d{1,3})(?: years? old)?")

_FORMS = {"has": "have", "having": "have", "goes": "go", "watches": "watch", "teaches": "teach",
          "studies": "study", "studying": "study", "practises": "practise", "am": "be", "is": "be",
          "are": "be"}  # fmt: skip
for _verb in sorted(VERBS):
    _FORMS.setdefault(f"{_verb}s", _verb)
    _FORMS.setdefault(f"{_verb}ing", _verb)
    _FORMS.setdefault(f"{_verb.removesuffix('e')}ing", _verb)
    _FORMS.setdefault(f"{_verb}{_verb[-1]}ing", _verb)


def base_form(word: str) -> str:
    """The verb of a form in -s or -ing; any other word as it is."""
    return _FORMS.get(word, word)


def stem(word: str) -> str:
    """A word without the ending of a plural or of a known verb's form."""
    if word in _FORMS and _FORMS[word] in VERBS:
        return _FORMS[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
