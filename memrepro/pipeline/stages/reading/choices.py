"""choices: what published readers chose on PersonaMem, scored; kept where the files are not."""

import pandas as pd

from memrepro.data import personamem_choices as source
from memrepro.data.fetch import check_before_use
from memrepro.data.registry import registration
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult


def run(profile: str) -> StageResult:
    """Write each choice: ids, indices and numbers, and no text.

    Where the files are not there the table of an earlier run stays as it is: its rows are pinned by
    the registry.

    Raises:
        MemreproError: for an unknown profile, or if a file is not the registered one.
    """
    load_plan().check_profile(profile)
    questions, target = paths.raw(source.QUESTIONS), paths.choices(profile)
    check_before_use(registration(source.QUESTIONS), questions)
    scored = source.choices(paths.raw(source.DATASET), questions)
    if scored is not None:
        write_table(target, scored)
    elif target.is_file():
        scored = read_table(target)
    else:
        summary = pd.DataFrame({"not run": [source.missing()]})
        return StageResult(f"choices {profile}", summary, [], [])
    summary = scored.groupby(["reader", "memory"], sort=False)["right"].agg(["size", "mean"])
    inputs = sorted(questions.rglob("*.csv"))
    return StageResult(f"choices {profile}", summary.round(4), inputs, [target])
