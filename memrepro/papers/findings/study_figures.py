"""The study as figures: what each idea adds to the plain ones, budgets, and quality by cost."""

from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from memrepro.papers.findings.arenas import HYBRID
from memrepro.papers.findings.costs import cost_of
from memrepro.papers.findings.study import ABOVE, BASELINES, BELOW, UNCLEAR, Study
from memrepro.report import figures

_SIGNS = {ABOVE: "▲", UNCLEAR: "", BELOW: "▼"}


def draw(study: Study, folder: Path) -> list[Path]:
    """Write all figures of the study; nothing where nothing was run."""
    if not study.outcomes:
        return []
    return [
        *_differences(study, folder),
        *_forest(study, folder),
        *_quality_cost(study, folder),
        *_optimism(study, folder),
    ]


def _differences(study: Study, folder: Path) -> list[Path]:
    """Each method's difference from dense similarity and from the hybrid, by arena."""
    rows = [
        (
            name,
            one.method,
            arena.name,
            one.against[name][arena.main].difference,
            one.side(name),
        )
        for arena in study.arenas
        for one in study.best_variants(arena)
        for name in BASELINES
        if name in one.against
    ]
    columns = ["less", "method", "arena", "difference", "side"]
    data = pd.DataFrame(rows, columns=columns)

    def picture() -> Figure:
        methods, places = data["method"].unique(), data["arena"].unique()
        figure = Figure(figsize=(16, 0.38 * len(methods) + 3.4), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for axis, name in zip(axes, BASELINES, strict=True):
            part = data[data["less"] == name]
            grid = part.pivot(index="method", columns="arena", values="difference")
            grid = grid.reindex(index=methods, columns=places)
            words = part.pivot(index="method", columns="arena", values="side")
            words = words.reindex(index=methods, columns=places)
            shown = [
                ["" if np.isnan(v) else f"{v:+.2f}{_SIGNS[w]}" for v, w in zip(a, b, strict=True)]
                for a, b in zip(grid.to_numpy(), words.to_numpy(), strict=True)
            ]
            sns.heatmap(
                grid, annot=np.array(shown), fmt="", center=0, vmin=-0.3, vmax=0.3, cmap="RdBu",
                ax=axis, cbar=False, annot_kws={"fontsize": 8},
            )  # fmt: skip
            axis.set_title(f"less {name}", fontsize=11)
            axis.set(xlabel="", ylabel="")
            axis.tick_params(axis="x", labelsize=8, rotation=60)
            axis.tick_params(axis="y", labelsize=9)
        figure.suptitle(
            "recall_all at ten docs; ▲ above, ▼ below 0 by the 95 % interval: exploratory, no test",
            fontsize=12,
        )
        return figure

    return figures.save(picture, data, folder, "study_matrix")


def _forest(study: Study, folder: Path) -> list[Path]:
    """Each difference from the plain hybrid with its interval, a panel an arena."""
    rows = [
        (f"{arena.name}, n = {len(arena.query_ids)}", one.method,
         *one.against[HYBRID][arena.main].interval, one.side(HYBRID))
        for arena in study.arenas
        for one in study.best_variants(arena)
        if HYBRID in one.against
    ]  # fmt: skip
    data = pd.DataFrame(rows, columns=["panel", "method", "difference", "low", "high", "side"])
    return figures.save(lambda: _panels(data), data, folder, "study_drawn")


def _panels(data: pd.DataFrame) -> Figure:
    panels = list(dict.fromkeys(data["panel"]))
    heights = [int((data["panel"] == panel).sum()) + 1 for panel in panels]
    figure = Figure(figsize=(9, 0.25 * sum(heights) + 1), layout="constrained")
    axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    _, _, green, red, *_ = sns.color_palette("colorblind")
    # Shapes tell the sides apart without colour.
    marks = {ABOVE: ("o", green), UNCLEAR: ("s", "0.45"), BELOW: ("D", red)}
    for axis, panel in zip(axes, panels, strict=True):
        part = data[data["panel"] == panel].reset_index(drop=True)
        for place, row in enumerate(part.itertuples(index=False)):
            mark, colour = marks[str(row.side)]
            axis.plot([row.low, row.high], [place, place], color=colour, linewidth=1.5)
            axis.plot([row.difference], [place], mark, color=colour, markersize=5)
        axis.axvline(0, color="0.3", linestyle="--", linewidth=1)
        axis.set_yticks(range(len(part)), part["method"], fontsize=8)
        axis.set_ylim(len(part) - 0.4, -0.6)
        axis.set_title(panel, fontsize=9, loc="left")
        axis.grid(axis="y", visible=False)
    axes[-1].set_xlabel(
        f"difference from the {HYBRID} as tuned; 95 % interval by each data set's unit", fontsize=10
    )
    for word, (mark, colour) in marks.items():
        axes[0].plot([], [], mark, color=colour, label=word)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _quality_cost(study: Study, folder: Path) -> list[Path]:
    """What a method finds by how many keys a query is compared with."""
    rows = []
    for arena in study.arenas:
        for one in study.best_variants(arena):
            cost = cost_of(one)
            if cost.compared is not None:
                model = "needs a language model when writing" if cost.writes else "needs none"
                place = (arena.data, arena.encoder, one.method, cost.compared / arena.docs, model)
                rows.append((*place, *one.interval(arena.main)))
    columns = ["data", "encoder", "method", "keys per doc", "model", "recall_all", "low", "high"]
    data = pd.DataFrame(rows, columns=columns)

    encoder = data["encoder"].iloc[0]
    drawn = data[data["encoder"] == encoder]

    def picture() -> Figure:
        names = list(drawn["data"].unique())
        wide = min(3, len(names))
        high = -(-len(names) // wide)
        figure = Figure(figsize=(4.6 * wide + 3, 3.8 * high + 0.6), layout="constrained")
        axes = figure.subplots(high, wide, squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=False):
            _points(axis, drawn[drawn["data"] == name], list(drawn["method"].unique()))
            axis.set_title(name, fontsize=11)
        for axis in axes[len(names) :]:
            axis.set_visible(False)
        shown = [axis.get_legend_handles_labels() for axis in axes]
        known = {
            text: mark for marks, texts in shown for mark, text in zip(marks, texts, strict=True)
        }
        figure.legend(known.values(), known.keys(), loc="outside right center", fontsize=8)
        figure.supxlabel("keys that a query is compared with, per doc of its memory", fontsize=11)
        figure.supylabel("recall_all at ten docs", fontsize=11)
        figure.suptitle(f"{encoder}; hollow: a language model writes what is stored", fontsize=12)
        return figure

    return figures.save(picture, data, folder, "quality_cost")


def _points(axis: Axes, part: pd.DataFrame, methods: list[str]) -> None:
    colours, marks = sns.color_palette("colorblind", 10), "osD^v<>pX*"
    for _, row in part.iterrows():
        number = methods.index(row["method"])
        # Methods of one cost are shown side by side.
        x, colour = row["keys per doc"] * (1 + 0.03 * (number % 7 - 3)), colours[number % 10]
        face = colour if row["model"] == "needs none" else "white"
        axis.plot([x, x], [row["low"], row["high"]], color=colour, linewidth=1)
        axis.plot(
            [x], [row["recall_all"]], marks[(number + number // 10) % 10], color=colour,
            markerfacecolor=face, markersize=7, label=row["method"], linestyle="",
        )  # fmt: skip
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(-0.15, max(2.0, 1.4 * float(part["keys per doc"].max())))
    ticks = [tick for tick in (0, 1, 3, 10, 30) if tick <= axis.get_xlim()[1]]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])


def _optimism(study: Study, folder: Path) -> list[Path]:
    """What choosing settings on the test questions adds, method by method."""
    rows = [
        (one.arena.name, one.method, one.mean(one.arena.main), one.best[1], len(one.candidates))
        for one in study.outcomes
        if len(one.candidates) > 1
    ]
    columns = ["arena", "method", "chosen on others", "best on these", "settings"]
    data = pd.DataFrame(rows, columns=columns)
    if data.empty:
        return []

    def picture() -> Figure:
        figure = Figure(figsize=(9, 0.24 * len(data) + 1.4), layout="constrained")
        axis = figure.subplots()
        names = [f"{row.method}; {row.arena}" for row in data.itertuples(index=False)]
        for place, row in enumerate(data.itertuples(index=False)):
            axis.plot([row[2], row[3]], [place, place], color="0.6", linewidth=1.5)
        axis.plot(data["chosen on others"], range(len(data)), "o", label="chosen on other groups")
        axis.plot(data["best on these"], range(len(data)), "D", label="best on these questions")
        axis.set_yticks(range(len(data)), names, fontsize=7)
        axis.set_ylim(len(data) - 0.4, -0.6)
        axis.set_xlabel("recall_all at ten docs")
        axis.legend(fontsize=8)
        return figure

    return figures.save(picture, data, folder, "study_optimism")
