"""What RF-Mem claims of its paths, its hyper-parameters and its cost, against what was run.

Source: RF-Mem §3.2, §3.3 and Appendices D.2 to D.5, D.10 and E. Each function checks one kind of
claim of `claims.yaml`. All comparisons of one path with another are one family: their p-values are
of paired sign flips, corrected by Holm's method. Claims on cost are checked case by case; of time
the search alone counts, as encoding a query is the same for all three paths.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.similarity import Doubles
from memrepro.evaluate.bootstrap import Interval, paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.papers.rfmem.cells import numeric, printed_rows, row_cells, signed, within
from memrepro.papers.rfmem.grid import CUTOFFS, KINDS, SWEEPS, TAU, TAUS, Grid
from memrepro.papers.rfmem.sensitivity import RECOLLECTION, Row, rows_of
from memrepro.papers.rfmem.traces import Costs, Family
from memrepro.report.claims import ClaimCase, case_cells
from memrepro.report.sources import RunSource, Source, write_sources
from memrepro.report.tables import Cell, verdict_cells

Claim = Mapping[str, Any]
_LEVEL = 0.05
_HAIR = 1e-9  # equal recalls may differ by a last bit
WORDS = {
    "exact": "holds",
    "direction only": "in this direction only: not all are significant",
    "not reproduced": "does not hold here",
}
_ROBUST_WORDS = {
    "exact": "holds",
    "direction only": "never below familiarity, but settings differ by more than the gain",
    "not reproduced": "does not hold here: the gain's sign depends on the setting",
}
_MIXED = "not shown: the signs are mixed, and none is significant"
_NOTE = (
    "all on PersonaBench, noise 0.0; all-MiniLM-L6-v2 is not in the paper; Holm's correction over "
    "the whole family of comparisons; a claim of better 'holds' where every comparison stands "
    "after it; one of robustness where recall is below familiarity's at no setting and the "
    "settings differ by no more than the gain"
)


class Compared(NamedTuple):
    """A path against a rival on the questions of one column of Table 2, of an encoder at one K."""

    row: Row
    rival: str
    column: str
    n: int
    interval: Interval
    won: int
    lost: int
    p: float
    corrected: float = np.nan

    @property
    def sources(self) -> list[RunSource]:
        """The runs compared; both paths where one of them is the gate's."""
        kind = KINDS[self.column]
        return self.row.grid.sources("familiarity", "recollection", kind=kind)


def compare(row: Row, rival: str, base: Doubles, column: str) -> Compared:
    """One comparison, before the correction."""
    mask = row.grid.of_kind(KINDS[column])
    part = (row.recall - base)[mask]
    interval = paired_difference(np.zeros(len(part)), part)
    won, lost = int((part > 0).sum()), int((part < 0).sum())
    return Compared(row, rival, column, len(part), interval, won, lost, sign_flip(part))


@lru_cache(maxsize=2)
def family(grids: tuple[Grid, ...]) -> list[Compared]:
    """Every path against its rivals on every column's questions, corrected together."""
    found = []
    for row in (row for grid in grids for row in rows_of(grid)):
        rivals = {"Famili.": row.grid.familiarity}
        if row.path != RECOLLECTION:
            rivals[RECOLLECTION] = row.grid.recollection
        for rival, base in rivals.items():
            columns = [c for c, kind in KINDS.items() if row.grid.of_kind(kind).any()]
            found += [compare(row, rival, base, column) for column in columns]
    corrected = holm([one.p for one in found])
    return [one._replace(corrected=p) for one, p in zip(found, corrected, strict=True)]


def comparisons(compared: Sequence[Compared]) -> Iterator[Cell]:
    """Each comparison with its interval and its p-value before and after the correction."""
    note = (
        f"p: paired sign flips, two-sided; Holm's correction over all {len(compared)} comparisons"
    )
    for one in compared:
        grid = one.row.grid
        row = f"{grid.encoder.name} {one.row.path} less {one.rival}, R@{grid.k} {one.column}"
        texts = {
            "difference": signed(one.interval.mean),
            "95 % interval": within(one.interval),
            "won, lost": f"{one.won}, {one.lost}",
            "p": f"{one.p:.4f}",
            "p after Holm": f"{one.corrected:.4f}",
        }
        yield from row_cells(row, f"recall@{grid.k}", texts, one.n, note, one.sources)


