"""What was recorded of RF-Mem's experiments beside the runs: traces, times and lengths.

A trace says how each query was answered, in ids and numbers (`memrepro.retrieve.rfmem.Trace`).
Times lie in the latency files, which one machine wrote, and lengths in what `prepare` writes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem.cells import file_of, missing, ranking_of, run_path
from memrepro.report.sources import FileSource, Source
from memrepro.report.tables import Cell
from memrepro.study.params import Experiment, Plan, load_plan

PARTS = ("queries", "branches", "hits")


@dataclass(frozen=True)
class Traced:
    """A traced experiment, and what its trace holds where it was run.

    Attributes:
        name: key of `params.yaml`.
        entry: what is searched, and how.
        gold_profile: whose results folder the data set's qrels lie in.
        queries: `query_id, path, mean, entropy, rounds`.
        branches: `query_id, round, branch, parent, cluster, score, drift, n_candidates,
            n_clusters`.
        hits: `query_id, doc_id, rank, score, round, branch, cluster`.
    """

    name: str
    entry: Experiment
    gold_profile: str
    queries: pd.DataFrame
    branches: pd.DataFrame
    hits: pd.DataFrame

    @property
    def k(self) -> int:
        """The paper's K."""
        return int(self.entry.parameters["k"])

    @property
    def is_gated(self) -> bool:
        """Whether familiarity answers some of the queries."""
        return self.entry.retriever.startswith("gated")

    @property
    def form(self) -> str:
        """Which form of the entropy the gate has."""
        return "sum" if self.entry.retriever.endswith("printed") else "mean"

    def sources(self, *parts: str) -> list[FileSource]:
        """Tables of the trace, or 'qrels', as the sources of a number."""
        folder = paths.trace(self.entry.profile, self.name, self.entry.study)
        return [
            file_of(paths.qrels(self.gold_profile, self.entry.dataset), self.gold_profile)
            if part == "qrels"
            else file_of(folder / f"{part}.parquet", self.entry.profile)
            for part in parts
        ]

    @cached_property
    def gold(self) -> pd.DataFrame:
        """`query_id, doc_id`: each relevant doc of each query once; empty where none is marked."""
        path = paths.qrels(self.gold_profile, self.entry.dataset)
        _, by_query = load_qrels(path, self.entry.granularity)
        rows = [
            (query_id, doc_id)
            for query_id, parts in by_query.items()
            for doc_id in dict.fromkeys(doc_id for part in parts for doc_id in part)
        ]
        return pd.DataFrame(rows, columns=["query_id", "doc_id"], dtype="str")

    @cached_property
    def recollected(self) -> pd.DataFrame:
        """The rows of `queries` that took recollection."""
        return self.queries[self.queries["path"] == "recollection"]

    @cached_property
    def deep_hits(self) -> pd.DataFrame:
        """The rows of `hits` that recollection found."""
        return self.hits[self.hits["round"] >= 0]


class Family(NamedTuple):
    """The three paths over the same keys, by experiment; familiarity's run may be longer than K."""

    familiarity: str
    recollection: str
    gated: str
    k: int


