"""What runs: the data sets, embeddings, experiments and reports of `params.yaml`, checked.

An unknown key anywhere is an error, so that a slip of the pen never runs with a default.
"""

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, TypeVar

from memrepro.errors import MemreproError
from memrepro.keys import KEYINGS
from memrepro.memory import GRANULARITIES
from memrepro.metrics import METRICS
from memrepro.store import read_yaml, root

PROFILES = ("sample", "open", "full")


@dataclass(frozen=True)
class DatasetEntry:
    """A data set that a profile prepares; `module` loads it, `parameters` are its compiler's."""

    profile: str
    module: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Embedding:
    """Which keys of a data set an encoder embeds: granularity → keyings."""

    profile: str
    dataset: str
    encoder: str
    keys: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Experiment:
    """One run: a data set's docs under a keying, searched by a retriever.

    Attributes:
        profile: whose results folder the run lies in.
        dataset: key of the data set.
        granularity: what a doc is, 'round' or 'session'.
        keying: which of its texts are keys.
        method: the family's module under `memrepro.retrievers`.
        retriever: the retriever's name in it.
        parameters: the retriever's.
        encoder: key of the encoder; '' for a lexical one.
        vary: in a sweep, the parameter that takes each of `values`; '' otherwise.
        values: of the sweep.
    """

    profile: str
    dataset: str
    granularity: str
    keying: str
    method: str
    retriever: str
    parameters: Mapping[str, Any]
    encoder: str = ""
    vary: str = ""
    values: tuple[Any, ...] = ()

    def settings(self) -> dict[str, dict[str, Any]]:
        """The parameters of each run: one named '' for an experiment, one a value for a sweep."""
        if not self.vary:
            return {"": dict(self.parameters)}
        return {str(value): {**self.parameters, self.vary: value} for value in self.values}


@dataclass(frozen=True)
class Report:
    """A notebook of tables and figures about one profile; `paper` names both."""

    profile: str
    paper: str


@dataclass(frozen=True)
class Evaluation:
    """Cut-offs, metrics, and the kinds of question left out, with the reason."""

    ks: tuple[int, ...]
    metrics: tuple[str, ...]
    excluded_kinds: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """All of `params.yaml`."""

    datasets: Mapping[str, DatasetEntry]
    embeddings: Mapping[str, Embedding]
    experiments: Mapping[str, Experiment]
    sweeps: Mapping[str, Experiment]
    reports: Mapping[str, Report]
    evaluation: Evaluation

    def check_report(self, profile: str, paper: str) -> None:
        """Refuse a report that is not planned; the full profile's stands on the open one's."""
        planned = {(r.profile, r.paper) for r in self.reports.values()} | {("full", "rfmem")}
        if (profile, paper) not in planned:
            known = ", ".join(f"{paper} on {profile}" for profile, paper in sorted(planned))
            raise MemreproError(
                f"no report {paper!r} on the profile {profile!r}: known are {known}"
            )

    def check_profile(self, profile: str) -> None:
        """Refuse an unknown profile."""
        if profile not in PROFILES:
            raise MemreproError(f"unknown profile {profile!r}: known are {', '.join(PROFILES)}")

    def dataset(self, key: str) -> DatasetEntry:
        """A data set by key; an unknown one is an error that lists the known ones."""
        return _named("data set", self.datasets, key)

    def embedding(self, key: str) -> Embedding:
        """An embedding by key; an unknown one is an error that lists the known ones."""
        return _named("embedding", self.embeddings, key)

    def experiment(self, key: str) -> Experiment:
        """An experiment or sweep by key; an unknown one is an error that lists the known ones."""
        return _named("experiment", {**self.experiments, **self.sweeps}, key)


T = TypeVar("T")


def _named(what: str, known: Mapping[str, T], key: str) -> T:
    if key not in known:
        near = difflib.get_close_matches(key, known, n=3, cutoff=0.3) or list(known)[:3]
        raise MemreproError(
            f"unknown {what} {key!r}: the nearest of the {len(known)} in params.yaml are "
            f"{', '.join(near)}; choose one or add it there"
        )
    return known[key]


