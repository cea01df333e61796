"""The nouns of `params.yaml`: data sets, embeddings, experiments, reports, evaluation, the plan."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from memrepro.errors import MemreproError
from memrepro.files import paths

PROFILES = ("sample", "open", "full")
# As in dvc.yaml, `report-full`.
FULL_REPORTS = ("rfmem", "maxsim", "longmemeval", "associa", "tiered")


def family_of(key_scheme: str) -> str:
    """Who makes the keys of a key scheme: 'graph', 'tiered', or '' (`core.key_builder`).

    A graph's are `base+graph:…` (`retrievers.associa.key_scheme`), the tiered design's `tiers:…`
    (`retrievers.tiered.key_scheme`).
    """
    if key_scheme.startswith("tiers:"):
        return "tiered"
    return "graph" if "+graph:" in key_scheme else ""


def _vectors(dataset: str, encoder: str, family: str) -> Path:
    return paths.vectors(dataset, f"{encoder}-{family}" if family else encoder)


@dataclass(frozen=True)
class DatasetEntry:
    """A data set that a profile prepares.

    Attributes:
        profile: whose results folder its qrels lie in.
        module: the module of `memrepro.data` that loads it.
        parameters: the compiler's, or the loader's (such as an erratum's layer).
        extract: source of extractions → its options; see `memrepro.pipeline.stages.extract`.
    """

    profile: str
    module: str
    parameters: Mapping[str, Any]
    extract: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Embedding:
    """Which keys of a data set an encoder embeds: granularity → key schemes."""

    profile: str
    dataset: str
    encoder: str
    keys: Mapping[str, tuple[str, ...]]

    @property
    def family(self) -> str:
        """Who makes its keys (`family_of`), the same for all of them."""
        return next(
            (
                family_of(key_scheme)
                for key_schemes in self.keys.values()
                for key_scheme in key_schemes
            ),
            "",
        )

    @property
    def is_graph(self) -> bool:
        """Whether its keys are the texts of memory graphs."""
        return self.family == "graph"

    @property
    def path(self) -> Path:
        """The file of the vectors."""
        return _vectors(self.dataset, self.encoder, self.family)


@dataclass(frozen=True)
class Experiment:
    """One run: a data set's docs under a key scheme, searched by a retriever.

    Attributes:
        profile: whose results folder the run lies in.
        dataset: key of the data set.
        granularity: what a doc is, such as 'round', or an extraction's name.
        key_scheme: which of its texts are keys, and their expansion; see `memrepro.core.keys`.
        method: the family's module under `memrepro.retrieve`.
        retriever: the retriever's name in it.
        parameters: the retriever's.
        encoder: key of the encoder; '' for a lexical one.
        ranges: the source of the dates that queries ask about; '' without a time filter.
        dates: the sources of the docs' dates; 'said' is when a session took place.
        vary: in a sweep, 'key_scheme', 'granularity' or the parameter that takes each of `values`;
            '' otherwise.
        values: of the sweep.
        group: what is run together with it, the sweeps' group or `tiered/<group>`; '' for what has
            a stage of its own.
    """

    profile: str
    dataset: str
    granularity: str
    key_scheme: str
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
        return _vectors(self.dataset, self.encoder, family_of(self.key_scheme))

    def variants(self) -> dict[str, "Experiment"]:
        """What runs, by setting: itself under '', or in a sweep one experiment a value."""
        if not self.vary:
            return {"": self}
        one = replace(self, vary="", values=(), group="")
        if self.vary in ("key_scheme", "granularity"):
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
class Scale:
    """The sizes, in segments, at which the tiered store is measured."""

    profile: str
    segments: tuple[int, ...]


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
    over key schemes is held too.
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
    scales: Mapping[str, Scale] = field(default_factory=dict)

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

    def scale(self, key: str) -> Scale:
        """An entry of `scales` by key; an unknown one is an error that lists the known ones."""
        return named("scale", self.scales, key)


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
