"""What RF-Mem claims of its paths, its hyper-parameters and its cost, against what was run.

Source: RF-Mem §3.2, §3.3 and Appendices D.2 to D.5, D.10 and E. Each function checks one kind of
claim of `claims.yaml`. All comparisons of one path with another are one family: their p-values are
of paired sign flips, corrected by Holm's method. Claims on cost are checked case by case; of time
the search alone counts, as encoding a query is the same for all three paths.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.similarity import Doubles
from memrepro.evaluate.bootstrap import Interval, paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.papers.rfmem.cells import numeric, printed_rows, row_cells, signed, within
from memrepro.papers.rfmem.grid import BOTH, CUTOFFS, OPEN, TAU, TAUS, Grid, grids_of
from memrepro.papers.rfmem.sensitivity import RECOLLECTION, Row, rows_of
from memrepro.papers.rfmem.traces import Family, records_of
from memrepro.report.claims import ClaimCase
from memrepro.report.runs import Runs
from memrepro.report.sources import Source, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, verdict_cells

_LEVEL = 0.05
_HAIR = 1e-9  # equal recalls may differ by a last bit
_COMPARED = [
    "name", "path", "rival", "column", "n", "mean", "low", "high", "won", "lost", "p", "sources",
]  # fmt: skip
WORDS = {
    "exact": "holds here",
    "direction only": "in this direction only: not all are significant",
    "not reproduced": "does not hold here",
}
_ROBUST_WORDS = {
    "exact": "holds here",
    "direction only": "in this direction only: never below, but settings move it by more",
    "not reproduced": "does not hold here: the gain's sign depends on the setting",
}
_MIXED = "undecided: the signs are mixed, and none is significant"


def compared(rows: Iterable[Row]) -> pd.DataFrame:
    """Each path against its rivals on every column's questions, corrected together.

    Returns:
        `_COMPARED` and `corrected`, a row a comparison: `name` of encoder and recall; `mean`, `low`
        and `high` of the difference; questions `won` and `lost`; p of paired sign flips.
    """
    found = []
    for grid, path, recall, _ in rows:
        rivals = {"Famili.": grid.familiarity}
        if path != RECOLLECTION:
            rivals[RECOLLECTION] = grid.recollection
        for rival, base in rivals.items():
            for column, kind, mask in grid.columns():
                part = (recall - base)[mask]
                interval = paired_difference(np.zeros(len(part)), part)
                found.append((
                    f"{grid.encoder.name} R@{grid.k}", path, rival, column, len(part), *interval,
                    (part > 0).sum(), (part < 0).sum(), sign_flip(part),
                    grid.sources(*BOTH, kind=kind),
                ))  # fmt: skip
    table = pd.DataFrame(found, columns=_COMPARED)
    return table.assign(corrected=holm(table["p"].tolist()))


@lru_cache(maxsize=2)
def family(grids: tuple[Grid, ...]) -> pd.DataFrame:
    """`compared` of all rows of Table 2 that can be run here."""
    return compared(row for grid in grids for row in rows_of(grid))


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples(index=False))


def comparisons(_: Runs, __: Spec) -> Iterator[Cell]:
    """Each comparison with its interval and its p-value before and after the correction."""
    every = _rows(family(grids_of(OPEN)))
    note = f"p: paired sign flips, two-sided; Holm's correction over all {len(every)} comparisons"
    for one in every:
        encoder, recall = one.name.split()
        texts = {
            "difference": signed(one.mean),
            "95 % interval": within(Interval(one.mean, one.low, one.high)),
            "won, lost": f"{one.won}, {one.lost}",
            "p": f"{one.p:.4f}",
            "p after Holm": f"{one.corrected:.4f}",
        }
        row = f"{encoder} {one.path} less {one.rival}, {recall} {one.column}"
        metric = f"recall@{recall.removeprefix('R@')}"
        yield from row_cells(row, metric, texts, one.n, note, one.sources)


def better_path(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that a path has the higher recall than its rivals, on some columns."""
    yield from of_path(family(grids), claim)


