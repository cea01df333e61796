"""Rankings made elsewhere on the conversations of a trial's folder, beside all of its rows."""

from collections.abc import Sequence
from pathlib import Path

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS, read_metric
from memrepro.face.runs import docs_in, judging_of
from memrepro.face.trial.files import read_rankings, read_source
from memrepro.outside.each import by_kind, each_question, whole_memories
from memrepro.outside.runs import OutsideRun, read_against
from memrepro.outside.score import Scored, beside_others, check_metric, told_apart, values_under

_KS = (1, 5, 10)


def score_on_trial(
    files: Sequence[Path], folder: Path, metric: str, k: int, leave_out: Sequence[str] = ()
) -> Scored:
    """As `outside.score.score`, on the conversations that a trial's folder names.

    Args:
        files: one run each.
        folder: that `memrepro try` wrote.
        metric: what runs are compared by.
        k: its cut-off.
        leave_out: kinds of question that no value counts, beside those the trial left out.

    Raises:
        MemreproError: for a folder or a file that cannot be read, or a k beyond the trial's.
    """
    check_metric(metric, k)
    data, told = read_source(folder)
    level, known = str(told["level"]), docs_in(data)
    runs = told_apart([read_against(path, known, data.name, level) for path in files])
    # A short list is not a bad one: the rows say nothing of what stands below their ends.
    if k > (ranked := read_metric(str(told["metric"]))[1]):
        raise MemreproError(
            f"{folder} ranks {ranked} docs a question, so that its rows have no value at k = {k}: "
            f"give --k {ranked}, or try again with --metric {metric}@{k}"
        )
    names = [run.name for run in runs]
    rows = [
        OutsideRun(name, folder, level, frame, {})
        for name, frame in read_rankings(folder).items()
        if name not in names  # a ranking that the trial had too is read anew
    ]
    judging = judging_of(data, list(dict.fromkeys([*told["left out"], *leave_out])))
    gold, protocols, grouped = judging.gold, judging.protocols, judging.groups
    by, metrics = (metric, k), tuple(METRICS)
    values, kept = values_under(runs, gold, protocols, metrics, {k, *_KS}, by, grouped)
    _, of_rows = values_under(rows, gold, protocols, (metric,), {k}, by, grouped)
    # Rolled up to sessions, so short a list would lose to a longer one for its length.
    others = {(name, "", at): one for (name, at), one in of_rows.items() if at == level}
    (protocol,) = protocols.values()
    each = each_question(runs, gold, protocol, metrics, k)
    return Scored(
        data.name, metric, k, tuple(runs), values,
        *beside_others(kept, others, grouped, gold.kinds), f"the questions of {folder}", each,
        by_kind(each, metric, grouped), whole_memories(each, known, k), "rows of the trial",
    )  # fmt: skip
