"""How RF-Mem's runs came about: paths, rounds, branches, clusters and drift, from their traces.

Source: RF-Mem §2.1 to 2.3, Algorithms 1 and 3. What is counted over branches and docs is of the
queries that took recollection.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from memrepro.papers.rfmem.cells import ranking_of, row_cells, share
from memrepro.papers.rfmem.traces import Recorded, records_of
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number

LATER = 4  # rounds from this one on are shown together
_DOC = ["query_id", "doc_id"]
Masks = Mapping[str, "pd.Series | np.ndarray[Any, Any]"]


def _shares(masks: Masks, n: int) -> dict[str, str]:
    return {column: share(int(mask.sum()), n) for column, mask in masks.items()}


def routing_cells(one: Recorded, _: Spec) -> Iterator[Cell]:
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


def search_cells(one: Recorded, table: Spec) -> Iterator[Cell]:
    """Rounds, searches, candidates and clusters of a recollected query, and why it stopped."""
    deep, branches, n = one.recollected, one.branches, len(one.recollected)
    texts, parts = {"recollected": str(n)}, ["queries"]
    if n:
        parts.append("branches")
        texts |= {
            "rounds a query": f"{deep['rounds'].mean():.2f}, at most {deep['rounds'].max()}",
            "searches a query": f"{len(branches) / n:.2f}",
            "candidates a search": f"{branches['n_candidates'].mean():.2f}",
            "clusters a search": f"{branches['n_clusters'].mean():.2f}",
        } | _shares({"searches without a candidate": branches["n_candidates"] == 0}, len(branches))
    yield from row_cells(one.name, "trace", texts, n, table["note"], one.sources(*parts))
    if not n:
        return
    returned = one.deep_hits.groupby("query_id").size().reindex(deep["query_id"], fill_value=0)
    full = returned.to_numpy() >= one.k
    limit = ~full & (deep["rounds"].to_numpy() >= int(one.entry.parameters.get("rounds", 10)))
    stops = {
        "stopped at K docs": full,
        "ran dry": ~full & ~limit,
        "cut off after R rounds": limit,
    }
    sources = one.sources("queries", "hits")
    yield from row_cells(one.name, "trace", _shares(stops, n), n, table["stops"], sources)


def by_round(one: Recorded) -> pd.DataFrame:
    """What each round did; a row a round, the last of them `LATER` and all after it.

    Returns:
        `round`; `queries` that it searched for; means of `branches` a query, of `candidates` and
        `clusters` a branch, and of `drift`, with `drift_p95`; how many docs of the ranking it
        found, `returned`, and how many relevant ones, `gold`.
    """
    late = one.branches.assign(round=one.branches["round"].clip(upper=LATER))
    table = late.groupby("round").agg(
        queries=("query_id", "nunique"),
        candidates=("n_candidates", "mean"),
        clusters=("n_clusters", "mean"),
    )
    each = one.branches.groupby("round").agg(n=("round", "size"), asked=("query_id", "nunique"))
    each = each.groupby(each.index.to_numpy().clip(max=LATER)).sum()
    table.insert(1, "branches", each["n"] / each["asked"])
    away = (1 - late["drift"]).clip(lower=0).groupby(late["round"])
    table["drift"], table["drift_p95"] = away.mean(), away.quantile(0.95)
    hits = one.deep_hits.assign(round=one.deep_hits["round"].clip(upper=LATER))
    for column, rows in (("returned", hits), ("gold", hits.merge(one.gold, on=_DOC))):
        counted = rows.groupby("round").size()
        table[column] = counted.reindex(table.index, fill_value=0).astype(int)
    return table.reset_index()


def round_cells(one: Recorded, table: Spec) -> Iterator[Cell]:
    """`by_round` as cells, with the shares of the docs returned and of the relevant ones found."""
    rounds = by_round(one)
    returned, gold = int(rounds["returned"].sum()), int(rounds["gold"].sum())
    rows: Any = rounds.itertuples(index=False)
    for row in rows:
        later = " and later" if row.round == LATER else ""
        texts = {
            "queries": str(row.queries),
            "branches a query": f"{row.branches:.2f}",
            "candidates a branch": f"{row.candidates:.2f}",
            "clusters a branch": f"{row.clusters:.2f}",
            "drift": number(row.drift),
            "drift, 95th percentile": number(row.drift_p95),
            "docs returned": share(row.returned, returned),
            "relevant docs": share(row.gold, gold) if len(one.gold) else "none marked",
        }
        sources = one.sources("branches", "hits", "qrels")
        name = f"{one.name}, round {row.round}{later}"
        yield from row_cells(name, "trace", texts, row.queries, table["note"], sources)


def gold_cells(one: Recorded, table: Spec) -> Iterator[Cell]:
    """Where recollection found the relevant docs, and what of that familiarity has too."""
    gold = one.gold[one.gold["query_id"].isin(one.recollected["query_id"])]
    if gold.empty:
        texts, sources = {"relevant docs": "none marked"}, one.sources("qrels")
        yield from row_cells(one.name, "trace", texts, 0, table["note"], sources)
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
    yield from row_cells(one.name, "trace", texts, n, table["note"], sources)


def variant_cells(released: Recorded, printed: Recorded, note: str) -> Iterator[Cell]:
    """How often the two variants differ: in path, in the set of docs and in their order."""
    both = released.queries.merge(printed.queries, on="query_id", suffixes=("", " printed"))
    lists = [
        one.hits.sort_values("rank", kind="stable").groupby("query_id")["doc_id"].agg(list)
        for one in (released, printed)
    ]
    pairs = [tuple(one.get(q, []) for one in lists) for q in both["query_id"]]
    moved = (both["path"] != both["path printed"]).to_numpy()
    other = np.array([set(a) != set(b) for a, b in pairs], bool)
    order = np.array([a != b for a, b in pairs], bool) & ~other
    deep = (both["path"] == "recollection").to_numpy() & ~moved
    shared = [len({*a} & {*b}) / max(len({*a} | {*b}), 1) for a, b in pairs]
    masks = {
        "another path": moved,
        "another set": other,
        "same set, another order": order,
        "the same ranking": ~other & ~order,
        "both recollect": deep,
    }
    texts = {
        **_shares(masks, len(both)),
        **_shares({"another set there": other & deep}, int(deep.sum())),
        "docs in common (intersection over union)": number(float(np.mean(shared))),
    }
    sources = [*released.sources("queries", "hits"), *printed.sources("queries", "hits")]
    row = f"{released.name} against {printed.name}"
    yield from row_cells(row, "trace", texts, len(both), note, sources)


# Of which table: how a trace becomes cells, and of which retrievers; '' is all.
_BY_TRACE: dict[str, tuple[Callable[[Recorded, Spec], Iterator[Cell]], str]] = {
    "routing": (routing_cells, "gated"),
    "searches": (search_cells, ""),
    "rounds": (round_cells, "recollection"),
    "gold": (gold_cells, ""),
}


def by_trace(runs: Runs, table: Spec) -> Iterator[Cell]:
    """A table of every trace, or of the gate's or recollection's alone."""
    records = records_of(runs.profile)
    cells_of, only = _BY_TRACE[table["of"]]
    cells = [cell for one in records.traced if one.entry.retriever.startswith(only)
             for cell in cells_of(one, table)]  # fmt: skip
    yield from [*cells, *records.not_run(table["empty"], only)]


def variants(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Released against printed, pair by pair."""
    records = records_of(runs.profile)
    cells = [c for pair in records.variants for c in variant_cells(*pair, table["note"])]
    yield from cells or records.not_run(table["empty"])
