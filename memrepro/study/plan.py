"""The nouns of `params.yaml`: data sets, experiments, evaluation, measurements, the plan."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import Field, PositiveInt, dataclasses

from memrepro.errors import MemreproError, cut
from memrepro.files import paths
from memrepro.files.checked import STRICT
from memrepro.read.plan import ReadingStudy

Profile = Literal["sample", "open", "full"]
PROFILES = get_args(Profile)
Settings = Mapping[str, Any]
# Whose results the full profile's reports read too, besides its own.
STANDS_ON: Mapping[str, tuple[str, ...]] = {"full": ("open", "full")}
AUDIT = "audit"  # the report that stands on the others


@dataclasses.dataclass(frozen=True, config=STRICT)
class DatasetEntry:
    """A data set that a profile prepares.

    Attributes:
        profile: whose results folder its qrels lie in.
        module: the module of `memrepro.data` that loads it.
        unit: what is resampled in every interval and test on it: each question by itself, or the
            conversations or persons that questions are of, then their questions.
        parameters: the compiler's, or the loader's (such as an erratum's layer).
        extract: source of extractions → its options; see `memrepro.pipeline.stages.data.extract`.
    """

    profile: Profile
    module: str
    unit: Literal["question", "conversation", "person"]
    parameters: Mapping[str, Any]
    extract: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One run: a data set's docs under a key scheme, searched by a retriever.

    Attributes:
        profile: whose results folder the run lies in.
        study: the study that it is run with.
        dataset: key of the data set.
        granularity: what a doc is, such as 'round', or an extraction's name.
        key_scheme: which of its texts are keys, and their expansion; see `memrepro.core.keys`.
        method: the family's module under `memrepro.retrieve`.
        retriever: the retriever's name in it.
        parameters: the retriever's.
        encoder: key of the encoder; '' for a lexical one.
        ranges: the source of the dates that queries ask about; '' without a time filter.
        dates: the sources of the docs' dates; 'said' is when a session took place.
        asked: days after the session of a query's last evidence at which the query is asked; 0:
            when the data set asks it. A query whose evidence has no time is then not asked.
        vary: in a sweep, 'key_scheme', 'granularity', 'asked' or the parameter that takes each of
            `values`; '' otherwise.
        values: of the sweep.
        traced: whether it leaves a trace beside the run.
    """

    profile: str
    study: str
    dataset: str
    granularity: str
    key_scheme: str
    method: str
    retriever: str
    parameters: Mapping[str, Any]
    encoder: str = ""
    ranges: str = ""
    dates: tuple[str, ...] = ()
    asked: int = 0
    vary: str = ""
    values: tuple[Any, ...] = ()
    traced: bool = False

    @property
    def vectors(self) -> Path:
        """The file of its vectors."""
        return paths.vectors(self.profile, self.dataset, self.encoder)

    @property
    def searched(self) -> dict[str, str]:
        """What tells the keys that it searches from those of other runs of its study."""
        names = ("dataset", "encoder", "granularity", "key_scheme")
        return {name: getattr(self, name) for name in names}

    @property
    def moves_questions(self) -> bool:
        """Whether it asks at times that follow from the evidence, which no other run knows."""
        return bool(self.asked) or self.vary == "asked"

    @property
    def varies_keys(self) -> bool:
        """Whether it is a sweep over what is searched, and not over a parameter."""
        return self.vary in ("key_scheme", "granularity")

    def variants(self) -> dict[str, "Experiment"]:
        """What runs, by setting: itself under '', or in a sweep one experiment a value."""
        if not self.vary:
            return {"": self}
        one = replace(self, vary="", values=())
        if self.varies_keys or self.vary == "asked":
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


@dataclasses.dataclass(frozen=True, config=STRICT)
class Scale:
    """What a document's own module measures, outside the line, such as a single file.

    Attributes:
        profile: whose folder the table lies in.
        paper: the document whose module measures it.
        module: which of its modules.
    """

    profile: Profile
    paper: str
    module: str


@dataclasses.dataclass(frozen=True, config=STRICT)
class Protocol:
    """Which questions count, and by whose labels.

    Attributes:
        labels: 'stated' (what the data set says), or the name of another labelling of its qrels.
        exclude: the kinds of question left out, with the reason.
        roll_up: how rounds and turns become sessions; see `rollup`.
    """

    labels: str
    exclude: Mapping[str, str]
    roll_up: Literal["first", "official"] = "first"

    def labelled(self, level: str) -> str:
        """The level of the qrels that holds the protocol's labels."""
        return level if self.labels == "stated" else f"{level}_{self.labels}"


@dataclasses.dataclass(frozen=True, config=STRICT)
class Evaluation:
    """Cut-offs and metrics, and the protocols, of which the first is kept a question.

    The others are summed up, at `protocol_ks` and for `protocol_metrics` alone, to which a sweep
    over key schemes is held too. `exclude` says which kinds of question are left out, and why.
    """

    ks: tuple[PositiveInt, ...]
    metrics: tuple[str, ...]
    protocol_ks: tuple[PositiveInt, ...]
    protocol_metrics: tuple[str, ...]
    protocols: Mapping[str, Protocol]
    exclude: Mapping[str, str] = field(default_factory=dict)


@dataclasses.dataclass(frozen=True, config=STRICT)
class ProtocolEntry:
    """A protocol as it is written: `Protocol`, which excludes all kinds but those it keeps."""

    labels: str
    keep: tuple[str, ...] = ()
    roll_up: Literal["first", "official"] = "first"


@dataclasses.dataclass(frozen=True, config=STRICT)
class StudyEntry:
    """A study as it is written; see `grids`."""

    profile: Profile
    runs: Mapping[str, Any]
    base: Settings = field(default_factory=dict)
    sets: Mapping[str, Settings] = field(default_factory=dict)
    axes: Mapping[str, Mapping[str, Settings]] = field(default_factory=dict)


@dataclasses.dataclass(frozen=True, config=STRICT)
class LatencyEntry:
    """An entry of `latency` as it is written: names may be grids."""

    repeats: PositiveInt
    experiments: Annotated[tuple[str, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Plan:
    """All of `params.yaml`: experiments make one run each, sweeps one for each setting.

    `models` are the language models that runs and extractions may name (docs/llm.md), `reading` the
    studies in which they answer questions; `cluster` is the address of the machines on which
    `memrepro repro` runs (docs/cluster.md), or ''.
    """

    datasets: Mapping[str, DatasetEntry]
    experiments: Mapping[str, Experiment]
    sweeps: Mapping[str, Experiment]
    reports: Mapping[str, tuple[str, ...]]
    evaluation: Evaluation
    latency: Mapping[str, Latency] = field(default_factory=dict)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, ReadingStudy] = field(default_factory=dict)
    cluster: str = ""

    @cached_property
    def runs(self) -> dict[str, Experiment]:
        """Experiments and sweeps by name."""
        return {**self.experiments, **self.sweeps}

    @cached_property
    def traced(self) -> frozenset[str]:
        """The experiments that leave a trace beside the run."""
        return frozenset(name for name, one in self.experiments.items() if one.traced)

    def studies(self, profile: str = "") -> dict[str, dict[str, Experiment]]:
        """Study → its experiments and sweeps by name; of one profile, or of all."""
        found: dict[str, dict[str, Experiment]] = {}
        for name, one in self.runs.items():
            if profile in ("", one.profile):
                found.setdefault(one.study, {})[name] = one
        return found

    def study(self, key: str) -> dict[str, Experiment]:
        """A study's runs; an unknown one is an error that lists the known ones."""
        return named("study", self.studies(), key)

    def readings(self, profile: str, study: str = "") -> dict[str, ReadingStudy]:
        """A profile's reading studies by name, or the one of them."""
        found = {name: one for name, one in self.reading.items() if one.profile == profile}
        return {study: named(f"reading study of {profile}", found, study)} if study else found

    def keys(self, profile: str, dataset: str) -> dict[str, dict[str, list[str]]]:
        """Encoder → granularity → the key schemes that a profile's runs search of a data set."""
        return self._keys.get((profile, dataset), {})

    @cached_property
    def _keys(self) -> dict[tuple[str, str], dict[str, dict[str, list[str]]]]:
        found: dict[tuple[str, str], dict[str, dict[str, list[str]]]] = {}
        for one in self.runs.values():
            for e in one.variants().values() if one.encoder else ():
                encoders = found.setdefault((one.profile, one.dataset), {})
                schemes = encoders.setdefault(e.encoder, {}).setdefault(e.granularity, [])
                if e.key_scheme not in schemes:
                    schemes.append(e.key_scheme)
        return found

    def check_report(self, profile: str, paper: str) -> None:
        """Refuse a report that is not planned."""
        if paper not in self.reports.get(profile, ()):
            planned = ((one, p) for p, papers in self.reports.items() for one in papers)
            known = cut(", ".join(f"{one} on {p}" for one, p in planned), 160)
            raise MemreproError(
                f"no report {paper!r} on the profile {profile!r}: known are {known}"
            )

    def papers(self, profile: str) -> list[str]:
        """The reports of a profile without the audit; the full one's read the open one's too."""
        return [one for one in self.reports.get(profile, ()) if one != AUDIT]

    def check_profile(self, profile: str) -> None:
        """Refuse an unknown profile."""
        if profile not in PROFILES:
            raise MemreproError(f"unknown profile {profile!r}: known are {', '.join(PROFILES)}")

    def dataset(self, key: str) -> DatasetEntry:
        """A data set by key; an unknown one is an error that lists the known ones."""
        return named("data set", self.datasets, key)

    def experiment(self, key: str) -> Experiment:
        """An experiment or sweep by key; an unknown one is an error that lists the known ones."""
        return named("experiment", self.runs, key)

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
