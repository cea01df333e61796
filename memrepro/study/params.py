"""Reads what runs from `params.yaml`, and checks it.

An unknown key anywhere is an error, so that a slip of the pen never runs with a default.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS
from memrepro.files.atomic import read_yaml, root
from memrepro.retrieve.key_builders import check_key_scheme
from memrepro.study.plan import (
    PROFILES,
    DatasetEntry,
    Embedding,
    Evaluation,
    Experiment,
    Latency,
    Plan,
    Protocol,
    Report,
    Scale,
    family_of,
    named,
)

__all__ = [
    "PROFILES",
    "DatasetEntry",
    "Embedding",
    "Evaluation",
    "Experiment",
    "Latency",
    "Plan",
    "Protocol",
    "Report",
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
            key scheme, method, retriever or parameter, keys that no embedding covers, a traced
            experiment whose retriever has no trace, or experiments timed together that differ in
            data set or encoder.
    """
    path = root() / "params.yaml"
    # A report asks for it in many places.
    return _plan(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=2)
def _plan(path: Path, changed: int) -> Plan:
    from memrepro.encode.models import registry
    from memrepro.retrieve import make_retriever

    tree = read_yaml(path)
    top = (
        "datasets", "embeddings", "graph_embeddings", "tiered_embeddings", "experiments",
        "latency", "scales", "reports", "evaluation", "tuning",
    )  # fmt: skip
    if not isinstance(tree, dict) or set(tree) != set(top):
        raise MemreproError(f"params.yaml must have exactly the keys {', '.join(top)}")
    kinds = ("lexical", "dense", "traced", "graph", "tiered", "sweep", "lexical_sweep")
    for kind in tree["experiments"]:
        _require("experiments", "kind", kind, kinds)
    made = {
        kind: {
            key: build_entry(Experiment, where, entry)
            for where, key, entry in _entries(kind, tree["experiments"].get(kind) or {})
        }
        for kind in kinds
    }
    plan = Plan(
        {k: build_entry(DatasetEntry, f"datasets.{k}", v) for k, v in tree["datasets"].items()},
        {
            key: _embedding(kind, key, entry)
            for kind in ("embeddings", "graph_embeddings", "tiered_embeddings")
            for key, entry in tree[kind].items()
        },
        {k: e for entries in made.values() for k, e in entries.items() if not e.vary},
        {k: e for entries in made.values() for k, e in entries.items() if e.vary},
        {k: build_entry(Report, f"reports.{k}", v) for k, v in tree["reports"].items()},
        _evaluation(tree["evaluation"]),
        frozenset(made["traced"]),
        {k: build_entry(Latency, f"latency.{k}", v) for k, v in tree["latency"].items()},
        {k: build_entry(Scale, f"scales.{k}", v) for k, v in tree["scales"].items()},
    )
    _check_kinds(made)
    groups_of_entries: tuple[Mapping[str, Any], ...] = (
        plan.datasets, plan.embeddings, plan.experiments, plan.sweeps, plan.latency, plan.scales,
        plan.reports,
    )  # fmt: skip
    for entries in groups_of_entries:
        for key, entry in entries.items():
            if "." in key:
                raise MemreproError(f"params.yaml: {key!r} has a dot, at which DVC splits names")
            _require(key, "profile", entry.profile, PROFILES)
    encoders = registry()
    for key, embedding in plan.embeddings.items():
        _require(f"embeddings.{key}", "data set", embedding.dataset, plan.datasets)
        _require(f"embeddings.{key}", "encoder", embedding.encoder, encoders)
    covered = {
        (e.dataset, e.encoder, granularity, key_scheme)
        for e in plan.embeddings.values()
        for granularity, key_schemes in e.keys.items()
        for key_scheme in key_schemes
    }
    for key, entry in {**plan.experiments, **plan.sweeps}.items():
        _require(key, "data set", entry.dataset, plan.datasets)
        if entry.encoder:
            _require(key, "encoder", entry.encoder, encoders)
        if bool(entry.ranges) != bool(entry.dates):
            raise MemreproError(
                f"params.yaml: {key} has ranges {entry.ranges!r} and dates {list(entry.dates)}: a "
                "time filter needs both"
            )
        for e in entry.variants().values():
            check_key_scheme(e.granularity, e.key_scheme)
            if e.encoder and (e.dataset, e.encoder, e.granularity, e.key_scheme) not in covered:
                raise MemreproError(
                    f"params.yaml: {key} searches {e.key_scheme} keys by {e.granularity} of "
                    f"{e.dataset} under {e.encoder}, which no entry of embeddings makes: "
                    "add the key scheme there"
                )
            retriever = make_retriever(e.method, e.retriever, dict(e.parameters))
            if key in plan.traced and not hasattr(retriever, "trace"):
                raise MemreproError(
                    f"params.yaml: {key} is traced, and {e.method}.{e.retriever} leaves no trace: "
                    "move it to dense"
                )
    _check_latency(plan)
    for key, scale in plan.scales.items():
        if not scale.segments or any(type(n) is not int or n < 1 for n in scale.segments):
            raise MemreproError(
                f"params.yaml: scales.{key}.segments is {list(scale.segments)}: give whole numbers "
                "from 1"
            )
    return plan


