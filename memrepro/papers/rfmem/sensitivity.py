"""How far RF-Mem's gains on PersonaBench hang on its hyper-parameters, and on choosing them there.

Source: RF-Mem Table 2 and Appendices D.2 to D.5. Every gain is over familiarity on the same
questions. 'Here' is the released code's variant at the settings of Table 2's rows: B = 3 and, at
K = 5, F = 1 and α = 0.9, at K = 10, F = 2 and α = 0.2.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memrepro.audit.verdicts import NOT_IN_PAPER, Verdict, judge
from memrepro.core.similarity import Doubles
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.papers.rfmem import claims, sensitivity_figures
from memrepro.papers.rfmem.grid import (
    ENCODERS,
    FOLDS,
    REPEATS,
    TAUS,
    Grid,
    best,
    chosen,
    folds,
    left_out_users,
    load,
    signed,
    within,
)
from memrepro.papers.rfmem.printed import printed_table
from memrepro.papers.rfmem.routing import CUTOFFS, GATE, KINDS, Routing
from memrepro.report.profile import Metrics
from memrepro.report.tables import Cell, number, write_cells

# Defaults of main_batch.py in the released code's PersonaBench folder, commit d6a2cb3.
RELEASED_ALPHA, RELEASED_TAU = "0.8", GATE.entropy_threshold
RECOLLECTION, GATED, GATED_AS_PRINTED = "Recol.", "RF-Mem", "RF-Mem, τ as printed"
_AFTER = (
    "α here (0.9 at K = 5, 0.2 at K = 10) was found by holding a sweep against the printed "
    "Recollection row, that of 'τ as printed' by holding every routing against the RF-Mem row"
)
_SPREAD = (
    "spreads are the least, the median and the greatest gain, with the number of settings; what is "
    "not varied stays at the row's own setting"
)
_NOT_PRINTED = "all-MiniLM-L6-v2 is not in the paper, whose MiniLM is multi-qa-MiniLM-L6-cos-v1"


class Row(NamedTuple):
    """A path of Table 2 on one grid: its recall at the row's settings, and over each sweep.

    Attributes:
        path: RECOLLECTION, GATED or GATED_AS_PRINTED.
        recall: shape (n,).
        spreads: what is varied → recall, shape (settings, n).
    """

    grid: Grid
    path: str
    recall: Doubles
    spreads: Mapping[str, Doubles]


def rows_of(grid: Grid) -> list[Row]:
    """The rows of an encoder at one K; that at the printed row's τ only where there is one."""
    sweeps = {parameter: grid.stacked(parameter) for parameter in grid.sweeps}
    rows = [Row(grid, RECOLLECTION, grid.recollection, sweeps)]
    _, both = grid.over_alpha_and_tau()
    taus = {GATED: RELEASED_TAU}
    if routing := as_printed(grid):
        taus[GATED_AS_PRINTED] = routing.high
    for path, tau in taus.items():
        spreads = {p: grid.gated(values, tau) for p, values in sweeps.items()}
        spreads |= {"τ": grid.over_tau(), "α and τ": both}
        rows.append(Row(grid, path, grid.gated(grid.recollection, tau), spreads))
    return rows


def as_printed(grid: Grid) -> Routing | None:
    """The routing closest to the printed RF-Mem row, as `rfmem.closest` has it; None without one.

    Least sum of distances over the columns, then the lowest τ: found after the fact.
    """
    shown = printed_table("table2")
    if (f"{grid.encoder} {GATED}", f"R@{grid.k} Overall") not in shown:
        return None
    distances = np.zeros(len(grid.routings))
    for column, kind in KINDS.items():
        if (mask := grid.of_kind(kind)).any():
            printed = float(shown[f"{grid.encoder} {GATED}", f"R@{grid.k} {column}"])
            means = grid.over_tau()[:, mask].mean(axis=1)
            distances += np.abs(np.round(means, 4) - printed)
    return grid.routings[int(np.argmin(np.round(distances, 6)))]


def printed_gain(encoder: str, path: str, k: int, column: str) -> str:
    """A printed number less familiarity's, at four digits; '' where the paper has none."""
    shown = printed_table("table2")
    name = path.split(",")[0]
    if (f"{encoder} {name}", f"R@{k} {column}") not in shown:
        return ""
    ours, base = (float(shown[f"{encoder} {p}", f"R@{k} {column}"]) for p in (name, "Famili."))
    return signed(ours - base)


