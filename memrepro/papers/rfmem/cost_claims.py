"""What RF-Mem says of its cost and its routing, against the runs: §3.2, §3.3, D.10, Appendix E.

A claim stands if all its cases do. Of time the search alone counts: encoding a query is the same
for all three paths, and many times as long here.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.papers.rfmem.claims import WORDS
from memrepro.papers.rfmem.measured import Costs, Family
from memrepro.papers.rfmem.printed import numeric, printed_rows
from memrepro.papers.rfmem.routing import CUTOFFS, ENCODERS
from memrepro.report.profile import Metrics
from memrepro.report.tables import Cell, write_cells

_NOTE = (
    "a case is one encoder, data set, K and variant (LoCoMo is not in the paper and no case); a "
    "claim holds if all its cases do; times are of the search alone, on the machine that the "
    "latency files name"
)


class ClaimCase(NamedTuple):
    """One case of a claim: what it is of, what came out, and whether the claim holds in it."""

    case: str
    text: str
    holds: bool


class Claim(NamedTuple):
    """A claim, the paper's words for it, and its cases from what was recorded.

    One on time is not judged: measured anew, it may fall otherwise.
    """

    row: str
    said: str
    cases: Callable[[Costs, Metrics], Iterator[ClaimCase]]
    on_time: bool = False


def _families(costs: Costs) -> Iterator[Family]:
    for family in costs.families():
        if costs.entry(family.recollection).dataset.startswith(("persona", "longmemeval")):
            yield family


def _times(costs: Costs) -> Iterator[tuple[Family, float, float, float]]:
    """The families of which all three paths were timed, with milliseconds a search."""
    for family in _families(costs):
        direct, deep, gated = (costs.time(name, "search") for name in family[:3])
        if direct is not None and deep is not None and gated is not None:
            yield family, direct, deep, gated


def between_in_time(costs: Costs, _: Metrics) -> Iterator[ClaimCase]:
    """The gate is at least as slow as familiarity, and at most as slow as recollection."""
    for family, direct, deep, gated in _times(costs):
        text = f"{direct:.2f} ≤ {gated:.2f} ≤ {deep:.2f} ms"
        yield ClaimCase(family.gated, text, direct <= gated <= deep)


def twice_as_slow(costs: Costs, _metrics: Metrics) -> Iterator[ClaimCase]:
    """With encoding, as the paper times, recollection takes at most twice familiarity's time."""
    for family, direct, deep, _ in _times(costs):
        encoding = costs.time(family.recollection, "encode") or 0.0
        whole = (encoding + deep) / (encoding + direct)
        text = f"{whole:.2f}× with encoding, {deep / direct:.2f}× alone"
        yield ClaimCase(family.recollection, text, 1 < whole <= 2)


def searches_between(costs: Costs, _: Metrics) -> Iterator[ClaimCase]:
    """The gate searches less often than recollection, its probe counted."""
    for family in _families(costs):
        deep, gated = (costs.searches(n) for n in (family.recollection, family.gated))
        if deep is not None and gated is not None:
            yield ClaimCase(family.gated, f"{gated:.2f} of {deep:.2f} a query", gated < deep)


def _token_ratios(costs: Costs) -> Iterator[tuple[Family, float, float]]:
    """PersonaMem's tokens, question and docs, by recollection and gate over familiarity's."""
    for family in _families(costs):
        asked = costs.memories(costs.entry(family.gated).dataset)
        counted = [costs.returned(name, family.k) for name in family[:3]]
        if not family.gated.startswith("personamem") or asked is None:
            continue
        means = [(asked["tokens"] + c["tokens"]).mean() for c in counted if c is not None]
        if len(means) == 3:
            yield family, float(means[1] / means[0]), float(means[2] / means[0])


def tokens_alike(costs: Costs, _: Metrics) -> Iterator[ClaimCase]:
    """The gate's tokens differ from familiarity's by no more than they do anywhere in Table 1."""
    most = _printed_spread()
    for family, _deep, gated in _token_ratios(costs):
        text = f"{gated:.3f}×, in Table 1 at most {1 + most:.3f}×"
        yield ClaimCase(family.gated, text, abs(gated - 1) <= most)


def _printed_spread() -> float:
    rows = printed_rows("table1")
    tokens = {row: numeric(cells["Avg. Tokens"]) for row, cells in rows.items()}
    return max(
        tokens[f"{size}, RF-Mem (ours)"] / tokens[f"{size}, Dense Retrieval"] - 1
        for size in ("32K", "128K", "1M")
    )


