"""Reads what runs from `params.yaml`, and checks it.

An unknown key anywhere is an error, so that a slip of the pen never runs with a default.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS
from memrepro.files.atomic import read_yaml, root
from memrepro.study import grids
from memrepro.study.plan import (
    PROFILES,
    DatasetEntry,
    Evaluation,
    Experiment,
    Latency,
    Plan,
    Protocol,
    Scale,
    named,
)

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
]

T = TypeVar("T")


def build_entry(cls: type[T], where: str, entry: object) -> T:
    """A dataclass from a mapping, every key known and none missing; lists become tuples."""
    if not isinstance(entry, dict):
        raise MemreproError(f"params.yaml: {where} is {entry!r}: it must be a mapping")
    known = fields(cls)  # type: ignore[arg-type]
    if strange := sorted(set(entry) - {f.name for f in known}):
        raise MemreproError(
            f"params.yaml: {where} has the unknown key {strange[0]!r}: "
            f"known are {', '.join(f.name for f in known)}"
        )
    for f in known:
        if "Mapping" in str(f.type) and not isinstance(entry.get(f.name, {}), dict):
            raise MemreproError(
                f"params.yaml: {where}.{f.name} is {entry[f.name]!r}: it must be a mapping"
            )
    if missing := [f.name for f in known if f.default is MISSING and f.name not in entry]:
        raise MemreproError(f"params.yaml: {where} lacks the key {missing[0]!r}")
    return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()})


def _require(where: str, what: str, value: object, known: object) -> None:
    if value not in known:  # type: ignore[operator]
        raise MemreproError(
            f"params.yaml: {where} names the unknown {what} {value!r}: "
            f"known are {', '.join(map(str, known))}"  # type: ignore[call-overload]
        )


def load_plan() -> Plan:
    """Read and check `params.yaml`.

    Raises:
        MemreproError: for an unknown or missing key, profile, data set, encoder, granularity,
            key scheme, method, retriever or parameter, a traced experiment whose retriever has no
            trace, or experiments timed together that differ in profile, data set or encoder.
    """
    path = root() / "params.yaml"
    # A report asks for it in many places.
    return _plan(path, path.stat().st_mtime_ns if path.is_file() else 0)


_TOP = ("datasets", "reports", "studies", "latency", "scales", "evaluation", "tuning")
_STUDY = ("profile", "base", "sets", "axes", "runs")
_FIELDS = frozenset(f.name for f in fields(Experiment)) - {"method", "parameters"}


@lru_cache(maxsize=2)
def _plan(path: Path, changed: int) -> Plan:
    tree = read_yaml(path)
    if not isinstance(tree, dict) or set(tree) != set(_TOP):
        raise MemreproError(f"params.yaml must have exactly the keys {', '.join(_TOP)}")
    datasets = {
        k: build_entry(DatasetEntry, f"datasets.{k}", v) for k, v in tree["datasets"].items()
    }
    for profile in tree["reports"]:
        _require("reports", "profile", profile, PROFILES)
    for key, dataset in datasets.items():
        _require(f"datasets.{key}", "profile", dataset.profile, PROFILES)
    runs: dict[str, Experiment] = {}
    for study, entry in tree["studies"].items():
        for name, one in _runs(study, entry):
            if name in runs:
                raise MemreproError(f"params.yaml: two experiments are called {name!r}: rename one")
            _check_run(name, one, datasets)
            runs[name] = one
    experiments = {name: one for name, one in runs.items() if not one.vary}
    return Plan(
        datasets,
        experiments,
        {name: one for name, one in runs.items() if one.vary},
        {profile: tuple(papers) for profile, papers in tree["reports"].items()},
        _evaluation(tree["evaluation"]),
        {k: _latency(k, v, experiments) for k, v in tree["latency"].items()},
        {k: _scale(k, v) for k, v in tree["scales"].items()},
    )


def _runs(study: str, entry: object) -> Iterator[tuple[str, Experiment]]:
    """The experiments of a study; what is no field of one is a parameter of its retriever."""
    where = f"studies.{study}"
    if not isinstance(entry, dict) or not isinstance(entry.get("runs"), dict):
        raise MemreproError(f"params.yaml: {where} must be a mapping with `runs`, which is one too")
    if strange := sorted(set(entry) - set(_STUDY)):
        raise MemreproError(
            f"params.yaml: {where} has the unknown key {strange[0]!r}: "
            f"known are {', '.join(_STUDY)}"
        )
    for key in (study, *entry["runs"]):
        if "." in key:
            raise MemreproError(f"params.yaml: {key!r} has a dot, at which DVC splits names")
    _require(where, "profile", entry.get("profile"), PROFILES)
    for name, said in grids.runs(entry, where):
        method, _, retriever = str(said.pop("retriever", "")).partition(".")
        own = {key: value for key, value in said.items() if key in _FIELDS}
        rest = {key: value for key, value in said.items() if key not in _FIELDS}
        given = {"profile": entry["profile"], "study": study, "method": method}
        made = own | given | {"retriever": retriever, "parameters": rest}
        yield name, build_entry(Experiment, f"{where}.runs.{name}", made)


def _check_run(key: str, entry: Experiment, datasets: Mapping[str, object]) -> None:
    from memrepro.encode.models import registry
    from memrepro.retrieve import make_retriever
    from memrepro.retrieve.key_builders import check_key_scheme

    _require(key, "data set", entry.dataset, datasets)
    if entry.encoder:
        _require(key, "encoder", entry.encoder, registry())
    if bool(entry.ranges) != bool(entry.dates):
        raise MemreproError(
            f"params.yaml: {key} has ranges {entry.ranges!r} and dates {list(entry.dates)}: a "
            "time filter needs both"
        )
    if bool(entry.vary) != bool(entry.values) or entry.vary == "k":
        # A run's length decides its cut-offs: sweep over k by evaluating one run at each k.
        raise MemreproError(
            f"params.yaml: {key} has vary {entry.vary!r} and {len(entry.values)} values: a sweep "
            "needs a parameter other than k, and at least one value"
        )
    for e in entry.variants().values():
        check_key_scheme(e.granularity, e.key_scheme)
        retriever = make_retriever(e.method, e.retriever, dict(e.parameters))
        if e.traced and (entry.vary or not hasattr(retriever, "trace")):
            raise MemreproError(
                f"params.yaml: {key} is traced, and {e.method}.{e.retriever} leaves no trace, or "
                "it is a sweep: take `traced` away"
            )


def _latency(key: str, entry: object, experiments: Mapping[str, Experiment]) -> Latency:
    """What is timed together shares a profile, a data set and an encoder, and is no sweep."""
    if not isinstance(entry, dict) or set(entry) != {"repeats", "experiments"}:
        raise MemreproError(f"params.yaml: latency.{key} must have repeats and experiments")
    repeats = entry["repeats"]
    names = [name for one in entry["experiments"] for name in grids.expand(one)]
    if type(repeats) is not int or repeats < 1 or not names:
        raise MemreproError(
            f"params.yaml: latency.{key} has repeats {repeats!r} and {len(names)} experiments: it "
            "needs at least one of each"
        )
    for name in names:
        _require(f"latency.{key}", "experiment", name, experiments)
    shared = {(e.profile, e.dataset, e.encoder) for e in (experiments[name] for name in names)}
    if len(shared) > 1:
        raise MemreproError(
            f"params.yaml: latency.{key} times experiments of {sorted(shared)}: those timed "
            "together share a profile, a data set and an encoder"
        )
    return Latency(*shared.pop(), tuple(names), repeats)


def _scale(key: str, entry: object) -> Scale:
    scale = build_entry(Scale, f"scales.{key}", entry)
    _require(f"scales.{key}", "profile", scale.profile, PROFILES)
    if not scale.segments or any(type(n) is not int or n < 1 for n in scale.segments):
        raise MemreproError(
            f"params.yaml: scales.{key}.segments is {list(scale.segments)}: give whole numbers "
            "from 1"
        )
    return scale


def _evaluation(entry: object) -> Evaluation:
    evaluation = build_entry(Evaluation, "evaluation", entry)
    for k in (*evaluation.ks, *evaluation.protocol_ks):
        if type(k) is not int or k < 1:
            raise MemreproError(f"params.yaml: evaluation.ks has {k!r}: give whole numbers from 1")
    for metric in (*evaluation.metrics, *evaluation.protocol_metrics):
        _require("evaluation", "metric", metric, METRICS)
    protocols = {
        key: build_entry(Protocol, f"evaluation.protocols.{key}", value)
        for key, value in evaluation.protocols.items()
    }
    if not protocols:
        raise MemreproError("params.yaml: evaluation.protocols is empty: it needs at least one")
    for key, protocol in protocols.items():
        _require(f"evaluation.protocols.{key}", "roll_up", protocol.roll_up, ("first", "official"))
    return replace(evaluation, protocols=protocols)
