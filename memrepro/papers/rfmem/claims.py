"""What RF-Mem claims of its paths and its hyper-parameters, against what was run.

Source: RF-Mem §3.3 and Appendices D.2 to D.5. Each function checks one kind of claim of
`claims.yaml`. A claim's comparisons are corrected by Holm's method within the claim
(`report.compared`). PersonaBench has six persons, so that no p is below .031: a claim of two
comparisons or more stays undecided, and what speaks for it is in the next column.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memrepro.audit.verdicts import (
    DIRECTION,
    EXACT,
    NOT_COMPARABLE,
    NOT_IN_PAPER,
    NOT_REPRODUCED,
    UNDECIDED,
)
from memrepro.core.similarity import Doubles
from memrepro.evaluate.comparison import LEVEL, Comparison
from memrepro.evaluate.multiple import holm
from memrepro.papers.rfmem.cells import ranking_of, signed
from memrepro.papers.rfmem.grid import BOTH, CUTOFFS, GATE, TAU, TAUS, Grid
from memrepro.papers.rfmem.sensitivity import RECOLLECTION, Row, rows_of
from memrepro.report.compared import FAILS, HOLDS, signs
from memrepro.report.sources import Source, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, verdict_cells

_HAIR = 1e-9  # equal recalls may differ by a last bit
WORDS = {EXACT: HOLDS, UNDECIDED: UNDECIDED, NOT_REPRODUCED: FAILS}
_ROBUST_WORDS = {
    EXACT: "holds here",
    DIRECTION: "in this direction only: never below, but settings move it by more",
    NOT_REPRODUCED: "does not hold here: the gain's sign depends on the setting",
}


class PathComparison(NamedTuple):
    """A path against a rival on the questions of a column of Table 2.

    Attributes:
        name: of encoder and recall.
        path: of `rows_of`.
        rival: what it is compared with.
        column: of Table 2.
        found: path − rival.
        sources: of the numbers.
    """

    name: str
    path: str
    rival: str
    column: str
    found: Comparison
    sources: Sequence[Source]


def compared(rows: Iterable[Row]) -> list[PathComparison]:
    """Each path against its rivals on every column's questions."""
    found = []
    for grid, path, recall, _ in rows:
        rivals = {"Famili.": grid.familiarity}
        if path != RECOLLECTION:
            rivals[RECOLLECTION] = grid.recollection
        for rival, base in rivals.items():
            for column, kind, mask in grid.columns():
                found.append(PathComparison(
                    f"{grid.encoder.name} R@{grid.k}", path, rival, column,
                    grid.compare(base, recall, mask), grid.sources(*BOTH, kind=kind),
                ))  # fmt: skip
    return found


@lru_cache(maxsize=2)
def every_path(grids: tuple[Grid, ...]) -> list[PathComparison]:
    """`compared` of all rows of Table 2 that can be run here."""
    return compared(row for grid in grids for row in rows_of(grid))


