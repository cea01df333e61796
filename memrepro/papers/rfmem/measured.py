"""What a run of RF-Mem costs: its searches, the docs and tokens that it returns, and its time.

Times lie in the latency files, which one machine wrote; lengths in the files that `prepare` writes;
searches in the traces. Nothing here is measured anew.
"""

from functools import cached_property
from typing import NamedTuple

import pandas as pd

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem.cells import file_of, ranking_of
from memrepro.papers.rfmem.traces import Traces
from memrepro.report.sources import FileSource, Source
from memrepro.study.params import Experiment


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
                    source = file_of(path, entry.profile)
                    found[experiment, part] = Timed(int(n), *values, source)
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
        path = paths.run(entry.profile, name)
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
