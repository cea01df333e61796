"""What a query costs under each method: counts that follow from it, and time where measured."""

from dataclasses import dataclass
from functools import cache

import pandas as pd

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.findings.arenas import read_study
from memrepro.papers.findings.study import Outcome
from memrepro.study.params import load_plan

# A doc has one key unless its scheme says otherwise.
_MANY = ("fielded", "+separate", "+split", "+graph", "+windows", "tiers:")


@dataclass(frozen=True)
class Cost:
    """The cost of one query; None where it is not counted or not measured.

    Attributes:
        keys: a doc, in the index; 0 without vectors.
        searches: passes over the keys, on average.
        compared: keys that a query's vector is compared with, on average.
        megabytes: of the vectors of all memories.
        milliseconds: of the search by the published measurement, without encoding the query.
        work: what else is done for a query.
        writes: what a language model is asked for when a session is stored.
    """

    keys: float | None
    searches: float | None
    compared: float | None
    megabytes: float | None
    milliseconds: float | None
    work: str
    writes: str


def cost_of(one: Outcome) -> Cost:
    """The cost of a method, by its run as printed."""
    arena, run = one.arena, one.printed
    needs = read_study()["methods"].get(one.method, {})
    plan = load_plan()
    planned = plan.runs[run.run].variants()[run.setting]
    if planned.retriever == "bm25" or (planned.retriever == "hybrid" and run.setting == "0.0"):
        return Cost(0.0, 0.0, 0.0, 0.0, None, "BM25", "")
    sizes = _key_sizes(arena.profile, planned.study)
    for name, value in planned.searched.items():
        sizes = sizes[sizes[name] == value] if len(sizes) else sizes
    counted = sizes.iloc[0] if len(sizes) else None
    keys: float | None = None
    if counted is not None:
        keys = float(counted["keys"]) / float(counted["docs"])
    elif not any(mark in planned.key_scheme for mark in _MANY):
        keys = 1.0
    searches = _searches(arena.profile, run.run)
    if searches is None and planned.method != "rfmem":  # whose searches depend on the query
        searches = float(needs.get("searches", 1))
    return Cost(
        keys,
        searches,
        None if keys is None or searches is None else keys * searches * arena.docs,
        None if counted is None else float(counted["bytes"]) / 1e6,
        _milliseconds(arena.profile).get(run.run),
        "BM25" if planned.retriever == "hybrid" and run.setting != "1.0" else needs.get("work", ""),
        needs.get("writes", ""),
    )


@cache
def _key_sizes(profile: str, study: str) -> pd.DataFrame:
    """How many keys a study's runs search; empty where they have not been counted."""
    path = paths.study(profile, study) / "key_sizes.csv"
    return read_table(path) if path.is_file() else pd.DataFrame()


@cache
def _searches(profile: str, run: str) -> float | None:
    """Searches a query by the run's trace: one a branch, and one where none was followed."""
    folder = paths.trace(profile, run, load_plan().runs[run].study)
    if not (folder / "branches.parquet").is_file():
        return None
    asked = read_table(folder / "queries.parquet", ["query_id"])["query_id"]
    branches = read_table(folder / "branches.parquet", ["query_id"])["query_id"]
    return (len(branches) + int((~asked.isin(branches)).sum())) / len(asked)


@cache
def _milliseconds(profile: str) -> dict[str, float]:
    """Run → the time of a search, by the first of the files that has it."""
    found: dict[str, float] = {}
    for path in sorted((paths.results(profile) / "latency").glob("*.csv")):
        table = read_table(path)
        searches = table[table["part"] == "search"]
        for run, time in zip(searches["experiment"], searches["mean_ms"], strict=True):
            found.setdefault(run, float(time))
    return found
