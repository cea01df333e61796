"""Whether an answer is right: as a model says by a rubric, or by rule.

What was answered, and all else that others wrote, reaches a judge as one JSON object in a message
of its own. Its verdict counts only if it is one word, yes or no; else there is none, under a name.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from memrepro.data.gold import Gold
from memrepro.errors import MemreproError
from memrepro.evaluate.answers import contains, locomo_f1, matches
from memrepro.files.atomic import read_yaml
from memrepro.llm.model import Answer, Parameters, Prompt
from memrepro.llm.outcomes import outcome_of

FILE = Path(__file__).with_name("rubrics.yaml")
YES, NO = "Yes", "No"
# Why an answered prompt is no verdict.
NEITHER, BOTH, MORE = "neither yes nor no", "both yes and no", "more than yes or no"
# Phrases that LoCoMo's released evaluation takes for 'it cannot be told', in lower case.
_NOT_TOLD = ("no information available", "not mentioned")
# The same in further words; this project's own list.
_NOT_KNOWN = (
    "no information", "not enough information", "information provided is not enough",
    "did not mention", "didn't mention", "never mentioned", "not specified", "not provided",
    "not known", "do not know", "don't know", "does not say", "do not say", "cannot be told",
    "cannot tell", "cannot answer", "cannot determine", "cannot be determined", "unable to",
    "not possible to",
)  # fmt: skip


@dataclass(frozen=True)
class Rubrics:
    """A family of rubrics, and how a judge is asked.

    Attributes:
        of_kind: kind of question → what the judge is told, and the name of its reference.
        parameters: one word, or which of yes and no is likelier.
    """

    of_kind: Mapping[str, tuple[str, str]]
    parameters: Parameters


def read_rubrics(family: str, *, by_likelihood: bool = False, path: Path = FILE) -> Rubrics:
    """A family of rubrics of the file (see there).

    Args:
        family: such as `strict`.
        by_likelihood: ask which of yes and no is likelier, in one pass: for a model in process.
        path: of a file of that form.

    Raises:
        MemreproError: if the file has no such family.
    """
    entries = read_yaml(path)
    if family not in entries["families"]:
        known = ", ".join(entries["families"])
        raise MemreproError(f"no rubrics {family!r} in {path}: choose one of {known}")
    rubrics = entries["rubrics"]
    of_kind = {
        kind: (
            entries["system"].replace("RUBRIC", rubrics[name]["says"]),
            str(rubrics[name]["reference"]),
        )
        for kind, name in entries["families"][family].items()
    }
    options = (YES, NO) if by_likelihood else ()
    return Rubrics(of_kind, Parameters(maximum_tokens=entries["maximum_tokens"], options=options))


def judge_prompt(gold: Gold, said: str, rubrics: Rubrics) -> Prompt:
    """What a judge is asked about an answer."""
    kind = "abstention" if gold.abstains else gold.kind
    system, reference = rubrics.of_kind.get(kind, rubrics.of_kind["others"])
    shown = {
        "question": gold.question,
        **({"asked_at": gold.asked_at} if gold.asked_at else {}),
        reference: gold.answer,
        **({"a_wrong_answer": gold.wrong} if gold.wrong else {}),
        "answer_to_grade": said,
    }
    return Prompt.from_user(json.dumps(shown, ensure_ascii=False), system, rubrics.parameters)


def verdict(answer: Answer) -> tuple[bool | None, str]:
    """Whether a judge says that an answer is right, or None; and the outcome's name.

    Yes and no count as the only word, whatever signs stand around it.
    """
    outcome = outcome_of(answer)
    if outcome != "answered":
        return None, outcome
    words = re.findall(r"[^\W_]+", answer.without_reasoning.casefold())
    said = {YES.casefold(), NO.casefold()} & set(words)
    if len(said) != 1:
        return None, BOTH if said else NEITHER
    if len(words) > 1:
        return None, MORE
    return words == [YES.casefold()], outcome


class ByRule(NamedTuple):
    """An answer scored by rule: LoCoMo's F1, the same words, gold's words in it."""

    f1: float
    match: bool
    contains: bool


def by_rule(gold: Gold, said: str) -> ByRule:
    """An answer's scores by rule.

    Where it is right to say that it cannot be told, F1 and match are whether an answer says so in
    a phrase of LoCoMo's released evaluation, and contains whether it does in one of more phrases.
    """
    if gold.abstains:
        plain = said.lower().replace("\u2019", "'")
        told = any(phrase in plain for phrase in _NOT_TOLD)
        return ByRule(float(told), told, told or any(phrase in plain for phrase in _NOT_KNOWN))
    f1 = locomo_f1(said, gold.answer, gold.kind)
    return ByRule(f1, matches(said, gold.answer), contains(said, gold.answer))
