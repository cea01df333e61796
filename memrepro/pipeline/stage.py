"""The work of the stages of dvc.yaml: `memrepro stage NAME …` does it, a notebook then shows it.

The notebook's kernel starts beside the work.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from memrepro.errors import MemreproError
from memrepro.pipeline.unchanged import unchanged
from memrepro.study.result import StageResult


class Stage(NamedTuple):
    """What a stage runs.

    Attributes:
        asks: the names of its arguments, in order.
        modules: below `memrepro`, each with `run(*arguments)`, in order.
        rooms: that decide its result, beside those below all stages.
    """

    asks: tuple[str, ...]
    modules: tuple[str, ...]
    rooms: tuple[str, ...] = ()


_DATA, _READING = "pipeline.stages.data", "pipeline.stages.reading"
_REPORTS = ("audit", "papers", "pipeline", "report")
STAGES = {
    "prepare": Stage(
        ("dataset",), (f"{_DATA}.download", f"{_DATA}.prepare", f"{_DATA}.extract"), ("pipeline",)
    ),
    "embed": Stage(("profile", "dataset"), ("study.embedding",)),
    "retrieve": Stage(("study",), ("study.search.retrieval",)),
    "evaluate": Stage(("profile",), ("study.evaluation",)),
    "answers": Stage(
        ("profile",),
        (f"{_READING}.answers", f"{_READING}.choices", f"{_READING}.labelled"),
        ("pipeline",),
    ),
    "report": Stage(("paper", "profile"), ("pipeline.stages.report",), _REPORTS),
    "audit": Stage(("profile",), ("pipeline.stages.audit",), _REPORTS),
    "verify": Stage(("profile",), ("provenance.verify",), ("provenance", *_REPORTS)),
}


def _asked(name: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The names of a stage's arguments, which must be as many."""
    if name not in STAGES:
        raise MemreproError(f"unknown stage {name!r}: known are {', '.join(STAGES)}")
    asks = STAGES[name].asks
    if len(arguments) != len(asks):
        raise MemreproError(
            f"the stage {name!r} takes {len(asks)} arguments ({', '.join(asks)}), "
            f"found {len(arguments)}"
        )
    return asks


def run_stage(name: str, arguments: Sequence[str]) -> list[StageResult]:
    """Do the work of a stage, and leave a record of what was read and written.

    Args:
        name: of `STAGES`.
        arguments: what it asks for, such as a data set.

    Returns:
        what each of its modules returned; their records lie in `build/stages/`.

    Raises:
        MemreproError: for an unknown stage or argument, whatever stops the work, or code or
            parameters that changed meanwhile.
    """
    _asked(name, arguments)
    stage = STAGES[name]
    with unchanged(f"the stage {name!r}", arguments, stage.rooms):
        done = [import_module(f"memrepro.{one}").run(*arguments) for one in stage.modules]
    for result in done:
        result.record()
    return done


def notebook_of(name: str, arguments: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The notebook that shows a stage, and its parameters.

    Raises:
        MemreproError: for an unknown stage, or arguments that it does not take.
    """
    given = dict(zip(_asked(name, arguments), arguments, strict=True))
    return given.pop("paper", name), given  # a report is shown by its document's notebook


def run_and_show(name: str, arguments: Sequence[str], output: Path) -> list[StageResult]:
    """Do the work of a stage, then execute the notebook that shows it.

    Args:
        name: of `STAGES`.
        arguments: what it asks for, such as a data set; they are the notebook's parameters too.
        output: where the executed notebook goes.

    Raises:
        MemreproError: as `run_stage` and `notebook.execute`.
    """
    from memrepro.pipeline import notebook

    shown, given = notebook_of(name, arguments)
    with notebook.kernel_for(shown) as kernel:
        done = run_stage(name, arguments)
        notebook.execute(shown, given, output, kernel)
    return done
