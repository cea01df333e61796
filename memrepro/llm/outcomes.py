"""What became of a prompt: every way in which an answer can be bad has one name.

What cannot be recorded has none: a body that is no answer (nonsense, HTML, half a JSON), a status,
a timeout or a broken connection is tried again, and in the end the run says how many prompts have
no answer. A model that declines in its own words, with no word of it in the protocol, has answered.
"""

from memrepro.llm.model import OVER_LIMIT, REFUSED, TOO_LONG, Answer

OUTCOMES = (
    "answered",
    "empty",  # nothing but white space
    "cut at the limit",  # it used all tokens that were allowed, and did not end
    "over the limit",  # it has more tokens than were allowed
    "too long",  # the prompt, for the model; it was not answered
    "refused",  # the prompt, by the server or its filter; `Answer.finish_reason` says why
    "ended otherwise",  # the server gives a reason that is none of the protocol's
)
# Some servers do not say why an answer ended.
_ENDED = {"stop", ""}


def outcome_of(answer: Answer) -> str:
    """One of `OUTCOMES`."""
    reason = answer.finish_reason
    if reason == TOO_LONG:
        return "too long"
    if reason.startswith(REFUSED) or reason == "content_filter":
        return "refused"
    if reason.startswith(OVER_LIMIT):
        return "over the limit"
    if reason == "length":
        return "cut at the limit"
    if not answer.text.strip():
        return "empty"
    return "answered" if reason in _ENDED else "ended otherwise"
