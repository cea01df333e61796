"""Figures 14 to 17 (D.2 to D.5) on PersonaBench: recall over α, τ, B, F and K.

Figure 14 is of PersonaBench in the paper too. Figures 15 and 16 are of LongMemEval there, under an
encoder that is not here, and Figure 17 of the answers to PersonaMem's questions: here the same is
asked of recall on PersonaBench, under both encoders.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from memrepro.core.similarity import Doubles
from memrepro.evaluate.comparison import mean_interval
from memrepro.papers.rfmem.grid import CUTOFFS, ENCODERS, GATE, Grid
from memrepro.report import figures
from memrepro.report.panels import WIDTH, draw_grid, draw_lines

# The greatest K of Table 3, at which α was swept too.
DEEP = 50
# The two readings of the entropy, with the same threshold at K = 10 and at no other K.
GATES = {
    "RF-Mem, mean form of H, τ = 0.2": GATE,
    "RF-Mem, H as in Eq. 2, τ = 2.0": replace(GATE, entropy_form="sum", entropy_threshold=2.0),
}


def _gain(grid: Grid, recall: Doubles, base: Doubles) -> tuple[float, float, float, float]:
    """Recall, and its difference from familiarity's with the 95 % interval by person."""
    return float(recall.mean()), *mean_interval(recall - base, grid.groups)


_GAIN = ["recall", "gain", "low", "high"]


