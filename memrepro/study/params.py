"""Reads what runs from `params.yaml`, and checks it.

An unknown key anywhere is an error, so that a slip of the pen never runs with a default.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError, cut
from memrepro.evaluate.metrics import METRICS
from memrepro.files.atomic import read_yaml, root
from memrepro.files.checked import T, checked
from memrepro.study import grids
from memrepro.study.plan import (
    PROFILES,
    DatasetEntry,
    Evaluation,
    Experiment,
    Latency,
    LatencyEntry,
    Plan,
    Protocol,
    ProtocolEntry,
    Scale,
    StudyEntry,
    named,
)
from memrepro.study.readings import reading_studies

__all__ = [
    "PROFILES",
    "DatasetEntry",
    "Evaluation",
    "Experiment",
    "Latency",
    "Plan",
    "Protocol",
    "Scale",
    "build_entry",
    "load_plan",
    "named",
    "params_tree",
]


def build_entry(cls: type[T], where: str, entry: object) -> T:
    """A dataclass from an entry of `params.yaml`; see `checked`."""
    return checked(cls, f"params.yaml: {where}", entry)


def _require(where: str, what: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise MemreproError(
            f"params.yaml: {where} names the unknown {what} {value!r}: known are "
            f"{cut(', '.join(known), 160)}"
        )


def load_plan() -> Plan:
    """Read and check `params.yaml`.

    Raises:
        MemreproError: for an unknown or missing key, profile, data set, encoder, granularity,
            key scheme, method, retriever or parameter, a traced experiment whose retriever has no
            trace, or experiments timed together that differ in profile, data set or encoder.
    """
    return _plan(*_params())


def params_tree() -> Any:
    """What `params.yaml` holds, as YAML has it; not to be changed.

    Raises:
        MemreproError: if it is missing or malformed.
    """
    return _tree(*_params())


def _params() -> tuple[Path, int]:
    """The file and when it changed: many places ask for it, and read it once."""
    path = root() / "params.yaml"
    return path, path.stat().st_mtime_ns if path.is_file() else 0


@lru_cache(maxsize=2)
def _tree(path: Path, changed: int) -> Any:
    return read_yaml(path)


_TOP = ("datasets", "reports", "studies", "latency", "scales", "evaluation", "tuning")
_OPTIONAL = ("reading", "models", "cluster")
_FIELDS = frozenset(f.name for f in fields(Experiment)) - {"method", "parameters"}


@lru_cache(maxsize=2)
def _plan(path: Path, changed: int) -> Plan:
    tree = _tree(path, changed)
    if not isinstance(tree, dict) or set(tree) - set(_OPTIONAL) != set(_TOP):
        raise MemreproError(
            f"params.yaml must have exactly the keys {', '.join(_TOP)}, and may have "
            f"{', '.join(_OPTIONAL)}"
        )
    datasets = {
        k: build_entry(DatasetEntry, f"datasets.{k}", v) for k, v in tree["datasets"].items()
    }
    for profile in tree["reports"]:
        _require("reports", "profile", profile, PROFILES)
    runs: dict[str, Experiment] = {}
    for study, entry in tree["studies"].items():
        for name, one in _runs(study, entry):
            if name in runs:
                raise MemreproError(f"params.yaml: two experiments are called {name!r}: rename one")
            _check_run(name, one, datasets)
            runs[name] = one
    experiments = {name: one for name, one in runs.items() if not one.vary}
    models = tree.get("models") or {}
    if not isinstance(cluster := tree.get("cluster") or "", str):
        raise MemreproError(
            f"params.yaml: cluster is {cluster!r}: write host:port, local:N, or null for none"
        )
    return Plan(
        datasets,
        experiments,
        {name: one for name, one in runs.items() if one.vary},
        {profile: tuple(papers) for profile, papers in tree["reports"].items()},
        _evaluation(tree["evaluation"]),
        {k: _latency(k, v, experiments) for k, v in tree["latency"].items()},
        {k: build_entry(Scale, f"scales.{k}", v) for k, v in tree["scales"].items()},
        models,
        reading_studies(tree.get("reading") or {}, datasets, runs, models),
        cluster,
    )


def _runs(study: str, entry: object) -> Iterator[tuple[str, Experiment]]:
    """The experiments of a study; what is no field of one is a parameter of its retriever."""
    where = f"studies.{study}"
    made = build_entry(StudyEntry, where, entry)
    for key in (study, *made.runs):
        if "." in key:
            raise MemreproError(f"params.yaml: {key!r} has a dot, at which DVC splits names")
    for name, said in grids.runs(made, where):
        method, _, retriever = str(said.pop("retriever", "")).partition(".")
        own = {key: value for key, value in said.items() if key in _FIELDS}
        rest = {key: value for key, value in said.items() if key not in _FIELDS}
        own |= {"profile": made.profile, "study": study, "method": method}
        own |= {"retriever": retriever, "parameters": rest}
        yield name, build_entry(Experiment, f"{where}.runs.{name}", own)


def _check_run(key: str, entry: Experiment, datasets: Collection[str]) -> None:
    from memrepro.encode.models import registry
    from memrepro.retrieve import make_retriever
    from memrepro.retrieve.key_builders import key_builder_for

    _require(key, "data set", entry.dataset, datasets)
    if entry.encoder:
        _require(key, "encoder", entry.encoder, registry())
    if bool(entry.ranges) != bool(entry.dates):
        raise MemreproError(
            f"params.yaml: {key} has ranges {entry.ranges!r} and dates {list(entry.dates)}: a "
            "time filter needs both"
        )
    if bool(entry.vary) != bool(entry.values):
        raise MemreproError(
            f"params.yaml: {key} has vary {entry.vary!r} and {len(entry.values)} values: a sweep "
            "needs a parameter and at least one value"
        )
    for e in entry.variants().values():
        _check_keys(e.granularity, e.key_scheme)
        if e.asked and not key_builder_for(e.key_scheme).timed:
            raise MemreproError(
                f"params.yaml: {key} is asked {e.asked} days after its evidence, and keys of the "
                f"scheme {e.key_scheme!r} have no times, so that it would see what was said later"
            )
        retriever = make_retriever(e.method, e.retriever, dict(e.parameters))
        if e.traced and (entry.vary or not hasattr(retriever, "trace")):
            raise MemreproError(
                f"params.yaml: {key} is traced, and {e.method}.{e.retriever} leaves no trace, or "
                "it is a sweep: take `traced` away"
            )


@cache
def _check_keys(granularity: str, key_scheme: str) -> None:
    """Hundreds of runs share a few key schemes."""
    from memrepro.retrieve.key_builders import check_key_scheme

    check_key_scheme(granularity, key_scheme)


def _latency(key: str, entry: object, experiments: Mapping[str, Experiment]) -> Latency:
    """What is timed together shares a profile, a data set and an encoder, and is no sweep."""
    made = build_entry(LatencyEntry, f"latency.{key}", entry)
    names = [name for one in made.experiments for name in grids.expand(one)]
    for name in names:
        _require(f"latency.{key}", "experiment", name, experiments)
    shared = {(e.profile, e.dataset, e.encoder) for e in (experiments[name] for name in names)}
    if len(shared) > 1:
        raise MemreproError(
            f"params.yaml: latency.{key} times experiments of {sorted(shared)}: those timed "
            "together share a profile, a data set and an encoder"
        )
    return Latency(*shared.pop(), tuple(names), made.repeats)


def _protocol(where: str, entry: object, exclude: Mapping[str, str]) -> Protocol:
    """A protocol, which leaves out the kinds of question that all do but for those it keeps."""
    made = build_entry(ProtocolEntry, where, entry)
    for kind in made.keep:
        _require(where, "kind", kind, exclude)
    left_out = {kind: reason for kind, reason in exclude.items() if kind not in made.keep}
    return Protocol(made.labels, left_out, made.roll_up)


def _evaluation(entry: object) -> Evaluation:
    if isinstance(entry, Mapping) and isinstance(entry.get("protocols"), Mapping):
        protocols = {
            key: _protocol(f"evaluation.protocols.{key}", value, entry.get("exclude") or {})
            for key, value in entry["protocols"].items()
        }
        entry = {**entry, "protocols": protocols}
    evaluation = build_entry(Evaluation, "evaluation", entry)
    for metric in (*evaluation.metrics, *evaluation.protocol_metrics):
        _require("evaluation", "metric", metric, METRICS)
    if not evaluation.protocols:
        raise MemreproError("params.yaml: evaluation.protocols is empty: it needs at least one")
    return evaluation
