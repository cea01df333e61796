"""What RF-Mem claims of its paths and its hyper-parameters, against what was run.

Source: RF-Mem §3.3 and Appendices D.2 to D.5. Each function checks one kind of claim of
`claims.yaml`. A claim's comparisons are corrected by Holm's method within the claim
(`report.compared`). PersonaBench has six persons, so that no p is below .031: a claim of two
comparisons or more stays undecided, and what speaks for it is in the next column.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memrepro.audit.verdicts import (
    DIRECTION,
    EXACT,
    NOT_REPRODUCED,
    UNDECIDED,
)
from memrepro.core.similarity import Doubles
from memrepro.evaluate.comparison import LEVEL, Comparison
from memrepro.evaluate.multiple import holm
from memrepro.papers.rfmem.cells import printed_rows
from memrepro.papers.rfmem.grid import BOTH, TAU, TAUS, Grid
from memrepro.papers.rfmem.sensitivity import GATED, RECOLLECTION
from memrepro.papers.rfmem.thresholds import closest
from memrepro.report.compared import FAILS, HOLDS, signs
from memrepro.report.sources import Source, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, verdict_cells

GATED_AS_PRINTED = "RF-Mem, τ as printed"
_HAIR = 1e-9  # equal recalls may differ by a last bit
WORDS = {EXACT: HOLDS, UNDECIDED: UNDECIDED, NOT_REPRODUCED: FAILS}


class PathComparison(NamedTuple):
    """A path against a rival on the questions of a column of Table 2.

    Attributes:
        name: of encoder and recall.
        path: RECOLLECTION, GATED or GATED_AS_PRINTED.
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


def paths_of(grid: Grid) -> Iterator[tuple[str, Doubles]]:
    """The paths of Table 2 on one grid, each with its recall at the row's settings, shape (n,).

    The gate at the printed row's τ is there only where a row is printed.
    """
    yield RECOLLECTION, grid.recollection
    yield GATED, grid.gated(grid.recollection, TAU)
    if f"{grid.encoder.name} {GATED}" in printed_rows("table2"):
        tau = closest(grid, grid.routings).high
        yield GATED_AS_PRINTED, grid.gated(grid.recollection, tau)


def compared(grid: Grid, path: str, recall: Doubles) -> Iterator[PathComparison]:
    """A path against its rivals on every column's questions."""
    rivals = {"Famili.": grid.familiarity}
    if path != RECOLLECTION:
        rivals[RECOLLECTION] = grid.recollection
    for rival, base in rivals.items():
        for column, kind, mask in grid.columns():
            yield PathComparison(
                f"{grid.encoder.name} R@{grid.k}", path, rival, column,
                grid.compare(base, recall, mask), grid.sources(*BOTH, kind=kind),
            )  # fmt: skip


@lru_cache(maxsize=2)
def every_path(grids: tuple[Grid, ...]) -> list[PathComparison]:
    """`compared` of all rows of Table 2 that can be run here."""
    return [
        one
        for grid in grids
        for path, recall in paths_of(grid)
        for one in compared(grid, path, recall)
    ]


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
    yield from _untested(claim, grids, inside, texts, "α")  # RF-Mem's τ needs no search


def all_familiar(grids: tuple[Grid, ...], claim: Spec) -> Iterator[Cell]:
    """A claim that from a threshold on every question takes familiarity."""
    late, texts = [], []
    for grid in grids:
        most = TAUS[[bool(grid.familiar(float(tau)).all()) for tau in TAUS]]
        first = f"from τ = {most.min():.2f}" if len(most) else "at no τ tried"
        late.append(bool(grid.familiar(claim["tau"]).all()))
        texts.append(f"{grid.encoder.name} R@{grid.k}: all questions take familiarity {first}")
    yield from _untested(claim, grids, late, texts)


def _untested(
    claim: Spec, grids: Sequence[Grid], right: Sequence[bool], came_out: Sequence[str],
    swept: str = "",
) -> Iterator[Cell]:  # fmt: skip
    """A claim on single settings, of which none is tested: it holds if it is right in all grids."""
    n, many = len(grids[0].questions), len(right)
    texts = {
        "questions": str(n),
        "comparisons": f"{many} grids, none tested",
        "in this direction": f"{sum(right)} of {many}",
        "what came out": "; ".join(came_out),
    }
    sources: list[Source] = [one for grid in grids for one in grid.sources(*BOTH)]
    sources += [one for grid in grids for one in grid.swept(swept)]
    label = EXACT if all(right) else NOT_REPRODUCED
    yield from _claim_cells(claim, label, n, texts, sources, WORDS[label])


def _claim_cells(
    claim: Spec, label: str, n: int, texts: Mapping[str, str], sources: Sequence[Source],
    words: str,
) -> Iterator[Cell]:  # fmt: skip
    head = Cell(
        claim["row"], "verdict", "claim", claim["said"], words, n, label,
        texts["in this direction"], claim["note"], write_sources(sources),
    )  # fmt: skip
    yield from verdict_cells(head, texts)