def better_path(grids: tuple[Grid, ...], claim: Claim) -> Iterator[Cell]:
    """A claim that a path has the higher recall than its rivals, on some columns.

    It 'holds' if all its comparisons do after the correction; 'in this direction only' if all have
    its sign. With `sign: -1` the path is claimed to be worse, with `ties` equality counts too.
    """
    every = family(grids)
    found = [one for one in every if one.row.path == claim["path"]
             and one.rival in claim["rivals"] and one.column in claim["columns"]]  # fmt: skip
    if not found:
        return
    sign = claim.get("sign", 1)
    means = [sign * one.interval.mean for one in found]
    least = -_HAIR if claim.get("ties") else _HAIR
    right = sum(mean > least for mean in means)
    told = [(mean, one.corrected < _LEVEL) for mean, one in zip(means, found, strict=True)]
    sure = sum(mean > 0 and known for mean, known in told)
    against = sum(mean < 0 and known for mean, known in told)
    clear = sum(one.interval.low > 0 if sign > 0 else one.interval.high < 0 for one in found)
    count, raw = len(found), [one.p for one in found]
    label = "exact" if sure == count else "direction only" if right == count else "not reproduced"
    yield from _row(claim, label, min(one.n for one in found), {
        "questions": ", ".join(map(str, sorted({one.n for one in found}))),
        "comparisons": f"{count} of the family's {len(every)}",
        "in this direction": f"{right} of {count}",
        "95 % interval clear of 0": f"{clear} of {count}",
        "p < 0.05 before correction": f"{sum(p < _LEVEL for p in raw)} of {count}",
        "least p, after Holm among these, among all": " → ".join(
            f"{min(values):.4f}" for values in (raw, holm(raw), [one.corrected for one in found])
        ),
        "after Holm": f"{sure} for, {against} against",
        "what came out": "; ".join(
            f"{_what(one, claim)} {signed(one.interval.mean)} {within(one.interval)}, "
            f"won {one.won}, lost {one.lost}, n {one.n}" for one in found
        ),
    }, [source for one in found for source in one.sources],
        _MIXED if label == "not reproduced" and not sure and not against else "")  # fmt: skip


def _what(one: Compared, claim: Claim) -> str:
    column = f" {one.column}" if len(claim["columns"]) > 1 else ""
    rival = f" over {one.rival}" if len(claim["rivals"]) > 1 else ""
    return f"{one.row.grid.encoder.name} R@{one.row.grid.k}{column}{rival}"


def settings_of(grid: Grid, claim: Claim) -> Doubles:
    """Recall at the settings of a claim: recollection's, and for τ RF-Mem's; (settings, n)."""
    parameter, low, high = claim["parameter"], claim.get("low", -np.inf), claim.get("high", np.inf)
    if parameter == "τ":
        inside = [r for r in grid.routings if r.high > low and r.low < high]
        return np.stack([grid.gated(grid.recollection, r.familiar) for r in inside])
    values = grid.sweeps[parameter].items()
    return np.stack([recall for v, recall in values if low <= float(v) <= high])


def robust(grids: tuple[Grid, ...], claim: Claim) -> Iterator[Cell]:
    """A claim that the gain stands whatever a hyper-parameter is, between two values of it.

    It holds if recall is below familiarity's at no setting and the settings differ by no more than
    the gain; in direction only if the former is so.
    """
    above = below = total = 0
    small, texts = True, []
    for grid in grids:
        base = float(grid.familiarity.mean())
        over = settings_of(grid, claim).mean(axis=1) - base
        own = grid.recollection
        if claim["parameter"] == "τ":
            own = grid.gated(own, TAU)
        gain, width = float(own.mean()) - base, float(np.ptp(over))
        up, down = int((over > _HAIR).sum()), int((over < -_HAIR).sum())
        above, below, total = above + up, below + down, total + len(over)
        small = small and width <= gain + _HAIR
        texts.append(
            f"{grid.encoder.name} R@{grid.k}: {up} of {len(over)} above, {down} below, "
            f"{signed(over.min())} to {signed(over.max())}, at Table 2's setting {signed(gain)}"
        )
    label = "not reproduced" if below else "exact" if small else "direction only"
    yield from _untested(claim, grids, label, f"{total} settings", f"{above} of {total}, {below} "
                         "against", texts, _ROBUST_WORDS[label])  # fmt: skip


def best_alpha(grids: tuple[Grid, ...], claim: Claim) -> Iterator[Cell]:
    """A claim that α is best between `low` and `high` at one K."""
    inside, texts = [], []
    for grid in (grid for grid in grids if grid.k == claim["k"]):
        pairs, recalls = grid.over_alpha_and_tau()
        means = np.round(recalls.mean(axis=1), 9)
        tops = dict.fromkeys(pairs[place][0] for place in np.flatnonzero(means == means.max()))
        inside.append(any(claim["low"] <= float(alpha) <= claim["high"] for alpha in tops))
        texts.append(f"{grid.encoder.name} R@{grid.k}: best at α {', '.join(tops)}")
    label = "exact" if all(inside) else "not reproduced"
    yield from _untested(claim, grids, label, f"{len(inside)} encoders",
                         f"{sum(inside)} of {len(inside)}", texts)  # fmt: skip


