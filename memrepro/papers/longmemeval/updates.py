"""Knowledge updates: of the sessions with the old and the new fact, which one is ranked first."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.prepared import load_dates, load_places, load_qrels
from memrepro.evaluate.comparison import Groups, mean_interval
from memrepro.files import paths
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, with_ends
from memrepro.study.params import load_plan

KIND = "knowledge-update"


def newest_first(ranking: pd.DataFrame, evidence: dict[str, list[str]]) -> pd.DataFrame:
    """Where the newest evidence stands, a row a question.

    Args:
        ranking: `query_id, doc_id` of sessions in order of rank.
        evidence: question → its evidence sessions, at least two, the newest last.

    Returns:
        `query_id, found, first`: whether the newest is in the list, and whether it is and no older
        one stands before it.
    """
    places = {
        query_id: {doc_id: rank for rank, doc_id in reversed(list(enumerate(docs)))}
        for query_id, docs in ranking.groupby("query_id", sort=False)["doc_id"]
    }
    rows = []
    for query_id, sessions in evidence.items():
        rank = places.get(query_id, {})
        *older, newest = (rank.get(session, np.inf) for session in sessions)
        found = newest < np.inf
        rows.append((query_id, found, found and newest < min(older)))
    return pd.DataFrame(rows, columns=["query_id", "found", "first"])


def update_cells(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Of each list, the share of updates whose newest evidence is found, and stands first."""
    dataset = table["dataset"]
    profile = load_plan().dataset(dataset).profile
    kinds, gold = load_qrels(paths.qrels(profile, dataset), "session")
    dates = load_dates(paths.dates(profile, dataset), ["said"])
    evidence = {}
    for query_id, parts in gold.items():
        sessions = {session for part in parts for session in part}
        if kinds[query_id] == KIND and len({dates[query_id, s][0] for s in sessions}) > 1:
            began = {session: dates[query_id, session][0] for session in sessions}
            evidence[query_id] = sorted(sorted(sessions), key=began.__getitem__)
    groups = Groups("question", ("",) * len(evidence))
    session_of = load_places(paths.places(profile, dataset))
    for title, one in table["lists"].items():
        run, setting = one["run"], str(one.get("setting", ""))
        if runs.why_not(run, setting):
            continue
        ranking = runs.ranking(run, setting)
        if load_plan().runs[run].granularity != "session":
            ranking = ranking.assign(doc_id=ranking["doc_id"].map(session_of))
            ranking = ranking.drop_duplicates()
        found = newest_first(ranking, evidence)
        source = write_sources([RunSource(run, setting, "session", "recall_all", 10, KIND)])
        for column, name in (("newest in the list", "found"), ("newest first", "first")):
            text = with_ends(mean_interval(found[name].to_numpy(float), groups))
            yield Cell(
                title, column, "share", "", text, len(found), NOT_COMPARABLE, sources=source,
                note="updates whose evidence lies on several days; 95 % intervals by question; "
                "lists of ten docs",
            )  # fmt: skip
