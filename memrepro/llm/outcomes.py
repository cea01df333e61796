"""What became of a prompt: every way in which an answer can be bad has one name.

What cannot be recorded has none: a body that is no answer (nonsense, HTML, half a JSON), a status,
a timeout or a broken connection is tried again, and in the end the run says how many prompts have
no answer.

A model may decline in its own words, with no word of it in the protocol. Its answer counts like any
other, since where a history does not hold the answer it may be right to say so; only its name is
its own. It declines if its first words are that it cannot, may not or will not help, answer or do
what else `_DECLINES` lists, after an apology, a regret or what it is, if anything. What it says
later, or of others, is not read, and other languages are not known.
"""

import re

from memrepro.llm.model import OVER_LIMIT, REFUSED, TOO_LONG, Answer

DECLINED = "declined"
OUTCOMES = (
    "answered",
    "empty",  # nothing but white space
    DECLINED,  # in the model's own words, to its end or cut
    "cut at the limit",  # it used all tokens that were allowed, and did not end
    "over the limit",  # it has more tokens than were allowed
    "too long",  # the prompt, for the model; it was not answered
    "refused",  # the prompt, by the server or its filter; `Answer.finish_reason` says why
    "ended otherwise",  # the server gives a reason that is none of the protocol's
)
# The reasons of the protocol, and what servers of other makers say in their place, in lower case.
_ENDED = {"", "stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete"}
_CUT = {"length", "max_tokens", "model_length"}
_FILTERED = {"content_filter", "safety", "recitation", "prohibited_content", "refusal"}
_FIRST = 200  # characters in which an answer may decline
_DECLINES = re.compile(
    r"\W{0,4}(?:(?:(?:i'm |i am )?(?:very |so |really )?sorry\b|(?:i |my )?apolog|unfortunately"
    r"|as an? (?:ai|language model|assistant)\b)[^.!?]{0,40}?\W{1,4}(?:but )?){0,2}"
    r"i(?:'m| am)? (?:can't|cannot|can not|could not|couldn't|won't|will not|may not|unable to"
    r"|not able to|not allowed to|must decline to|have to decline to|decline to)"
    r" (?:help|assist|answer|respond|provide|share|disclose|discuss|comply|fulfill?|engage|continue"
    r"|participate|do (?:that|this))\b",
    re.IGNORECASE,
)


def outcome_of(answer: Answer) -> str:
    """One of `OUTCOMES`."""
    reason = answer.finish_reason
    if reason == TOO_LONG:
        return "too long"
    if reason.startswith(REFUSED) or reason.lower() in _FILTERED:
        return "refused"
    if reason.startswith(OVER_LIMIT):
        return "over the limit"
    if _DECLINES.match(answer.without_reasoning[:_FIRST].replace("\u2019", "'")):
        return DECLINED
    if was_cut(answer):
        return "cut at the limit"
    if reason.lower() not in _ENDED:
        return "ended otherwise"
    return "answered" if answer.without_reasoning.strip() else "empty"


def was_cut(answer: Answer) -> bool:
    """Whether an answer used all tokens that were allowed, and did not end."""
    return answer.finish_reason.lower() in _CUT
