"""What runs: the data sets, embeddings, experiments and reports of `params.yaml`, checked.

An unknown key anywhere is an error, so that a slip of the pen never runs with a default.
"""

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from memrepro import paths
from memrepro.core.keyings import check_granularity
from memrepro.errors import MemreproError
from memrepro.metrics import METRICS
from memrepro.store import read_yaml, root

PROFILES = ("sample", "open", "full")
FULL_REPORTS = ("rfmem", "maxsim", "longmemeval", "associa")  # as in dvc.yaml, `report-full`


def is_graph(keying: str) -> bool:
    """Whether a keying is `base+graph:…`, whose keys `retrievers.associa.keying` makes."""
    return "+graph:" in keying


def _vectors(dataset: str, encoder: str, graph: bool) -> Path:
    return paths.vectors(dataset, f"{encoder}-graph" if graph else encoder)


@dataclass(frozen=True)
class DatasetEntry:
    """A data set that a profile prepares.

    Attributes:
        profile: whose results folder its qrels lie in.
        module: the module of `memrepro.datasets` that loads it.
        parameters: the compiler's, or the loader's (such as an erratum's layer).
        extract: source of extractions → its options; see `memrepro.stages.extract`.
    """

    profile: str
    module: str
    parameters: Mapping[str, Any]
    extract: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Embedding:
    """Which keys of a data set an encoder embeds: granularity → keyings."""

    profile: str
    dataset: str
    encoder: str
    keys: Mapping[str, tuple[str, ...]]

    @property
    def is_graph(self) -> bool:
        """Whether its keys are the texts of memory graphs."""
        return any(is_graph(keying) for keyings in self.keys.values() for keying in keyings)

    @property
    def path(self) -> Path:
        """The file of the vectors."""
        return _vectors(self.dataset, self.encoder, self.is_graph)


@dataclass(frozen=True)
class Experiment:
    """One run: a data set's docs under a keying, searched by a retriever.

    Attributes:
        profile: whose results folder the run lies in.
        dataset: key of the data set.
        granularity: what a doc is, such as 'round', or an extraction's name.
        keying: which of its texts are keys, and their expansion; see `memrepro.core.keys`.
        method: the family's module under `memrepro.retrievers`.
        retriever: the retriever's name in it.
        parameters: the retriever's.
        encoder: key of the encoder; '' for a lexical one.
        ranges: the source of the dates that queries ask about; '' without a time filter.
        dates: the sources of the docs' dates; 'said' is when a session took place.
        vary: in a sweep, 'keying', 'granularity' or the parameter that takes each of `values`; ''
            otherwise.
        values: of the sweep.
        group: the sweeps run together with it; '' for what is no sweep.
    """

    profile: str
    dataset: str
    granularity: str
    keying: str
    method: str
    retriever: str
    parameters: Mapping[str, Any]
    encoder: str = ""
    ranges: str = ""
    dates: tuple[str, ...] = ()
    vary: str = ""
    values: tuple[Any, ...] = ()
    group: str = ""

    @property
    def vectors(self) -> Path:
        """The file of its vectors."""
        return _vectors(self.dataset, self.encoder, is_graph(self.keying))

    def variants(self) -> dict[str, "Experiment"]:
        """What runs, by setting: itself under '', or in a sweep one experiment a value."""
        if not self.vary:
            return {"": self}
        one = replace(self, vary="", values=(), group="")
        if self.vary in ("keying", "granularity"):
            return {str(value): replace(one, **{self.vary: value}) for value in self.values}
        return {
            str(value): replace(one, parameters={**self.parameters, self.vary: value})
            for value in self.values
        }


@dataclass(frozen=True)
class Latency:
    """Experiments on one data set under one encoder that are timed a query at a time.

    Attributes:
        profile: whose results folder the times lie in.
        dataset: of all the experiments.
        encoder: of all the experiments.
        experiments: their names.
        repeats: how often each query is searched.
    """

    profile: str
    dataset: str
    encoder: str
    experiments: tuple[str, ...]
    repeats: int


@dataclass(frozen=True)
class Report:
    """A notebook of tables and figures about one profile; `paper` names both."""

    profile: str
    paper: str