def tokens_between(costs: Costs, _: Metrics) -> Iterator[ClaimCase]:
    """The gate's tokens lie between familiarity's and recollection's, as in all of Table 1."""
    for family, deep, gated in _token_ratios(costs):
        text = f"gate {gated:.3f}×, recollection {deep:.3f}×"
        yield ClaimCase(family.gated, text, min(1.0, deep) <= gated <= max(1.0, deep))


def familiarity_is_default(costs: Costs, _: Metrics) -> Iterator[ClaimCase]:
    """More than half of the questions take familiarity."""
    for family in _families(costs):
        if family.gated in costs.traces.found:
            path = costs.traces.found[family.gated].queries["path"]
            share = float((path == "familiarity").mean())
            yield ClaimCase(family.gated, f"{share:.1%}", share > 0.5)


def stronger_recollects_more(costs: Costs, metrics: Metrics) -> Iterator[ClaimCase]:
    """Of two encoders the one with the higher recall by familiarity recollects more questions."""
    for k in CUTOFFS:
        found = {}
        for encoder in ENCODERS.values():
            name = f"{encoder.stem}-gated-k{k}"
            if name in costs.traces.found:
                path = costs.traces.found[name].queries["path"]
                recall = float(encoder.recall(metrics, "familiarity", k)["value"].mean())
                found[encoder.title] = recall, int((path == "recollection").sum())
        for (one, a), (other, b) in itertools.combinations(found.items(), 2):
            text = f"{one} {a[0]:.4f}, {a[1]} recollected; {other} {b[0]:.4f}, {b[1]}"
            yield ClaimCase(f"K = {k}", text, (a[0] > b[0]) == (a[1] > b[1]))


def stops_early(costs: Costs, _: Metrics) -> Iterator[ClaimCase]:
    """Every recollected query stops with K docs before its rounds are used up."""
    for family in _families(costs):
        if family.recollection in costs.traces.found:
            one = costs.traces.found[family.recollection]
            limit = int(one.entry.parameters.get("rounds", 10))
            most = int(one.recollected["rounds"].max())
            sizes = one.deep_hits.groupby("query_id").size()
            whole = int((sizes >= one.k).sum())
            text = f"{whole} of {len(one.queries)} with {one.k} docs, {most} rounds at most"
            yield ClaimCase(one.name, text, whole == len(one.queries) and most < limit)


CLAIMS = (
    Claim("§3.2: RF-Mem is faster than recollection, and familiarity than both",
          "improves overall accuracy while reducing latency: 5.09ms vs 7.09ms at 32K",
          between_in_time, on_time=True),
    Claim("§3.3: recollection takes up to twice familiarity's time",
          "Recollection is stronger but nearly twice as slow", twice_as_slow, on_time=True),
    Claim("§3.2: the gate saves searches",
          "without committing to the cost of running it unconditionally", searches_between),
    Claim("§3.2: RF-Mem's tokens are like familiarity's",
          "with similar token budgets to Dense Retrieval", tokens_alike),
    Claim("Table 1: RF-Mem's tokens lie between the paths'",
          "3515.9, 3566.6, 3711.1 at 32K, and so at 128K and 1M", tokens_between),
    Claim("§3.2: familiarity is the default", "treating familiarity as the default",
          familiarity_is_default),
    Claim("D.10: stronger retrievers recollect more",
          "Stronger retrievers route more queries into the recollection path",
          stronger_recollects_more),
    Claim("Appendix E: recollection stops early",
          "the process stops early when at least K unique items have been collected",
          stops_early),
)  # fmt: skip


def claim_cells(costs: Costs, metrics: Metrics) -> Iterator[Cell]:
    """Each claim: in how many of its cases it holds, and what came out in each."""
    for claim in CLAIMS:
        cases = list(claim.cases(costs, metrics))
        if not cases:
            why = "what it is about was not recorded: run `dvc repro`"
            yield Cell(claim.row, "verdict", "claim", claim.said, "", 0, NOT_RUN, note=why)
            continue
        held = sum(case.holds for case in cases)
        label = "exact" if held == len(cases) else "not reproduced"
        for column, text in {
            "verdict": WORDS[label],
            "cases": f"{held} of {len(cases)}",
            "what came out": "; ".join(f"{case.case}: {case.text}" for case in cases),
        }.items():
            judged = NOT_COMPARABLE if claim.on_time else label
            said, verdict, term = "", "", ""
            if column == "verdict":
                said, verdict, term = claim.said, judged, f"{held} of {len(cases)} cases"
            n = len(cases)
            yield Cell(claim.row, column, "claim", said, text, n, verdict, term, _NOTE)


def build(costs: Costs, metrics: Metrics, folder: Path) -> list[Path]:
    """Write the claims on cost and routing; return the paths."""
    return write_cells(claim_cells(costs, metrics), folder, "cost_claims")
