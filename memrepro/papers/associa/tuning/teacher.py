"""What Appendix A has a large model (qwen-plus) write: restored questions, and negative answers.

A teacher is any language model of `memrepro.llm`; its answers are records like all others. Without
one, only questions that stand by themselves are used, and negative answers follow a rule
(`samples.lacking`). The prompts are this project's own.
"""

import re
from collections.abc import Sequence

from pydantic import BaseModel

from memrepro.llm.model import LanguageModel, Parameters, Prompt
from memrepro.llm.structured import parse_all
from memrepro.papers.associa.tuning.coqa import Question, Story
from memrepro.papers.associa.tuning.samples import Sample

# (item, reason) of what the teacher gave no usable answer to.
Items = list[tuple[str, str]]

# Words that may point back.
_POINTING = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|theirs?|(?:him|her|it)self|themselves|this|that|"
    r"these|those|there|then|here|ones?|others?|another|else|same|such|both)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 4  # "Why?" and "Who else?" point back without a pronoun

_RESTORE = (
    "You rewrite the last question of a conversation about a text so that it can be understood "
    "without the conversation: every pronoun and every word left out is replaced by what it stands "
    "for in the text. The question must ask for the same thing and must not tell its answer. A "
    'question that is clear already stays as it is. Reply with one JSON object, {"question": '
    '"..."}, and nothing else.'
)
_DESCRIBE = (
    "You judge whether pieces of evidence suffice to answer a question. The clues that answer it "
    "have been taken out of the evidence; you are shown them apart. Name the entities that the "
    "evidence lacks, as short phrases to search for. Reply with one JSON object, "
    '{"missing": ["..."]}, and nothing else.'
)


class _Restored(BaseModel, extra="forbid", str_strip_whitespace=True):
    question: str


class _Described(BaseModel, extra="forbid", str_strip_whitespace=True):
    missing: list[str]


def stands_alone(question: str) -> bool:
    """Whether a question has words enough and no pronoun that may point back; English only."""
    return len(question.split()) >= _LEAST_WORDS and not _POINTING.search(question)


def restore(
    teacher: LanguageModel, asked: Sequence[tuple[Story, Question]]
) -> tuple[dict[str, str], Items]:
    """The questions with their pronouns restored, by id (step 2), and those without one.

    Raises:
        MemreproError: if the teacher cannot answer.
    """
    prompts = []
    for story, question in asked:
        before = [one for one in story.questions if one.question_id < question.question_id]
        told = "\n".join(f"Q: {one.text}\nA: {one.answer}" for one in before)
        text = f"Text:\n{story.text}\n\nConversation:\n{told}\n\nLast question: {question.text}"
        prompts.append(Prompt.from_user(text, _RESTORE, Parameters(maximum_tokens=128)))
    names = [question.question_id for _, question in asked]
    parsed = parse_all(zip(names, teacher.answer(prompts), strict=True), _Restored)
    restored = {name: value.question for name, value in parsed.values.items() if value.question}
    blank = [name for name in parsed.values if name not in restored]
    lost = [(name, "misfit: the restored question is blank") for name in blank]
    return restored, [*parsed.refused, *lost]


def describe(teacher: LanguageModel, samples: Sequence[Sample]) -> tuple[list[Sample], Items]:
    """Negative samples with what the teacher says is missing (step 5), and those without.

    Raises:
        MemreproError: if the teacher cannot answer.
    """
    prompts = []
    for sample in samples:
        listed = "\n".join(f"{n}. {text}" for n, text in enumerate(sample.evidence, start=1))
        clues = "\n".join(f"- {text}" for text in sample.cues)
        text = f"Question: {sample.query}\n\nEvidence:\n{listed}\n\nClues taken out:\n{clues}"
        prompts.append(Prompt.from_user(text, _DESCRIBE, Parameters(maximum_tokens=256)))
    names = [sample.sample_id for sample in samples]
    parsed = parse_all(zip(names, teacher.answer(prompts), strict=True), _Described)
    described, lost = list[Sample](), list(parsed.refused)
    for sample in samples:
        if sample.sample_id not in parsed.values:
            continue
        told = parsed.values[sample.sample_id].missing
        if missing := tuple(dict.fromkeys(filter(None, told))):
            described.append(sample._replace(missing=missing))
        else:
            lost.append((sample.sample_id, "misfit: nothing is named as missing"))
    return described, lost
