"""Rankings of rounds, turns or extractions, read as rankings of sessions: pure.

Two readings, each under its own name. *First place*: a session stands where its first doc does.
*Official*: LongMemEval's released code leaves the docs where they are and lets k grow until the top
of the list names k sessions (docs/protocols.md, LongMemEval, roll-up); see `evaluate_official`.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from memrepro.core.extractions import parent_of
from memrepro.core.memory import Parts
from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import Values, find_gold_ranks, lay_out, ndcg_longmemeval, ranks_of


def roll_up(run: pd.DataFrame, level: str, places: Mapping[str, str]) -> pd.DataFrame | None:
    """The run with its docs read as sessions or rounds, each where its first doc stands.

    Args:
        run: `query_id, doc_id, rank`, in order of rank for each query.
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
    queries, found = pd.factorize(run["query_id"])[0].astype(np.int64), unit_of_doc[docs]
    first = ~pd.Series(queries * len(units) + found).duplicated().to_numpy()
    ranks = pd.Series(queries[first]).groupby(queries[first], sort=False).cumcount() + 1
    return run[first].assign(
        doc_id=pd.Categorical.from_codes(found[first], pd.Index(units)), rank=ranks.to_numpy()
    )


OFFICIAL = ("recall_all", "recall_any", "ndcg_longmemeval")


def evaluate_official(
    run: pd.DataFrame, gold: Mapping[str, Parts], places: Mapping[str, str], ks: Sequence[int]
) -> Values:
    """LongMemEval's released turn-to-session evaluation (`evaluate_retrieval_turn2session`).

    A gold session is one with a gold turn. The other turns of such a session count as a session of
    their own (the script renames them), and so does the session of any turn. For each question, k
    grows until the top of the ranking names k sessions; then a gold session is found if one of its
    gold turns is in the top, and NDCG is that of the turns at the grown k.

    Args:
        run: `query_id, doc_id, rank` of rounds or turns, in order of rank for each query.
        gold: query id → gold rounds or turns, each a part of one alternative.
        places: round or turn id → session id.
        ks: cut-offs in sessions.

    Returns:
        The metrics of `OFFICIAL`.

    Raises:
        MemreproError: if a gold turn or a ranked doc has no session.
    """
    docs_of: dict[str, list[str]] = {}
    for query_id, doc_id in zip(run["query_id"].tolist(), run["doc_id"].tolist(), strict=True):
        docs_of.setdefault(query_id, []).append(doc_id)
    values = {(name, k): np.zeros(len(gold)) for k in ks for name in OFFICIAL}
    grown = {k: np.zeros(len(gold), np.int64) for k in ks}
    known = all(doc_id in places for doc_id in run["doc_id"].drop_duplicates())
    for place, (query_id, parts) in enumerate(gold.items()):
        turns = {doc_id for part in parts for doc_id in part}
        ranking = docs_of.get(query_id, [])
        if strays := sorted((turns if known else {*turns, *ranking}) - places.keys()):
            raise MemreproError(f"doc {strays[0]!r} of query {query_id!r} lies in no session")
        sessions = {places[turn] for turn in turns}
        # A turn of a gold session that is not gold itself stands for another session.
        units = [(places[doc], places[doc] in sessions and doc not in turns) for doc in ranking]
        named, seen = [], set[tuple[str, bool]]()
        for unit in units:
            seen.add(unit)
            named.append(len(seen))
        for k in ks:
            grown[k][place] = max(k, bisect_left(named, k) + 1)
            found = {s for s, other in units[: grown[k][place]] if not other} & sessions
            values["recall_all", k][place] = found == sessions
            values["recall_any", k][place] = bool(found)
    gold_ranks = find_gold_ranks(ranks_of(run), lay_out(gold))
    for k in ks:
        values["ndcg_longmemeval", k] = ndcg_longmemeval(gold_ranks, grown[k])
    return Values(tuple(gold), values)
