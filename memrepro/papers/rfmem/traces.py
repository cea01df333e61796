"""What was recorded of RF-Mem's experiments beside the runs: traces, times and lengths.

A trace says how each query was answered, in ids and numbers (`memrepro.retrieve.rfmem.Trace`).
Times lie in the latency files, which one machine wrote, and lengths in what `prepare` writes.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.files.cached import until_changed
from memrepro.papers.rfmem.cells import file_of, missing, ranking_of, run_path
from memrepro.report.sources import Source
from memrepro.report.tables import Cell
from memrepro.study.params import Plan, load_plan
from memrepro.study.plan import STANDS_ON

PARTS = ("queries", "branches", "hits")


class Recorded:
    """An experiment of `params.yaml`, and what was recorded of it; read when it is asked for."""

    def __init__(self, name: str, plan: Plan) -> None:
        self.name, self.plan, self.entry = name, plan, plan.experiments[name]
        self.k = int(self.entry.parameters["k"])
        self.is_gated = self.entry.retriever.startswith("gated")
        self._gold_profile = plan.dataset(self.entry.dataset).profile
        self._lengths = paths.lengths(self._gold_profile, self.entry.dataset)
        self._returned: dict[int, pd.DataFrame] = {}
        self.measured: Source = file_of(self._lengths, self._gold_profile)

    def _part(self, part: str) -> Path:
        return paths.trace(self.entry.profile, self.name, self.entry.study) / f"{part}.parquet"

    @cached_property
    def why_not(self) -> str:
        """Why it has no trace; '' where it has."""
        if self.name not in self.plan.traced:
            return f"{self.name} is not traced in params.yaml"
        there = all(self._part(part).is_file() for part in PARTS)
        return "" if there else f"{self.name} has no trace: run `dvc repro`"

    @cached_property
    def queries(self) -> pd.DataFrame:
        """`query_id, path, mean, entropy, rounds`."""
        return read_table(self._part("queries"))

    @cached_property
    def branches(self) -> pd.DataFrame:
        """`query_id, round, branch, parent, cluster, score, drift, n_candidates, n_clusters`."""
        return read_table(self._part("branches"))

    @cached_property
    def hits(self) -> pd.DataFrame:
        """`query_id, doc_id, rank, score, round, branch, cluster`."""
        return read_table(self._part("hits"))

    @cached_property
    def recollected(self) -> pd.DataFrame:
        """The rows of `queries` that took recollection."""
        return self.queries[self.queries["path"] == "recollection"]

    @cached_property
    def deep_hits(self) -> pd.DataFrame:
        """The rows of `hits` that recollection found."""
        return self.hits[self.hits["round"] >= 0]

    @cached_property
    def gold(self) -> pd.DataFrame:
        """`query_id, doc_id`: each relevant doc of each query once; empty where none is marked."""
        path = paths.qrels(self._gold_profile, self.entry.dataset)
        _, by_query = load_qrels(path, self.entry.granularity)
        rows = dict.fromkeys(
            (q, d) for q, parts in by_query.items() for part in parts for d in part
        )
        return pd.DataFrame([*rows], columns=["query_id", "doc_id"], dtype="str")

    @cached_property
    def direct(self) -> str:
        """The experiment that searches the same keys by similarity alone; '' for none."""
        same = ("profile", "dataset", "encoder", "granularity", "key_scheme", "ranges")
        for name, other in self.plan.experiments.items():
            plain = (other.method, other.retriever) in (
                ("rfmem", "familiarity"), ("dense", "dense"))  # fmt: skip
            if plain and all(getattr(other, key) == getattr(self.entry, key) for key in same):
                return name
        return ""

    @cached_property
    def familiarity(self) -> pd.DataFrame | None:
        """The run that its gate looks at, at its K; None where it was not run."""
        if not self.direct or not run_path(self.direct).is_file():
            return None
        run = read_table(run_path(self.direct))
        return run[run["rank"] <= self.k]

    @property
    def searches(self) -> float | None:
        """Searches of the memory a query: 1 by familiarity, and by the gate 1 for its probe."""
        if self.entry.retriever in ("familiarity", "dense"):
            return 1.0
        if self.why_not:
            return None
        return len(self.branches) / len(self.queries) + (1.0 if self.is_gated else 0.0)

    @cached_property
    def _latency(self) -> Path | None:
        for name, entry in self.plan.latency.items():
            if self.name in entry.experiments:
                return paths.latency(entry.profile, name)
        return None

    @cached_property
    def times(self) -> Mapping[str, Mapping[str, float]]:
        """`n, mean_ms, p50_ms, p95_ms` of the parts 'encode' and 'search'; empty if not timed."""
        if self._latency is None or not self._latency.is_file():
            return {}
        table = read_table(self._latency)
        own = table[table["experiment"] == self.name].set_index("part")
        found: Any = own[["n", "mean_ms", "p50_ms", "p95_ms"]].astype(float).to_dict("index")
        return dict(found)

    def time(self, *parts: str) -> float | None:
        """The mean milliseconds of its parts together; None where it was not timed."""
        return sum(self.times[part]["mean_ms"] for part in parts) if self.times else None

    @property
    def n_timed(self) -> int:
        """How many searches were timed."""
        return int(self.times["search"]["n"])

    @cached_property
    def is_counted(self) -> bool:
        """Whether its run and the lengths of its docs are there."""
        there = run_path(self.name).is_file() and self._lengths.is_file()
        return there and self.entry.granularity in self.lengths

    @property
    def lengths(self) -> Mapping[str, pd.DataFrame]:
        """Level → `memory_id, doc_id, words, tokens`: docs and queries of its data set."""
        return _lengths(self._lengths)

    @cached_property
    def asked(self) -> pd.DataFrame:
        """`memory_id, words, tokens` by query id: whose memory it asks, and its own length."""
        return self.lengths["query"].set_index("doc_id")

    def run(self, k: int) -> pd.DataFrame:
        """`query_id, doc_id, rank, memory_id`: its first k docs."""
        run = read_table(run_path(self.name), columns=["query_id", "doc_id", "rank"])
        run = run[run["rank"] <= k]
        return run.assign(memory_id=self.asked["memory_id"].reindex(run["query_id"]).to_numpy())

    def returned(self, k: int = 0) -> pd.DataFrame:
        """`docs, words, tokens` of its first k docs, by query id; 0 of a query that found none."""
        k = k or self.k
        if k not in self._returned:  # several tables ask for it
            docs, run = self.lengths[self.entry.granularity], self.run(k)
            known = run.merge(docs, on=["memory_id", "doc_id"], how="left", validate="m:1")
            sums = known.assign(docs=1).groupby("query_id")[["docs", "words", "tokens"]].sum()
            self._returned[k] = sums.reindex(self.asked.index, fill_value=0)
        return self._returned[k]

    def sources(self, *parts: str) -> list[Source]:
        """Tables of its trace, or 'qrels', as the sources of a number."""
        qrels = paths.qrels(self._gold_profile, self.entry.dataset)
        return [
            file_of(qrels, self._gold_profile) if part == "qrels"
            else file_of(self._part(part), self.entry.profile)
            for part in parts
        ]  # fmt: skip

    @property
    def timed(self) -> list[Source]:
        """Its latency file as the source of a number, if it was timed."""
        there = self._latency if self.times else None
        return [file_of(there, self.entry.profile)] if there else []

    @property
    def counted(self) -> list[Source]:
        """Its rankings and its data set's lengths as the sources of a number."""
        return [ranking_of(self.name), self.measured]

    @property
    def traced(self) -> list[Source]:
        """What says how often it searched, as the sources of a number."""
        return [ranking_of(self.name)] if self.why_not else self.sources("queries", "branches")


