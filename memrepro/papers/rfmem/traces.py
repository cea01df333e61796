"""The traces of RF-Mem's experiments: how each query was answered, beside the runs.

A trace holds ids and numbers, no text; `memrepro.retrieve.rfmem.Trace` says what its columns are.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from memrepro.audit.verdicts import NOT_RUN
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.files.atomic import read_table
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
            folder = paths.trace(entry.profile, name)
            tables = [read_table(folder / f"{part}.parquet") for part in PARTS]
            gold_profile = self.plan.dataset(entry.dataset).profile
            self.found[name] = Traced(name, entry, gold_profile, *tables)

    def why_not(self, name: str) -> str:
        """Why an experiment has no trace; '' where it has."""
        if name not in self.plan.traced:
            return f"{name} is not traced in params.yaml"
        folder = paths.trace(self.plan.experiments[name].profile, name)
        if all((folder / f"{part}.parquet").is_file() for part in PARTS):
            return ""
        return f"{name} has no trace: run `dvc repro`"

    def familiarity(self, one: Traced) -> pd.DataFrame | None:
        """The run that an experiment's gate looks at, at its K; None where it was not run."""
        name = familiarity_of(self.plan, one.entry)
        path = paths.run(one.entry.profile, name)
        if not name or not path.is_file():
            return None
        run = read_table(path)
        return run[run["rank"] <= one.k]

    def not_run(self, column: str, only: str = "") -> Iterator[Cell]:
        """A cell for each experiment without a trace, with the reason.

        Args:
            column: where it stands.
            only: 'gated' or 'recollection', for experiments of that retriever alone.
        """
        for name, why in self.missing.items():
            if self.plan.experiments[name].retriever.startswith(only):
                yield Cell(name, column, "trace", "", "", 0, NOT_RUN, note=why)


def or_none(cells: Iterable[Cell], column: str) -> list[Cell]:
    """The cells, or where there are none one that says so: the table is written in any case."""
    why = "params.yaml plans no such experiment for this profile"
    return list(cells) or [Cell("none", column, "plan", "", "", 0, NOT_RUN, note=why)]


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
