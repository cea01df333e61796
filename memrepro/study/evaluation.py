"""evaluate: every run of a profile against the qrels; the only stage that reads them."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from memrepro.core.memory import GRANULARITIES, Parts
from memrepro.core.prepared import load_faults, load_places, load_qrels
from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import (
    Judged,
    Ranks,
    Values,
    asked_in,
    evaluate,
    lay_out,
    ranks_of,
)
from memrepro.evaluate.rollup import evaluate_official, levels_of, roll_up
from memrepro.files import paths
from memrepro.files.atomic import read_table, replacing, sha256, write_table
from memrepro.study.params import Experiment, Plan, Protocol, load_plan
from memrepro.study.result import StageResult

METRIC_COLUMNS = ["experiment", "setting", "level", "metric", "k", "query_id", "kind", "value"]
PROTOCOL_COLUMNS = ["experiment", "setting", "level", "protocol", "metric", "k", "n", "value"]
LEDGER_COLUMNS = ["dataset", "level", "protocol", "query_id", "reason"]


@dataclass(frozen=True)
class Gold:
    """What is known of the questions of a data set, as the qrels file has it."""

    kinds: Mapping[str, str]
    faults: Mapping[str, str]
    by_level: Mapping[str, Mapping[str, Parts]]
    places: Mapping[str, str]
    _judged: dict[tuple[str, str], Judged | None] = field(default_factory=dict)

    @cached_property
    def asked(self) -> frozenset[str]:
        """The questions with gold at any level."""
        return frozenset().union(*self.by_level.values())

    def judged(self, level: str, key: str, protocol: Protocol) -> Judged | None:
        """The gold that the protocol of this name counts at a level, laid out once; or None."""
        if (level, key) not in self._judged:
            wanted = self.wanted(level, protocol)
            self._judged[level, key] = lay_out(wanted) if wanted else None
        return self._judged[level, key]

    def wanted(self, level: str, protocol: Protocol) -> Mapping[str, Parts]:
        """The gold of the questions that a protocol counts at a level."""
        left_out = self.left_out(level, protocol)
        gold = self.by_level[protocol.labelled(level)]
        return {query_id: parts for query_id, parts in gold.items() if query_id not in left_out}

    def left_out(self, level: str, protocol: Protocol) -> dict[str, str]:
        """Each question that a protocol does not count at a level, with the reason."""
        gold = self.by_level[protocol.labelled(level)]
        reasons = {
            q: protocol.exclude[kind] for q, kind in self.kinds.items() if kind in protocol.exclude
        }
        for query_id in self.kinds:
            if query_id not in gold and query_id not in reasons:
                reasons[query_id] = self.faults.get(
                    query_id, f"no {level} is marked as its evidence"
                )
        return reasons


def read_gold(profile: str, dataset: str, protocols: Mapping[str, Protocol]) -> Gold:
    """Read a data set's qrels at every level under every labelling."""
    files = (paths.qrels(profile, dataset), paths.places(profile, dataset))
    levels = ("session", "round", "turn")
    named = dict.fromkeys(p.labelled(level) for p in protocols.values() for level in levels)
    # A file that is missing is refused where it is read.
    changed = tuple(path.stat().st_mtime_ns if path.is_file() else 0 for path in files)
    return _read_gold(files, changed, tuple(named))


@lru_cache(maxsize=4)
def _read_gold(files: tuple[Path, Path], changed: tuple[int, ...], levels: tuple[str, ...]) -> Gold:
    """The gold by levels; a report asks for it in many places, another state is read anew."""
    path, places = files
    loaded = {level: load_qrels(path, level) for level in levels}
    kinds = next(iter(loaded.values()))[0]
    by_level = {level: gold for level, (_, gold) in loaded.items()}
    return Gold(kinds, load_faults(path), by_level, load_places(places))


def cutoffs(experiment: Experiment, plan: Plan, own: bool = False) -> list[int]:
    """The cut-offs of an experiment, or of a setting of a sweep.

    One beyond a ranking's length would call a short list a bad one, so that those above the
    retriever's k are left out. With `own` that k is one too, as in a sweep over k.
    """
    depth = experiment.parameters["k"]
    return sorted({k for k in plan.evaluation.ks if k <= depth} | ({depth} if own else set()))