def figure14(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """RF-Mem's overall recall over α and τ; red is above familiarity, a star the greatest."""
    rows = []
    for grid in grids:
        base = float(grid.familiarity.mean())
        pairs, recalls = grid.over_alpha_and_tau()
        rows += [
            (grid.encoder.name, grid.k, float(alpha), tau, mean, mean - base)
            for (alpha, tau), mean in zip(pairs, recalls.mean(axis=1).tolist(), strict=True)
        ]
    data = pd.DataFrame(rows, columns=["encoder", "k", "alpha", "tau", "recall", "gain"])
    return figures.save(lambda: _draw_alpha_and_tau(data), data, folder, "figure14")


def figure15(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Recollection's overall recall over every B and F, as Figure 14 shows α and τ."""
    rows = [
        (grid.encoder.name, grid.k, int(beam), int(fanout), *_gain(grid, recall, grid.familiarity))
        for grid in grids
        for (beam, fanout), recall in grid.over_beam_and_fanout.items()
    ]
    data = pd.DataFrame(rows, columns=["encoder", "k", "beam", "fanout", *_GAIN])
    return figures.save(lambda: _draw_beam_and_fanout(data), data, folder, "figure15")


def _draw_alpha_and_tau(data: pd.DataFrame) -> Figure:
    """The gain over α and τ, a panel an encoder and K, a star where it is greatest."""
    limit = float(data["gain"].abs().max())
    groups = data.groupby(["encoder", "k"], sort=False)
    figure = Figure(figsize=(WIDTH, 5.4), layout="constrained")
    axes = figure.subplots(len(ENCODERS), len(CUTOFFS), squeeze=False).ravel()
    for axis, ((encoder, k), part) in zip(axes, groups, strict=True):
        table = part.pivot(index="alpha", columns="tau", values="gain")
        shown = axis.pcolormesh(
            table.columns, table.index, table, cmap="RdBu", vmin=-limit, vmax=limit,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        best = int(np.argmax(np.round(table.to_numpy(), 9)))
        row, column = divmod(best, table.shape[1])
        axis.plot(table.columns[column], table.index[row], "k*", markersize=8)
        axis.set_title(f"{encoder}\nRecall@{k}: best {part['recall'].max():.4f}")
        axis.grid(visible=False)
        axis.set(xlabel="entropy threshold τ", ylabel="α")
    figure.colorbar(shown, ax=axes, location="top", aspect=40, shrink=0.8,
                    label="overall recall \u2212 familiarity's")  # fmt: skip
    return figure


def _draw_beam_and_fanout(data: pd.DataFrame) -> Figure:
    """The gain over B and F in hundredths, a panel an encoder and K; the greatest in bold."""
    places = data.groupby(["encoder", "k"], sort=False)
    best = places["gain"].transform("max")
    shown = data.assign(
        B="B = " + data["beam"].astype(str), F="F = " + data["fanout"].astype(str),
        best=data["gain"] == best, panel=data["encoder"] + ", Recall@" + data["k"].astype(str)
        + places["recall"].transform("max").map(": best {:.4f}".format),
    )  # fmt: skip
    title = "recall \u2212 familiarity's, in hundredths"
    return draw_grid(shown, "B", "F", "gain", "panel", 0.15, "best", 1, title)


def alpha_table(grids: Sequence[Grid]) -> pd.DataFrame:
    """Figure 16: `encoder, k, alpha, recall, gain, low, high, docs`, recollection at three K.

    `docs` is how many a question is given: at K = 50, with R = 50, some find no new doc before.
    """
    rows = []
    for grid in grids:
        sweeps = {grid.k: (grid.familiarity, grid.sweeps["α"], grid.run("recollection", "alpha"))}
        if grid.k == max(CUTOFFS):
            deep = next(one for one in grid.over_k() if one.k == DEEP)
            sweeps[DEEP] = (deep.familiarity, grid.deep_alphas(DEEP), grid.deep_run(DEEP))
        rows += [
            (grid.encoder.name, k, float(alpha), *_gain(grid, recall, base),
             grid.docs(run, alpha).mean())
            for k, (base, recalls, run) in sweeps.items()
            for alpha, recall in recalls.items()
        ]  # fmt: skip
    return pd.DataFrame(rows, columns=["encoder", "k", "alpha", *_GAIN, "docs"])


def depth_table(grids: Sequence[Grid]) -> pd.DataFrame:
    """Figure 17: `encoder, k, path, recall, gain, low, high, recollected, docs, n` of three paths.

    B = 3, F = 2, α = 0.2 and R = 50 at every K; RF-Mem by both readings of H, `recollected` of n
    questions; `docs` is how many a recollected question is given.
    """
    rows = []
    for grid in (grid for grid in grids if grid.k == max(CUTOFFS)):
        for one in grid.over_k():
            n = len(one.familiarity)
            paths = {"familiarity": np.ones(n, bool), "recollection": np.zeros(n, bool)}
            paths |= {name: one.familiar(gate) for name, gate in GATES.items()}
            for path, familiar in paths.items():
                recall = np.where(familiar, one.familiarity, one.recollection)
                docs = one.docs[~familiar].mean() if not familiar.all() else np.nan
                rows.append(
                    (grid.encoder.name, one.k, path, *_gain(grid, recall, one.familiarity),
                     int((~familiar).sum()), docs, n)
                )  # fmt: skip
    columns = ["encoder", "k", "path", *_GAIN, "recollected", "docs", "n"]
    return pd.DataFrame(rows, columns=columns)


_GAINED = "recall \u2212 familiarity's"


def _draw_alphas(data: pd.DataFrame) -> Figure:
    shown = data.rename(columns={"gain": _GAINED, "alpha": "α"})
    shown["K"] = "K = " + shown["k"].astype(str)
    levels = {one.name: {"familiarity": 0.0} for one in ENCODERS}
    return draw_lines(shown, "α", _GAINED, "K", "encoder", levels=levels)


def _draw_depths(data: pd.DataFrame) -> Figure:
    shown = data[data["path"] != "familiarity"].rename(columns={"gain": _GAINED, "k": "K"})
    levels = {one.name: {"familiarity": 0.0} for one in ENCODERS}
    return draw_lines(shown, "K", _GAINED, "path", "encoder", levels=levels)


def draw_all(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Figures 14 to 17, each with its data; return the paths."""
    alphas, depths = alpha_table(grids), depth_table(grids)
    return [
        *figure14(grids, folder),
        *figure15(grids, folder),
        *figures.save(lambda: _draw_alphas(alphas), alphas, folder, "figure16"),
        *figures.save(lambda: _draw_depths(depths), depths, folder, "figure17"),
    ]
