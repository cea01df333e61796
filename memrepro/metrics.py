"""Retrieval metrics: pure, each formulation under its own name, at any k.

Gold is given in *parts*, each with alternatives any one of which will do (PersonaBench). A
*combination* takes one alternative of each part; where every part has a single one, as in
LongMemEval, the one combination is the gold set. Each metric scores each combination and keeps
the query's best; a query that is missing from the run scores 0.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.core.memory import Parts
from memrepro.errors import MemreproError

Floats = NDArray[np.float64]
MOST_COMBINATIONS = 100_000


@dataclass(frozen=True)
class Hits:
    """Where the gold of each combination came out; the arrays that all metrics share.

    Attributes:
        query_ids: shape (n_queries,).
        first_combination: where each query's combinations begin, shape (n_queries,).
        first_gold: where each combination's gold begins in `ranks`, shape (n_combinations,).
        sizes: gold docs of each combination, shape (n_combinations,).
        ranks: rank of each gold doc from 1, infinity where it was not retrieved, shape (n_gold,).
    """

    query_ids: tuple[str, ...]
    first_combination: NDArray[np.int64]
    first_gold: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ranks: Floats

    def total(self, per_gold: NDArray[np.generic]) -> Floats:
        """The sum over each combination's gold, shape (n_combinations,)."""
        return np.add.reduceat(per_gold.astype(np.float64), self.first_gold)

    def best(self, per_combination: NDArray[np.generic]) -> Floats:
        """The best combination of each query, shape (n_queries,)."""
        return np.maximum.reduceat(per_combination.astype(np.float64), self.first_combination)


def find_hits(run: pd.DataFrame, gold: Mapping[str, Parts]) -> Hits:
    """The ranks of the gold docs in a run.

    Args:
        run: `query_id, doc_id, rank`.
        gold: query id → parts; its queries, in its order, are the denominator.

    Raises:
        MemreproError: if there is no query, a query has no gold, the run names a doc twice for
            a query, or the alternatives of a query give too many combinations to try.
    """
    if not gold:
        raise MemreproError("no query with gold: there is nothing to evaluate")
    if run.duplicated(["query_id", "doc_id"]).any():
        row = run[run.duplicated(["query_id", "doc_id"])].iloc[0]
        raise MemreproError(
            f"the run names doc {row['doc_id']!r} twice for query {row['query_id']!r}: "
            "each doc must stand once"
        )
    # As lists: to iterate over pandas' own strings takes as long as all the rest.
    queries, named, found = (run[c].tolist() for c in ("query_id", "doc_id", "rank"))
    rank_of = dict(zip(zip(queries, named, strict=True), found, strict=True))
    first_combination: list[int] = []
    sizes: list[int] = []
    ranks: list[float] = []
    for query_id, parts in gold.items():
        if not parts or not all(parts):
            raise MemreproError(
                f"query {query_id!r} has no gold: exclude it by a stated rule before evaluating"
            )
        if (count := prod(len(part) for part in parts)) > MOST_COMBINATIONS:
            raise MemreproError(
                f"query {query_id!r} has {count} combinations of alternatives, "
                f"more than {MOST_COMBINATIONS}: check its gold"
            )
        first_combination.append(len(sizes))
        for combination in product(*parts):
            docs = dict.fromkeys(combination)  # a doc that answers two parts counts once
            sizes.append(len(docs))
            ranks.extend(float(rank_of.get((query_id, doc), np.inf)) for doc in docs)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    return Hits(
        tuple(gold),
        np.array(first_combination, np.int64),
        starts,
        np.array(sizes, np.int64),
        np.array(ranks),
    )


def recall_all(hits: Hits, k: int) -> Floats:
    """1 where every gold doc is in the top k (LongMemEval's official recall_all@k)."""
    return hits.best(hits.total(hits.ranks <= k) == hits.sizes)


def recall_any(hits: Hits, k: int) -> Floats:
    """1 where at least one gold doc is in the top k (LongMemEval's official recall_any@k)."""
    return hits.best(hits.total(hits.ranks <= k) > 0)


def recall(hits: Hits, k: int) -> Floats:
    """The share of gold docs in the top k (PersonaBench's Recall, best combination)."""
    return hits.best(hits.total(hits.ranks <= k) / hits.sizes)


def _ndcg(hits: Hits, k: int, discount: Callable[[Floats], Floats]) -> Floats:
    gains = np.where(hits.ranks <= k, 1.0 / discount(hits.ranks), 0.0)
    ideal = np.cumsum(1.0 / discount(np.arange(1.0, max(k, 1) + 1)))
    return hits.best(hits.total(gains) / ideal[np.minimum(hits.sizes, k) - 1])


def ndcg(hits: Hits, k: int) -> Floats:
    """NDCG@k with the ordinary discount 1/log2(rank + 1) (also PersonaBench's)."""
    return _ndcg(hits, k, lambda rank: np.log2(rank + 1.0))


def ndcg_longmemeval(hits: Hits, k: int) -> Floats:
    """NDCG@k of LongMemEval's released code: DCG = rel_1 + Σ_{i≥2} rel_i / log2(i)."""
    return _ndcg(hits, k, lambda rank: np.maximum(1.0, np.log2(rank)))


METRICS: Mapping[str, Callable[[Hits, int], Floats]] = {
    "recall_all": recall_all,
    "recall_any": recall_any,
    "recall": recall,
    "ndcg": ndcg,
    "ndcg_longmemeval": ndcg_longmemeval,
}


def evaluate(
    run: pd.DataFrame, gold: Mapping[str, Parts], names: Iterable[str], ks: Sequence[int]
) -> pd.DataFrame:
    """Every metric at every k for every query: `query_id, metric, k, value`, long.

    Raises:
        MemreproError: for an unknown metric, a k below 1, or what `find_hits` refuses.
    """
    if bad := [k for k in ks if k < 1]:
        raise MemreproError(f"k is {bad[0]}: a cut-off must be at least 1")
    hits = find_hits(run, gold)
    blocks = []
    for name in names:
        if name not in METRICS:
            raise MemreproError(f"unknown metric {name!r}: known are {', '.join(METRICS)}")
        blocks += [
            pd.DataFrame(
                {
                    "query_id": hits.query_ids,
                    "metric": name,
                    "k": k,
                    "value": METRICS[name](hits, k),
                }
            )
            for k in ks
        ]
    return pd.concat(blocks, ignore_index=True)
