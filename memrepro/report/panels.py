"""Figures of lines or points in panels: which column of the data stands for what."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from memrepro.report.figures import save

_DASHES = (":", "--", "-.")


def save_panels(
    data: pd.DataFrame,
    folder: Path,
    name: str,
    shown: pd.DataFrame | None = None,
    levels: Mapping[Any, Mapping[str, float]] | None = None,
    kind: str = "line",
    same_scale: bool = False,
    **mapping: Any,
) -> list[Path]:
    """Write data and draw them as lines or points, a panel a value of a column; return the paths.

    Args:
        data: what is written.
        folder: where to.
        name: of the files.
        shown: what is drawn, if it has another shape than what is written.
        levels: value of the column of panels → label → a height at which a line is drawn.
        kind: 'line' or 'scatter'.
        same_scale: whether all panels have one vertical scale.
        mapping: which column stands for what, as in `seaborn.relplot`.
    """

    def draw() -> Figure:
        options: dict[str, Any] = {"errorbar": None} if kind == "line" else {}
        if kind == "line" and "drawstyle" not in mapping:
            options |= {"markers": True} if "style" in mapping else {"marker": "o"}
        grid = sns.relplot(
            data if shown is None else shown, kind=kind, height=3.4, aspect=1.4,
            facet_kws={"sharex": False, "sharey": same_scale}, **options, **mapping,
        )  # fmt: skip
        for place, axis in grid.axes_dict.items():
            column = place[-1] if isinstance(place, tuple) else place
            lines = (levels or {}).get(column, {}).items()
            for number, (label, height) in enumerate(lines):
                axis.axhline(height, color="black", ls=_DASHES[number % 3], lw=1)
                # Levels may lie close to each other: their labels stand side by side.
                axis.annotate(label, (1 - 0.3 * (number % 3), height), fontsize=7, ha="right",
                              va="bottom", xycoords=("axes fraction", "data"))  # fmt: skip
        plt.close(grid.figure)  # a notebook would show it a second time
        figure: Figure = grid.figure
        return figure

    return save(draw, data, folder, name)
