"""Equal budgets in tokens: what a reader is given of a ranking, and which docs tie at its end."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.evaluate.bootstrap import SEED
from memrepro.evaluate.metrics import Ranks


def tokens_until(lists: pd.Series, tokens: NDArray[np.number]) -> pd.Series:
    """What a reader has been given with each row: docs are given whole, best first.

    A budget of tokens holds the rows of at most as many: until one does not fit.

    Args:
        lists: whose row each is, such as its question's, shape (n_rows,); in order of rank in each.
        tokens: of each row's doc, shape (n_rows,); where it is NaN, so is the result.

    Returns:
        The tokens of a list's docs down to each row's own, shape (n_rows,).
    """
    return pd.Series(tokens, index=lists.index).groupby(lists, observed=True).cumsum()


def tied_at(run: pd.DataFrame, k: int) -> NDArray[np.bool_]:
    """Which rows of a run stand in a tie that reaches over the cut-off k, shape (n_rows,).

    Args:
        run: `query_id, rank, score`, in order of rank, scores that do not rise.
        k: the cut-off.
    """
    query = run["query_id"].astype("category").cat.codes.to_numpy(np.int64)
    score, rank = run["score"].to_numpy(), run["rank"].to_numpy()
    last = pd.Series(np.where(rank == k, score, np.nan)).groupby(query).transform("max").to_numpy()
    after = pd.Series(np.where(rank == k + 1, score, np.nan)).groupby(query).transform("max")
    return np.asarray((score == last) & (last == after.to_numpy()))


def tie_orders(run: pd.DataFrame, tied: NDArray[np.bool_], ranks: Ranks, n: int) -> Iterator[Ranks]:
    """The same ranks with the ties at the cut-off in n random orders.

    Args:
        run: `query_id, rank`; its rows are those of `ranks`.
        tied: from `tied_at`.
        ranks: of the run.
        n: how many orders.
    """
    query = run["query_id"].astype("category").cat.codes.to_numpy()[tied]
    places, generator = np.flatnonzero(tied), np.random.default_rng(SEED)
    inside = ranks.ranks[places]
    for _ in range(n):
        # Rows by question and rank take the ranks of their tie in a random order.
        order = np.lexsort((generator.random(len(places)), query))
        shuffled = ranks.ranks.copy()
        shuffled[places[order]] = inside[np.lexsort((inside, query))]
        yield replace(ranks, ranks=shuffled)
