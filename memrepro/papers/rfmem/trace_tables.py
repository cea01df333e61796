"""How RF-Mem's runs came about: paths, rounds, branches, clusters and drift, from their traces.

Source: RF-Mem §2.1 to 2.3, Algorithms 1 and 3. What is counted over branches and docs is of the
queries that took recollection.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from memrepro.audit.verdicts import NOT_IN_PAPER
from memrepro.papers.rfmem.traces import Traced, Traces, or_none, pairs_of
from memrepro.report import figures
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


def _share(part: int, whole: int) -> str:
    """`67 of 230 (29.1%)`."""
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "of none"


def _cell(row: str, column: str, text: str, n: int, note: str) -> Cell:
    return Cell(row, column, "trace", "", text, n, NOT_IN_PAPER, note=note)


def routing_cells(one: Traced) -> Iterator[Cell]:
    """Which path each query took, by the gate's three regions (Eq. 3)."""
    queries, n = one.queries, len(one.queries)
    high, low = (float(one.entry.parameters[name]) for name in ("mean_high", "mean_low"))
    familiar = queries["path"] == "familiarity"
    sure, unsure = queries["mean"] >= high, queries["mean"] <= low
    between = ~sure & ~unsure & queries["mean"].notna()
    tau = one.entry.parameters["entropy_threshold"]
    form = "sum" if one.entry.retriever.endswith("printed") else "mean"
    note = f"{one.name}: θ_low = {low}, θ_high = {high}, τ = {tau} on the {form} form of H"
    for column, mask in {
        "Famili.": familiar,
        "Recol.": ~familiar,
        "mean ≥ θ_high: Famili.": sure,
        "between, H low: Famili.": between & familiar,
        "between, H high: Recol.": between & ~familiar,
        "mean ≤ θ_low: Recol.": unsure,
        "no doc found: Recol.": queries["mean"].isna(),
    }.items():
        yield _cell(one.name, column, _share(int(mask.sum()), n), n, note)


def search_cells(one: Traced) -> Iterator[Cell]:
    """Rounds, searches, candidates and clusters of a recollected query, and why it stopped."""
    deep, branches = one.recollected, one.branches
    n = len(deep)
    if not n:
        yield _cell(one.name, "recollected", "0", 0, _SEARCHED)
        return
    returned = one.deep_hits.groupby("query_id").size().reindex(deep["query_id"], fill_value=0)
    full = returned.to_numpy() >= one.k
    limit = ~full & (deep["rounds"].to_numpy() >= int(one.entry.parameters.get("rounds", 10)))
    rounds = deep["rounds"]
    for column, text in {
        "recollected": str(n),
        "rounds a query": f"{rounds.mean():.2f}, at most {rounds.max()}",
        "searches a query": f"{len(branches) / n:.2f}",
        "candidates a search": f"{branches['n_candidates'].mean():.2f}",
        "clusters a search": f"{branches['n_clusters'].mean():.2f}",
        "searches without a candidate": _share(
            int((branches["n_candidates"] == 0).sum()), len(branches)
        ),
    }.items():
        yield _cell(one.name, column, text, n, _SEARCHED)
    for column, mask in {
        "stopped at K docs": full,
        "ran dry": ~full & ~limit,
        "cut off after R rounds": limit,
    }.items():
        yield _cell(one.name, column, _share(int(mask.sum()), n), n, _STOPS)


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
            "docs returned": _share(row.returned, returned),
            "relevant docs": _share(row.gold, gold) if len(one.gold) else "none marked",
        }
        for column, text in texts.items():
            yield _cell(name, column, text, row.queries, note)