class Traces:
    """The traces of some profiles, by experiment, in the plan's order."""

    def __init__(self, *profiles: str) -> None:
        self.profiles = profiles
        self.plan = load_plan()
        self.found: dict[str, Traced] = {}
        self.missing: dict[str, str] = {}
        for name, entry in self.plan.experiments.items():
            if name not in self.plan.traced or entry.profile not in profiles:
                continue
            if why := self.why_not(name):
                self.missing[name] = why
                continue
            folder = paths.trace(entry.profile, name, entry.study)
            tables = [read_table(folder / f"{part}.parquet") for part in PARTS]
            gold_profile = self.plan.dataset(entry.dataset).profile
            self.found[name] = Traced(name, entry, gold_profile, *tables)

    def why_not(self, name: str) -> str:
        """Why an experiment has no trace; '' where it has."""
        if name not in self.plan.traced:
            return f"{name} is not traced in params.yaml"
        entry = self.plan.experiments[name]
        folder = paths.trace(entry.profile, name, entry.study)
        if all((folder / f"{part}.parquet").is_file() for part in PARTS):
            return ""
        return f"{name} has no trace: run `dvc repro`"

    def familiarity(self, one: Traced) -> pd.DataFrame | None:
        """The run that an experiment's gate looks at, at its K; None where it was not run."""
        name = familiarity_of(self.plan, one.entry)
        if not name or not run_path(name).is_file():
            return None
        run = read_table(run_path(name))
        return run[run["rank"] <= one.k]

    def families(self) -> Iterator["Family"]:
        """The experiments on the same keys, of one K and variant, in the plan's order."""
        for name, entry in self.plan.experiments.items():
            if name not in self.plan.traced or entry.profile not in self.profiles:
                continue
            gated = name.replace("recollection", "gated")
            direct = familiarity_of(self.plan, entry)
            if gated != name and gated in self.plan.traced and direct:
                yield Family(direct, name, gated, int(entry.parameters["k"]))

    def not_run(self, column: str, only: str = "") -> Iterator[Cell]:
        """A cell for each experiment without a trace, with the reason.

        Args:
            column: where it stands.
            only: 'gated' or 'recollection', for experiments of that retriever alone.
        """
        for name, why in self.missing.items():
            if self.plan.experiments[name].retriever.startswith(only):
                yield missing(name, column, "trace", why)


def or_none(cells: Iterable[Cell], column: str) -> list[Cell]:
    """The cells, or where there are none one that says so: the table is written in any case."""
    why = "params.yaml plans no such experiment for this profile"
    return list(cells) or [missing("none", column, "plan", why)]


def familiarity_of(plan: Plan, entry: Experiment) -> str:
    """The experiment that searches the same keys by similarity alone; '' if none is planned."""
    same = ("profile", "dataset", "encoder", "granularity", "key_scheme", "ranges")
    for name, other in plan.experiments.items():
        plain = (other.method, other.retriever) in (("rfmem", "familiarity"), ("dense", "dense"))
        if plain and all(getattr(other, key) == getattr(entry, key) for key in same):
            return name
    return ""


def pairs_of(found: Mapping[str, Traced]) -> Iterator[tuple[Traced, Traced]]:
    """Released and printed experiments that share all that both variants have."""
    own = ("relevance_weight", "entropy_form", "entropy_threshold", "floor", "probe_floor")

    def setting(one: Traced) -> tuple[object, ...]:
        rest = {key: v for key, v in one.entry.parameters.items() if key not in own}
        retriever = one.entry.retriever.removesuffix("_printed")
        place = (one.entry.dataset, one.entry.encoder, one.entry.granularity, one.entry.key_scheme)
        return (*place, retriever, *sorted(rest.items()))

    printed = {
        setting(one): one for one in found.values() if one.entry.retriever.endswith("printed")
    }
    for one in found.values():
        if not one.entry.retriever.endswith("printed") and setting(one) in printed:
            yield one, printed[setting(one)]


class Timed(NamedTuple):
    """One part of an experiment's latency, in milliseconds a query: how many, mean, percentiles."""

    n: int
    mean: float
    p50: float
    p95: float
    source: FileSource