@until_changed(4)
def _lengths(path: Path) -> Mapping[str, pd.DataFrame]:
    """The lengths of a data set by level, which many experiments share."""
    table = read_table(path, ["level"])
    columns = ["memory_id", "doc_id", "words", "tokens"]
    return {
        str(level): table.loc[table["level"] == level, columns]
        for level in table["level"].cat.categories
    }


class Family(NamedTuple):
    """The three paths over the same keys; familiarity's run may be longer than K."""

    familiarity: Recorded
    recollection: Recorded
    gated: Recorded

    @property
    def k(self) -> int:
        """The paper's K."""
        return self.recollection.k


class Records:
    """The experiments of some profiles by name, in the plan's order, with what was recorded."""

    def __init__(self, *profiles: str) -> None:
        self.profiles, self.plan = profiles, load_plan()
        self.experiments = {
            name: Recorded(name, self.plan)
            for name, entry in self.plan.experiments.items()
            if entry.profile in profiles and "k" in entry.parameters
        }
        traced = [one for one in self.experiments.values() if one.name in self.plan.traced]
        self.traced = [one for one in traced if not one.why_not]
        self.missing = [one for one in traced if one.why_not]

    @property
    def families(self) -> list[Family]:
        """The experiments on the same keys, of one K and variant."""
        found = []
        for name, deep in self.experiments.items():
            gated = self.experiments.get(name.replace("recollection", "gated"))
            both = {name, gated.name if gated else ""}
            if gated and len(both & self.plan.traced) == 2 and deep.direct:
                found.append(Family(self.experiments[deep.direct], deep, gated))
        return found

    def not_run(self, column: str, only: str = "") -> Iterator[Cell]:
        """A cell of a column for each experiment without a trace, with the reason.

        Args:
            column: where it stands.
            only: 'gated' or 'recollection', for experiments of that retriever alone.
        """
        for one in self.missing:
            if one.entry.retriever.startswith(only):
                yield missing(one.name, column, "trace", one.why_not)


def records_of(profile: str) -> Records:
    """What a profile's report stands on, read once."""
    return _records(paths.results(profile), STANDS_ON.get(profile, (profile,)))


@lru_cache(maxsize=1)
def _records(place: Path, profiles: tuple[str, ...]) -> Records:
    return Records(*profiles)
