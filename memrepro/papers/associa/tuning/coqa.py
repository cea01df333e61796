"""CoQA: stories, and conversations of questions about them (Reddy et al. 2019), by file and hash.

Read from the authors' `coqa-train-v1.0.json`. The texts have licences of their own (some are for
research alone) and never go into git.
"""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, PositiveInt, StringConstraints, ValidationError

from memrepro.data.reading import check_skipped
from memrepro.errors import MemreproError
from memrepro.files import atomic

_ADDRESS = "https://nlp.stanford.edu/data/coqa/"
# How CoQA writes that the story does not tell: this rationale, at no place.
_UNKNOWN, _NOWHERE = "unknown", -1
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Question(NamedTuple):
    """One turn of a conversation: as asked, and answered in the answerer's words.

    `question_id` is `<story>-<turn>`, the turn in three digits, so that ids sort in order; `cue`
    is the rationale, words of the story, or '' where the story does not tell.
    """

    question_id: str
    text: str
    answer: str
    cue: str


class Story(NamedTuple):
    """A reading material and the conversation about it, in order of its turns."""

    story_id: str
    text: str
    questions: tuple[Question, ...]


class Coqa(NamedTuple):
    """What a file holds: its stories in order, and (story or question, reason) of what is skipped.

    `total` counts all questions, the skipped ones too; a story that cannot be read counts as one.
    """

    stories: tuple[Story, ...]
    skipped: tuple[tuple[str, str], ...]
    total: int


class _Turn(BaseModel, strict=True):
    turn_id: PositiveInt


class _Asked(BaseModel, strict=True):
    input_text: _Text


class _Answered(_Asked):
    span_text: _Text
    span_start: int | None = None


class _Entry(BaseModel, strict=True):
    id: _Text
    story: _Text
    questions: list[dict[str, Any]]
    answers: list[dict[str, Any]]


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
    for number, value in enumerate(entries, start=1):
        try:
            entry = _Entry.model_validate(value)
            if entry.id in stories:
                raise ValueError("id: it stands before")
            asked, answers = _by_turn(entry.questions), _by_turn(entry.answers)
        except ValueError as error:
            skipped.append((f"story {number}", fault(error)))
            total += 1
            continue
        total += len(asked)
        usable = []
        for turn in sorted(asked):
            question_id = f"{entry.id}-{turn:03d}"
            try:
                usable.append(_question(question_id, asked[turn], answers.get(turn)))
            except ValueError as error:
                skipped.append((question_id, fault(error)))
        stories[entry.id] = Story(entry.id, entry.story, tuple(usable))
    check_skipped(skipped, total, str(path))
    return Coqa(tuple(stories.values()), tuple(skipped), total)


def _by_turn(listed: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    turns = {_Turn.model_validate(one).turn_id: one for one in listed}
    if len(turns) < len(listed):
        raise ValueError("turn_id: one stands twice")
    return turns


def _question(question_id: str, asked: dict[str, Any], answered: dict[str, Any] | None) -> Question:
    if answered is None:
        raise ValueError("it has no answer of its turn")
    text, answer = _Asked.model_validate(asked).input_text, _Answered.model_validate(answered)
    unknown = answer.span_text.casefold() == _UNKNOWN and answer.span_start == _NOWHERE
    return Question(question_id, text, answer.input_text, "" if unknown else answer.span_text)


def fault(error: ValueError) -> str:
    """What is wrong with a mapping: the field, the rule and what was found."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "the entry"
    found = "" if first["type"] == "missing" else f", not {ascii(first['input'])[:60]}"
    return f"{place}: {first['msg']}{found}"
