"""The questions behind a number: each one's value, where its gold stands, and its influence."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.core.memory import Parts
from memrepro.core.prepared import load_places, load_qrels
from memrepro.errors import MemreproError
from memrepro.evaluate.rollup import roll_up
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.files.cached import until_changed
from memrepro.provenance.places import Place, plan, run_of, values, variant

MOST = 10


def gold_ranks(place: Place) -> pd.DataFrame:
    """Where each gold doc of each question stands, at a place's level.

    Returns:
        `query_id, part, doc_id, rank, score, gap`: part numbers the question's parts, any one doc
        of which will do. Rank is from 1, NaN where the run does not hold the doc. The gap is the
        score of the doc at rank k less the doc's own, where it stands below k; NaN otherwise.
    """
    rolled = _at_level(place)
    kth = rolled[rolled["rank"] == place.k].set_index("query_id")["score"]
    rows = [
        (query_id, number, doc_id)
        for query_id, parts in _gold(place).items()
        for number, part in enumerate(parts)
        for doc_id in part
    ]
    gold = pd.DataFrame(rows, columns=["query_id", "part", "doc_id"])
    found = gold.merge(rolled[["query_id", "doc_id", "rank", "score"]], how="left")
    gap = found["query_id"].map(kth).to_numpy(float) - found["score"].to_numpy(float)
    # A recollection's scores do not fall with the rank, so that a gap may be below zero.
    found["gap"] = np.where(found["rank"] > place.k, gap, np.nan)
    return found


def _at_level(place: Place) -> pd.DataFrame:
    one, run = variant(place), run_of(place)
    if place.level == one.granularity:
        return run
    profile = plan().dataset(one.dataset).profile
    rolled = roll_up(run, place.level, load_places(paths.places(profile, one.dataset)))
    if rolled is None:
        raise MemreproError(f"the docs of {place.experiment} lie in no {place.level}")
    return rolled


def _gold(place: Place) -> dict[str, Parts]:
    one, whole = variant(place), plan()
    path = paths.qrels(whole.dataset(one.dataset).profile, one.dataset)
    level = whole.evaluation.protocols[place.protocol].labelled(place.level)
    return _qrels(path, level)


@until_changed(16)
def _qrels(path: Path, level: str) -> dict[str, Parts]:
    return load_qrels(path, level)[1]


def exclusions(place: Place) -> dict[str, int]:
    """How many questions of the data set are not counted, by reason; most first."""
    one = variant(place)
    ledger = _ledger(paths.exclusions(one.profile))
    of_place = (
        (ledger["dataset"] == one.dataset)
        & (ledger["level"] == place.level)
        & (ledger["protocol"] == place.protocol)
    )
    counted = ledger.loc[of_place, "reason"].value_counts()
    return {str(reason): int(n) for reason, n in counted.items()}


_ledger = until_changed(3)(read_table)


def table(place: Place) -> list[dict[str, Any]]:
    """Every question: `query_id, kind, value, shift, gold`, in the order of the metrics.

    `shift` is what leaving the question out would change of the mean. `gold` is a list of
    `{part, doc_id, rank, gap}`, with null for what is not known.
    """
    found = values(place)
    one, n = found["value"].to_numpy(float), len(found)
    shift = (one.mean() - one) / (n - 1) if n > 1 else np.zeros(n)
    ranks = gold_ranks(place)
    gold: dict[str, list[dict[str, Any]]] = {}
    fields = ("query_id", "part", "doc_id", "rank", "gap")
    for query_id, part, doc_id, rank, gap in zip(*(ranks[f].tolist() for f in fields), strict=True):
        stands = {"part": part, "doc_id": doc_id, "rank": _whole(rank), "gap": _rounded(gap)}
        gold.setdefault(query_id, []).append(stands)
    columns = (found[c].tolist() for c in ("query_id", "kind", "value"))
    return [
        {"query_id": query_id, "kind": kind, "value": value, "shift": round(float(moved), 6),
         "gold": gold.get(query_id, [])}
        for query_id, kind, value, moved in zip(*columns, shift, strict=True)
    ]  # fmt: skip


def most_influential(
    rows: list[dict[str, Any]], k: int, key: str = "shift"
) -> list[dict[str, Any]]:
    """The questions that move a number most; of equals those with a gold doc nearest to rank k.

    These are the ones that the least change of the ranking would turn over.
    """

    def order(row: dict[str, Any]) -> tuple[float, float, str]:
        ranks = [gold["rank"] for gold in row.get("gold", ()) if gold["rank"] is not None]
        away = min((abs(rank - k - 0.5) for rank in ranks), default=np.inf)
        return -abs(row[key]), away, row["query_id"]

    return sorted((row for row in rows if row[key]), key=order)[:MOST]


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
