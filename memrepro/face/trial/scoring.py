"""Rankings made elsewhere on the conversations of a trial's folder, beside all of its rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import compare, mean_interval
from memrepro.evaluate.metrics import METRICS
from memrepro.evaluate.multiple import holm
from memrepro.face.runs import docs_in, judging_of, read_metric
from memrepro.face.trial.files import read_rankings, read_source
from memrepro.outside.each import Grouped, by_kind, each_question, whole_memories
from memrepro.outside.runs import OutsideRun, read_against
from memrepro.outside.score import BESIDE_COLUMNS, QUESTION_COLUMNS, VALUE_COLUMNS, Scored
from memrepro.study.evaluation import levels_of

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
    if metric not in METRICS:
        raise MemreproError(f"unknown metric {metric!r}: known are {', '.join(METRICS)}")
    data, told = read_source(folder)
    # A short list is not a bad one: the rows say nothing of what stands below their ends.
    if k > (ranked := read_metric(str(told["metric"]))[1]):
        raise MemreproError(
            f"{folder} ranks {ranked} docs a question, so that its rows have no value at k = {k}: "
            f"give --k {ranked}, or try again with --metric {metric}@{k}"
        )
    level, called = str(told["level"]), data.name
    known = docs_in(data)
    runs = [read_against(path, known, called, level) for path in files]
    rows = [
        OutsideRun(name, folder, level, frame, {}) for name, frame in read_rankings(folder).items()
    ]
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise MemreproError(f"two of {', '.join(map(str, files))} have one name: rename one")
    # A ranking that the trial had too is read anew.
    rows = [row for row in rows if row.name not in names]
    judging = judging_of(data, list(dict.fromkeys([*told["left out"], *leave_out])))
    (protocol,) = judging.protocols.values()
    kinds = {
        query_id: kind for query_id, kind in judging.gold.kinds.items()
        if kind not in protocol.exclude
    }  # fmt: skip
    each = each_question([*runs, *rows], judging.gold, protocol, tuple(METRICS), k)
    values, beside, questions = [], [], []
    for run in runs:
        for at_k in sorted({k, *(one for one in _KS if one <= run.depth)}):
            table = each_question([run], judging.gold, protocol, tuple(METRICS), at_k)
            for at, some in table.groupby("level", sort=False):
                groups = judging.groups(some["query_id"].tolist())
                for name in METRICS:
                    found = mean_interval(some[name].to_numpy(float), groups)
                    values.append(
                        (run.name, at, "stated", name, at_k, len(some), *found, str(groups))
                    )
        for at in levels_of(level):
            own, changed = _beside(each, run, rows + runs, at, metric, judging.groups)
            beside += own
            questions += [(*row[:4], kinds[row[3]], *row[4:]) for row in changed]
    mine = each[each["run"].isin(names)].reset_index(drop=True)
    return Scored(
        called, metric, k, tuple(runs), pd.DataFrame(values, columns=VALUE_COLUMNS),
        pd.DataFrame(beside, columns=BESIDE_COLUMNS),
        pd.DataFrame(questions, columns=QUESTION_COLUMNS), f"the questions of {folder}", mine,
        by_kind(mine, metric, judging.groups), whole_memories(mine, known, k), "rows of the trial",
    )  # fmt: skip


def _beside(
    each: pd.DataFrame, run: OutsideRun, others: Sequence[OutsideRun], level: str, metric: str,
    grouped: Grouped,
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:  # fmt: skip
    """`BESIDE_COLUMNS` of a run, the best first, and the questions that differ from the best's."""
    table = each[each["level"] == level].pivot(index="query_id", columns="run", values=metric)
    if run.name not in table:
        return [], []
    own, groups = table[run.name], grouped(list(table.index))
    names = [one.name for one in others if one.name != run.name and one.name in table]
    found = {name: compare(table[name].to_numpy(), own.to_numpy(), groups) for name in names}
    corrected = holm([one.p for one in found.values()])
    rows: list[tuple[Any, ...]] = [
        (run.name, level, name, "", one.n, float(own.mean()), float(table[name].mean()),
         *one.interval, one.p, p, one.won, one.lost, one.tied, one.groups, one.unit)
        for (name, one), p in zip(found.items(), corrected, strict=True)
    ]  # fmt: skip
    rows.sort(key=lambda row: (-row[6], row[2]))
    changed: list[tuple[Any, ...]] = []
    if rows:
        best = table[rows[0][2]]
        changed = [
            (run.name, level, rows[0][2], q, float(own[q]), float(best[q]),
             "won" if own[q] > best[q] else "lost")
            for q in table.index if own[q] != best[q]
        ]  # fmt: skip
    return rows, changed
