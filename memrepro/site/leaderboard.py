"""All experiments over all data sets and encoders, each mean with the interval of the tables."""

from collections.abc import Mapping
from typing import NamedTuple

from memrepro.core.similarity import Doubles
from memrepro.evaluate.comparison import Groups, mean_interval
from memrepro.provenance.places import is_evaluated, metrics_of
from memrepro.study.groups import groups_of_questions
from memrepro.study.params import Plan

COLUMNS = (("recall_all", 5), ("recall_all", 10), ("ndcg", 5), ("ndcg", 10))
Column = tuple[str, int]  # metric and cut-off
Run = tuple[str, str]  # experiment and setting
Place = tuple[str, str, tuple[str, ...]]  # data set, level and the ids of the questions
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
    found: list[Entry] = []
    # Experiments on other questions of a data set are not paired with the rest.
    for (dataset, level, questions), runs in _values(profile, plan).items():
        groups = groups_of_questions(dataset, list(questions), plan)
        found += [
            _entry((profile, dataset, level), name, setting, groups, scores, plan)
            for (name, setting), scores in _scored(runs, groups).items()
        ]
    return sorted(found, key=_order)


def _values(profile: str, plan: Plan) -> dict[Place, dict[Run, dict[Column, Doubles]]]:
    """The metrics that are shown, of each run a value a question, in the order of their ids."""
    metrics = metrics_of(profile)
    found: dict[Place, dict[Run, dict[Column, Doubles]]] = {}
    for name in sorted(metrics.experiments):
        if plan.experiment(name).moves_questions:
            continue
        dataset = plan.experiment(name).dataset
        for setting, level, metric, k in metrics.evaluated(name):
            if (metric, k) in COLUMNS:
                table = metrics.values(name, level, metric, k, setting).sort_values("query_id")
                place = dataset, level, tuple(table["query_id"])
                runs = found.setdefault(place, {})
                runs.setdefault((name, setting), {})[metric, k] = table["value"].to_numpy()
    return found


def _order(entry: Entry) -> tuple[str, str, list[float]]:
    """By data set and level, the highest means first; what was not evaluated is last."""
    return entry.dataset, entry.level, [-s.mean if s else 1.0 for s in entry.scores]


def _entry(
    place: tuple[str, str, str], name: str, setting: str, groups: Groups,
    scores: Mapping[Column, Score], plan: Plan,
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
    runs: Mapping[Run, Mapping[Column, Doubles]], groups: Groups
) -> dict[Run, dict[Column, Score]]:
    """The scores of runs that were asked the same questions, which the groups are of."""
    found: dict[Run, dict[Column, Score]] = {run: {} for run in runs}
    for column in COLUMNS:
        values = {run: runs[run][column] for run in found if column in runs[run]}
        intervals = {run: mean_interval(one, groups) for run, one in values.items()}
        if not intervals:
            continue
        best = max(intervals, key=lambda run: intervals[run].mean)
        for run, (mean, low, high) in intervals.items():
            away = mean_interval(values[run] - values[best], groups)
            same = mean == intervals[best].mean
            standing = "best" if same else "" if away.high < 0 else "close"
            found[run][column] = Score(mean, low, high, standing)
    return found
