"""How short English statements are worded: patterns for `statements`, closed lists of phrases."""

import re

SPEAKER = re.compile(r"(?!(?:[Ii]|[Mm]y|[Ww]e|[Oo]ur)\b)(\w[\w.' -]{0,40}): (?=\w)")
CONTRACTIONS = (
    (r"\bwon't\b", "will not"), (r"\bcan't\b|\bcannot\b", "can not"), (r"n't\b", " not"),
    (r"'m\b", " am"), (r"'re\b", " are"), (r"'ve\b", " have"), (r"'ll\b", " will"),
    (r"\b(i|we|you|he|she|they)'d (rather|prefer)\b", r"\1 prefer"), (r"'d\b", " would"),
    (r"\b(he|she|it|that|there|name)'s\b", r"\1 is"), (r"\bwould (rather|prefer)\b", "prefer"),
)  # fmt: skip
LEAD = re.compile(
    r"(?:(?:actually|well|oh|yes|yeah|no|so|and|but|also|by the way|now|currently|these days|"
    r"nowadays|lately|recently|at the moment|in fact|honestly|sorry|correction|update|anyway|"
    r"as of (?:now|today|this \w+|last \w+)|since (?:last|this) \w+|this (?:year|month|week)|"
    r"to be honest|personally|unfortunately|sadly|luckily|finally|for the record)\b[,:.!]*\s+)+"
)
TAIL = re.compile(
    r"[\s,]+(?:now|these days|nowadays|currently|at the moment|right now|at present|lately|again|"
    r"too|as well|though|a lot|very much|so much|a great deal|for now|by the way|today|already|"
    r"personally|after all|at all|recently|the most|most of all|best|most|more|instead|actually|"
    r"since (?:last )?\w+|in (?:19|20)\d\d|for (?:\w+ ){1,3}(?:years?|months?|weeks?)(?: now)?|"
    r"(?:last|this|next) (?:year|month|week|spring|summer|autumn|fall|winter|\w+day)|"
    r"(?:on|in) (?:january|february|march|april|may|june|july|august|september|october|november|"
    r"december)|(?:an?|one|two|three|four|five|six|\d+|(?:a )?few|"
    r"a couple of|some) (?:years?|months?|weeks?|days?) ago|yesterday)$"
)
ENDED = re.compile(r"\b(?:any ?more|any longer|no longer)\b")
ADVERBS = re.compile(
    r"\b(?:now|actually|really|just|still|also|currently|recently|usually|mostly|always|often|"
    r"definitely|absolutely|simply|totally|finally|honestly|personally|already|sometimes|"
    r"generally|normally|truly|only|at present|mainly|both|even)\s+"
)
# A denial of a part: not much, not always.
PARTLY = re.compile(
    r"\bnot (?:\w+ )?(?:always|only|just|often|usually|both|necessarily|all|every\w*|much|many|"
    r"quite|mainly|mostly|exactly|normally|generally|enough|a lot|as|so)\b"
)
# Not how things are: what is wanted, planned, supposed, or was so.
OTHER_MOOD = re.compile(
    r"\b(?:will|would|could|should|might|may|must|maybe|perhaps|probably|want|wants|wanted|wish|"
    r"plan|plans|planning|going to|hope|hoping|thinking|considering|consider|need|if only|"
    r"was|were|had|did|almost|nearly|about to|supposed|someday|pretend|dream\w*)\b"
)
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
# Where one lives or works without a name: it excludes no other place.
ANYWHERE = {
    "flat", "house", "apartment", "city", "centre", "center", "village", "town", "countryside",
    "dorm", "studio", "home", "night", "weekend", "office", "desk", "computer", "living", "money",
    "fun", "moment", "suburb", "area", "place", "hotel", "street", "parent", "country", "day",
}  # fmt: skip
# Nouns that name an attribute only before these words.
AS = {
    "job": ("occupation", ("a ", "an ")), "profession": ("occupation", ("a ", "an ")),
    "occupation": ("occupation", ("a ", "an ")), "home": ("residence", ("in ",)),
}  # fmt: skip
# Subjects that may be anybody.
NOBODY = {
    "he", "she", "it", "they", "this", "that", "who", "what", "which", "there", "everyone",
    "everybody", "someone", "somebody", "nobody", "one", "here", "something", "everything",
    "nothing", "you",
}  # fmt: skip
# Verbs that say all by themselves.
ALONE = {"smoke", "drink", "drive", "commute", "volunteer", "teach"}
# Words that point at what was said before.
POINTERS = {
    "it", "that", "this", "them", "those", "these", "you", "him", "her", "so", "there", "me", "one",
}  # fmt: skip
AGE = re.compile(r"(\d{1,3})(?: years? old)?")
CLAUSES = re.compile(r"(?:;|,? (?:and|but|so))\s+(?=(?:i|we|my|our|i'm|i've)\b)", re.IGNORECASE)