def gold_cells(one: Traced, direct: pd.DataFrame | None) -> Iterator[Cell]:
    """Where recollection found the relevant docs, and what of that familiarity has too.

    Args:
        one: the experiment.
        direct: familiarity's top K, or None.
    """
    gold = one.gold[one.gold["query_id"].isin(one.recollected["query_id"])]
    if gold.empty:
        yield _cell(one.name, "relevant docs", "none marked", 0, _GOLD)
        return
    keys = ["query_id", "doc_id"]
    found = gold.merge(one.deep_hits[[*keys, "round"]], on=keys, how="left")
    later, n = found["round"] >= 1, len(gold)
    texts = {
        "relevant docs": str(n),
        "found": _share(int(found["round"].notna().sum()), n),
        "found in round 0": _share(int((found["round"] == 0).sum()), n),
        "found after round 0": _share(int(later.sum()), n),
    }
    if direct is not None:
        known = found.merge(direct[keys].assign(direct=True), on=keys, how="left")
        seen = known["direct"].notna().to_numpy()
        new = found["round"].notna().to_numpy() & ~seen
        texts |= {
            "found by familiarity": _share(int(seen.sum()), n),
            "after round 0, not by familiarity": _share(int((later.to_numpy() & ~seen).sum()), n),
            "gained, lost against familiarity": (
                f"{new.sum()}, {(seen & found['round'].isna().to_numpy()).sum()}"
            ),
        }
    asked = gold["query_id"].nunique()
    for column, text in texts.items():
        yield _cell(one.name, column, text, asked, _GOLD)


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
    row = f"{released.name} against {printed.name}"
    for column, text in {
        "another path": _share(int(moved.sum()), n),
        "another set": _share(int(other.sum()), n),
        "same set, another order": _share(int(order.sum()), n),
        "the same ranking": _share(int((~other & ~order).sum()), n),
        "both recollect": _share(int(deep.sum()), n),
        "another set there": _share(int((other & deep).sum()), int(deep.sum())),
        "docs in common (intersection over union)": number(float(np.mean(shared))),
    }.items():
        yield _cell(row, column, text, n, _VARIANTS)


def _draw_rounds(data: pd.DataFrame, pairs: Sequence[tuple[Traced, Traced]]) -> Figure:
    figure = Figure(figsize=(3.6 * len(pairs) + 1.5, 7), layout="constrained")
    axes = figure.subplots(2, len(pairs), sharex=True, sharey="row", squeeze=False)
    shown = {"returned": "docs returned", "gold": "relevant docs found"}
    for (top, bottom), (released, _) in zip(axes.T, pairs, strict=True):
        part = data[data["experiment"] == released.name]
        long = part.melt(["round", "variant"], list(shown), "what", "share").replace(shown)
        order = {"style_order": ["released", "printed"], "markers": True, "errorbar": None}
        sns.lineplot(long, x="round", y="share", hue="what", style="variant", ax=top, **order)
        sns.lineplot(part, x="round", y="drift", style="variant", color="black", ax=bottom, **order)
        sns.lineplot(part, x="round", y="drift_p95", style="variant", color="grey", legend=False,
                     ax=bottom, **order)  # fmt: skip
        top.set_title(released.name.replace("-recollection", "\nrecollection"), fontsize=10)
        top.set_ylabel("share of all rounds'")
        bottom.set_ylabel("1 − cosine (grey: 95th percentile)")
        bottom.set_xlabel(f"round ({LATER}: and later)")
        bottom.set_ylim(bottom=0)
        bottom.xaxis.set_major_locator(MaxNLocator(integer=True))
        for axis in (top, bottom):
            if released is not pairs[0][0]:
                axis.get_legend().remove()
            else:
                axis.legend(fontsize=8)
    return figure


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
    return figures.save(lambda: _draw_rounds(data, pairs), data, folder, "trace_rounds_figure")


def build(traces: Traces, folder: Path) -> list[Path]:
    """Write the tables of the traces, and the figure of their rounds; return the paths."""
    found = list(traces.found.values())
    pairs = list(pairs_of(traces.found))
    deep = [one for one in found if not one.is_gated]
    tables: dict[str, tuple[str, list[Cell]]] = {
        "trace_routing": (
            "Recol.",
            [
                *(cell for one in found if one.is_gated for cell in routing_cells(one)),
                *traces.not_run("Recol.", "gated"),
            ],
        ),
        "trace_searches": (
            "recollected",
            [
                *(cell for one in found for cell in search_cells(one)),
                *traces.not_run("recollected"),
            ],
        ),
        "trace_rounds": (
            "queries",
            [
                *(cell for one in deep for cell in round_cells(one)),
                *traces.not_run("queries", "recollection"),
            ],
        ),
        "trace_gold": (
            "relevant docs",
            [
                *(cell for one in found for cell in gold_cells(one, traces.familiarity(one))),
                *traces.not_run("relevant docs"),
            ],
        ),
        "trace_variants": (
            "another path",
            [
                *(cell for pair in pairs for cell in variant_cells(*pair)),
                *([] if pairs else traces.not_run("another path")),
            ],
        ),
    }
    written = [
        path
        for name, (column, cells) in tables.items()
        for path in write_cells(or_none(cells, column), folder, name)
    ]
    drawn = [pair for pair in pairs if not pair[0].is_gated]
    return [*written, *(rounds_figure(drawn, folder) if drawn else [])]
