"""A user's personal facts by rules: which sentences state one, as the user wrote them.

LongMemEval (7be397bb177bc8b7, section 5.3, Appendix D "Value Decomposition", Figure 11 "User
Facts") has a language model extract "all the personal information, life events, experience, and
preferences related to the user". These rules stand in for it: they pick a user's own statements
in the first person and neither reword them nor resolve their pronouns. They are English only.
They need no part-of-speech tagger: of those on the package index TextBlob's and HanTa's carry their
models, and what decides here is which verb follows "I", a closed list.
"""

import re

from memrepro.text.sentences import sentences

MIN_WORDS = 4
MAX_CHARACTERS = 500  # a longer "sentence" is pasted matter

_IRREGULAR = (  # past forms that do not end in -ed
    "ate became began bought broke brought built came caught chose did drank drew drove fell felt "
    "flew forgot fought found gave got grew had held hid hit hurt kept knew led left lent lost "
    "made meant met moved paid put quit ran rang read rode rose said sang sat saw sent set shot "
    "slept sold spent spoke spoilt spread stood stole stuck swam taught thought threw told took "
    "tore understood went were was woke won wore wrote"
)
_PAST = rf"(?:\w{{2,}}ed|{'|'.join(_IRREGULAR.split())})\b"
_ADVERBS = (
    r"(?:(?:just|also|still|even|never|always|often|sometimes|now|once|soon|already|almost|kind of|"
    r"sort of|both|all|so|too|super|pretty|only|not|\w+ly)\s+)*"
)

# Words at the head of a sentence that add nothing to a fact; cut off.
_LEAD = re.compile(
    r"(?:[-*•–>]+\s*|\(?\d{1,3}[.)]\s+|(?:oh|ah|yeah|yes|yep|no|nope|wow|well|hey|hi|hello|ok|okay|"
    r"haha|hmm|so|and|but|also|anyway|actually|btw|by the way|thanks|thank you|sure|cool|great|"
    r"in fact|plus|then|for sure|speaking of which|of course)(?:[,!.…:]+\s*|\s+(?=I\b|I'|my\b|we\b|"
    r"by the way)))+",
    re.IGNORECASE,
)

# A request or question that follows a statement in the same sentence; cut off with all after it.
_TAIL = re.compile(
    r"[\s,;:.–—-]+(?:(?:and|but|so)\s+)?(?:"
    r"(?:i'm|i am|i was|i've been|was|am)\s+(?:also\s+|just\s+)?(?:wondering|curious)\b|"
    r"(?:can|could|would|will|do|did|are|have) you\b|please\b|any (?:tips|ideas|advice|thoughts|"
    r"suggestions|recommendations)\b|(?:thanks|thank you)\b|"
    r"(?<=[,;:.–—-] )(?:what(?:'s)?|how|which|where|why|when|who|should i|do i|can i|is it|"
    r"is there|are there|what about|how about|does|would it|do they)\b(?=[^?]*\?\W*$)).*",
    re.IGNORECASE | re.DOTALL,
)

# A sentence that asks for work: an "I" in it need not be the user.
_ORDER = re.compile(
    r"(?:please|let's|let me|act|add|answer|assume|change|continue|convert|correct|create|describe|"
    r"design|draft|edit|explain|fix|find|generate|give|help|imagine|improve|include|list|make|"
    r"pretend|propose|provide|remind|rephrase|reply|respond|rewrite|revise|show|suggest|summarize|"
    r"tell|translate|use|write|you are|you will|your task|can you|could you|would you|will you|"
    r"do you|don't you)\b",
    re.IGNORECASE,
)

