"""RF-Mem's Figures 14 to 17 on PersonaBench, and the spread of its gain in one picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from memrepro.papers.rfmem.grid import ENCODERS, TAUS, Grid, signed
from memrepro.papers.rfmem.routing import CUTOFFS
from memrepro.report import figures
from memrepro.report.profile import Metrics

_BARE = "overall recall less familiarity's"


def alpha_and_tau(grids: Sequence[Grid]) -> pd.DataFrame:
    """Figure 14: `encoder, k, alpha, tau, recall, gain`, the mean over all questions."""
    rows = []
    for grid in grids:
        base = float(grid.familiarity.mean())
        pairs, recalls = grid.over_alpha_and_tau()
        rows += [
            (grid.encoder, grid.k, float(alpha), tau, mean, mean - base)
            for (alpha, tau), mean in zip(pairs, recalls.mean(axis=1).tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=["encoder", "k", "alpha", "tau", "recall", "gain"])


def _draw14(data: pd.DataFrame, grids: Sequence[Grid]) -> Figure:
    limit = float(data["gain"].abs().max())
    figure = Figure(figsize=(12, 8), layout="constrained")
    axes = figure.subplots(len(ENCODERS), len(CUTOFFS), squeeze=False).ravel()
    for axis, grid in zip(axes, grids, strict=True):
        part = data[(data["encoder"] == grid.encoder) & (data["k"] == grid.k)]
        table = part.pivot(index="alpha", columns="tau", values="gain").iloc[::-1]
        labels = [f"{tau:.2f}" if round(tau * 100) % 5 == 0 else "" for tau in TAUS]
        sns.heatmap(
            table, center=0, vmin=-limit, vmax=limit, cmap="vlag", ax=axis, xticklabels=labels,
            cbar=grid.k == CUTOFFS[-1], cbar_kws={"label": _BARE},
        )  # fmt: skip
        row, column = np.unravel_index(np.argmax(np.round(table.to_numpy(), 9)), table.shape)
        axis.plot(column + 0.5, row + 0.5, marker="*", color="black", markersize=12)
        best, base = part["recall"].max(), grid.familiarity.mean()
        axis.set_title(
            f"{grid.encoder}, Recall@{grid.k}: familiarity {base:.4f}, best {best:.4f}",
            fontsize=11,
        )
        axis.set_xlabel("entropy threshold τ")
        axis.set_ylabel("α")
        axis.tick_params(axis="x", rotation=0)
        axis.tick_params(axis="y", rotation=0)
    return figure


def figure14(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """RF-Mem's overall recall over α and τ; red is above familiarity, a star the greatest."""
    data = alpha_and_tau(grids)
    return figures.save(lambda: _draw14(data, grids), data, folder, "figure14")


def sweep_table(grids: Sequence[Grid], parameters: Sequence[str]) -> pd.DataFrame:
    """`encoder, k, parameter, value, recall, gain`: recollection over some of the sweeps."""
    rows = [
        (grid.encoder, grid.k, p, float(value), recall.mean(), (recall - grid.familiarity).mean())
        for grid in grids
        for p in parameters
        for value, recall in grid.sweeps[p].items()
    ]
    return pd.DataFrame(rows, columns=["encoder", "k", "parameter", "value", "recall", "gain"])


def _zero(axis: Axes, xlabel: str) -> None:
    axis.axhline(0, color="black", lw=1, ls="--")
    axis.set_xlabel(xlabel)
    axis.set_ylabel(_BARE)


def _draw15(data: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, len(CUTOFFS), sharey=True)
    for number, (parameter, name) in enumerate((("B", "beam width B"), ("F", "fanout F"))):
        for axis, k in zip(axes[number], CUTOFFS, strict=True):
            part = data[(data["parameter"] == parameter) & (data["k"] == k)]
            sns.lineplot(part, x="value", y="gain", hue="encoder", marker="o", ax=axis)
            _zero(axis, name)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.set_title(f"Recall@{k} (PersonaBench)")
            axis.legend(fontsize=9, loc="lower left")
    return figure


