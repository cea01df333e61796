"""Retrieval metrics: pure, each formulation under its own name, at any k.

Gold is given in *parts*, each with alternatives any one of which will do (PersonaBench). A
*combination* takes one alternative of each part; where every part has a single one, as in
LongMemEval, the one combination is the gold set. Each metric scores each combination and keeps
the query's best; a query that is missing from the run scores 0.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from memrepro.core.memory import Parts
from memrepro.errors import MemreproError

Floats = NDArray[np.float64]
MOST_COMBINATIONS = 100_000


@dataclass(frozen=True)
class Ranks:
    """The ranks of a run, or of several settings of one, to be looked up.

    Attributes:
        queries: the ids of its queries, each in the place of its number.
        docs: the ids of its docs, likewise.
        pairs: of each row, the number of its query times the number of docs, plus that of its doc.
        ranks: of each row, from 1.
        settings: of each row, the number of its setting; None where the run is of one.
        n_settings: how many they are.
    """

    queries: pa.Array
    docs: pa.Array
    pairs: NDArray[np.int64]
    ranks: NDArray[np.int64]
    settings: NDArray[np.int64] | None = None
    n_settings: int = 1

    def ranks_of_gold(self, judged: "Judged") -> Floats:
        """The rank of each gold doc, infinity where it was not retrieved.

        Returns:
            Shape (n_gold,), or (n_settings, n_gold) for a run of several settings.
        """
        queries, docs = (
            pc.index_in(ids, known).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
            for ids, known in zip(judged.ids, (self.queries, self.docs), strict=True)
        )
        queries = np.repeat(queries, judged.gold_of_queries())
        pairs = np.where((queries >= 0) & (docs >= 0), queries * len(self.docs) + docs, -1)
        # A doc is gold of several combinations; most rows are no gold at all.
        known, places = np.unique(pairs, return_inverse=True)
        at = pd.Index(known).get_indexer(pd.Index(self.pairs))
        rows = np.flatnonzero(at >= 0)
        found = np.full((self.n_settings, len(known)), np.inf)
        found[0 if self.settings is None else self.settings[rows], at[rows]] = self.ranks[rows]
        found = found[:, places]
        return found[0] if self.settings is None else found


def ranks_of(run: pd.DataFrame, settings: Sequence[str] = ()) -> Ranks:
    """The ranks of a run, `query_id, doc_id, rank`; fastest where the ids are categories.

    Args:
        run: the rankings.
        settings: those that the run's column `setting` names, where it is one of several.

    Raises:
        MemreproError: if the run names a doc twice for a query, or another setting.
    """
    (queries, query_ids), (docs, doc_ids) = (coded(run[name]) for name in ("query_id", "doc_id"))
    pairs, ranks = queries * len(doc_ids) + docs, run["rank"].to_numpy(np.int64)
    found = Ranks(query_ids, doc_ids, pairs, ranks)
    if settings:
        numbers = _numbers(run, settings)
        found = replace(found, settings=numbers, n_settings=len(settings))
        pairs = numbers * (len(query_ids) * len(doc_ids)) + pairs
    in_order = np.sort(pairs)
    if (in_order[1:] == in_order[:-1]).any():
        row = run[pd.Series(pairs).duplicated().to_numpy()].iloc[0]
        raise MemreproError(
            f"the run names doc {row['doc_id']!r} twice for query {row['query_id']!r}: "
            "each doc must stand once"
        )
    return found


def asked_in(run: pd.DataFrame, settings: Sequence[str] = ()) -> list[set[str]]:
    """The queries that a run ranks docs for: one set, or one for each of its settings."""
    queries, ids = coded(run["query_id"])
    found = np.zeros((max(len(settings), 1), len(ids)), bool)
    found[_numbers(run, settings) if settings else 0, queries] = True
    return [set(ids.filter(row).to_pylist()) for row in found]


def _numbers(run: pd.DataFrame, settings: Sequence[str]) -> NDArray[np.int64]:
    """The place of each row's setting among the settings."""
    found = pd.Categorical(run["setting"], categories=pd.Index(settings)).codes.astype(np.int64)
    if (found < 0).any():
        raise MemreproError(
            f"the run has the setting {run['setting'][found < 0].iloc[0]!r}, which is none of "
            f"{', '.join(settings)}"
        )
    return found


