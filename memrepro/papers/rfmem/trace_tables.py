"""How RF-Mem's runs came about: the gate's paths, and what recollection found, from the traces.

Source: RF-Mem §2.1 to 2.3, Algorithms 1 and 3.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from memrepro.papers.rfmem.cells import ranking_of, row_cells, share
from memrepro.papers.rfmem.traces import Recorded, records_of
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell

_DOC = ["query_id", "doc_id"]
Masks = Mapping[str, "pd.Series | np.ndarray[Any, Any]"]


def _shares(masks: Masks, n: int) -> dict[str, str]:
    return {column: share(int(mask.sum()), n) for column, mask in masks.items()}


def routing_cells(one: Recorded) -> Iterator[Cell]:
    """Which path each query took, by the gate's three regions (Eq. 3)."""
    queries, parameters = one.queries, one.entry.parameters
    high, low = (float(parameters[name]) for name in ("mean_high", "mean_low"))
    familiar = queries["path"] == "familiarity"
    sure, unsure = queries["mean"] >= high, queries["mean"] <= low
    between = ~sure & ~unsure & queries["mean"].notna()
    form = "sum" if one.entry.retriever.endswith("printed") else "mean"
    note = (
        f"{one.name}: θ_low = {low}, θ_high = {high}, τ = {parameters['entropy_threshold']} on the "
        f"{form} form of H"
    )
    masks = {
        "Famili.": familiar,
        "Recol.": ~familiar,
        "mean ≥ θ_high: Famili.": sure,
        "between, H low: Famili.": between & familiar,
        "between, H high: Recol.": between & ~familiar,
        "mean ≤ θ_low: Recol.": unsure,
        "no doc found: Recol.": queries["mean"].isna(),
    }
    n = len(queries)
    yield from row_cells(one.name, "trace", _shares(masks, n), n, note, one.sources("queries"))


def gold_cells(one: Recorded, note: str) -> Iterator[Cell]:
    """Where recollection found the relevant docs, and what of that familiarity has too."""
    gold = one.gold[one.gold["query_id"].isin(one.recollected["query_id"])]
    if gold.empty:
        texts, sources = {"relevant docs": "none marked"}, one.sources("qrels")
        yield from row_cells(one.name, "trace", texts, 0, note, sources)
        return
    found = gold.merge(one.deep_hits[[*_DOC, "round"]], on=_DOC, how="left")
    later, known = found["round"] >= 1, found["round"].notna()
    masks = {"found": known, "found in round 0": found["round"] == 0, "found after round 0": later}
    texts = {"relevant docs": str(len(gold)), **_shares(masks, len(gold))}
    sources = one.sources("queries", "hits", "qrels")
    if (direct := one.familiarity) is not None:
        sources.append(ranking_of(one.direct))
        seen = found.merge(direct[_DOC], on=_DOC, how="left", indicator=True)["_merge"] == "both"
        masks = {"found by familiarity": seen, "after round 0, not by familiarity": later & ~seen}
        texts |= _shares(masks, len(gold))
        moved = f"{(known & ~seen).sum()}, {(seen & ~known).sum()}"
        texts["gained, lost against familiarity"] = moved
    n = gold["query_id"].nunique()
    yield from row_cells(one.name, "trace", texts, n, note, sources)


def routing(runs: Runs, table: Spec) -> Iterator[Cell]:
    """`routing_cells` of every trace of the gate, and why one is not there."""
    records = records_of(runs.profile)
    for one in records.traced:
        if one.is_gated:
            yield from routing_cells(one)
    yield from records.not_run(table["empty"], "gated")


def gold(runs: Runs, table: Spec) -> Iterator[Cell]:
    """`gold_cells` of every trace, and why one is not there."""
    records = records_of(runs.profile)
    for one in records.traced:
        yield from gold_cells(one, table["note"])
    yield from records.not_run(table["empty"])