def gains(rows: Sequence[Row]) -> Iterator[Cell]:
    """Each gain of Table 2 that can be run here: printed, here, its interval and its spreads."""
    for row in rows:
        grid = row.grid
        for column, kind in KINDS.items():
            chosen_ones = grid.of_kind(kind)
            n = int(chosen_ones.sum())
            if not n:
                continue
            base, now = grid.familiarity[chosen_ones], row.recall[chosen_ones]
            interval = paired_difference(base, now)
            shown = printed_gain(grid.encoder, row.path, grid.k, column)
            verdict = judge(shown, interval.mean) if shown else Verdict(NOT_IN_PAPER, "")
            name = f"{grid.encoder} {row.path}, R@{grid.k} {column}"
            metric = f"gain in recall@{grid.k}"
            note = _AFTER if shown else _NOT_PRINTED
            yield Cell(name, "gain", metric, shown, signed(interval.mean), n, *verdict, note=note)
            texts = {
                "95 % interval": within(interval),
                "won, lost": f"{(now > base).sum()}, {(now < base).sum()}",
            }
            for what, values in row.spreads.items():
                means = values[:, chosen_ones].mean(axis=1) - base.mean()
                texts[f"over {what}"] = spread(means)
            for what, text in texts.items():
                yield Cell(name, what, metric, "", text, n, "", note=_SPREAD)


def spread(values: Doubles) -> str:
    """Least / median / greatest (how many)."""
    shown = " / ".join(signed(float(f(values))) for f in (np.min, np.median, np.max))
    return f"{shown} ({len(values)})"


class Choice(NamedTuple):
    """The settings among which a path's hyper-parameters are chosen, and the recall at each."""

    names: list[str]
    recalls: Doubles
    released: int
    ours: int


def choices(grid: Grid) -> dict[str, Choice]:
    """RECOLLECTION over α, and GATED over α and `TAUS`."""
    alphas = list(grid.sweeps["α"])
    pairs, both = grid.over_alpha_and_tau()
    return {
        RECOLLECTION: Choice(
            [f"α {alpha}" for alpha in alphas], grid.stacked("α"), alphas.index(RELEASED_ALPHA),
            alphas.index(grid.own["α"]),
        ),
        GATED: Choice(
            [f"α {alpha}, τ {tau:.2f}" for alpha, tau in pairs], both,
            pairs.index((RELEASED_ALPHA, RELEASED_TAU)), pairs.index((grid.own["α"], RELEASED_TAU)),
        ),
    }  # fmt: skip


_BEST, _FAIR = "best on the test questions", "chosen on the other users"
_FOLDED = f"chosen on {FOLDS - 1} of {FOLDS} folds"
_FIXED = f"fixed: α = {RELEASED_ALPHA}, τ = {RELEASED_TAU}, the released defaults"
_OURS = "fixed: as Table 2's rows here"


def ways(grid: Grid, choice: Choice) -> dict[str, tuple[Doubles, str]]:
    """How the setting was chosen → recall of each question at it, and the settings picked."""
    fair = chosen(choice.recalls, left_out_users(grid.questions["user"].tolist()))
    folded = chosen(choice.recalls, folds(len(grid.questions)))
    top = best(choice.recalls)
    return {
        _BEST: (choice.recalls[top], choice.names[top]),
        _FAIR: (fair.recall, _most(choice, fair.picks)),
        _FOLDED: (folded.recall, _most(choice, folded.picks)),
        _FIXED: (choice.recalls[choice.released], ""),
        _OURS: (choice.recalls[choice.ours], ""),
    }