def coded(ids: pd.Series) -> tuple[NDArray[np.int64], pa.Array]:
    """A number for each id, and the ids in the places of their numbers.

    Raises:
        MemreproError: for ids that are numbers.
    """
    if isinstance(ids.dtype, pd.CategoricalDtype):
        codes, found = ids.cat.codes.to_numpy(), ids.cat.categories
    else:
        codes, found = pd.factorize(ids)
    try:
        return codes.astype(np.int64), pa.array(found, pa.large_string())
    except pa.ArrowTypeError as error:
        raise MemreproError(
            f"the column {ids.name} holds {found.dtype}, and ids must be texts: it was edited; "
            "`git restore` brings a committed run back, and `dvc repro` makes it again"
        ) from error


@dataclass(frozen=True)
class Judged:
    """The gold docs of queries, every combination of them, laid out once for many runs.

    Attributes:
        query_ids: shape (n_queries,).
        first_combination: where each query's combinations begin, shape (n_queries,).
        first_gold: where each combination's gold docs begin, shape (n_combinations,).
        sizes: how many those are, shape (n_combinations,).
        docs: the id of each gold doc, shape (n_gold,).
    """

    query_ids: tuple[str, ...]
    first_combination: NDArray[np.int64]
    first_gold: NDArray[np.int64]
    sizes: NDArray[np.int64]
    docs: tuple[str, ...]

    @cached_property
    def ids(self) -> tuple[pa.Array, pa.Array]:
        """`query_ids` and `docs`, to be looked up in many runs."""
        return pa.array(self.query_ids, pa.large_string()), pa.array(self.docs, pa.large_string())

    def gold_of_queries(self) -> NDArray[np.int64]:
        """How many gold docs the combinations of each query have together, shape (n_queries,)."""
        return np.add.reduceat(self.sizes, self.first_combination)


@dataclass(frozen=True)
class GoldRanks:
    """Where the gold of each combination came out; what all metrics share.

    Of a run of several settings all shapes begin with their number.

    Attributes:
        judged: the gold.
        ranks: rank of each gold doc from 1, infinity where it was not retrieved, shape (n_gold,).
    """

    judged: Judged
    ranks: Floats

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Gold docs of each combination, shape (n_combinations,)."""
        return self.judged.sizes

    def total(self, per_gold: NDArray[np.generic]) -> Floats:
        """The sum over each combination's gold, shape (n_combinations,)."""
        return np.add.reduceat(per_gold.astype(np.float64), self.judged.first_gold, axis=-1)

    def best(self, per_combination: NDArray[np.generic]) -> Floats:
        """The best combination of each query, shape (n_queries,)."""
        first = self.judged.first_combination
        return np.maximum.reduceat(per_combination.astype(np.float64), first, axis=-1)


@dataclass(frozen=True)
class Values:
    """Metrics of the same queries: (metric, k) → shape (n_queries,).

    Those of a run of several settings have shape (n_settings, n_queries).
    """

    query_ids: tuple[str, ...]
    by: Mapping[tuple[str, int], Floats]

    def of_setting(self, number: int) -> "Values":
        """Those of one setting of several."""
        return Values(self.query_ids, {place: found[number] for place, found in self.by.items()})

    def frame(self) -> pd.DataFrame:
        """Long: `query_id, metric, k, value`, one metric and k after the other."""
        n = len(self.query_ids)
        names = np.array([name for name, _ in self.by], object)
        return pd.DataFrame(
            {
                "query_id": np.tile(np.array(self.query_ids, object), len(self.by)),
                "metric": np.repeat(names, n),
                "k": np.repeat(np.array([k for _, k in self.by], np.int64), n),
                "value": np.concatenate(list(self.by.values())),
            }
        )


def lay_out(gold: Mapping[str, Parts]) -> Judged:
    """Every combination of every query's gold.

    Args:
        gold: query id → parts; its queries, in its order, are the denominator.

    Raises:
        MemreproError: if there is no query, a query has no gold, or the alternatives of a query
            give too many combinations to try.
    """
    if not gold:
        raise MemreproError("no query with gold: there is nothing to evaluate")
    first_combination: list[int] = []
    sizes: list[int] = []
    docs: list[str] = []
    for query_id, parts in gold.items():
        if not parts or not all(parts):
            raise MemreproError(
                f"query {query_id!r} has no gold: exclude it by a stated rule before evaluating"
            )
        first_combination.append(len(sizes))
        single = [part[0] for part in parts if len(part) == 1]
        if len(single) < len(parts) and (
            (count := prod(len(part) for part in parts)) > MOST_COMBINATIONS
        ):
            raise MemreproError(
                f"query {query_id!r} has {count} combinations of alternatives, "
                f"more than {MOST_COMBINATIONS}: check its gold"
            )
        for combination in (single,) if len(single) == len(parts) else product(*parts):
            distinct = dict.fromkeys(combination)  # a doc that answers two parts counts once
            sizes.append(len(distinct))
            docs += distinct
    return Judged(
        tuple(gold),
        np.array(first_combination, np.int64),
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        np.array(sizes, np.int64),
        tuple(docs),
    )


