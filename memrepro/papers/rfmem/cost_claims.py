"""What RF-Mem says of its cost and its routing, case by case: §3.2, §3.3, D.10, Appendix E.

Of time the search alone counts: encoding a query is the same for all three paths, and many times as
long here. Each function yields the cases of one claim of `claims.yaml`.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.papers.rfmem.cells import numeric, printed_rows
from memrepro.papers.rfmem.grid import CUTOFFS, Grid
from memrepro.papers.rfmem.traces import Costs, Family
from memrepro.report.claims import ClaimCase, case_cells
from memrepro.report.sources import Source, write_sources
from memrepro.report.tables import Cell

Grids = Sequence[Grid]
# A case, and what its numbers come from.
Found = Iterator[tuple[ClaimCase, Sequence[Source]]]


def _families(costs: Costs) -> Iterator[Family]:
    """The experiments on data of the paper."""
    for family in costs.traces.families():
        if costs.entry(family.recollection).dataset.startswith(("persona", "longmemeval")):
            yield family


def _times(costs: Costs) -> Iterator[tuple[Family, float, float, float, list[Source]]]:
    """The families of which all three paths were timed, with milliseconds a search."""
    for family in _families(costs):
        direct, deep, gated = (costs.time(name, "search") for name in family[:3])
        if direct is not None and deep is not None and gated is not None:
            yield family, direct, deep, gated, costs.timed(*family[:3])


def between_in_time(costs: Costs, _: Grids) -> Found:
    """The gate is at least as slow as familiarity, and at most as slow as recollection."""
    for family, direct, deep, gated, sources in _times(costs):
        text = f"{direct:.2f} ≤ {gated:.2f} ≤ {deep:.2f} ms"
        yield ClaimCase(family.gated, text, direct <= gated <= deep), sources


def twice_as_slow(costs: Costs, _: Grids) -> Found:
    """With encoding, as the paper times, recollection takes at most twice familiarity's time."""
    for family, direct, deep, _gated, sources in _times(costs):
        encoding = costs.time(family.recollection, "encode") or 0.0
        whole = (encoding + deep) / (encoding + direct)
        text = f"{whole:.2f}× with encoding, {deep / direct:.2f}× alone"
        yield ClaimCase(family.recollection, text, 1 < whole <= 2), sources


def searches_between(costs: Costs, _: Grids) -> Found:
    """The gate searches less often than recollection, its probe counted."""
    for family in _families(costs):
        deep, gated = (costs.searches(n) for n in (family.recollection, family.gated))
        if deep is not None and gated is not None:
            sources = [*costs.traced(family.recollection), *costs.traced(family.gated)]
            text = f"{gated:.2f} of {deep:.2f} a query"
            yield ClaimCase(family.gated, text, gated < deep), sources


def _token_ratios(costs: Costs) -> Iterator[tuple[Family, float, float, list[Source]]]:
    """PersonaMem's tokens, question and docs, by recollection and gate over familiarity's."""
    for family in _families(costs):
        asked = costs.memories(costs.entry(family.gated).dataset)
        counted = [costs.returned(name, family.k) for name in family[:3]]
        if not family.gated.startswith("personamem") or asked is None:
            continue
        means = [float((asked["tokens"] + c["tokens"]).mean()) for c in counted if c is not None]
        if len(means) == 3:
            yield family, means[1] / means[0], means[2] / means[0], costs.counted(*family[:3])


def tokens_alike(costs: Costs, _: Grids) -> Found:
    """The gate's tokens differ from familiarity's by no more than they do anywhere in Table 1."""
    tokens = {row: cells["Avg. Tokens"] for row, cells in printed_rows("table1").items()}
    most = max(
        numeric(tokens[f"{size}, RF-Mem (ours)"]) / numeric(tokens[f"{size}, Dense Retrieval"]) - 1
        for size in ("32K", "128K", "1M")
    )
    for family, _deep, gated, sources in _token_ratios(costs):
        text = f"{gated:.3f}×, in Table 1 at most {1 + most:.3f}×"
        yield ClaimCase(family.gated, text, abs(gated - 1) <= most), sources


def tokens_between(costs: Costs, _: Grids) -> Found:
    """The gate's tokens lie between familiarity's and recollection's, as in all of Table 1."""
    for family, deep, gated, sources in _token_ratios(costs):
        text = f"gate {gated:.3f}×, recollection {deep:.3f}×"
        yield ClaimCase(family.gated, text, min(1.0, deep) <= gated <= max(1.0, deep)), sources


def familiarity_is_default(costs: Costs, _: Grids) -> Found:
    """More than half of the questions take familiarity."""
    for family in _families(costs):
        if one := costs.traces.found.get(family.gated):
            share = float((one.queries["path"] == "familiarity").mean())
            yield ClaimCase(family.gated, f"{share:.1%}", share > 0.5), one.sources("queries")


def stronger_recollects_more(costs: Costs, grids: Grids) -> Found:
    """Of two encoders the one with the higher recall by familiarity recollects more questions."""
    for k in CUTOFFS:
        found: list[tuple[str, float, int, list[Source]]] = []
        for grid in (grid for grid in grids if grid.k == k):
            if one := costs.traces.found.get(grid.run("gated")):
                sources: list[Source] = [*grid.sources("familiarity"), *one.sources("queries")]
                recall = float(grid.familiarity.mean())
                found.append((grid.encoder.title, recall, len(one.recollected), sources))
        for (one_name, a, n, first), (name, b, m, second) in itertools.combinations(found, 2):
            text = f"{one_name} {a:.4f}, {n} recollected; {name} {b:.4f}, {m}"
            yield ClaimCase(f"K = {k}", text, (a > b) == (n > m)), [*first, *second]


def stops_early(costs: Costs, _: Grids) -> Found:
    """Every recollected query stops with K docs before its rounds are used up."""
    for family in _families(costs):
        if one := costs.traces.found.get(family.recollection):
            limit = int(one.entry.parameters.get("rounds", 10))
            most = int(one.recollected["rounds"].max())
            whole = int((one.deep_hits.groupby("query_id").size() >= one.k).sum())
            text = f"{whole} of {len(one.queries)} with {one.k} docs, {most} rounds at most"
            holds = whole == len(one.queries) and most < limit
            yield ClaimCase(one.name, text, holds), one.sources("queries", "hits")


CHECKS: Mapping[str, Callable[[Costs, Grids], Found]] = {
    check.__name__: check
    for check in (
        between_in_time, twice_as_slow, searches_between, tokens_alike, tokens_between,
        familiarity_is_default, stronger_recollects_more, stops_early,
    )
}  # fmt: skip


def checked(costs: Costs, grids: Grids, claim: Mapping[str, Any], note: str) -> Iterator[Cell]:
    """A claim of `claims.yaml` by its cases; one on times, which may fall otherwise, is not judged."""
    found = list(CHECKS[claim["check"]](costs, grids))
    sources = write_sources(source for _, own in found for source in own)
    for cell in case_cells(claim["row"], claim["said"], [case for case, _ in found], note):
        if cell.verdict and claim.get("measured") and found:
            cell = cell._replace(verdict=NOT_COMPARABLE)
        yield cell._replace(sources=sources)