@dataclass(frozen=True)
class Protocol:
    """Which questions count, and by whose labels.

    Attributes:
        labels: 'stated' (what the data set says), or the name of another labelling of its qrels.
        exclude: the kinds of question left out, with the reason.
        roll_up: how rounds and turns become sessions, 'first' or 'official'; see `rollup`.
    """

    labels: str
    exclude: Mapping[str, str]
    roll_up: str = "first"

    def labelled(self, level: str) -> str:
        """The level of the qrels that holds the protocol's labels."""
        return level if self.labels == "stated" else f"{level}_{self.labels}"


@dataclass(frozen=True)
class Evaluation:
    """Cut-offs and metrics, and the protocols, of which the first is kept a question.

    The others are summed up, at `protocol_ks` and for `protocol_metrics` alone, to which a sweep
    over keyings is held too.
    """

    ks: tuple[int, ...]
    metrics: tuple[str, ...]
    protocol_ks: tuple[int, ...]
    protocol_metrics: tuple[str, ...]
    protocols: Mapping[str, Protocol]


@dataclass(frozen=True)
class Plan:
    """All of `params.yaml`; `traced` names the experiments that leave a trace beside the run."""

    datasets: Mapping[str, DatasetEntry]
    embeddings: Mapping[str, Embedding]
    experiments: Mapping[str, Experiment]
    sweeps: Mapping[str, Experiment]
    reports: Mapping[str, Report]
    evaluation: Evaluation
    traced: frozenset[str] = frozenset()
    latency: Mapping[str, Latency] = field(default_factory=dict)

    def check_report(self, profile: str, paper: str) -> None:
        """Refuse a report that is not planned."""
        planned = {(p, paper) for p in PROFILES for paper in self.papers(p)}
        if (profile, paper) not in planned:
            known = ", ".join(f"{paper} on {profile}" for profile, paper in sorted(planned))
            raise MemreproError(
                f"no report {paper!r} on the profile {profile!r}: known are {known}"
            )

    def papers(self, profile: str) -> list[str]:
        """The papers that a profile reports on; the full one's stand on the open one's results."""
        if profile == "full":
            return list(FULL_REPORTS)
        return [r.paper for r in self.reports.values() if r.profile == profile]

    def check_profile(self, profile: str) -> None:
        """Refuse an unknown profile."""
        if profile not in PROFILES:
            raise MemreproError(f"unknown profile {profile!r}: known are {', '.join(PROFILES)}")

    def dataset(self, key: str) -> DatasetEntry:
        """A data set by key; an unknown one is an error that lists the known ones."""
        return named("data set", self.datasets, key)

    def embedding(self, key: str) -> Embedding:
        """An embedding by key; an unknown one is an error that lists the known ones."""
        return named("embedding", self.embeddings, key)

    def experiment(self, key: str) -> Experiment:
        """An experiment or sweep by key; an unknown one is an error that lists the known ones."""
        return named("experiment", {**self.experiments, **self.sweeps}, key)

    def timed(self, key: str) -> Latency:
        """An entry of `latency` by key; an unknown one is an error that lists the known ones."""
        return named("latency entry", self.latency, key)


T = TypeVar("T")