def find_gold_ranks(ranks: Ranks, judged: Judged) -> GoldRanks:
    """The ranks of the gold docs in a run."""
    return GoldRanks(judged, ranks.ranks_of_gold(judged))


def recall_all(gold_ranks: GoldRanks, k: int) -> Floats:
    """1 where every gold doc is in the top k (LongMemEval's official recall_all@k)."""
    return gold_ranks.best(gold_ranks.total(gold_ranks.ranks <= k) == gold_ranks.sizes)


def recall_any(gold_ranks: GoldRanks, k: int) -> Floats:
    """1 where at least one gold doc is in the top k (LongMemEval's official recall_any@k)."""
    return gold_ranks.best(gold_ranks.total(gold_ranks.ranks <= k) > 0)


def recall(gold_ranks: GoldRanks, k: int) -> Floats:
    """The share of gold docs in the top k (PersonaBench's Recall, best combination)."""
    return gold_ranks.best(gold_ranks.total(gold_ranks.ranks <= k) / gold_ranks.sizes)


def precision(gold_ranks: GoldRanks, k: int) -> Floats:
    """The gold docs in the top k as a share of k, so that a list shorter than k loses by it."""
    return gold_ranks.best(gold_ranks.total(gold_ranks.ranks <= k) / k)


def _ndcg(
    gold_ranks: GoldRanks, k: int | NDArray[np.int64], discount: Callable[[Floats], Floats]
) -> Floats:
    ks = np.broadcast_to(k, gold_ranks.ranks.shape[:-1] + gold_ranks.sizes.shape)
    within = gold_ranks.ranks <= np.repeat(ks, gold_ranks.sizes, axis=-1)
    gains = np.zeros(within.shape)
    gains[within] = 1.0 / discount(gold_ranks.ranks[within])
    ideal = np.cumsum(1.0 / discount(np.arange(1.0, ks.max() + 1)))
    return gold_ranks.best(gold_ranks.total(gains) / ideal[np.minimum(gold_ranks.sizes, ks) - 1])


def ndcg(gold_ranks: GoldRanks, k: int) -> Floats:
    """NDCG@k with the ordinary discount 1/log2(rank + 1) (also PersonaBench's)."""
    return _ndcg(gold_ranks, k, lambda rank: np.log2(rank + 1.0))


def ndcg_longmemeval(gold_ranks: GoldRanks, k: int | NDArray[np.int64]) -> Floats:
    """NDCG@k of LongMemEval's released code: DCG = rel_1 + Σ_{i≥2} rel_i / log2(i).

    Its k may differ by combination, shape (n_combinations,).
    """
    return _ndcg(gold_ranks, k, lambda rank: np.maximum(1.0, np.log2(rank)))


METRICS: Mapping[str, Callable[[GoldRanks, int], Floats]] = {
    "recall_all": recall_all,
    "recall_any": recall_any,
    "recall": recall,
    "precision": precision,
    "ndcg": ndcg,
    "ndcg_longmemeval": ndcg_longmemeval,
}


def evaluate(ranks: Ranks, judged: Judged, names: Iterable[str], ks: Sequence[int]) -> Values:
    """Every metric at every k for every query with gold.

    Raises:
        MemreproError: for an unknown metric, or a k below 1.
    """
    if bad := [k for k in ks if k < 1]:
        raise MemreproError(f"k is {bad[0]}: a cut-off must be at least 1")
    gold_ranks = find_gold_ranks(ranks, judged)
    found = {}
    for name in names:
        if name not in METRICS:
            raise MemreproError(f"unknown metric {name!r}: known are {', '.join(METRICS)}")
        found.update({(name, k): METRICS[name](gold_ranks, k) for k in ks})
    return Values(judged.query_ids, found)


def read_metric(written: str) -> tuple[str, int]:
    """The name and cut-off of a metric such as 'recall@10'.

    Raises:
        MemreproError: for another name, or a k below 1.
    """
    name, _, k = written.partition("@")
    if name not in METRICS or not k.isdecimal() or int(k) < 1:
        raise MemreproError(
            f"unknown metric {written!r}: write name@k, such as recall@10, with a name of "
            f"{', '.join(METRICS)} and k of at least 1"
        )
    return name, int(k)
