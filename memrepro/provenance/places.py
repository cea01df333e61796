"""A place: which values of which run a number is the mean of, and those values."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.profile import Metrics
from memrepro.study.evaluation import evaluate_run, metrics_file, read_gold
from memrepro.study.params import Experiment, Plan, load_plan
from memrepro.study.plan import STANDS_ON

KEYS = ["experiment", "setting", "level", "metric", "k"]


@dataclass(frozen=True)
class Place:
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

    def as_dict(self) -> dict[str, Any]:
        """Its parts by name."""
        return asdict(self)


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


def profiles_of(profile: str) -> tuple[str, ...]:
    """The profiles whose runs a profile's tables stand on, of those that were evaluated."""
    return tuple(p for p in STANDS_ON.get(profile, (profile,)) if paths.protocols(p).is_file())


def values(place: Place) -> pd.DataFrame:
    """`query_id, kind, value` of a place, in the order of the questions.

    Those of the stated protocol are read; those of another are evaluated again from the run.

    Raises:
        MemreproError: if it was not evaluated so.
    """
    if place.protocol == stated():
        profile = entry(place.experiment).profile
        metrics = _metrics(profile, metrics_file(profile).stat().st_mtime_ns)
        found = metrics.values(place.experiment, place.level, place.metric, place.k, place.setting)
    else:
        found = _evaluated(replace(place, kind=""))
    return found[found["kind"] == place.kind] if place.kind else found


@lru_cache(maxsize=3)
def _metrics(profile: str, changed: int) -> Metrics:
    return Metrics(profile)


def run_of(place: Place) -> pd.DataFrame:
    """`query_id, doc_id, rank, score` of the run at its setting."""
    one = entry(place.experiment)
    path = paths.run(one.profile, place.experiment, one.study)
    if not path.is_file():
        raise MemreproError(f"{place.experiment} has not been run: {path} is missing")
    run = _run(path, path.stat().st_mtime_ns)
    return run[run["setting"] == place.setting] if place.setting else run


@lru_cache(maxsize=4)
def _run(path: Path, changed: int) -> pd.DataFrame:
    return read_table(path)


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


def catalogue(profile: str) -> pd.DataFrame:
    """Every mean that a profile's tables could show: a row a place.

    Returns:
        The fields of a `Place`, `n`, the sum `total` of the values, and their mean `value`.
    """
    found = []
    for one in profiles_of(profile):
        path, sums = metrics_file(one), paths.protocols(one)
        found.append(_catalogue(one, path.stat().st_mtime_ns, sums.stat().st_mtime_ns))
    if not found:
        raise MemreproError(f"nothing of {profile!r} was evaluated: run `dvc repro`")
    return pd.concat(found, ignore_index=True)


@lru_cache(maxsize=3)
def _catalogue(profile: str, *changed: int) -> pd.DataFrame:
    names = [*KEYS, "kind"]
    table = pq.read_table(
        metrics_file(profile), columns=[*names, "value"],
        read_dictionary=[name for name in names if name != "k"],
    )  # fmt: skip
    grouped = table.unify_dictionaries().group_by(names)
    sums = grouped.aggregate([("value", "sum"), ("value", "count")])
    for place, name in enumerate(sums.column_names):
        if name in names and name != "k":
            sums = sums.set_column(place, name, pc.cast(sums.column(name), "string"))
    kinds = sums.to_pandas().rename(columns={"value_sum": "total", "value_count": "n"})
    both = kinds.groupby(KEYS, sort=False)[["total", "n"]].sum().reset_index().assign(kind="")
    of_stated = pd.concat([both, kinds], ignore_index=True).assign(protocol=stated())
    others = read_table(paths.protocols(profile))
    others = others[others["protocol"] != stated()].assign(kind="")
    others["total"] = others["value"] * others["n"]
    every = pd.concat([of_stated, others.drop(columns="value")], ignore_index=True)
    every = every.assign(value=every["total"] / every["n"])
    columns = [*Place.__dataclass_fields__, "n", "total", "value"]
    return pd.DataFrame(every[columns])


def places(table: pd.DataFrame) -> Iterator[Place]:
    """The places of rows of a catalogue."""
    fields = list(Place.__dataclass_fields__)
    for row in table[fields].itertuples(index=False):
        yield Place(*row)


@lru_cache(maxsize=50_000)
def means(place: Place) -> dict[str, tuple[float, int]]:
    """Kind ('' is all) → the mean of a place's values, and n; the place's own kind is passed over.

    Kept for as long as the program runs: metrics do not change under it.
    """
    found = values(replace(place, kind=""))
    kinds = [("", found), *found.groupby("kind", sort=True)]
    return {str(kind): (float(part["value"].mean()), len(part)) for kind, part in kinds}