# What "I" does in the talk itself rather than in life.
_TALK = re.compile(
    r"(?:think|thought|guess|mean|meant|hope|wonder|appreciate|see|understand|agree|disagree|know|"
    r"knew|believe|suppose|bet|swear|promise|apologi[sz]e|thank|thanked|hear|heard|realize|"
    r"realized|imagine|look forward|looking forward|ask|asked|asking|mention|mentioned|say|said|"
    r"saying|talking about|talked|chatted|keen to|(?:been )?meaning to ask(?=\W*$)|wish|wait|"
    r"admire|notice that|(?:get|got) it(?=\W*(?:$|[,.!]))|got you|gotta|have no idea|"
    r"had no idea|have (?:a|one|another|some|two|a few) (?:\w+ )?questions?|have to (?:say|admit)|"
    r"must (?:say|admit)|(?:seem|tend) to (?:think|agree)|didn't (?:know|realize|mean)|"
    r"do(?:n't| not) (?:know|think|see|understand|mind|get|believe)|wondering|curious|sorry|afraid|"
    r"confused|(?:not )?(?:quite |entirely |really |completely )?(?:sure|certain)|positive|here|"
    r"impressed|amazed|open to|feel like|felt like|feel you|love (?:you|ya)|"
    r"(?:like|love|liked|loved|enjoy|enjoyed|dig) (?:that|this|these|those|it|how|your|the (?:idea|"
    r"way|sound|thought|concept))|"
    r"(?:(?:so|really|very|super|always|just|more than) )*(?:glad|happy|thrilled|excited|proud|"
    r"pleased|stoked|delighted|thankful|grateful|ready) (?:to (?:hear|see|know|help|share|assist|"
    r"provide|try|learn|have you|be|get started|say)|for (?:you|your|this|that)|of you|"
    r"(?:that )?(?:you|it|we|they)\b|about (?:that|this|it|these))|"
    r"interested in (?:learning|hearing|knowing|finding|getting|the|that|this)|"
    r"(?:\w+ )?looking (?:for|to get)\b[^.]{0,40}\b(?:advice|recommendations?|tips?|suggestions?|"
    r"ideas?|help|information|feedback|inspiration|resources|guidance|ways?|options|recipes|"
    r"updates)|looking for|"
    r"trying to (?:learn|find|understand|figure out|see|say|get|recall|remember)|"
    r"(?:want|need|like|love|wanted|needed) (?:you|it|this|that|help|some|an?|the|more|something|"
    r"your|to (?:know|learn|understand|make sure|see|get|ask|be sure|hear|find|add|confirm|"
    r"thank|say|check|create|write|figure|use|do|emphasi[sz]e|discuss|clarify|start by))|"
    r"(?:want|need|wanted|needed) [\w-]+s\b)\b",
    re.IGNORECASE,
)
_PLAN = re.compile("(?:wi|sha)ll|won't|(?:w|c|sh)ould(?:n't)?|might|may|must|can(?:not|'t)?")
_WISH = re.compile(r"(?:like|love|prefer|rather)\s+(?:to\s+)?\w+", re.IGNORECASE)
_ABILITY = re.compile(r"can(?:not|'t)? (?!(?:do|see|help|get|tell|use|say|wait|be|seem)\b)")
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_WE = frozenset(("are", "were", "have", "had"))
# Words that point at the talk: "I'll try those tips".
_POINTER = re.compile(r"\b(?:this|that|these|those|it|them|they)\b", re.IGNORECASE)