def of_path(every: pd.DataFrame, claim: Spec) -> Iterator[Cell]:
    """The claim on the comparisons of a family.

    It 'holds' if all its comparisons do after the correction; 'in this direction only' if all have
    its sign. With `sign: -1` the path is claimed to be worse, with `ties` equality counts too.
    """
    found = every[(every["path"] == claim["path"]) & every["rival"].isin(claim["rivals"])
                  & every["column"].isin(claim["columns"])]  # fmt: skip
    if found.empty:
        return
    sign, count = claim.get("sign", 1), len(found)
    means, known = sign * found["mean"], found["corrected"] < _LEVEL
    right = int((means > (-_HAIR if claim.get("ties") else _HAIR)).sum())
    sure, against = int((known & (means > 0)).sum()), int((known & (means < 0)).sum())
    clear = (found["low"] > 0 if sign > 0 else found["high"] < 0).sum()
    label = "exact" if sure == count else "direction only" if right == count else "not reproduced"
    raw = found["p"].tolist()
    least = (min(values) for values in (raw, holm(raw), found["corrected"]))
    texts = {
        "questions": ", ".join(map(str, sorted(set(found["n"])))),
        "comparisons": f"{count} of the family's {len(every)}",
        "in this direction": f"{right} of {count}",
        "95 % interval clear of 0": f"{clear} of {count}",
        "p < 0.05 before correction": f"{(found['p'] < _LEVEL).sum()} of {count}",
        "least p, after Holm among these, among all": " → ".join(f"{p:.4f}" for p in least),
        "after Holm": f"{sure} for, {against} against",
        "what came out": "; ".join(
            one.name + f" {one.column}" * (len(claim["columns"]) > 1)
            + f" over {one.rival}" * (len(claim["rivals"]) > 1)
            + f" {signed(one.mean)} {within(Interval(one.mean, one.low, one.high))}, "
            f"won {one.won}, lost {one.lost}, n {one.n}" for one in _rows(found)
        ),
    }  # fmt: skip
    mixed = label == "not reproduced" and not sure and not against
    sources = [source for own in found["sources"] for source in own]
    yield from _row(claim, label, int(found["n"].min()), texts, sources, _MIXED if mixed else "")


def _settings(grid: Grid, claim: Spec) -> Doubles:
    """Recall at the settings of a claim: recollection's, and for τ RF-Mem's; (settings, n)."""
    parameter, low, high = claim["parameter"], claim.get("low", -np.inf), claim.get("high", np.inf)
    if parameter == "τ":
        return grid.over_tau([r for r in grid.routings if r.high > low and r.low < high])
    values = grid.sweeps[parameter].items()
    return np.stack([recall for v, recall in values if low <= float(v) <= high])


