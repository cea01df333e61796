"""What is right: each question's answer, options and what a judge needs, from the raw files.

No stage that ranks reads this. The texts stay on this machine, under the data set's licence.
"""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from memrepro.data.fetch import check_before_use
from memrepro.data.registry import registration
from memrepro.errors import MemreproError
from memrepro.files import paths

# What stands for the answer where the data only say that there is none.
NEVER_SAID = "This was never mentioned in the conversation."


class Gold(NamedTuple):
    """A question and its answer.

    Attributes:
        query_id: as of the data set's `Query`.
        kind: likewise.
        question: likewise.
        asked_at: likewise, ISO 8601 to the minute or ''.
        answer: the right answer; where the data set has none, `NEVER_SAID`.
        options: of multiple choice, in the data set's order and without their letters.
        correct: the index of the right one, or -1.
        abstains: whether it is right to say that the history does not tell.
        wrong: an answer that the data set names as the wrong one, or ''.
    """

    query_id: str
    kind: str
    question: str
    asked_at: str
    answer: str
    options: tuple[str, ...] = ()
    correct: int = -1
    abstains: bool = False
    wrong: str = ""


def gold_answers(dataset: str) -> dict[str, Gold]:
    """Query id → what is right, in the data set's order.

    Raises:
        MemreproError: if the data set has no answers, or a file is missing, changed or malformed.
    """
    module = _module(dataset)
    if not hasattr(module, "gold"):
        raise MemreproError(
            f"data set {dataset!r} holds questions and evidence, and no answers that memrepro "
            "reads: nothing can be read or judged on it"
        )
    folder = paths.raw(dataset)
    check_before_use(registration(dataset), folder)
    return {one.query_id: one for one in module.gold(folder, dataset)}


def speakers(dataset: str) -> Mapping[str, Mapping[str, str]]:
    """Memory id → field of its turns → the person's name, where the questions call them by it.

    Empty where turns are a user's and an assistant's.
    """
    module = _module(dataset)
    if not hasattr(module, "speakers"):
        return {}
    found: Mapping[str, Mapping[str, str]] = module.speakers(paths.raw(dataset))
    return found


def _module(dataset: str) -> Any:
    return importlib.import_module(f"memrepro.data.{registration(dataset).module}")
