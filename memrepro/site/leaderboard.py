"""All experiments over all data sets and encoders, each mean with the interval of the tables."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from memrepro.evaluate.comparison import Groups, mean_interval
from memrepro.provenance.places import is_evaluated, metrics_of
from memrepro.study.groups import groups_of_questions
from memrepro.study.params import Plan

COLUMNS = (("recall_all", 5), ("recall_all", 10), ("ndcg", 5), ("ndcg", 10))
_NO_ENCODER = {"outside": "not ours"}  # what published rankings were made with, is theirs to say


class Score(NamedTuple):
    """A mean over questions.

    Attributes:
        mean: of the metric.
        low: the lower end of its 95 % interval, by the data set's unit.
        high: the upper end.
        standing: 'best' of its data set and level, 'close' where the paired interval of its
            distance to the best holds 0, '' where it does not.
    """

    mean: float
    low: float
    high: float
    standing: str


class Entry(NamedTuple):
    """A line of the leaderboard.

    `scores` has one for each of `COLUMNS`, None where it was not evaluated; `resampled` is what
    their intervals are of, such as '10 conversations'; `varied` the parameter of a sweep and its
    value, such as 'alpha 0.5'.
    """

    profile: str
    dataset: str
    level: str
    experiment: str
    setting: str
    varied: str
    method: str
    encoder: str
    n: int
    resampled: str
    scores: tuple[Score | None, ...]


def leaderboard(profile: str, plan: Plan) -> list[Entry]:
    """Every experiment and every setting of a sweep at each level at which it was evaluated.

    The best is the highest mean on a data set at a level: 'close' is where the 95 % interval of the
    paired distance to it holds 0, with no correction for how many are compared. Runs that ask at
    times that follow from the evidence are left out.
    """
    if not is_evaluated(profile):
        return []
    frame = _values(profile, plan)
    if frame.empty:
        return []
    datasets = {name: plan.experiment(name).dataset for name in frame["experiment"].unique()}
    frame["dataset"] = frame["experiment"].map(datasets)
    keys = ["experiment", "setting"]
    found: list[Entry] = []
    for (dataset, level), part in frame.groupby(["dataset", "level"], sort=True):
        # Experiments on other questions of the data set would not be paired with the rest.
        runs: dict[frozenset[Any], list[Any]] = {}
        for run, ids in part.groupby(keys, sort=False)["query_id"]:
            runs.setdefault(frozenset(ids), []).append(run)
        for questions, names in runs.items():
            same = part.set_index(keys).loc[names].reset_index()
            groups = groups_of_questions(str(dataset), sorted(questions), plan)
            place = (profile, str(dataset), str(level))
            found += [
                _entry(place, name, setting, groups, scores, plan)
                for (name, setting), scores in _scored(same, groups).items()
            ]
    return sorted(found, key=_order)


def _values(profile: str, plan: Plan) -> pd.DataFrame:
    """`experiment, setting, level, metric, k, query_id, value` of the metrics that are shown."""
    metrics = metrics_of(profile)
    parts = [
        metrics.values(name, level, metric, k, setting)[["query_id", "value"]].assign(
            experiment=name, setting=setting, level=level, metric=metric, k=k
        )
        for name in sorted(metrics.experiments)
        if not plan.experiment(name).moves_questions
        for setting, level, metric, k in metrics.evaluated(name)
        if (metric, k) in COLUMNS
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _order(entry: Entry) -> tuple[str, str, list[float]]:
    """By data set and level, the highest means first; what was not evaluated is last."""
    return entry.dataset, entry.level, [-s.mean if s else 1.0 for s in entry.scores]


def _entry(
    place: tuple[str, str, str], name: str, setting: str, groups: Groups,
    scores: Mapping[tuple[str, int], Score], plan: Plan,
) -> Entry:  # fmt: skip
    experiment = plan.experiment(name)
    method = experiment.method
    if experiment.retriever != method:
        method += f", {experiment.retriever}"
    varied = f"{experiment.vary} {setting}" if setting else ""
    encoder = experiment.encoder or _NO_ENCODER.get(experiment.method, "none (lexical)")
    return Entry(
        *place, name, setting, varied, method, encoder, len(groups.labels), str(groups),
        tuple(scores.get(column) for column in COLUMNS),
    )  # fmt: skip


def _scored(
    part: pd.DataFrame, groups: Groups
) -> dict[tuple[str, str], dict[tuple[str, int], Score]]:
    """Experiment and setting → scores; `part` is of one data set, level and set of questions.

    The groups are of the questions in the order of their ids.
    """
    series = ["metric", "k", "experiment", "setting"]
    wide = part.set_index(["query_id", *series])["value"].unstack(series).sort_index()
    values = wide.to_numpy(np.float64)
    columns: list[Any] = list(wide.columns)  # (metric, k, experiment, setting)
    found: dict[tuple[str, str], dict[tuple[str, int], Score]] = {}
    for metric, k in COLUMNS:
        of = [i for i, column in enumerate(columns) if column[:2] == (metric, k)]
        intervals = {i: mean_interval(values[:, i], groups) for i in of}
        best = max(of, key=lambda i: intervals[i].mean, default=0)
        for i, (mean, low, high) in intervals.items():
            away = mean_interval(values[:, i] - values[:, best], groups)
            same = mean == intervals[best].mean
            standing = "best" if same else "" if away.high < 0 else "close"
            score = Score(mean, low, high, standing)
            found.setdefault(columns[i][2:], {})[metric, k] = score
    return found
