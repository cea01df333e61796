"""How RF-Mem's runs came about: paths, rounds, branches, clusters and drift, from their traces.

Source: RF-Mem §2.1 to 2.3, Algorithms 1 and 3. What is counted over branches and docs is of the
queries that took recollection.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.papers.rfmem.cells import ranking_of, row_cells, share
from memrepro.papers.rfmem.traces import Traced, Traces, familiarity_of, or_none, pairs_of
from memrepro.report.panels import save_panels
from memrepro.report.sources import Source
from memrepro.report.tables import Cell, number, write_cells

LATER = 4  # rounds from this one on are shown together
_SEARCHED = "recollected queries alone; a search is one branch's in one round"
_STOPS = (
    "a query stops when it has K docs; it runs dry when no branch finds a new one, and is cut off "
    "after R rounds"
)
_DRIFT = "drift: 1 − cosine of a branch's query with the original one, over all branches of a round"
_GOLD = (
    "recollected queries with a relevant doc; a doc counts once a query, whatever part of the "
    "answer it is for; 'lost': in familiarity's top K and not returned"
)
_VARIANTS = (
    "released and printed, same encoder, K, B, F and α: the queries that both send to recollection "
    "in whole rankings, the others by their path"
)


def _cells(
    one: Traced, texts: Mapping[str, str], n: int, note: str, *parts: str, row: str = ""
) -> Iterator[Cell]:
    """Cells of an experiment from the named tables of its trace."""
    yield from row_cells(row or one.name, "trace", texts, n, note, one.sources(*parts))


def routing_cells(one: Traced) -> Iterator[Cell]:
    """Which path each query took, by the gate's three regions (Eq. 3)."""
    queries, n = one.queries, len(one.queries)
    high, low = (float(one.entry.parameters[name]) for name in ("mean_high", "mean_low"))
    familiar = queries["path"] == "familiarity"
    sure, unsure = queries["mean"] >= high, queries["mean"] <= low
    between = ~sure & ~unsure & queries["mean"].notna()
    tau = one.entry.parameters["entropy_threshold"]
    note = f"{one.name}: θ_low = {low}, θ_high = {high}, τ = {tau} on the {one.form} form of H"
    masks = {
        "Famili.": familiar,
        "Recol.": ~familiar,
        "mean ≥ θ_high: Famili.": sure,
        "between, H low: Famili.": between & familiar,
        "between, H high: Recol.": between & ~familiar,
        "mean ≤ θ_low: Recol.": unsure,
        "no doc found: Recol.": queries["mean"].isna(),
    }
    texts = {column: share(int(mask.sum()), n) for column, mask in masks.items()}
    yield from _cells(one, texts, n, note, "queries")


def search_cells(one: Traced) -> Iterator[Cell]:
    """Rounds, searches, candidates and clusters of a recollected query, and why it stopped."""
    deep, branches = one.recollected, one.branches
    n = len(deep)
    if not n:
        yield from _cells(one, {"recollected": "0"}, 0, _SEARCHED, "queries")
        return
    returned = one.deep_hits.groupby("query_id").size().reindex(deep["query_id"], fill_value=0)
    full = returned.to_numpy() >= one.k
    limit = ~full & (deep["rounds"].to_numpy() >= int(one.entry.parameters.get("rounds", 10)))
    rounds = deep["rounds"]
    texts = {
        "recollected": str(n),
        "rounds a query": f"{rounds.mean():.2f}, at most {rounds.max()}",
        "searches a query": f"{len(branches) / n:.2f}",
        "candidates a search": f"{branches['n_candidates'].mean():.2f}",
        "clusters a search": f"{branches['n_clusters'].mean():.2f}",
        "searches without a candidate": share(
            int((branches["n_candidates"] == 0).sum()), len(branches)
        ),
    }
    yield from _cells(one, texts, n, _SEARCHED, "queries", "branches")
    stops = {
        "stopped at K docs": full,
        "ran dry": ~full & ~limit,
        "cut off after R rounds": limit,
    }
    texts = {column: share(int(mask.sum()), n) for column, mask in stops.items()}
    yield from _cells(one, texts, n, _STOPS, "queries", "hits")


def by_round(one: Traced) -> pd.DataFrame:
    """What each round did; a row a round, the last of them `LATER` and all after it.

    Returns:
        `round`; `queries` that it searched for; means of `branches` a query, of `candidates` and
        `clusters` a branch, and of `drift`, with `drift_p95`; how many docs of the ranking it
        found, `returned`, and how many relevant ones, `gold`.
    """
    late = one.branches.assign(round=one.branches["round"].clip(upper=LATER))
    groups = late.groupby("round")
    each = one.branches.groupby("round").agg(n=("round", "size"), asked=("query_id", "nunique"))
    each = each.groupby(each.index.to_numpy().clip(max=LATER)).sum()
    table = groups.agg(
        queries=("query_id", "nunique"),
        candidates=("n_candidates", "mean"),
        clusters=("n_clusters", "mean"),
    )
    table.insert(1, "branches", each["n"] / each["asked"])
    away = (1 - late["drift"]).clip(lower=0).groupby(late["round"])
    table["drift"], table["drift_p95"] = away.mean(), away.quantile(0.95)
    hits = one.deep_hits.assign(round=one.deep_hits["round"].clip(upper=LATER))
    found = hits.merge(one.gold, on=["query_id", "doc_id"])
    for column, rows in (("returned", hits), ("gold", found)):
        counted = rows.groupby("round").size()
        table[column] = counted.reindex(table.index, fill_value=0).astype(int)
    return table.reset_index()


