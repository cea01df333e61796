"""Rankings of rounds, turns or extractions, read as rankings of sessions: pure.

Two readings, each under its own name. *First place*: a session stands where its first doc does.
*Official*: LongMemEval's released code leaves the docs where they are and lets k grow until the top
of the list names k sessions (docs/protocols.md, LongMemEval, roll-up); see `evaluate_official`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from memrepro.core.extractions import parent_of
from memrepro.core.key_schemes import is_extraction
from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import Judged, Ranks, Values, find_gold_ranks, ndcg_longmemeval


def levels_of(granularity: str) -> tuple[str, ...]:
    """The levels at which a ranking is evaluated: its own, and those that it is rolled up to."""
    if is_extraction(granularity):
        return ("round", "session")
    return (granularity,) if granularity == "session" else (granularity, "session")


def roll_up(run: pd.DataFrame, level: str, places: Mapping[str, str]) -> pd.DataFrame | None:
    """The run with its docs read as sessions or rounds, each where its first doc stands.

    Args:
        run: `query_id, doc_id, rank`, in order of rank for each query; with `setting`, for each
            query of each setting.
        level: 'session', or 'round' for a run of extractions.
        places: round or turn id → session id.

    Returns:
        The same columns; None where a doc was taken from a session, and rounds are asked for.
    """
    docs, doc_ids = pd.factorize(run["doc_id"])
    parents = [parent_of(doc_id) for doc_id in doc_ids]
    if level == "round":
        if not all(parent in places for parent in parents):
            return None
    else:
        parents = [places.get(parent, parent) for parent in parents]
    unit_of_doc, units = pd.factorize(np.array(parents, object))
    lists, found = pd.factorize(run["query_id"])[0].astype(np.int64), unit_of_doc[docs]
    if "setting" in run:
        lists += pd.factorize(run["setting"])[0] * (lists.max(initial=0) + 1)
    first = ~pd.Series(lists * len(units) + found).duplicated().to_numpy()
    ranks = pd.Series(lists[first]).groupby(lists[first], sort=False).cumcount() + 1
    return run[first].assign(
        doc_id=pd.Categorical.from_codes(found[first], pd.Index(units)), rank=ranks.to_numpy()
    )


OFFICIAL = ("recall_all", "recall_any", "ndcg_longmemeval")


def evaluate_official(
    ranks: Ranks, judged: Judged, places: Mapping[str, str], ks: Sequence[int]
) -> Values:
    """LongMemEval's released turn-to-session evaluation (`evaluate_retrieval_turn2session`).

    A gold session is one with a gold turn. The other turns of such a session count as a session of
    their own (the script renames them), and so does the session of any turn. For each question, k
    grows until the top of the ranking names k sessions; then a gold session is found if one of its
    gold turns is in the top, and NDCG is that of the turns at the grown k.

    Args:
        ranks: of a run of rounds or turns, in order of rank for each query.
        judged: its gold rounds or turns, one combination a query.
        places: round or turn id → session id.
        ks: cut-offs in sessions.

    Returns:
        The metrics of `OFFICIAL`.

    Raises:
        MemreproError: if a gold turn or a ranked doc has no session.
    """
    n, ids = len(judged.query_ids), ranks.docs.to_pylist()
    n_lists = n * ranks.n_settings  # each query of each setting has one
    settings = np.zeros_like(ranks.pairs) if ranks.settings is None else ranks.settings
    shape = (n,) if ranks.settings is None else (ranks.n_settings, n)
    query_of_gold = np.repeat(np.arange(n), judged.gold_of_queries())
    list_of_gold = (np.arange(0, n_lists, n)[:, None] + query_of_gold).ravel()
    sessions, names = pd.factorize(np.array([places.get(i) for i in (*ids, *judged.docs)], object))
    session_of_gold = sessions[len(ids) :]
    # The rows of the queries that are judged, one list after the other.
    queries, docs = np.divmod(ranks.pairs, max(len(ids), 1))
    queries = pc.index_in(ranks.queries, judged.ids[0]).fill_null(-1).to_numpy()[queries]
    lists = np.where(queries < 0, -1, settings * n + queries)
    rows = np.argsort(lists, kind="stable")[np.count_nonzero(lists < 0) :]
    lists, docs = lists[rows].astype(np.int64), docs[rows]
    units = sessions[docs]
    strays = {(query_of_gold[i], judged.docs[i]) for i in np.flatnonzero(session_of_gold < 0)}
    strays |= {(lists[i] % n, ids[docs[i]]) for i in np.flatnonzero(units < 0)}
    if strays:
        place, doc_id = min(strays)
        raise MemreproError(
            f"doc {doc_id!r} of query {judged.query_ids[place]!r} lies in no session"
        )
    lengths = np.bincount(lists, minlength=n_lists)
    positions = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    doc_of_gold = pc.index_in(judged.ids[1], ranks.docs).fill_null(-1).to_numpy().astype(np.int64)
    session_of_gold, doc_of_gold = (
        np.tile(found, ranks.n_settings) for found in (session_of_gold, doc_of_gold)
    )
    is_gold = np.isin(
        lists * len(ids) + docs, (list_of_gold * len(ids) + doc_of_gold)[doc_of_gold >= 0]
    )
    # A session of a list, and whether one of its gold turns is meant: any other turn of a gold
    # session stands for another session.
    units = lists * len(names) + units
    gold = np.unique(list_of_gold * len(names) + session_of_gold)
    is_other = np.isin(units, gold) & ~is_gold
    first = np.flatnonzero(~pd.Series(units * 2 + is_other).duplicated().to_numpy())
    found_at = np.full(len(gold), np.inf)
    found = first[is_gold[first]]
    found_at[np.searchsorted(gold, units[found])] = positions[found]
    gold_sessions = np.searchsorted(gold, np.arange(n_lists) * len(names))
    first_found = np.minimum.reduceat(found_at, gold_sessions).reshape(shape)
    last_found = np.maximum.reduceat(found_at, gold_sessions).reshape(shape)
    named = pd.Series(first).groupby(lists[first]).cumcount().to_numpy() + 1
    gold_ranks, values = find_gold_ranks(ranks, judged), {}
    for k in ks:
        grown = lengths + 1
        enough = first[named == k]
        grown[lists[enough]] = positions[enough]
        grown = np.maximum(grown, k).reshape(shape)
        values["recall_all", k] = (last_found <= grown).astype(np.float64)
        values["recall_any", k] = (first_found <= grown).astype(np.float64)
        values["ndcg_longmemeval", k] = ndcg_longmemeval(gold_ranks, grown)
    return Values(judged.query_ids, values)
