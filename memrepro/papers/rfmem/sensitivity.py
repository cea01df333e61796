"""How far RF-Mem's gains on PersonaBench depend on how its hyper-parameters are chosen.

Source: RF-Mem Table 2 and Appendices D.2 to D.5. Every gain is over familiarity on the same
questions. 'Here' is the released code's variant at the settings of Table 2's rows: B = 3 and, at
K = 5, F = 1 and α = 0.9, at K = 10, F = 2 and α = 0.2.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from memrepro.core.similarity import Doubles
from memrepro.evaluate.clustered import Clusters
from memrepro.evaluate.comparison import Comparison
from memrepro.papers.rfmem.cells import row_cells, signed
from memrepro.papers.rfmem.grid import OPEN, TAU, Grid, grids_of
from memrepro.report.runs import Runs
from memrepro.report.sources import Source
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number

# Default of main_batch.py in the released code's PersonaBench folder, commit d6a2cb3.
RELEASED_ALPHA = "0.8"
RECOLLECTION, GATED = "Recol.", "RF-Mem"
FOLDS, REPEATS = 5, 20
_BEST, _FAIR = "best on the test questions", "chosen on the other users"
_FOLDED = f"chosen on {FOLDS - 1} of {FOLDS} folds"


def best(recalls: Doubles) -> int:
    """The setting with the highest mean, shape (settings, n); the first of equals."""
    # Rounded: means that differ by a last bit alone are equal.
    return int(np.argmax(np.round(recalls.mean(axis=1), 9)))


def chosen_by_folds(recalls: Doubles) -> tuple[Doubles, list[int]]:
    """Each question's mean recall where the other folds choose, shape (n,), and their choices.

    The questions, shape (settings, n), are parted into `FOLDS` random folds `REPEATS` times.
    """
    total, picks = np.zeros(recalls.shape[1]), list[int]()
    for seed in range(REPEATS):
        for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(recalls.T):
            picks.append(best(recalls[:, train]))
            total[test] += recalls[picks[-1], test]
    return total / REPEATS, picks


class Choice(NamedTuple):
    """The settings among which a path's hyper-parameters are chosen, and the recall at each."""

    names: list[str]
    recalls: Doubles
    released: int
    ours: int


def choices(grid: Grid) -> dict[str, Choice]:
    """RECOLLECTION over α, and GATED over α and τ; row's name → choice."""
    alphas, (pairs, both), ours = list(grid.sweeps["α"]), grid.over_alpha_and_tau(), grid.own["α"]
    paths = {
        RECOLLECTION: Choice([f"α {alpha}" for alpha in alphas], grid.stacked("α"),
                             alphas.index(RELEASED_ALPHA), alphas.index(ours)),
        GATED: Choice([f"α {alpha}, τ {tau:.2f}" for alpha, tau in pairs], both,
                      pairs.index((RELEASED_ALPHA, TAU)), pairs.index((ours, TAU))),
    }  # fmt: skip
    return {f"{grid.encoder.name} {path}, R@{grid.k}": one for path, one in paths.items()}


def _most(choice: Choice, picks: Sequence[int]) -> str:
    """The three settings picked most, with how often."""
    counted = Counter(picks).most_common(3)
    more = len(set(picks)) - len(counted)
    text = "; ".join(f"{choice.names[place]} × {times}" for place, times in counted)
    return text + (f"; {more} others" if more else "")


def ways(grid: Grid, choice: Choice) -> dict[str, tuple[Doubles, str]]:
    """How the setting was chosen → recall of each question at it, and the settings picked."""
    users, by_setting = Clusters(tuple(grid.questions["user"])), choice.recalls.T
    folded, picks = chosen_by_folds(choice.recalls)
    top = best(choice.recalls)
    fixed = f"fixed: α = {RELEASED_ALPHA}, τ = {TAU}, the released defaults"
    return {
        _BEST: (choice.recalls[top], choice.names[top]),
        _FAIR: (users.answered(by_setting), _most(choice, users.choose(by_setting).tolist())),
        _FOLDED: (folded, _most(choice, picks)),
        fixed: (choice.recalls[choice.released], ""),
        "fixed: as Table 2's rows here": (choice.recalls[choice.ours], ""),
    }


def _over_alpha(grid: Grid) -> list[Source]:
    return [*grid.sources("familiarity"), *grid.swept("α")]


def chosen_fairly(_: Runs, table: Spec) -> Iterator[Cell]:
    """Overall recall by how α (and τ) were chosen: on the test questions, on others, or not."""
    gained: dict[str, list[Doubles]] = {}
    for grid in grids_of(OPEN):
        n, base, metric = len(grid.questions), grid.familiarity, f"recall@{grid.k}"
        for name, choice in choices(grid).items():
            own = {"familiarity": number(base.mean())}
            yield from row_cells(name, metric, own, n, table["note"], grid.sources("familiarity"))
            found, texts = ways(grid, choice), dict[str, str | Comparison]()
            for way, (recall, picked) in found.items():
                gained.setdefault(way, []).append(recall - base)
                texts |= {way: number(recall.mean()), f"{way}: gain": grid.compare(base, recall)}
                if picked:
                    texts[f"{way}: setting"] = picked
            texts["gain: test questions → users → folds"] = " → ".join(
                signed(float((found[way][0] - base).mean())) for way in (_BEST, _FAIR, _FOLDED)
            )
            yield from row_cells(name, metric, texts, n, sources=_over_alpha(grid))
    row = f"mean gain of these {len(gained[_BEST])} rows"
    # The rows are of the same questions, which are resampled whole.
    means = {
        way: grid.compare(np.zeros(n), np.mean(differences, axis=0))
        for way, differences in gained.items()
    }
    every = [one for grid in grids_of(OPEN) for one in _over_alpha(grid)]
    yield from row_cells(row, "recall@5 and @10", means, n, sources=every)