def round_cells(one: Traced) -> Iterator[Cell]:
    """`by_round` as cells, with the shares of the docs returned and of the relevant ones found."""
    table = by_round(one)
    returned, gold = int(table["returned"].sum()), int(table["gold"].sum())
    note = (
        f"{_DRIFT}; round {LATER} stands for itself and those after it; relevant docs are those "
        "that were returned"
    )
    rows: Any = table.itertuples(index=False)
    for row in rows:
        later = " and later" if row.round == LATER else ""
        name = f"{one.name}, round {row.round}{later}"
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
        yield from _cells(one, texts, row.queries, note, "branches", "hits", "qrels", row=name)


def gold_cells(one: Traced, traces: Traces) -> Iterator[Cell]:
    """Where recollection found the relevant docs, and what of that familiarity has too."""
    gold = one.gold[one.gold["query_id"].isin(one.recollected["query_id"])]
    if gold.empty:
        yield from _cells(one, {"relevant docs": "none marked"}, 0, _GOLD, "qrels")
        return
    keys = ["query_id", "doc_id"]
    found = gold.merge(one.deep_hits[[*keys, "round"]], on=keys, how="left")
    later, n = found["round"] >= 1, len(gold)
    texts = {
        "relevant docs": str(n),
        "found": share(int(found["round"].notna().sum()), n),
        "found in round 0": share(int((found["round"] == 0).sum()), n),
        "found after round 0": share(int(later.sum()), n),
    }
    sources: list[Source] = [*one.sources("queries", "hits", "qrels")]
    if (direct := traces.familiarity(one)) is not None:
        sources.append(ranking_of(familiarity_of(traces.plan, one.entry)))
        known = found.merge(direct[keys].assign(direct=True), on=keys, how="left")
        seen = known["direct"].notna().to_numpy()
        new = found["round"].notna().to_numpy() & ~seen
        texts |= {
            "found by familiarity": share(int(seen.sum()), n),
            "after round 0, not by familiarity": share(int((later.to_numpy() & ~seen).sum()), n),
            "gained, lost against familiarity": (
                f"{new.sum()}, {(seen & found['round'].isna().to_numpy()).sum()}"
            ),
        }
    yield from row_cells(one.name, "trace", texts, gold["query_id"].nunique(), _GOLD, sources)


def variant_cells(released: Traced, printed: Traced) -> Iterator[Cell]:
    """How often the two variants differ: in path, in the set of docs and in their order."""
    both = released.queries.merge(printed.queries, on="query_id", suffixes=("", " printed"))
    n = len(both)
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
    texts = {
        "another path": share(int(moved.sum()), n),
        "another set": share(int(other.sum()), n),
        "same set, another order": share(int(order.sum()), n),
        "the same ranking": share(int((~other & ~order).sum()), n),
        "both recollect": share(int(deep.sum()), n),
        "another set there": share(int((other & deep).sum()), int(deep.sum())),
        "docs in common (intersection over union)": number(float(np.mean(shared))),
    }
    sources = [*released.sources("queries", "hits"), *printed.sources("queries", "hits")]
    row = f"{released.name} against {printed.name}"
    yield from row_cells(row, "trace", texts, n, _VARIANTS, sources)


def rounds_figure(pairs: Sequence[tuple[Traced, Traced]], folder: Path) -> list[Path]:
    """By round, both variants of a recollection a column: where docs were found, and the drift."""
    parts = []
    for released, printed in pairs:
        for variant, one in (("released", released), ("printed", printed)):
            table = by_round(one)
            for column in ("returned", "gold"):
                table[column] = table[column] / max(int(table[column].sum()), 1)
            parts.append(table.assign(experiment=released.name, variant=variant))
    data = pd.concat(parts, ignore_index=True)
    shown = data.melt(["experiment", "variant", "round"], ["returned", "gold", "drift"], "what")
    return save_panels(data, folder, "trace_rounds_figure", shown, x="round", y="value",
                      hue="what", style="variant", col="experiment", col_wrap=4)  # fmt: skip


def build(traces: Traces, folder: Path) -> list[Path]:
    """Write the tables of the traces, and the figure of their rounds; return the paths."""
    found = list(traces.found.values())
    pairs = list(pairs_of(traces.found))
    tables: dict[str, tuple[str, list[Cell]]] = {
        "trace_routing": ("Recol.", [
            *_every(routing_cells, found, gated=True), *traces.not_run("Recol.", "gated")]),
        "trace_searches": ("recollected", [
            *_every(search_cells, found), *traces.not_run("recollected")]),
        "trace_rounds": ("queries", [
            *_every(round_cells, found, gated=False),
            *traces.not_run("queries", "recollection")]),
        "trace_gold": ("relevant docs", [
            *(cell for one in found for cell in gold_cells(one, traces)),
            *traces.not_run("relevant docs")]),
        "trace_variants": ("another path", [
            *(cell for pair in pairs for cell in variant_cells(*pair)),
            *([] if pairs else traces.not_run("another path"))]),
    }  # fmt: skip
    written = [
        path
        for name, (column, cells) in tables.items()
        for path in write_cells(or_none(cells, column), folder, name)
    ]
    drawn = [pair for pair in pairs if not pair[0].is_gated]
    return [*written, *(rounds_figure(drawn, folder) if drawn else [])]


def _every(
    cells_of: Callable[[Traced], Iterator[Cell]], found: Sequence[Traced], gated: bool | None = None
) -> Iterator[Cell]:
    """The cells of each trace, or of the gated ones or the others alone."""
    for one in found:
        if gated is None or one.is_gated == gated:
            yield from cells_of(one)
