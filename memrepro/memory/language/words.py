"""Closed lists of English words that the rules on statements know."""

# A word of one kind excludes another of it where one thing can only be one ("I am vegan").
_KINDS = {
    "diet": "vegan|vegetarian|pescatarian|omnivore|carnivore|flexitarian",
    "status": "single|married|engaged|divorced|widowed|separated",
    "work": "unemployed|employed|self-employed|retired",
    "colour": "red|blue|green|black|white|yellow|orange|purple|pink|brown|grey|gray|silver",
    "drink": "tea|coffee|water|juice|wine|beer|cola|soda|milk|cocoa|hot chocolate|lemonade|"
    "espresso|cappuccino|latte|matcha|cider|whisky|decaf",
    "travel": "car|bus|train|bike|bicycle|tram|plane|metro|walk|cycle|drive|fly|subway|underground",
    "hours": "morning|evening|afternoon|night",
    "season": "spring|summer|autumn|fall|winter",
    "pet": "cat|dog|rabbit|bird|fish",
    "place": "city|countryside|village|beach|mountain|sea|suburb",
    "channel": "email|e-mail|phone|text|call|video call|letter|message",
    "system": "windows|linux|mac|macos|android|iphone|ios",
    "editor": "vim|emacs|vscode|vs code|nano|notepad",
    "cuisine": "italian food|thai food|indian food|chinese food|japanese food|mexican food|"
    "french food|greek food",
    "music": "jazz|rock|pop|classical music|techno|folk|blues",
    "medium": "book|e-book|audiobook|paperback|hardcover|podcast",
    "sport": "tennis|football|run|swim|basketball|badminton|yoga|golf|rugby",
    "sweetener": "sugar|honey|sweetener|stevia",
    "health": "ill|sick|well|healthy",
    "meat": "chicken|beef|pork|lamb|turkey",
}
# Kinds of which somebody or something is one at a time.
STATES = frozenset(("diet", "status", "work", "colour", "health"))
KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split("|")}

# Verbs in the present that state something lasting; forms in -s and -ing are made of them.
VERBS = frozenset((
    "live", "reside", "stay", "work", "like", "love", "enjoy", "adore", "hate", "dislike",
    "detest", "loathe", "prefer", "have", "own", "study", "major", "drink", "eat", "smoke",
    "play", "speak", "drive", "use", "wear", "take", "train", "read", "watch", "learn",
    "practise", "practice", "teach", "collect", "cook", "bake", "grow", "keep", "ride", "run",
    "swim", "follow", "support", "listen", "rent", "go", "exercise", "attend", "sing", "paint",
    "write", "sleep", "commute", "volunteer",
))  # fmt: skip
# Words between a subject and its verb, or in place of one.
SMALL = frozenset((
    "is", "are", "am", "was", "were", "has", "have", "had", "do", "does", "did", "no", "not",
    "never", "used", "can", "could", "will", "would", "should", "may", "might", "must", "just",
    "still", "also", "now", "recently", "died", "passed",
))  # fmt: skip
# Who one has one of, as a rule.
PEOPLE = frozenset((
    "wife", "husband", "partner", "girlfriend", "boyfriend", "fiance", "fiancee", "fiancé",
    "fiancée", "boss", "manager", "mother", "father", "mum", "mom", "dad", "doctor", "dentist",
    "therapist", "landlord", "landlady", "supervisor",
))  # fmt: skip
# What one has one of.
SINGLE = PEOPLE | {
    "name", "age", "birthday", "email", "email address", "phone number", "number", "address",
    "home", "hometown", "nationality", "job", "profession", "occupation", "employer", "salary",
    "shoe size", "height", "weight", "star sign", "blood type", "major", "postcode", "zip code",
    "nickname", "surname", "last name", "native language", "mother tongue", "time zone", "timezone",
}  # fmt: skip

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