Evaluated = Callable[[Sequence[str], Sequence[int]], Values]


def each_protocol(
    ranking: pd.DataFrame, granularity: str, gold: Gold, protocols: Mapping[str, Protocol],
    settings: Sequence[str] = (),
) -> Iterator[tuple[str, str, Evaluated]]:  # fmt: skip
    """`level, protocol, evaluated` of a ranking, where `evaluated` takes metrics and cut-offs.

    A protocol under whose labels the data set has no gold at a level is passed over there.

    Args:
        ranking: `query_id, doc_id, rank`, in order of rank for each question.
        granularity: what its docs are.
        gold: of its data set.
        protocols: by name.
        settings: those that the ranking's column `setting` names, where it is one of several.
    """
    own = ranks_of(ranking, settings)
    for level in levels_of(granularity):
        rolled = ranking if level == granularity else roll_up(ranking, level, gold.places)
        if rolled is None:
            continue
        ranks = own if rolled is ranking else ranks_of(rolled, settings)
        for key, protocol in protocols.items():
            if (judged := gold.judged(level, key, protocol)) is None:
                continue
            if protocol.roll_up != "official":
                yield level, key, partial(evaluate, ranks, judged)
            # There is something to roll up, and of a kind that the released code knows.
            elif rolled is not ranking and granularity in GRANULARITIES:
                yield level, key, partial(_official, own, gold, granularity, key, protocol)


def _official(
    ranks: Ranks, gold: Gold, granularity: str, key: str, protocol: Protocol,
    names: Sequence[str], ks: Sequence[int],
) -> Values:  # fmt: skip
    judged = gold.judged(granularity, key, protocol) or lay_out({})
    found = evaluate_official(ranks, judged, gold.places, ks)
    return Values(found.query_ids, {pair: v for pair, v in found.by.items() if pair[0] in names})


def evaluate_run(
    name: str, experiment: Experiment, run: pd.DataFrame, plan: Plan, gold: Gold
) -> Iterator[tuple[str, str, str, Values]]:
    """Per-question metrics of one experiment or sweep: setting, level, protocol, values."""
    variants, evaluation = experiment.variants(), plan.evaluation
    check_whole(name, variants, run, gold)
    # All settings that are cut off and rolled up alike at once.
    alike: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for setting, variant in variants.items():
        ks = tuple(cutoffs(variant, plan, experiment.vary == "k"))
        alike.setdefault((variant.granularity, ks), []).append(setting)
    found: dict[str, list[tuple[str, str, Values]]] = {setting: [] for setting in variants}
    for (granularity, ks), together in alike.items():
        part = run[run["setting"].isin(together)] if len(alike) > 1 else run
        settings = together if experiment.vary else ()
        each = each_protocol(part, granularity, gold, evaluation.protocols, settings)
        for level, key, evaluated in each:
            # Sweeps over keys are many: what is kept of them a question is little.
            if key == next(iter(evaluation.protocols)) and not experiment.varies_keys:
                values = evaluated(evaluation.metrics, ks)
            elif few := [k for k in evaluation.protocol_ks if k in ks]:
                values = evaluated(evaluation.protocol_metrics, few)
            else:
                continue
            for number, setting in enumerate(together):
                one = values.of_setting(number) if settings else values
                found[setting].append((level, key, one))
    for setting, of_setting in found.items():
        yield from ((setting, *one) for one in of_setting)


def check_whole(
    name: str, variants: Mapping[str, Experiment], run: pd.DataFrame, gold: Gold
) -> None:
    """Refuse a run that is cut short, or was made for other questions or settings; name the first.

    Under a floor, or within a window of days or a range of dates, a question may find nothing, and
    is then missing from a whole run. One without evidence cannot be asked some days after it.
    """
    each = asked_in(run, [*filter(None, variants)])
    for (setting, experiment), asked in zip(variants.items(), each, strict=True):
        odd = asked - gold.kinds.keys()
        limits = (experiment.parameters.get(name, 0) > 0 for name in ("floor", "warm_days"))
        if not (experiment.ranges or any(limits)):
            odd |= (gold.asked if experiment.asked else gold.kinds.keys()) - asked
        if odd:
            raise MemreproError(
                f"the run {name}{setting and f' [{setting}]'} ranks docs for {len(asked)} "
                f"questions, and {experiment.dataset} has {len(gold.kinds)}; the first that "
                f"differs is {min(odd)!r}: it is cut short or of another edition; `git restore` "
                "brings a committed one back, and `dvc repro` makes it again"
            )


