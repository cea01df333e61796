"""'w/o EIR' in the mean of all orders of what it leaves unranked (§5.5, Table 3).

Its run lists first the utterances that the subgraph or its events come from (score 1), each as good
as the next. In what order they come, the paper does not say. If every order of them is as likely,
the mean of a metric follows from how many they are and how many of them are gold:

    recall_all@k: C(n − g, k − g) / C(n, k)
    ndcg@k: each gold one gains (1/n) Σ_{i ≤ min(n, k)} 1 / log2(i + 1)

for n utterances, g of them gold, none of the gold elsewhere. What stands behind them keeps its
place, which matters only where n < k; it goes by a hash, itself one order of all.
"""

from collections.abc import Callable, Iterator, Mapping
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.files.cached import until_changed
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource, Source, write_sources
from memrepro.report.specs import Spec, metric_of
from memrepro.report.tables import Cell, number
from memrepro.study.evaluation import read_gold
from memrepro.study.params import load_plan

ROW = "w/o EIR, mean of all orders"


def mean_recall_all(first: int, gold: int, others: list[int], k: int) -> float:
    """The share of orders of the first `first` places that have all gold in the top k.

    Args:
        first: n, the places whose order is open.
        gold: g, gold docs among them.
        others: ranks of the gold docs behind them; `first` + 1 at least, k + 1 or more if lost.
        k: the cut-off.
    """
    if any(rank > k for rank in others):
        return 0.0
    if first <= k:
        return 1.0
    return comb(first - gold, k - gold) / comb(first, k) if gold <= k else 0.0


def mean_ndcg(first: int, gold: int, others: list[int], k: int) -> float:
    """NDCG@k in the mean of all orders of the first places; arguments as `mean_recall_all`."""
    gains = 1 / np.log2(np.arange(2, k + 2))
    found = sum(gains[rank - 1] for rank in others if rank <= k)
    if gold:
        found += gold * gains[: min(first, k)].sum() / first
    return float(found / gains[: min(gold + len(others), k)].sum())


MEANS: Mapping[str, Callable[[int, int, list[int], int], float]] = {
    "recall_all": mean_recall_all,
    "ndcg": mean_ndcg,
}


def all_orders(runs: Runs, spec: Spec) -> pd.DataFrame:
    """`query_id, kind, value`: a metric of 'w/o EIR' in the mean of all orders, by question.

    Raises:
        MemreproError: if the metric has no formula here, or a question's evidence has alternatives.
    """
    one = runs.planned[spec["run"]]
    if spec["metric"] not in MEANS or spec["level"] != one.granularity:
        raise MemreproError(
            f"{spec['metric']} by {spec['level']} has no mean over orders: known are "
            f"{', '.join(MEANS)} by {one.granularity}"
        )
    path = paths.run(one.profile, spec["run"], one.study)
    return _all_orders(path, one.dataset, spec["level"], spec["metric"], int(spec["k"]))


@until_changed(64)
def _all_orders(path: Path, dataset: str, level: str, metric: str, k: int) -> pd.DataFrame:
    """The same of a run's file, which tables and claims ask for."""
    plan = load_plan()
    name, protocol = next(iter(plan.evaluation.protocols.items()))
    gold = read_gold(plan.dataset(dataset).profile, dataset, {name: protocol})
    ranked, mean = _ranked(path), MEANS[metric]
    found = []
    for query_id, parts in gold.wanted(level, protocol).items():
        if any(len(part) != 1 for part in parts):
            raise MemreproError(f"the evidence of {query_id} has alternatives: no mean over orders")
        ranks, first = ranked.get(query_id, ({}, 0))
        places = [int(ranks.get(doc, first + k + 1)) for doc in {doc for doc, *_ in parts}]
        others = [place for place in places if place > first]
        value = mean(first, len(places) - len(others), others, k)
        found.append((query_id, gold.kinds[query_id], value))
    return pd.DataFrame(found, columns=["query_id", "kind", "value"])


@until_changed(2)
def _ranked(path: Path) -> dict[str, tuple[dict[str, int], int]]:
    """Query id → ranks of its docs, and how many come first."""
    table = read_table(path)
    ranks: dict[str, dict[str, int]] = {}
    for query_id, doc_id, rank in table[["query_id", "doc_id", "rank"]].itertuples(index=False):
        ranks.setdefault(query_id, {})[doc_id] = rank
    first = table.groupby("query_id")["score"].sum().astype(int).to_dict()
    return {query_id: (of, first[query_id]) for query_id, of in ranks.items()}


def ablation_cells(runs: Runs, table: Spec) -> Iterator[Cell]:
    """The row of the mean of all orders: each column's value, or its difference from w/o AM."""
    run = f"{table['stem']}-associa-without-importance"
    if runs.why_not(run):
        return
    for column in table["columns"]:
        place = RunSource(run, "", table["level"], **metric_of(column))
        now = all_orders(runs, place._asdict())
        rival = place._replace(run=f"{table['stem']}-associa-without-association")
        sources: list[Source] = [runs.file(run)]
        shown: str | Comparison = number(float(now["value"].mean()))
        if column != place.name:
            sources = [rival, *sources]
            before = runs.values(rival)
            assert before is not None  # evaluated beside the run
            shown = runs.compare(run, before, now)
        note = f"{ROW}: by formula, from how many utterances come first and how many are gold"
        cell = Cell(
            ROW, column, place.name, "", "", len(now), NOT_COMPARABLE, note=note,
            sources=write_sources(sources),
        )  # fmt: skip
        yield cell.filled(shown)