class Costs:
    """The costs of a report's experiments; each is None, or empty, where it was not recorded."""

    def __init__(self, traces: Traces) -> None:
        self.traces, self.plan = traces, traces.plan
        self._returned: dict[tuple[str, int], pd.DataFrame | None] = {}
        self._lengths: dict[str, pd.DataFrame | None] = {}

    def entry(self, name: str) -> Experiment:
        """An experiment of `params.yaml`."""
        return self.plan.experiments[name]

    def depth(self, name: str) -> int:
        """An experiment's K."""
        return int(self.entry(name).parameters["k"])

    def is_planned(self, name: str) -> bool:
        """Whether a profile of this report plans it."""
        entry = self.plan.experiments.get(name)
        return entry is not None and entry.profile in self.traces.profiles

    @cached_property
    def times(self) -> dict[tuple[str, str], Timed]:
        """(experiment, part) → its time; the parts are 'encode' and 'search'."""
        found: dict[tuple[str, str], Timed] = {}
        for name, entry in self.plan.latency.items():
            path = paths.latency(entry.profile, name)
            if entry.profile in self.traces.profiles and path.is_file():
                table = read_table(path)
                numbers = table[["mean_ms", "p50_ms", "p95_ms"]].astype(float).to_numpy().tolist()
                for experiment, part, n, values in zip(
                    table["experiment"], table["part"], table["n"], numbers, strict=True
                ):
                    mean, p50, p95 = values
                    source = file_of(path, entry.profile)
                    found[experiment, part] = Timed(int(n), mean, p50, p95, source)
        return found

    def time(self, name: str, *parts: str) -> float | None:
        """The mean milliseconds of the parts of an experiment together."""
        found = [self.times.get((name, part)) for part in parts]
        known = [one.mean for one in found if one is not None]
        return sum(known) if len(known) == len(parts) else None

    def lengths(self, dataset: str) -> pd.DataFrame | None:
        """The lengths of a data set's docs and queries, as `memrepro.text.lengths` has them."""
        if dataset not in self._lengths:
            path = paths.lengths(self.plan.dataset(dataset).profile, dataset)
            self._lengths[dataset] = read_table(path) if path.is_file() else None
        return self._lengths[dataset]

    def memories(self, dataset: str) -> pd.DataFrame | None:
        """`memory_id, words, tokens` by query id: whose memory it asks, and its own length."""
        asked = self.docs(dataset, "query")
        return None if asked is None else asked.set_index("doc_id")

    def docs(self, dataset: str, level: str) -> pd.DataFrame | None:
        """`memory_id, doc_id, words, tokens` of a data set's docs at a level."""
        lengths = self.lengths(dataset)
        if lengths is None:
            return None
        return lengths.loc[lengths["level"] == level, ["memory_id", "doc_id", "words", "tokens"]]

    def run(self, name: str, k: int) -> pd.DataFrame | None:
        """`query_id, doc_id, rank, score, memory_id`: the first k docs of an experiment."""
        entry = self.entry(name)
        path = run_path(name)
        memories = self.memories(entry.dataset)
        if memories is None or not path.is_file():
            return None
        run = read_table(path)
        run = run[run["rank"] <= k]
        return run.assign(memory_id=memories["memory_id"].reindex(run["query_id"]).to_numpy())

    def returned(self, name: str, k: int) -> pd.DataFrame | None:
        """`docs, words, tokens` of the first k docs, by query id; 0 of a query that found none."""
        if (name, k) not in self._returned:
            self._returned[name, k] = self._count(name, k)
        return self._returned[name, k]

    def _count(self, name: str, k: int) -> pd.DataFrame | None:
        entry = self.entry(name)
        run = self.run(name, k)
        docs = self.docs(entry.dataset, entry.granularity)
        memories = self.memories(entry.dataset)
        if run is None or docs is None or memories is None or docs.empty:
            return None
        known = run.merge(docs, on=["memory_id", "doc_id"], how="left", validate="m:1")
        sums = known.assign(docs=1).groupby("query_id")[["docs", "words", "tokens"]].sum()
        return sums.reindex(memories.index, fill_value=0)

    def searches(self, name: str) -> float | None:
        """Searches of the memory a query: 1 by familiarity, and by the gate 1 for its probe."""
        if self.entry(name).retriever in ("familiarity", "dense"):
            return 1.0
        if name not in self.traces.found:
            return None
        one = self.traces.found[name]
        return len(one.branches) / len(one.queries) + (1.0 if one.is_gated else 0.0)

    def timed(self, *names: str) -> list[Source]:
        """The latency files of experiments as the sources of a number."""
        parts = ((name, part) for name in names for part in ("encode", "search"))
        return [self.times[one].source for one in parts if one in self.times]

    def counted(self, *names: str) -> list[Source]:
        """The rankings of experiments and their data set's lengths as the sources of a number."""
        return [one for name in names
                for one in (ranking_of(name), self.measured(self.entry(name).dataset))]  # fmt: skip

    def measured(self, dataset: str) -> FileSource:
        """A data set's lengths as the source of a number."""
        profile = self.plan.dataset(dataset).profile
        return file_of(paths.lengths(profile, dataset), profile)

    def traced(self, name: str) -> list[Source]:
        """What says how often an experiment searched, as the sources of a number."""
        found = self.traces.found.get(name)
        return [*found.sources("queries", "branches")] if found else [ranking_of(name)]