def figure15(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Recollection over B and F, one at a time, the other as in Appendix B."""
    data = sweep_table(grids, ("B", "F"))
    return figures.save(lambda: _draw15(data), data, folder, "figure15")


def _draw16(data: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, len(ENCODERS), sharey=True)
    for axis, encoder in zip(axes, ENCODERS, strict=True):
        part = data[data["encoder"] == encoder].assign(
            path=lambda d: d["k"].map({5: "K = 5, F = 1", 10: "K = 10, F = 2"})
        )
        sns.lineplot(part, x="value", y="gain", hue="path", style="path", markers=True, ax=axis)
        _zero(axis, "α, the weight of the query before")
        axis.set_title(f"{encoder} (PersonaBench)")
        axis.legend(fontsize=9)
    return figure


def figure16(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Recollection over α by K, a short path against a longer one, a panel an encoder."""
    data = sweep_table(grids, ("α",))
    return figures.save(lambda: _draw16(data), data, folder, "figure16")


def by_cutoff(metrics: Metrics) -> pd.DataFrame:
    """Figure 17 as far as runs go: `encoder, path, run, cutoff, recall, n` of Table 2's runs.

    A run of K docs is cut at fewer ones; recollection and the gate at K = 5 are runs of their own.
    """
    rows = []
    for encoder, one in ENCODERS.items():
        runs = [("familiarity", 10, f"{one.stem}-familiarity")]
        for path in ("recollection", "gated"):
            runs += [(path, k, f"{one.stem}-{path}-k{k}") for k in CUTOFFS]
        for path, depth, experiment in runs:
            for cutoff in (1, 3, 5, 10):
                if cutoff > depth:
                    continue
                values = metrics.values(experiment, "session", "recall", cutoff)["value"]
                row = (encoder, path, f"K = {depth}", cutoff, float(values.mean()), len(values))
                rows.append(row)
    return pd.DataFrame(rows, columns=["encoder", "path", "run", "cutoff", "recall", "n"])


def _draw17(data: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, len(ENCODERS), sharey=True)
    for axis, encoder in zip(axes, ENCODERS, strict=True):
        part = data[data["encoder"] == encoder]
        sns.lineplot(
            part, x="cutoff", y="recall", hue="path", style="run", markers=True,
            style_order=["K = 10", "K = 5"], ax=axis,
        )  # fmt: skip
        axis.set_xlabel("cut-off")
        axis.set_ylabel("overall recall")
        axis.set_xticks([1, 3, 5, 10])
        axis.set_title(f"{encoder} (PersonaBench)")
        axis.legend(fontsize=9, loc="lower right")
    return figure


def figure17(metrics: Metrics, folder: Path) -> list[Path]:
    """Recall of the three paths by cut-off: what K buys, without a reader's accuracy."""
    data = by_cutoff(metrics)
    return figures.save(lambda: _draw17(data), data, folder, "figure17")


def _draw_spread(data: pd.DataFrame, grids: Sequence[Grid]) -> Figure:
    figure = Figure(figsize=(12, 7), layout="constrained")
    axes = figure.subplots(len(ENCODERS), len(CUTOFFS), sharey=True, squeeze=False).ravel()
    for axis, grid in zip(axes, grids, strict=True):
        part = data[(data["encoder"] == grid.encoder) & (data["k"] == grid.k)]
        # Each point stands apart, in the order of its value: no jitter, which would be random.
        place = {p: number for number, p in enumerate(("α", "B", "F", "seed"))}
        ranks = part.groupby("parameter")["value"].rank()
        sizes = part.groupby("parameter")["value"].transform("size")
        x = part["parameter"].map(place) + 0.6 * ((ranks - 0.5) / sizes - 0.5)
        sns.scatterplot(x=x, y=part["gain"], hue=part["parameter"], s=45, legend=False, ax=axis)
        own = float((grid.recollection - grid.familiarity).mean())
        axis.axhline(0, color="black", lw=1, ls="--")
        axis.axhline(own, color="grey", lw=1.5, label=f"at Table 2's setting: {signed(own)}")
        axis.set_xticks(list(place.values()), ["α", "B", "F", "k-means seed"])
        axis.set_xlabel("")
        axis.set_ylabel(_BARE)
        axis.set_title(f"{grid.encoder}, Recall@{grid.k}")
        axis.legend(fontsize=9, loc="lower left")
    return figure


def figure_spread(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Recollection's gain at every setting of every sweep; a line at the setting of Table 2."""
    data = sweep_table(grids, ("α", "B", "F", "seed"))
    return figures.save(lambda: _draw_spread(data, grids), data, folder, "gain_spread")


def build(profile: str, grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Write Figures 14 to 17 and the spread, with their data; return the paths."""
    return [
        *figure14(grids, folder),
        *figure15(grids, folder),
        *figure16(grids, folder),
        *figure17(Metrics(profile), folder),
        *figure_spread(grids, folder),
    ]