def all_familiar(grids: tuple[Grid, ...], claim: Claim) -> Iterator[Cell]:
    """A claim that from a threshold on every question takes familiarity."""
    late, texts = [], []
    for grid in grids:
        most = TAUS[[bool(grid.familiar(float(tau)).all()) for tau in TAUS]]
        first = f"from τ = {most.min():.2f}" if len(most) else "at no τ tried"
        late.append(bool(grid.familiar(claim["tau"]).all()))
        texts.append(f"{grid.encoder.name} R@{grid.k}: all questions take familiarity {first}")
    label = "exact" if all(late) else "not reproduced"
    yield from _untested(claim, grids, label, f"{len(late)} grids", f"{sum(late)} of {len(late)}",
                         texts)  # fmt: skip


def falls(grids: tuple[Grid, ...], claim: Claim) -> Iterator[Cell]:
    """A claim, of another data set, that recall falls as a hyper-parameter grows."""
    steps = {
        f"{grid.encoder.name} R@{grid.k}": np.diff(grid.stacked(claim["parameter"]).mean(axis=1))
        for grid in grids
        if grid.k == claim["k"]
    }
    down = {name: int((step < -_HAIR).sum()) for name, step in steps.items()}
    count = sum(map(len, steps.values()))
    texts = [
        f"{name}: {down[name]} of {len(step)} steps fall, {signed(step.sum())} in all"
        for name, step in steps.items()
    ]
    yield from _untested(claim, grids, NOT_COMPARABLE, f"{count} steps",
                         f"{sum(down.values())} of {count}", texts, "another data set")  # fmt: skip


def _untested(
    claim: Claim, grids: Sequence[Grid], label: str, many: str, right: str,
    came_out: Sequence[str], words: str = "",
) -> Iterator[Cell]:  # fmt: skip
    """A claim on single settings, of which none is tested."""
    n = len(grids[0].questions)
    texts = {
        "questions": str(n),
        "comparisons": f"{many}, none tested",
        "in this direction": right,
        "what came out": "; ".join(came_out),
    }
    both = ("familiarity", "recollection")
    sources: list[Source] = [one for grid in grids for one in grid.sources(*both)]
    if ending := SWEEPS.get(claim.get("parameter", ""), ("",))[0]:
        sources += [grid.swept("recollection", ending) for grid in grids]
    yield from _row(claim, label, n, texts, sources, words)


CHECKS: Mapping[str, Callable[[tuple[Grid, ...], Claim], Iterator[Cell]]] = {
    check.__name__: check for check in (better_path, robust, best_alpha, all_familiar, falls)
}


def _row(
    claim: Claim, label: str, n: int, texts: Mapping[str, str], sources: Sequence[Source],
    words: str = "",
) -> Iterator[Cell]:  # fmt: skip
    head = Cell(claim["row"], "verdict", "claim", claim.get("said", ""), words or WORDS[label], n,
                label, texts["in this direction"], _NOTE, write_sources(sources))  # fmt: skip
    yield from verdict_cells(head, texts)


Grids = Sequence[Grid]
Found = Iterator[tuple[ClaimCase, Sequence[Source]]]


def _families(costs: Costs) -> list[Family]:
    """The experiments on data of the paper."""
    ours = ("persona", "longmemeval")
    every = costs.traces.families()
    return [one for one in every if costs.entry(one.recollection).dataset.startswith(ours)]


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
        holds = min(1.0, deep) <= gated <= max(1.0, deep)
        yield (
            ClaimCase(family.gated, f"gate {gated:.3f}×, recollection {deep:.3f}×", holds),
            sources,
        )


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


COST_CHECKS: Mapping[str, Callable[[Costs, Grids], Found]] = {
    check.__name__: check
    for check in (
        between_in_time, twice_as_slow, searches_between, tokens_alike, tokens_between,
        familiarity_is_default, stronger_recollects_more, stops_early,
    )
}  # fmt: skip


def on_cost(costs: Costs, grids: Grids, claim: Claim, note: str) -> Iterator[Cell]:
    """A claim on cost by its cases; one on times, which may change, is not judged."""
    found = list(COST_CHECKS[claim["check"]](costs, grids))
    sources = write_sources(source for _, own in found for source in own)
    for cell in case_cells(claim["row"], claim["said"], [case for case, _ in found], note):
        if cell.verdict and claim.get("measured") and found:
            cell = cell._replace(verdict=NOT_COMPARABLE)
        yield cell._replace(sources=sources)