class Measured(NamedTuple):
    """What is kept of one metric at one cut-off, the last three by question."""

    experiment: str
    setting: str
    level: str
    metric: str
    k: int
    query_ids: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Doubles


def metrics_table(measured: Sequence[Measured]) -> pa.Table:
    """`METRIC_COLUMNS`: a row a metric and cut-off; its questions, their kinds and values as lists.

    Questions and kinds are null where they are those of the row above, as values are millions.
    """
    columns: dict[str, Any] = {
        name: [one[place] for one in measured] for place, name in enumerate(METRIC_COLUMNS[:5])
    }
    above = [None, *measured]
    new = [
        before is None or one.query_ids is not before.query_ids or one.kinds is not before.kinds
        for one, before in zip(measured, above, strict=False)
    ]
    for name, place in (("query_id", 5), ("kind", 6)):
        lists = [one[place] if first else None for one, first in zip(measured, new, strict=True)]
        columns[name] = pa.array(lists, pa.large_list(pa.string()))
    columns["value"] = pa.LargeListArray.from_arrays(
        np.cumsum([0, *(len(one.values) for one in measured)]),
        np.concatenate([np.zeros(0), *(one.values for one in measured)]),
    )
    return pa.table(columns)


class EvaluatedProfile(NamedTuple):
    """What evaluation gives of a profile.

    Attributes:
        metrics: by question, see `metrics_table`.
        protocols: summed up, `PROTOCOL_COLUMNS`.
        exclusions: `LEDGER_COLUMNS`.
    """

    metrics: pa.Table
    protocols: pd.DataFrame
    exclusions: pd.DataFrame


def evaluate_profile(profile: str, plan: Plan) -> EvaluatedProfile:
    """Evaluate all runs of a profile, from them and the qrels alone."""
    measured: list[Measured] = []
    sums: list[tuple[str, str, str, str, str, int, int, float]] = []
    ledger: dict[tuple[str, str, str], dict[str, str]] = {}
    protocols = plan.evaluation.protocols
    first = next(iter(protocols))

    @cache
    def gold_of(dataset: str) -> Gold:
        return read_gold(plan.dataset(dataset).profile, dataset, protocols)

    @cache
    def kinds_of(dataset: str, query_ids: tuple[str, ...]) -> tuple[str, ...]:
        kinds = gold_of(dataset).kinds
        return tuple(kinds[query_id] for query_id in query_ids)

    for name, experiment in plan.runs.items():
        if experiment.profile != profile:
            continue
        gold = gold_of(experiment.dataset)
        path = paths.run(profile, name, experiment.study)
        names = [*(["setting"] if experiment.vary else []), "query_id", "doc_id"]
        run = read_table(path, names, [*names, "rank"])
        counted = False
        try:
            for setting, level, key, values in evaluate_run(name, experiment, run, plan, gold):
                sums += [
                    (name, setting, level, key, metric, k, len(column), float(column.mean()))
                    for (metric, k), column in values.by.items()
                ]
                if key == first:
                    asked = (values.query_ids, kinds_of(experiment.dataset, values.query_ids))
                    measured += [
                        Measured(name, setting, level, metric, k, *asked, column)
                        for (metric, k), column in values.by.items()
                    ]
                where = (experiment.dataset, level, key)
                if where not in ledger:
                    ledger[where] = gold.left_out(level, protocols[key])
                counted = True
        except MemreproError as error:
            raise MemreproError(f"{path}: {error}") from error
        if not counted:  # a data set without gold
            where = (experiment.dataset, experiment.granularity, first)
            ledger[where] = gold.left_out(experiment.granularity, protocols[first])
    return EvaluatedProfile(
        metrics_table(measured),
        pd.DataFrame(sums, columns=PROTOCOL_COLUMNS),
        pd.DataFrame(
            [(*where, *pair) for where, reasons in ledger.items() for pair in reasons.items()],
            columns=LEDGER_COLUMNS,
        ),
    )