def better_path(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that a path has the higher recall than its rivals, on some columns."""
    yield from of_path(every_path(grids), claim)


def of_path(every: Sequence[PathComparison], claim: Spec) -> Iterator[Cell]:
    """The claim on its comparisons: of one path, on its columns, against its rivals.

    With `sign: -1` the path is claimed to be worse, with `ties` equality has the claimed sign too.
    """
    chosen = [
        one
        for one in every
        if one.path == claim["path"]
        and one.rival in claim["rivals"]
        and one.column in claim["columns"]
    ]
    if not chosen:
        return
    found, count = [one.found for one in chosen], len(chosen)
    sign, hair = claim.get("sign", 1), -_HAIR if claim.get("ties") else _HAIR
    right = sum(sign * one.difference > hair for one in found)
    known = [sign * one for one in signs(found)]
    answer = FAILS if -1 in known else HOLDS if set(known) == {1} else UNDECIDED
    label = {HOLDS: EXACT, FAILS: NOT_REPRODUCED}.get(answer, UNDECIDED)
    if answer == UNDECIDED and right == count:
        label = DIRECTION
    p = [one.p for one in found]
    clear = sum(one.low > 0 if sign > 0 else one.high < 0 for one in found)
    texts = {
        "questions": ", ".join(map(str, sorted({one.n for one in found}))),
        "comparisons": str(count),
        "in this direction": f"{right} of {count}",
        "95 % interval clear of 0": f"{clear} of {count}",
        "p < 0.05 before correction": f"{sum(one < LEVEL for one in p)} of {count}",
        "least p, after Holm": f"{min(p):.4f} → {min(holm(p)):.4f}",
        "after Holm": f"{known.count(1)} for, {known.count(-1)} against",
        "what came out": "; ".join(
            one.name + f" {one.column}" * (len(claim["columns"]) > 1)
            + f" over {one.rival}" * (len(claim["rivals"]) > 1)
            + f" {one.found}, n {one.found.n}" for one in chosen
        ),
    }  # fmt: skip
    sources = [source for one in chosen for source in one.sources]
    yield from _claim_cells(claim, label, min(one.n for one in found), texts, sources, answer)


def _settings(grid: Grid, claim: Spec) -> Doubles:
    """Recall at the settings of a claim: recollection's, and for τ RF-Mem's; (settings, n)."""
    parameter, low, high = claim["parameter"], claim.get("low", -np.inf), claim.get("high", np.inf)
    if parameter == "τ":
        return grid.over_tau([r for r in grid.routings if r.high > low and r.low < high])
    if parameter == "B × F":
        return _tried(grid, parameter)[1]
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
    label = NOT_REPRODUCED if below else EXACT if small else DIRECTION
    yield from _untested(claim, grids, label, f"{total} settings", f"{above} of {total}, {below} "
                         "against", texts, _ROBUST_WORDS[label])  # fmt: skip


def _tried(grid: Grid, tried: str) -> tuple[list[dict[str, float]], Doubles]:
    """Settings that were run, as parameter → value, and the recall at each, (settings, n).

    Args:
        grid: of an encoder at one K.
        tried: 'RF-Mem' (over α and τ), 'B × F', or one parameter of recollection.
    """
    if tried == "RF-Mem":
        pairs, recalls = grid.over_alpha_and_tau()
        return [{"α": float(alpha), "τ": tau} for alpha, tau in pairs], recalls
    if tried == "B × F":
        found = grid.over_beam_and_fanout
        return [{"B": float(b), "F": float(f)} for b, f in found], np.stack(list(found.values()))
    return [{tried: float(value)} for value in grid.sweeps[tried]], grid.stacked(tried)


def best_settings(grid: Grid, tried: str) -> list[dict[str, float]]:
    """The settings of `_tried` with the highest mean; several of equals."""
    settings, recalls = _tried(grid, tried)
    means = np.round(recalls.mean(axis=1), 9)
    return [settings[place] for place in np.flatnonzero(means == means.max())]


def best_between(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that parameters are best `within` bounds, of the settings `tried` at some K."""
    inside, texts = [], []
    for grid in (grid for grid in grids if grid.k in claim["ks"]):
        tops = best_settings(grid, claim["tried"])
        inside.append(any(
            all(low <= top[name] <= high for name, (low, high) in claim["within"].items())
            for top in tops
        ))  # fmt: skip
        values = {name: sorted({top[name] for top in tops}) for name in claim["within"]}
        at = ", ".join(
            f"{name} {found[0]:g}" + (f" to {found[-1]:g}" if len(found) > 1 else "")
            for name, found in values.items()
        )
        texts.append(f"{grid.encoder.name} R@{grid.k}: best at {at}")
    label = EXACT if all(inside) else NOT_REPRODUCED
    yield from _untested(claim, grids, label, f"{len(inside)} grids",
                         f"{sum(inside)} of {len(inside)}", texts)  # fmt: skip


def all_familiar(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that from a threshold on every question takes familiarity."""
    late, texts = [], []
    for grid in grids:
        most = TAUS[[bool(grid.familiar(float(tau)).all()) for tau in TAUS]]
        first = f"from τ = {most.min():.2f}" if len(most) else "at no τ tried"
        late.append(bool(grid.familiar(claim["tau"]).all()))
        texts.append(f"{grid.encoder.name} R@{grid.k}: all questions take familiarity {first}")
    label = EXACT if all(late) else NOT_REPRODUCED
    yield from _untested(claim, grids, label, f"{len(late)} grids", f"{sum(late)} of {len(late)}",
                         texts)  # fmt: skip


def moves(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that recollection's recall falls (`sign: -1`) or rises as a parameter grows."""
    right = total = 0
    sign, k = claim.get("sign", -1), claim["k"]
    texts, sources = list[str](), list[Source]()
    for grid in (grid for grid in grids if grid.k == min(k, max(CUTOFFS))):
        deep = grid.k < k
        recalls = list(grid.deep_alphas(k).values()) if deep else grid.stacked(claim["parameter"])
        sources += [ranking_of(grid.deep_run(k))] if deep else []
        steps = np.diff(np.mean(recalls, axis=1))
        own = int((sign * steps > _HAIR).sum())
        right, total = right + own, total + len(steps)
        texts.append(f"{grid.encoder.name} R@{k}: {own} of {len(steps)} steps "
                     f"{'rise' if sign > 0 else 'fall'}, {signed(steps.sum())} in all")  # fmt: skip
    yield from _untested(claim, grids, EXACT if right == total else NOT_REPRODUCED,
                         f"{total} steps", f"{right} of {total}", texts,
                         further=sources)  # fmt: skip


def above_at_every_k(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that RF-Mem finds more than either path alone at every K."""
    above = total = 0
    texts, sources = list[str](), list[Source]()
    for grid in (grid for grid in grids if grid.k == max(CUTOFFS)):
        sources += map(ranking_of, grid.by_k)
        own, same = [], []
        for one in grid.over_k():
            familiar = one.familiar(GATE)
            gated = float(np.where(familiar, one.familiarity, one.recollection).mean())
            most = max(float(one.familiarity.mean()), float(one.recollection.mean()))
            own.append(gated > most + _HAIR)
            same += [one.k] if familiar.all() else []
        above, total = above + sum(own), total + len(own)
        told = f", and from K = {same[0]} every question is familiar" if same else ""
        texts.append(f"{grid.encoder.name}: above both at {sum(own)} of {len(own)} K{told}")
    yield from _untested(claim, grids, EXACT if above == total else NOT_REPRODUCED,
                         f"{total} K", f"{above} of {total}", texts,
                         further=sources)  # fmt: skip


def _untested(
    claim: Spec, grids: Sequence[Grid], label: str, many: str, right: str,
    came_out: Sequence[str], words: str = "", further: Sequence[Source] = (),
) -> Iterator[Cell]:  # fmt: skip
    """A claim on single settings, of which none is tested; of another data set, not judged."""
    if claim.get("elsewhere"):
        label, words = NOT_COMPARABLE, "cannot be checked here"
    n = len(grids[0].questions)
    texts = {
        "questions": str(n),
        "comparisons": f"{many}, none tested",
        "in this direction": right,
        "what came out": "; ".join(came_out),
    }
    sources: list[Source] = [one for grid in grids for one in grid.sources(*BOTH)]
    sources += further
    swept = claim.get("parameter", claim.get("tried", ""))
    sources += [one for grid in grids for one in grid.swept("α" if swept == "RF-Mem" else swept)]
    yield from _claim_cells(claim, label, n, texts, sources, words)


def _claim_cells(
    claim: Spec, label: str, n: int, texts: Mapping[str, str], sources: Sequence[Source],
    words: str = "",
) -> Iterator[Cell]:  # fmt: skip
    verdict = label if "said" in claim else NOT_IN_PAPER
    head = Cell(
        claim["row"], "verdict", "claim", claim.get("said", ""), words or WORDS[label], n, verdict,
        texts["in this direction"], claim["note"], write_sources(sources),
    )  # fmt: skip
    yield from verdict_cells(head, texts)
