"""How RF-Mem's curves are drawn: one panel of lines a value of a column, with its levels."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from memrepro.report.figures import save


def save_lines(
    data: pd.DataFrame,
    folder: Path,
    name: str,
    shown: pd.DataFrame | None = None,
    levels: Mapping[Hashable, Mapping[str, float]] | None = None,
    kind: str = "line",
    **mapping: Any,
) -> list[Path]:
    """Write data and draw them as lines or points in panels; return the paths.

    Args:
        data: what is written.
        folder: where to.
        name: of the files.
        shown: what is drawn, if it has another shape than what is written.
        levels: of a column of panels → label → a height at which a line is drawn.
        kind: 'line' or 'scatter'.
        mapping: which column stands for what, as in `seaborn.relplot`.
    """

    def draw() -> Figure:
        style = {"errorbar": None, "marker": "o"} if kind == "line" else {"s": 45}
        if "style" in mapping:
            style["markers"] = True
            style.pop("marker", None)
        if "drawstyle" in mapping:
            style["marker"] = None
        facets = {"sharey": "row" if "row" in mapping else True, "sharex": "col"}
        grid = sns.relplot(
            data if shown is None else shown, kind=kind, height=3.4, aspect=1.5,
            facet_kws=facets, **style, **mapping,
        )  # fmt: skip
        for (_, col), axis in grid.axes_dict.items() if "row" in mapping else (
            ((None, col), axis) for col, axis in grid.axes_dict.items()
        ):
            for place, (label, height) in enumerate((levels or {}).get(col, {}).items()):
                axis.axhline(height, color="black", ls=(":", "--", "-.")[place % 3], lw=1)
                axis.annotate(label, (1, height), xycoords=("axes fraction", "data"), fontsize=7,
                              ha="right", va="bottom")  # fmt: skip
        plt.close(grid.figure)
        return grid.figure

    return save(draw, data, folder, name)