_I = re.compile(
    rf"(?<!\w)(?P<who>I|i|(?<!sure )[Ww]e)(?P<short>'(?:m|ve|d|ll|re))?\s+(?P<rest>{_ADVERBS}"
    r"(?P<aux>(?:am|are|was|were|have|had|do|did|don't|didn't|haven't|wasn't|will|won't|would|"
    r"wouldn't|can|can't|cannot|could|couldn't|should|might|may|must|shall)\s+)?"
    rf"{_ADVERBS}(?P<verb>[\w'].*))",
    re.DOTALL,
)
_MINE = re.compile(
    r"\bmy\s+(?!(?:question|point|guess|apologies|bad|previous|request|pleasure|prompt|god|"
    r"last message|goodness|gosh|next question)\b)(?:[\w'’-]+\s+){0,3}?(?:\w+'s\b|(?:is|are|has|"
    r"have|lives|works|loves|likes|wants|needs|hates|plays|goes|keeps|feels|comes|says|does|can|"
    rf"will)\b|{_PAST})"
    rf"|\b(?:is|was|are|were|'s|been|became)\s+(?:\w+ly\s+|also\s+|still\s+)?(?:one of )?my\b"
    rf"|\bour\s+(?:[\w'’-]+\s+){{1,2}}?{_PAST}",
    re.IGNORECASE,
)
_TO_ME = re.compile(
    r"\b(?:make|help|remind|give|inspire|teach|keep|allow)s?\s+(?:me|us)\b|"
    r"\b(?:made|helped|reminded|gave|inspired|taught|kept|bought|brought|sent|showed|invited|hired|"
    r"told|asked|recommended)\s+(?:me|us)\b",
    re.IGNORECASE,
)
_DROPPED_I = re.compile(
    rf"(?:just|recently|finally|currently|been|still|already)\s+(?:{_ADVERBS})(?:{_PAST}|\w{{3,}}ing\b|"
    r"been\b)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?:it|that|this|these|those|they|he|she|you|there|what)\b", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")
_CODE = re.compile(r"[{}<>|\\=]|https?:|```")


def user_facts(text: str) -> list[str]:
    """The user's statements about their life, in order, once each; each stands so in the text.

    `text` is the user's words alone. A greeting or "by the way" before a statement and a request
    after it are cut off; questions and requests are left out. The time grows in step with the
    length, each sentence being bounded by MAX_CHARACTERS: under 0.5 s per 100,000 characters.
    """
    facts: dict[str, str] = {}
    for sentence in sentences(text):
        if len(sentence) <= MAX_CHARACTERS and (fact := _statement(sentence)):
            facts.setdefault(" ".join(fact.casefold().split()), fact)
    return list(facts.values())


def _statement(sentence: str) -> str:
    """What of the sentence states a fact, or ''."""
    # Quotations judge nothing. The same length throughout, so that places hold for both.
    plain = _QUOTED.sub(lambda m: "_" * len(m[0]), sentence.replace("’", "'"))
    start = match.end() if (match := _LEAD.match(plain)) else 0
    end = match.start() if (match := _TAIL.search(plain, start)) else len(plain)
    fact, plain = sentence[start:end].strip(), plain[start:end].strip()
    if plain.rstrip("\"')”").endswith("?") or len(plain.split()) < MIN_WORDS:
        return ""
    if _CODE.search(plain) or _ORDER.match(plain):
        return ""
    return fact if _personal(plain) else ""


def _personal(said: str) -> bool:
    """Whether it says something of the user's life: one clause is enough."""
    place = 0
    while match := _I.search(said, place):
        if _of_life(match):
            return True
        place = match.end("who")
    if _MINE.search(said):
        return True
    if _TO_ME.search(said) and not _PRONOUN.match(said):
        return True
    return bool(_DROPPED_I.match(said))


def _of_life(match: re.Match[str]) -> bool:
    """Whether a first person's clause is about life, not about the talk or a wish in it."""
    short, aux, verb = match["short"] or "", (match["aux"] or "").strip().lower(), match["verb"]
    if re.match(r"(?:\W*\w+){0,3}\W+(?:you|your)\b", match["rest"], re.IGNORECASE):
        return False
    if (short == "'d" or aux == "would") and _WISH.match(verb):
        return not _TALK.match(verb) and not _POINTER.search(verb)
    if _TALK.match(match["rest"]) or _TALK.match(verb):
        return False
    if short == "'d" and re.match(rf"been\b|{_PAST}", verb, re.IGNORECASE):
        return True
    if short in ("'ll", "'d") or _PLAN.fullmatch(aux):
        own = _OWN.search(verb) or (match["who"] in "Ii" and _ABILITY.match(aux + " " + verb))
        return bool(own) and not _POINTER.search(verb)
    if match["who"].lower() == "we":
        return short in ("'ve", "'re") or aux in _WE or bool(re.match(_PAST, verb))
    return True