def metrics_file(profile: str) -> Path:
    """The per-question metrics of a profile, made from its runs and qrels where they are not.

    They are not in git. The file says which rankings, gold and protocols it was made from, so that
    one that is older than those is made again.

    Raises:
        MemreproError: if a run of the profile is missing.
    """
    if not has_metrics(profile):
        plan = load_plan()
        write_metrics(profile, plan, evaluate_profile(profile, plan).metrics)
    return paths.metrics(profile)


def has_metrics(profile: str) -> bool:
    """Whether the per-question metrics are there, made from the runs and qrels as they are."""
    path = paths.metrics(profile)
    # Reports ask in many places: one state of the file is looked at once.
    return path.is_file() and _is_current(profile, path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _is_current(profile: str, path: Path, changed: int) -> bool:
    return _made_of(path) == _state(profile, load_plan())


def write_metrics(profile: str, plan: Plan, metrics: pa.Table) -> Path:
    """Write the per-question metrics, and what they were made from."""
    made = metrics.replace_schema_metadata({_MADE_OF: _state(profile, plan)})
    with replacing(paths.metrics(profile)) as temporary:
        # In parts, as who asks for one number reads no other's.
        pq.write_table(made, temporary, compression="zstd", row_group_size=_ROWS_OF_A_PART)
    return paths.metrics(profile)


_MADE_OF = b"memrepro: made of"
_ROWS_OF_A_PART = 512


def _made_of(path: Path) -> bytes:
    try:
        found: bytes = dict(pq.read_schema(path).metadata or {}).get(_MADE_OF, b"")
        return found
    except (OSError, ValueError):
        return b""


def _state(profile: str, plan: Plan) -> bytes:
    """The digest of all that a profile's metrics follow from, and of how they are laid out."""
    runs = {name: one for name, one in plan.runs.items() if one.profile == profile}
    files = [paths.run(profile, name, one.study) for name, one in runs.items()]
    for dataset in dict.fromkeys(one.dataset for one in runs.values()):
        where = plan.dataset(dataset).profile
        files += [paths.qrels(where, dataset), paths.places(where, dataset)]
    ks = {
        name: [cutoffs(v, plan, one.vary == "k") for v in one.variants().values()]
        for name, one in runs.items()
    }
    digest = hashlib.sha256(repr((METRIC_COLUMNS, plan.evaluation, runs, ks)).encode())
    for path in files:
        digest.update(sha256(path).encode())
    return digest.hexdigest().encode()


def run(profile: str) -> StageResult:
    """Write a profile's per-question metrics, its protocols and its ledger of exclusions."""
    plan = load_plan()
    plan.check_profile(profile)
    found = evaluate_profile(profile, plan)
    outputs = paths.evaluated(profile)
    write_metrics(profile, plan, found.metrics)
    write_table(outputs["protocols"], found.protocols)
    write_table(outputs["exclusions"], found.exclusions)
    first, shown = next(iter(plan.evaluation.protocols)), ["recall_all", "ndcg"]
    sums = found.protocols[found.protocols["protocol"] == first]
    plain = sums[(sums["setting"] == "") & sums["metric"].isin(shown)]
    summary = plain.pivot_table(
        index=["experiment", "level"], columns=["metric", "k"], values="value"
    )
    summary.columns = ["@".join(map(str, column)) for column in summary.columns]
    inputs = [
        paths.run(profile, name, e.study) for name, e in plan.runs.items() if e.profile == profile
    ]
    inputs += sorted((paths.results(profile) / "data").glob("*/qrels.parquet"))
    inputs += sorted((paths.results(profile) / "data").glob("*/places.parquet"))
    return StageResult(f"evaluate {profile}", summary.round(4), inputs, list(outputs.values()))