def named(what: str, known: Mapping[str, T], key: str) -> T:
    """What has that name; an unknown one is an error that lists the nearest."""
    if key not in known:
        near = difflib.get_close_matches(key, known, n=3, cutoff=0.3) or list(known)[:3]
        raise MemreproError(
            f"unknown {what} {key!r}: the nearest of the {len(known)} in params.yaml are "
            f"{', '.join(near)}; choose one or add it there"
        )
    return known[key]


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
            keying, method, retriever or parameter, keys that no embedding covers, a traced
            experiment whose retriever has no trace, or experiments timed together that differ in
            data set or encoder.
    """
    from memrepro.models import registry
    from memrepro.retrievers import make_retriever

    tree = read_yaml(root() / "params.yaml")
    top = (
        "datasets", "embeddings", "graph_embeddings", "experiments", "latency", "reports",
        "evaluation", "tuning",
    )  # fmt: skip
    if not isinstance(tree, dict) or set(tree) != set(top):
        raise MemreproError(f"params.yaml must have exactly the keys {', '.join(top)}")
    kinds = ("lexical", "dense", "traced", "graph", "sweep", "lexical_sweep")
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
            for kind in ("embeddings", "graph_embeddings")
            for key, entry in tree[kind].items()
        },
        {**made["lexical"], **made["dense"], **made["traced"], **made["graph"]},
        {**made["sweep"], **made["lexical_sweep"]},
        {k: build_entry(Report, f"reports.{k}", v) for k, v in tree["reports"].items()},
        _evaluation(tree["evaluation"]),
        frozenset(made["traced"]),
        {k: build_entry(Latency, f"latency.{k}", v) for k, v in tree["latency"].items()},
    )
    _check_kinds(made)
    groups_of_entries: tuple[Mapping[str, Any], ...] = (
        plan.datasets, plan.embeddings, plan.experiments, plan.sweeps, plan.latency, plan.reports,
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
        (e.dataset, e.encoder, granularity, keying)
        for e in plan.embeddings.values()
        for granularity, keyings in e.keys.items()
        for keying in keyings
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
            _check_keying(e.granularity, e.keying)
            if e.encoder and (e.dataset, e.encoder, e.granularity, e.keying) not in covered:
                raise MemreproError(
                    f"params.yaml: {key} searches {e.keying} keys by {e.granularity} of "
                    f"{e.dataset} under {e.encoder}, which no entry of embeddings makes: "
                    "add the keying there"
                )
            retriever = make_retriever(e.method, e.retriever, dict(e.parameters))
            if key in plan.traced and not hasattr(retriever, "trace"):
                raise MemreproError(
                    f"params.yaml: {key} is traced, and {e.method}.{e.retriever} leaves no trace: "
                    "move it to dense"
                )
    _check_latency(plan)
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


def _entries(kind: str, entries: object) -> list[tuple[str, str, object]]:
    """The experiments of a kind: where each stands, its name, and what params.yaml says of it.

    Sweeps stand in groups, each of which gives what its sweeps share.
    """
    above = f"experiments.{kind}"
    if not isinstance(entries, dict):
        raise MemreproError(f"params.yaml: {above} is {entries!r}: it must be a mapping")
    if "sweep" not in kind:
        return [(f"{above}.{key}", key, entry) for key, entry in entries.items()]
    found: list[tuple[str, str, object]] = []
    for group, shared in entries.items():
        if not isinstance(shared, dict) or not isinstance(shared.get("sweeps"), dict):
            raise MemreproError(
                f"params.yaml: {above}.{group} is no group of sweeps: it must be a mapping with "
                "`sweeps`, which is one too"
            )
        rest = {key: value for key, value in shared.items() if key != "sweeps"} | {"group": group}
        for key, entry in shared["sweeps"].items():
            where = f"{above}.{group}.sweeps.{key}"
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
                    f"params.yaml: {key} of the sweeps {e.group!r} differs from those before it in "
                    "profile, data set, encoder or method: give it another group"
                )
            if "sweep" not in kind and (e.vary or e.values or e.group):
                raise MemreproError(f"params.yaml: {key} varies a parameter: move it to sweep")
            if ("lexical" in kind) == bool(e.encoder):
                raise MemreproError(
                    f"params.yaml: {key} of {kind} has the encoder {e.encoder!r}: the lexical "
                    "kinds have none, the others need one"
                )
            if (kind == "graph") != is_graph(e.keying):
                raise MemreproError(
                    f"params.yaml: {key} of {kind} has the keying {e.keying!r}: keyings with "
                    "+graph: stand in graph, all others elsewhere"
                )
            # A run's length decides its cut-offs: sweep over k by evaluating one run at each k.
            if "sweep" in kind and (not e.vary or not e.values or e.vary == "k"):
                raise MemreproError(
                    f"params.yaml: sweep {key} has vary {e.vary!r} and {len(e.values)} values: it "
                    "needs a parameter other than k, and at least one value"
                )


def _check_keying(granularity: str, keying: str) -> None:
    """Refuse a granularity or keying that is unknown, or two that do not go together."""
    if is_graph(keying):
        from memrepro.retrievers.associa.clues import Recipe

        Recipe.parse(granularity, keying)
    else:
        check_granularity(granularity, keying)


def _embedding(kind: str, key: str, entry: object) -> Embedding:
    embedding = build_entry(Embedding, f"{kind}.{key}", entry)
    for granularity, keyings in embedding.keys.items():
        for keying in keyings:
            _check_keying(granularity, keying)
            if is_graph(keying) != kind.startswith("graph"):
                raise MemreproError(
                    f"params.yaml: {kind}.{key} has the keying {keying!r}: keyings with +graph: "
                    "stand in graph_embeddings, all others in embeddings"
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