def robust(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that the gain stands whatever a hyper-parameter is, between two values of it.

    It holds if recall is below familiarity's at no setting and the settings differ by no more than
    the gain; in direction only if the former is so.
    """
    above = below = total = 0
    small, texts = True, []
    for grid in grids:
        base = float(grid.familiarity.mean())
        over = _settings(grid, claim).mean(axis=1) - base
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


def best_alpha(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
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


def all_familiar(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
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


def falls(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim, of another data set, that recall falls as a hyper-parameter grows."""
    down = total = 0
    texts = []
    for grid in (grid for grid in grids if grid.k == claim["k"]):
        steps = np.diff(grid.stacked(claim["parameter"]).mean(axis=1))
        own = int((steps < -_HAIR).sum())
        down, total = down + own, total + len(steps)
        texts.append(f"{grid.encoder.name} R@{grid.k}: {own} of {len(steps)} steps fall, "
                     f"{signed(steps.sum())} in all")  # fmt: skip
    yield from _untested(claim, grids, NOT_COMPARABLE, f"{total} steps", f"{down} of {total}",
                         texts, "another data set")  # fmt: skip


def _untested(
    claim: Spec, grids: Sequence[Grid], label: str, many: str, right: str,
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
    sources: list[Source] = [one for grid in grids for one in grid.sources(*BOTH)]
    sources += [one for grid in grids for one in grid.swept(claim.get("parameter", ""))]
    yield from _row(claim, label, n, texts, sources, words)


def _row(
    claim: Spec, label: str, n: int, texts: Mapping[str, str], sources: Sequence[Source],
    words: str = "",
) -> Iterator[Cell]:  # fmt: skip
    head = Cell(
        claim["row"], "verdict", "claim", claim.get("said", ""), words or WORDS[label], n, label,
        texts["in this direction"], claim["note"], write_sources(sources),
    )  # fmt: skip
    yield from verdict_cells(head, texts)


def _families(runs: Runs) -> list[Family]:
    """The experiments on data of the paper."""
    ours, every = ("persona", "longmemeval"), records_of(runs.profile).families
    return [one for one in every if one.recollection.entry.dataset.startswith(ours)]


def _times(runs: Runs) -> Iterator[tuple[Family, float, float, float, list[Source]]]:
    """The families of which all three paths were timed, with milliseconds a search."""
    for of in _families(runs):
        direct, deep, gated = (one.time("search") for one in of)
        if direct is not None and deep is not None and gated is not None:
            yield of, direct, deep, gated, [source for one in of for source in one.timed]


def between_in_time(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """The gate is at least as slow as familiarity, and at most as slow as recollection."""
    for of, direct, deep, gated, sources in _times(runs):
        text = f"{direct:.2f} ≤ {gated:.2f} ≤ {deep:.2f} ms"
        yield ClaimCase(of.gated.name, text, direct <= gated <= deep, sources)


def twice_as_slow(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """With encoding, as the paper times, recollection takes at most twice familiarity's time."""
    for of, direct, deep, _gated, sources in _times(runs):
        encoding = of.recollection.time("encode") or 0.0
        whole = (encoding + deep) / (encoding + direct)
        text = f"{whole:.2f}× with encoding, {deep / direct:.2f}× alone"
        yield ClaimCase(of.recollection.name, text, 1 < whole <= 2, sources)


def searches_between(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """The gate searches less often than recollection, its probe counted."""
    for of in _families(runs):
        deep, gated = of.recollection.searches, of.gated.searches
        if deep is not None and gated is not None:
            sources = [*of.recollection.traced, *of.gated.traced]
            text = f"{gated:.2f} of {deep:.2f} a query"
            yield ClaimCase(of.gated.name, text, gated < deep, sources)


def _token_ratios(runs: Runs) -> Iterator[tuple[Family, float, float, list[Source]]]:
    """PersonaMem's tokens, question and docs, by recollection and gate over familiarity's."""
    for of in _families(runs):
        if of.gated.name.startswith("personamem") and all(one.is_counted for one in of):
            asked = of.gated.asked["tokens"]
            base, *means = [float((asked + one.returned(of.k)["tokens"]).mean()) for one in of]
            sources = [source for one in of for source in one.counted]
            yield of, means[0] / base, means[1] / base, sources


def tokens_alike(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """The gate's tokens differ from familiarity's by no more than they do anywhere in Table 1."""
    tokens = {row: cells["Avg. Tokens"] for row, cells in printed_rows("table1").items()}
    most = max(
        numeric(tokens[f"{size}, RF-Mem (ours)"]) / numeric(tokens[f"{size}, Dense Retrieval"]) - 1
        for size in ("32K", "128K", "1M")
    )
    for of, _deep, gated, sources in _token_ratios(runs):
        text = f"{gated:.3f}×, in Table 1 at most {1 + most:.3f}×"
        yield ClaimCase(of.gated.name, text, abs(gated - 1) <= most, sources)


def tokens_between(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """The gate's tokens lie between familiarity's and recollection's, as in all of Table 1."""
    for of, deep, gated, sources in _token_ratios(runs):
        holds = min(1.0, deep) <= gated <= max(1.0, deep)
        text = f"gate {gated:.3f}×, recollection {deep:.3f}×"
        yield ClaimCase(of.gated.name, text, holds, sources)


def familiarity_is_default(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """More than half of the questions take familiarity."""
    for one in (of.gated for of in _families(runs) if not of.gated.why_not):
        share = float((one.queries["path"] == "familiarity").mean())
        yield ClaimCase(one.name, f"{share:.1%}", share > 0.5, one.sources("queries"))


def stronger_recollects_more(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """Of two encoders the one with the higher recall by familiarity recollects more questions."""
    for k in CUTOFFS:
        found: list[tuple[str, float, int, list[Source]]] = []
        for grid in (grid for grid in grids_of(OPEN) if grid.k == k):
            one = records_of(runs.profile).experiments[grid.run("gated")]
            if not one.why_not:
                sources = [*grid.sources("familiarity"), *one.sources("queries")]
                recall = float(grid.familiarity.mean())
                found.append((grid.encoder.title, recall, len(one.recollected), sources))
        for (first, a, n, own), (second, b, m, other) in itertools.combinations(found, 2):
            text = f"{first} {a:.4f}, {n} recollected; {second} {b:.4f}, {m}"
            yield ClaimCase(f"K = {k}", text, (a > b) == (n > m), [*own, *other])


def stops_early(runs: Runs, _: Spec) -> Iterator[ClaimCase]:
    """Every recollected query stops with K docs before its rounds are used up."""
    for one in (of.recollection for of in _families(runs) if not of.recollection.why_not):
        limit, n = int(one.entry.parameters.get("rounds", 10)), len(one.queries)
        most = int(one.recollected["rounds"].max())
        whole = int((one.deep_hits.groupby("query_id").size() >= one.k).sum())
        text = f"{whole} of {n} with {one.k} docs, {most} rounds at most"
        yield ClaimCase(one.name, text, whole == n and most < limit, one.sources("queries", "hits"))