def _build(cls: type[T], where: str, entry: object) -> T:
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
            keying, method, retriever or parameter, or keys that no embedding covers.
    """
    from memrepro.models import registry
    from memrepro.retrievers import make_retriever

    tree = read_yaml(root() / "params.yaml")
    top = ("datasets", "embeddings", "experiments", "reports", "evaluation")
    if not isinstance(tree, dict) or set(tree) != set(top):
        raise MemreproError(f"params.yaml must have exactly the keys {', '.join(top)}")
    groups = ("lexical", "dense", "sweep")
    for group in tree["experiments"]:
        _require("experiments", "group", group, groups)
    made = {
        group: {
            key: _build(Experiment, f"experiments.{group}.{key}", entry)
            for key, entry in (tree["experiments"].get(group) or {}).items()
        }
        for group in groups
    }
    plan = Plan(
        {k: _build(DatasetEntry, f"datasets.{k}", v) for k, v in tree["datasets"].items()},
        {k: _embedding(k, v) for k, v in tree["embeddings"].items()},
        {**made["lexical"], **made["dense"]},
        made["sweep"],
        {k: _build(Report, f"reports.{k}", v) for k, v in tree["reports"].items()},
        _build(Evaluation, "evaluation", tree["evaluation"]),
    )
    _check_groups(made)
    for k in plan.evaluation.ks:
        if type(k) is not int or k < 1:
            raise MemreproError(f"params.yaml: evaluation.ks has {k!r}: give whole numbers from 1")
    for metric in plan.evaluation.metrics:
        _require("evaluation", "metric", metric, METRICS)
    groups_of_entries: tuple[Mapping[str, Any], ...] = (
        plan.datasets, plan.embeddings, plan.experiments, plan.sweeps, plan.reports,
    )  # fmt: skip
    for entries in groups_of_entries:
        for key, entry in entries.items():
            _require(key, "profile", entry.profile, PROFILES)
    encoders = registry()
    for key, embedding in plan.embeddings.items():
        _require(f"embeddings.{key}", "data set", embedding.dataset, plan.datasets)
        _require(f"embeddings.{key}", "encoder", embedding.encoder, encoders)
    covered = {
        (e.dataset, e.encoder, granularity, keying)
        for e in plan.embeddings.values()
        for granularity, keyings in e.keys.items()
        for keying in keyings
    }
    for key, e in {**plan.experiments, **plan.sweeps}.items():
        _require(key, "data set", e.dataset, plan.datasets)
        _require(key, "granularity", e.granularity, GRANULARITIES)
        _require(key, "keying", e.keying, KEYINGS)
        if e.encoder:
            _require(key, "encoder", e.encoder, encoders)
            if (e.dataset, e.encoder, e.granularity, e.keying) not in covered:
                raise MemreproError(
                    f"params.yaml: {key} searches {e.keying} keys by {e.granularity} of "
                    f"{e.dataset} under {e.encoder}, which no entry of embeddings makes: "
                    "add the keying there"
                )
        for parameters in e.settings().values():
            make_retriever(e.method, e.retriever, parameters)
    return plan


def _check_groups(made: Mapping[str, Mapping[str, Experiment]]) -> None:
    """A name stands in one group, and what varies a parameter in `sweep` alone."""
    seen: set[str] = set()
    for group, experiments in made.items():
        for key, e in experiments.items():
            if key in seen:
                raise MemreproError(f"params.yaml: two experiments are called {key!r}: rename one")
            seen.add(key)
            if group != "sweep" and (e.vary or e.values):
                raise MemreproError(f"params.yaml: {key} varies a parameter: move it to sweep")
            # A run's length decides its cut-offs: sweep over k by evaluating one run at each k.
            if group == "sweep" and (not e.vary or not e.values or e.vary == "k"):
                raise MemreproError(
                    f"params.yaml: sweep {key} has vary {e.vary!r} and {len(e.values)} values: it "
                    "needs a parameter other than k, and at least one value"
                )


def _embedding(key: str, entry: object) -> Embedding:
    embedding = _build(Embedding, f"embeddings.{key}", entry)
    for granularity, keyings in embedding.keys.items():
        _require(f"embeddings.{key}", "granularity", granularity, GRANULARITIES)
        for keying in keyings:
            _require(f"embeddings.{key}", "keying", keying, KEYINGS)
    return replace(embedding, keys={g: tuple(ks) for g, ks in embedding.keys.items()})