def _check_latency(plan: Plan) -> None:
    """What is timed together shares a profile, a data set and an encoder, and is no sweep."""
    for key, entry in plan.latency.items():
        if type(entry.repeats) is not int or entry.repeats < 1 or not entry.experiments:
            raise MemreproError(
                f"params.yaml: latency.{key} has repeats {entry.repeats!r} and "
                f"{len(entry.experiments)} experiments: it needs at least one of each"
            )
        for name in entry.experiments:
            _require(f"latency.{key}", "experiment", name, plan.experiments)
            one = plan.experiments[name]
            if entry != replace(
                entry, profile=one.profile, dataset=one.dataset, encoder=one.encoder
            ):
                raise MemreproError(
                    f"params.yaml: latency.{key} times {name}, which searches {one.dataset} under "
                    f"{one.encoder or 'no encoder'} for the profile {one.profile}: experiments "
                    "timed together share the entry's"
                )


# Kinds whose entries stand in groups: under which key, and before the group's name in `group`.
_GROUPED = {
    "sweep": ("sweeps", ""),
    "lexical_sweep": ("sweeps", ""),
    "tiered": ("experiments", "tiered/"),
}


def _entries(kind: str, entries: object) -> list[tuple[str, str, object]]:
    """The experiments of a kind: where each stands, its name, and what params.yaml says of it.

    Sweeps and the experiments of the tiered design stand in groups, each of which gives what its
    experiments share.
    """
    above = f"experiments.{kind}"
    if not isinstance(entries, dict):
        raise MemreproError(f"params.yaml: {above} is {entries!r}: it must be a mapping")
    if kind not in _GROUPED:
        return [(f"{above}.{key}", key, entry) for key, entry in entries.items()]
    within, folder = _GROUPED[kind]
    found: list[tuple[str, str, object]] = []
    for group, shared in entries.items():
        if not isinstance(shared, dict) or not isinstance(shared.get(within), dict):
            raise MemreproError(
                f"params.yaml: {above}.{group} is no group of {within}: it must be a mapping with "
                f"`{within}`, which is one too"
            )
        rest = {k: v for k, v in shared.items() if k != within} | {"group": f"{folder}{group}"}
        for key, entry in shared[within].items():
            where = f"{above}.{group}.{within}.{key}"
            if not isinstance(entry, dict):
                raise MemreproError(f"params.yaml: {where} is {entry!r}: it must be a mapping")
            if twice := sorted(set(entry) & set(rest)):
                raise MemreproError(f"params.yaml: {where} has {twice[0]!r}, which its group gives")
            found.append((where, key, rest | entry))
    return found


def _check_kinds(made: Mapping[str, Mapping[str, Experiment]]) -> None:
    """A name stands in one place, what varies a parameter among sweeps, as one group's name."""
    seen: set[str] = set()
    groups: dict[str, tuple[str, ...]] = {}
    for kind, experiments in made.items():
        for key, e in experiments.items():
            if key in seen:
                raise MemreproError(f"params.yaml: two experiments are called {key!r}: rename one")
            seen.add(key)
            shared = (kind, e.profile, e.dataset, e.encoder, e.method)
            if e.group and groups.setdefault(e.group, shared) != shared:
                raise MemreproError(
                    f"params.yaml: {key} of the group {e.group!r} differs from those before it in "
                    "profile, data set, encoder or method: give it another group"
                )
            if kind not in _GROUPED and (e.vary or e.values or e.group):
                raise MemreproError(f"params.yaml: {key} varies a parameter: move it to sweep")
            if ("lexical" in kind) == bool(e.encoder):
                raise MemreproError(
                    f"params.yaml: {key} of {kind} has the encoder {e.encoder!r}: the lexical "
                    "kinds have none, the others need one"
                )
            family = family_of(e.key_scheme)
            if family != (kind if kind in ("graph", "tiered") else ""):
                raise MemreproError(
                    f"params.yaml: {key} of {kind} has the key scheme {e.key_scheme!r}: those with "
                    "+graph: stand in graph, those with tiers: in tiered, all others elsewhere"
                )
            # A run's length decides its cut-offs: sweep over k by evaluating one run at each k.
            if ("sweep" in kind or e.vary) and (not e.vary or not e.values or e.vary == "k"):
                raise MemreproError(
                    f"params.yaml: sweep {key} has vary {e.vary!r} and {len(e.values)} values: it "
                    "needs a parameter other than k, and at least one value"
                )


def _embedding(kind: str, key: str, entry: object) -> Embedding:
    embedding = build_entry(Embedding, f"{kind}.{key}", entry)
    for granularity, key_schemes in embedding.keys.items():
        for key_scheme in key_schemes:
            check_key_scheme(granularity, key_scheme)
            if family_of(key_scheme) != kind.removesuffix("embeddings").removesuffix("_"):
                raise MemreproError(
                    f"params.yaml: {kind}.{key} has the key scheme {key_scheme!r}: those with "
                    "+graph: stand in graph_embeddings, those with tiers: in tiered_embeddings, "
                    "all others in embeddings"
                )
    return replace(embedding, keys={g: tuple(ks) for g, ks in embedding.keys.items()})


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
