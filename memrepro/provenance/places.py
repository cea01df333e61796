"""A place: which values of which run a number is the mean of, and those values."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.files.cached import until_changed
from memrepro.report.profile import Metrics, of_kind
from memrepro.study.evaluation import evaluate_run, read_gold
from memrepro.study.params import Experiment, Plan, load_plan
from memrepro.study.plan import STANDS_ON


class Place(NamedTuple):
    """The values of one run that a number is the mean of.

    Attributes:
        experiment: by its name in params.yaml.
        setting: of a sweep, otherwise ''.
        level: what is found: 'session', 'round' or 'turn'.
        protocol: which questions count, by whose labels.
        metric: by its name in `memrepro.evaluate.metrics`.
        k: the cut-off.
        kind: of the questions; '' for all.
    """

    experiment: str
    setting: str
    level: str
    protocol: str
    metric: str
    k: int
    kind: str = ""

    def __str__(self) -> str:
        """One line for people."""
        run = f"{self.experiment} [{self.setting}]" if self.setting else self.experiment
        kind = f", {self.kind}" if self.kind else ""
        return f"{run}: {self.metric}@{self.k} by {self.level}, {self.protocol}{kind}"


@lru_cache(maxsize=1)
def plan() -> Plan:
    """params.yaml, read once."""
    return load_plan()


def stated() -> str:
    """The protocol of which every question's value is kept: the first of params.yaml."""
    return next(iter(plan().evaluation.protocols))


def variant(place: Place) -> Experiment:
    """The experiment at its setting."""
    return entry(place.experiment).variants()[place.setting]


def entry(experiment: str) -> Experiment:
    """An experiment or a sweep of params.yaml."""
    return plan().experiment(experiment)


def is_evaluated(profile: str) -> bool:
    """Whether a profile has results: its evaluation writes the sums of all protocols."""
    return paths.protocols(profile).is_file()


def profiles_of(profile: str) -> tuple[str, ...]:
    """The profiles whose runs a profile's tables stand on, of those that were evaluated."""
    return tuple(filter(is_evaluated, STANDS_ON.get(profile, (profile,))))


def values(place: Place) -> pd.DataFrame:
    """`query_id, kind, value` of a place, in the order of the questions.

    Those of the stated protocol are kept; those of another are evaluated again from the run.

    Raises:
        MemreproError: if it was not evaluated so.
    """
    if place.protocol == stated():
        metrics = metrics_of(entry(place.experiment).profile)
        found = metrics.values(place.experiment, place.level, place.metric, place.k, place.setting)
    else:
        found = _evaluated(place._replace(kind=""))
    dataset = entry(place.experiment).dataset
    home = plan().dataset(dataset).profile
    return of_kind(found, place.kind, lambda: paths.qrels(home, dataset))


@lru_cache(maxsize=3)
def metrics_of(profile: str) -> Metrics:
    """The per-question values of a profile, read once: they do not change under a command."""
    return Metrics(profile)


def run_file(experiment: str) -> Path:
    """The file of an experiment's run, or of all runs of a sweep."""
    one = entry(experiment)
    return paths.run(one.profile, experiment, one.study)


def run_of(place: Place) -> pd.DataFrame:
    """`query_id, doc_id, rank, score` of the run at its setting."""
    path = run_file(place.experiment)
    if not path.is_file():
        raise MemreproError(f"{place.experiment} has not been run: {path} is missing")
    run = _run(path)
    return run[run["setting"] == place.setting] if place.setting else run


_run = until_changed(4)(read_table)


@lru_cache(maxsize=64)
def _evaluated(place: Place) -> pd.DataFrame:
    """The values under a protocol of which only the sum is kept."""
    one, whole = variant(place), plan()
    chosen = {place.protocol: whole.evaluation.protocols[place.protocol]}
    evaluation = replace(
        whole.evaluation,
        protocols=chosen, ks=(place.k,), metrics=(place.metric,), protocol_ks=(place.k,),
        protocol_metrics=(place.metric,),
    )  # fmt: skip
    gold = read_gold(whole.dataset(one.dataset).profile, one.dataset, chosen)
    alone = replace(whole, evaluation=evaluation)
    for _, level, _, found in evaluate_run(place.experiment, one, run_of(place), alone, gold):
        if level == place.level and (place.metric, place.k) in found.by:
            kinds = [gold.kinds[query_id] for query_id in found.query_ids]
            value = found.by[place.metric, place.k]
            return pd.DataFrame({"query_id": found.query_ids, "kind": kinds, "value": value})
    raise MemreproError(f"no {place}: params.yaml does not evaluate it so")


@lru_cache(maxsize=50_000)
def means(place: Place) -> dict[str, tuple[float, int]]:
    """Kind ('' is all) → the mean of a place's values, and n; the place's own kind is passed over.

    Kept for as long as the program runs: metrics do not change under it.
    """
    found = values(place._replace(kind=""))
    kinds = [("", found), *found.groupby("kind", sort=True, observed=True)]
    return {str(kind): (float(part["value"].mean()), len(part)) for kind, part in kinds}


def mean_of(place: Place) -> tuple[float, int]:
    """The mean of a place's values, and n.

    Raises:
        MemreproError: if it was not evaluated so, or there are no questions of its kind.
    """
    if place.kind in (known := means(place)):
        return known[place.kind]
    if (found := values(place)).empty:
        raise MemreproError(f"{place}: there are no questions of that kind")
    return float(found["value"].mean()), len(found)


def evaluated(profile: str, experiments: Collection[str]) -> Iterator[tuple[Place, float, int]]:
    """Every mean of some experiments of a profile: its place, the mean, and n.

    Under the stated protocol each kind of question has its own; under the others there is only the
    mean of all.
    """
    for one in profiles_of(profile):
        for name in sorted(metrics_of(one).experiments.intersection(experiments)):
            for setting, level, metric, k in metrics_of(one).evaluated(name):
                place = Place(name, setting, level, stated(), metric, k)
                for kind, (mean, n) in means(place).items():
                    yield place._replace(kind=kind), mean, n
        sums = read_table(paths.protocols(one))
        sums = sums[(sums["protocol"] != stated()) & sums["experiment"].isin(list(experiments))]
        for *parts, mean, n in sums[[*Place._fields[:-1], "value", "n"]].itertuples(index=False):
            yield Place(*parts), float(mean), int(n)