# Past forms that tell what is so since → attribute; "*" is whatever one does with it.
_RESULTS = (
    (r"(?:moved|relocated)(?: back)?(?: from (?P<old>.+?))? to (?P<new>.+)", "residence"),
    (r"(?:started (?:work(?:ing)?|a (?:new )?job) (?:at|for|with)|"
     r"(?:got|found) (?:a|the) (?:new )?job (?:at|with)) (?P<new>.+)", "employer"),
    (r"(?:switched|changed|converted)(?: over)?(?: from (?P<old>.+?))? to (?P<new>.+)", "*"),
    (r"(?:replaced|swapped|traded) (?P<old>.+?) (?:with|for|by) (?P<new>.+)", "*"),
    (r"got promoted to (?P<new>.+)", "occupation"),
    (r"(?:sold|donated|gave away|lost|returned|cancelled|canceled) my (?P<gone>.+)", "have"),
    (r"got rid of (?:my )?(?P<gone>.+)", "have"),
    (r"(?:got|became|turned|went) (?P<new>.+)", "be"),
    (r"(?:moved|relocated) (?:away from|out of) (?P<gone>.+)", "residence"),
    (r"(?:quit (?:my job|working) at|left) (?P<gone>.+)", "employer"),
    (r"quit (?P<gone>.+)", "*"),
)  # fmt: skip
# Present predicates of more than a verb → (attribute, negative).
_PHRASES = (
    (r"(?:live|reside|stay) (?:in|at) |(?:am|is|are) based in |(?:am|is|are) living in ",
     "residence", False),
    (r"work as |working as |(?:am|is|are) employed as ", "occupation", False),
    (r"work (?:at|for) |working (?:at|for) |(?:am|is|are) employed (?:at|by) ", "employer", False),
    (r"go by |(?:am|is|are) (?:called|named) ", "name", False),
    (r"(?:am|is|are) (?:very |quite )?(?:fond of|into|keen on) |(?:am|is|are) an? (?:big |huge )?"
     r"(?:fan|lover) of ", "like", False),
    (r"(?:can not|could not) (?:stand|bear) ", "like", True),
    (r"(?:hate|dislike|detest|loathe) ", "like", True),
    (r"(?:like|love|enjoy|adore) ", "like", False),
    (r"prefer ", "prefer", False),
    (r"(?:have got|have|own) ", "have", False),
    (r"(?:am|is|are) (?:studying|majoring in) |(?:study|major in) ", "study", False),
    (r"(?:am|is|are) allergic to ", "allergic", False),
)  # fmt: skip
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "another": 1,
}  # fmt: skip
ARTICLES = {
    "the", "any", "some", "my", "our", "new", "second", "very", "quite", "really", "all",
}  # fmt: skip

RESULTS = tuple((re.compile(pattern), attribute) for pattern, attribute in _RESULTS)
PHRASES = tuple((re.compile(pattern), name, negative) for pattern, name, negative in _PHRASES)