def chosen_fairly(grids: Sequence[Grid]) -> Iterator[Cell]:
    """Overall recall by how α (and τ) were chosen: on the test questions, on others, or not."""
    gained: dict[str, list[Doubles]] = {}
    for grid in grids:
        n, base = len(grid.questions), grid.familiarity
        for path, choice in choices(grid).items():
            name, metric = f"{grid.encoder} {path}, R@{grid.k}", f"recall@{grid.k}"
            yield _plain(name, "familiarity", metric, number(base.mean()), n, _CHOICE)
            found = ways(grid, choice)
            for way, (recall, picked) in found.items():
                gained.setdefault(way, []).append(recall - base)
                text = f"{number(recall.mean())}, {_gain(recall - base)}"
                yield _plain(name, way, metric, text, n, "")
                if picked:
                    yield _plain(name, f"{way}: setting", metric, picked, n, "")
            ends = [float((found[way][0] - base).mean()) for way in (_BEST, _FAIR, _FOLDED)]
            text = " → ".join(map(signed, ends))
            yield _plain(name, "gain: test questions → users → folds", metric, text, n, "")
    for way, differences in gained.items():
        # The rows are of the same questions, which are resampled whole.
        mean = np.mean(differences, axis=0)
        row = f"mean gain of these {len(differences)} rows"
        yield _plain(row, way, "recall@5 and @10", _gain(mean), len(mean), "")


def _gain(differences: Doubles) -> str:
    interval = paired_difference(np.zeros(len(differences)), differences)
    return f"{signed(interval.mean)} {within(interval)}"


_CHOICE = (
    f"settings: each α of the sweep, for RF-Mem with each τ from 0 to {TAUS[-1]:.2f} in "
    "hundredths; B and F as in Appendix B; of equals the first; 'other users': five choose and the "
    f"sixth is tested, all six pooled; folds: {REPEATS} random partitions, each question's mean; "
    "the interval of the best on the test questions does not know that it was chosen there"
)


def _most(choice: Choice, picks: Sequence[int]) -> str:
    """The three settings picked most, with how often."""
    counted = Counter(picks).most_common(3)
    more = len(set(picks)) - len(counted)
    text = "; ".join(f"{choice.names[place]} × {times}" for place, times in counted)
    return text + (f"; {more} others" if more else "")


def chosen_by_user(grids: Sequence[Grid]) -> Iterator[Cell]:
    """Each user's questions at what the other five choose, beside familiarity and the best."""
    for grid in grids:
        users = grid.questions["user"].tolist()
        for path, choice in choices(grid).items():
            for train, test in left_out_users(users):
                pick = best(choice.recalls[:, train])
                name = f"{grid.encoder} {path}, R@{grid.k}, user {users[test[0]]}"
                own, base = choice.recalls[:, test], float(grid.familiarity[test].mean())
                values = {
                    "familiarity": number(base),
                    "the others' choice": choice.names[pick],
                    "gain at it": signed(own[pick].mean() - base),
                    "greatest gain at any setting": signed(own.mean(axis=1).max() - base),
                }
                for column, text in values.items():
                    yield _plain(name, column, f"recall@{grid.k}", text, len(test), "")


def _plain(row: str, column: str, metric: str, text: str, n: int, note: str) -> Cell:
    return Cell(row, column, metric, "", text, n, NOT_IN_PAPER, note=note)


def arms(rows: Sequence[Row]) -> list[claims.Arm]:
    """The comparisons behind the claims: path against path, of each row."""
    found = []
    for row in rows:
        grid = row.grid
        rivals = {"Famili.": grid.familiarity}
        if row.path != RECOLLECTION:
            rivals[RECOLLECTION] = grid.recollection
        for rival, recall in rivals.items():
            found.append(claims.Arm(grid.encoder, grid.k, row.path, rival, row.recall - recall))
    return found


def grids_of(profile: str) -> list[Grid]:
    """Every encoder at every K, from a profile's runs."""
    metrics = Metrics(profile)
    return [load(profile, metrics, encoder, k) for encoder in ENCODERS for k in CUTOFFS]


def build(profile: str, folder: Path) -> list[Path]:
    """Write the sensitivity tables and figures of RF-Mem into a folder; return their paths."""
    grids = grids_of(profile)
    rows = [row for grid in grids for row in rows_of(grid)]
    # The grids have the same questions.
    masks = {column: grids[0].of_kind(kind) for column, kind in KINDS.items()}
    compared = claims.compare(arms(rows), masks)
    return [
        *write_cells(gains(rows), folder, "gains"),
        *write_cells(chosen_fairly(grids), folder, "chosen_fairly"),
        *write_cells(chosen_by_user(grids), folder, "chosen_by_user"),
        *write_cells(claims.comparisons(compared), folder, "comparisons"),
        *write_cells(claims.plain_words(compared, grids), folder, "plain_words"),
        *sensitivity_figures.build(profile, grids, folder),
    ]
