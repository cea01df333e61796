"""answers: what published readers answered to LoCoMo's questions, scored by judge and rule."""

import pandas as pd

from memrepro.data import locomo_answers
from memrepro.data.fetch import check_before_use, fetch_all
from memrepro.data.registry import registration
from memrepro.evaluate.answers import contains, locomo_f1, matches
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult


def run(profile: str) -> StageResult:
    """Fetch the answers and write their scores: ids, verdicts and numbers, and no text.

    Raises:
        MemreproError: for an unknown profile, or if a file cannot be had, was changed, or is
            malformed.
    """
    load_plan().check_profile(profile)
    folder, locomo = paths.raw(locomo_answers.DATASET), paths.raw("locomo")
    fetch_all(registration(locomo_answers.DATASET), folder)
    check_before_use(registration("locomo"), locomo)
    scored = pd.DataFrame(
        {
            "reader": one.reader,
            "planted": one.planted,
            "query_id": one.query_id,
            "kind": one.kind,
            "label": one.label,
            **{f"judged_{n}": right for n, right in enumerate(one.judged, start=1)},
            "f1": locomo_f1(one.text, one.gold, one.kind),
            "match": matches(one.text, one.gold),
            "contains": contains(one.text, one.gold),
            "words": len(one.text.split()),
        }
        for one in locomo_answers.stream(folder, locomo)
    )
    target = paths.answers(profile)
    write_table(target, scored)
    summary = scored.groupby("reader", sort=False).agg(
        answers=("query_id", "size"), judged_right=("judged_1", "mean"), f1=("f1", "mean")
    )
    inputs = sorted(path for path in folder.rglob("*.json"))
    return StageResult(f"answers {profile}", summary.round(4), inputs, [target])
