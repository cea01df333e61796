"""Each question of a run: its values, their means by kind, and two runs on the same questions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison, Groups, compare, mean_interval
from memrepro.outside.runs import Docs, OutsideRun
from memrepro.study.evaluation import Gold, each_protocol
from memrepro.study.plan import Protocol

EACH_COLUMNS = ["run", "level", "query_id", "kind"]  # and behind them a column a metric
KIND_COLUMNS = ["run", "level", "kind", "n", "value", "low", "high", "by"]
# The ids of questions → which of them belong together.
Grouped = Callable[[Sequence[str]], Groups]


def without_kinds(gold: Gold, kinds: Collection[str]) -> Gold:
    """The gold without the questions of some kinds, such as LoCoMo's 'adversarial'.

    Raises:
        MemreproError: for a kind that no question has.
    """
    known = set(gold.kinds.values())
    if strange := [kind for kind in kinds if kind not in known]:
        raise MemreproError(
            f"no question is of the kind {strange[0]!r}: there are "
            f"{', '.join(sorted(map(repr, known)))}"
        )
    if not kinds:
        return gold
    kept = {query_id: kind for query_id, kind in gold.kinds.items() if kind not in kinds}
    by_level = {
        level: {query_id: parts for query_id, parts in of_level.items() if query_id in kept}
        for level, of_level in gold.by_level.items()
    }
    faults = {query_id: why for query_id, why in gold.faults.items() if query_id in kept}
    return Gold(kept, faults, by_level, gold.places)


def each_question(
    runs: Iterable[OutsideRun], gold: Gold, protocol: Protocol, metrics: Sequence[str], k: int
) -> pd.DataFrame:
    """`EACH_COLUMNS` and a column a metric at k: each run at its levels, under one protocol."""
    tables = []
    for run in runs:
        # A rank decides the official roll-up; what is kept a question is by the docs' first place.
        only = {"": replace(protocol, roll_up="first")}
        for level, _, evaluated in each_protocol(run.frame, run.level, gold, only):
            found = evaluated(metrics, [k])
            head = {
                "run": run.name, "level": level, "query_id": list(found.query_ids),
                "kind": [gold.kinds[query_id] for query_id in found.query_ids],
            }  # fmt: skip
            tables.append(pd.DataFrame(head | {m: found.by[m, k] for m in metrics}))
    columns = [*EACH_COLUMNS, *metrics]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def by_kind(each: pd.DataFrame, metric: str, grouped: Grouped) -> pd.DataFrame:
    """`KIND_COLUMNS`: the mean of a metric by kind of question, with its 95 % interval."""
    rows = []
    for (run, level, kind), some in each.groupby(["run", "level", "kind"], sort=False):
        groups = grouped(some["query_id"].tolist())
        found = mean_interval(some[metric].to_numpy(float), groups)
        rows.append((run, level, kind, len(some), *found, str(groups)))
    return pd.DataFrame(rows, columns=KIND_COLUMNS)


def whole_memories(each: pd.DataFrame, known: Docs, k: int) -> Mapping[tuple[str, str], float]:
    """Run and level → the share of its questions whose whole memory k reaches; none unknown."""
    shares = {}
    for (run, level), some in each.groupby(["run", "level"], sort=False):
        sizes = [
            len(known.held.get((str(level), known.memory_of.get(query_id, "")), ()))
            for query_id in some["query_id"]
        ]
        if any(sizes):
            shares[str(run), str(level)] = float(np.mean([0 < size <= k for size in sizes]))
    return shares


def compared(
    each: pd.DataFrame, run: str, other: str, level: str, metric: str, grouped: Grouped
) -> Comparison:
    """A run against another, run − other, on the same questions.

    Raises:
        MemreproError: if one of the two has no values at the level, or they answer other questions.
    """
    values = {
        name: each[(each["run"] == name) & (each["level"] == level)].set_index("query_id")[metric]
        for name in (run, other)
    }
    if bare := [name for name, found in values.items() if found.empty]:
        raise MemreproError(
            f"{bare[0]} has no values by {level}: two runs are compared at the level of both"
        )
    second = values[run]
    if set(second.index) != set(values[other].index):
        raise MemreproError(f"{run} and {other} are not of the same questions")
    first = values[other].reindex(second.index)
    return compare(first.to_numpy(float), second.to_numpy(float), grouped(list(second.index)))
