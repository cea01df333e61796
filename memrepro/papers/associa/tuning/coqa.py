"""CoQA: stories, and conversations of questions about them (Reddy et al. 2019), by file and hash.

Read from the authors' `coqa-train-v1.0.json`: `data` is a list of stories, each with an `id`, a
`story`, `questions` of `turn_id` and `input_text`, and `answers` of `turn_id`, `input_text`,
`span_start`, `span_end` and `span_text`, the rationale. The texts have licences of their own (some
are for research alone) and never go into git.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memrepro.data.reading import check_skipped
from memrepro.errors import MemreproError
from memrepro.files import atomic

_ADDRESS = "https://nlp.stanford.edu/data/coqa/"
# How CoQA writes that the story does not tell: this rationale, at no place.
_UNKNOWN, _NOWHERE = "unknown", -1


@dataclass(frozen=True)
class Question:
    """One turn of a conversation.

    Attributes:
        question_id: `<story>-<turn>`, the turn in three digits, so that ids sort in order.
        text: the question as asked, often with a pronoun for what was told before.
        answer: in the answerer's words.
        cue: the rationale, words of the story; '' where the story does not tell.
    """

    question_id: str
    text: str
    answer: str
    cue: str


@dataclass(frozen=True)
class Story:
    """A reading material and the conversation about it.

    Attributes:
        story_id: CoQA's id.
        text: of the story.
        questions: in order of their turns.
    """

    story_id: str
    text: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Coqa:
    """What a file holds.

    Attributes:
        stories: in the file's order.
        skipped: (story or question, reason) of what cannot be used.
        total: how many questions there are, the skipped ones too; a story that cannot be read
            counts as one.
    """

    stories: tuple[Story, ...]
    skipped: tuple[tuple[str, str], ...]
    total: int


def read_coqa(path: Path, sha256: str) -> Coqa:
    """Read CoQA's file, whose hash the caller names; what cannot be used is skipped with a reason.

    Raises:
        MemreproError: if the file is missing, has another sha256 or no list of stories, or too
            many of its questions cannot be used.
    """
    if not path.is_file():
        raise MemreproError(
            f"{path} is not there: fetch coqa-train-v1.0.json from {_ADDRESS} and put it there"
        )
    if (found := atomic.sha256(path)) != sha256:
        raise MemreproError(
            f"{path} has the sha256 {found}, and {sha256} is expected: it is another file or is "
            "damaged; fetch coqa-train-v1.0.json anew, or name the hash of the file that you mean"
        )
    content = atomic.read_json(path)
    entries = content.get("data") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise MemreproError(
            f"{path} has no list 'data' of stories: it must be of the form of coqa-train-v1.0.json"
        )
    stories: dict[str, Story] = {}
    skipped: list[tuple[str, str]] = []
    total = 0
    for number, entry in enumerate(entries, start=1):
        try:
            story_id, text = _text(entry, "id"), _text(entry, "story")
            if story_id in stories:
                raise _Unusable("has an id that stands before")
            questions, answers = _turns(entry, "questions"), _turns(entry, "answers")
        except _Unusable as error:
            skipped.append((f"story {number}", str(error)))
            total += 1
            continue
        total += len(questions)
        usable = []
        for turn, question in questions.items():
            question_id = f"{story_id}-{turn:03d}"
            try:
                usable.append(_question(question_id, question, answers.get(turn)))
            except _Unusable as error:
                skipped.append((question_id, str(error)))
        stories[story_id] = Story(story_id, text, tuple(usable))
    check_skipped(skipped, total, str(path))
    return Coqa(tuple(stories.values()), tuple(skipped), total)


class _Unusable(ValueError):
    """Why an entry cannot be used."""


def _question(question_id: str, question: Mapping[str, Any], answer: Any) -> Question:
    if answer is None:
        raise _Unusable("has no answer of its turn")
    cue = _text(answer, "span_text")
    if cue.casefold() == _UNKNOWN and answer.get("span_start") == _NOWHERE:
        cue = ""
    return Question(question_id, _text(question, "input_text"), _text(answer, "input_text"), cue)


def _turns(entry: Mapping[str, Any], key: str) -> dict[int, Mapping[str, Any]]:
    """The turns of a story by number, in order."""
    listed = entry.get(key)
    if not isinstance(listed, list):
        raise _Unusable(f"has the {key!r} {type(listed).__name__} and no list")
    turns: dict[int, Mapping[str, Any]] = {}
    for one in listed:
        number = one.get("turn_id") if isinstance(one, dict) else None
        if type(number) is not int or number < 1 or number in turns:
            raise _Unusable(f"has among its {key!r} the turn {number!r}, which is none or a second")
        turns[number] = one
    return dict(sorted(turns.items()))


def _text(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise _Unusable(f"has the {key!r} {value!r} and no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Unusable(f"has a {key!r} that is not valid Unicode") from None
    return value.strip()
