"""labelled: what published readers answered to LongMemEval, as counts of right and wrong."""

import pandas as pd

from memrepro.core.prepared import load_qrels
from memrepro.data import labelled_answers as source
from memrepro.files import paths
from memrepro.files.atomic import read_table, root, write_table
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult


def run(profile: str) -> StageResult:
    """Count the labels by reader and type; where the files are not there the last count stays.

    Raises:
        MemreproError: for an unknown profile, or if a file is not the registered one.
    """
    load_plan().check_profile(profile)
    kinds, target = (
        load_qrels(paths.qrels(profile, source.QUESTIONS), "session")[0],
        paths.labelled(profile),
    )
    types = read_table(paths.types(profile, source.QUESTIONS))
    of_abstentions = dict(zip(types["query_id"], types["type"], strict=True))
    found = source.counts(root() / "data" / "raw", {**kinds, **of_abstentions})
    if found is not None:
        write_table(target, found)
    elif not target.is_file():
        summary = pd.DataFrame({"not run": ["the published answers are not here"]})
        return StageResult(f"labelled {profile}", summary, [], [])
    summary = read_table(target).groupby("reader", sort=False)["questions"].agg(["size", "sum"])
    return StageResult(
        f"labelled {profile}", summary, [paths.qrels(profile, source.QUESTIONS)], [target]
    )
