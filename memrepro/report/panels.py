"""Figures of lines, intervals and grids: one column of panels, legible on a telephone.

Each function takes the figure's data, in the order in which they are read, and
returns the figure; what is special to one figure is added to its `axes`.
"""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from memrepro.errors import MemreproError

WIDTH = 4.8  # inches; a telephone shows three quarters of it
COLOURS = sns.color_palette("colorblind").as_hex()  # ten, and no figure has more
MARKS = "osD^vPX*<>"
GREY, INK = "0.45", "0.15"
# Side of 0 → its mark and colour: shapes tell the sides apart without colour.
SIDES = {
    "above": ("o", COLOURS[2]),
    "no clear difference": ("s", GREY),
    "below": ("D", COLOURS[3]),
}
_LINE = 0.135  # inches that a line of small text takes
_HIGH = 1.8  # inches of a panel of lines
_NAME = 38  # letters in a line of a row's name


def stacked(
    heights: Sequence[float], around: float = 0.45, above: float = 0.3, **options: Any
) -> tuple[Figure, Any]:
    """A figure of panels one above the other, and their axes.

    Args:
        heights: of the axes, in inches.
        around: what the title, the ticks and the names of one take.
        above: what the title above all takes.
        options: of `Figure.subplots`.
    """
    high = sum(heights) + around * len(heights) + above
    figure = Figure(figsize=(WIDTH, high), layout="constrained")
    axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False, **options)[:, 0]
    return figure, axes


def looks_of(values: Iterable[Any]) -> dict[Any, tuple[str, str]]:
    """A mark and a colour of each of ten values at most.

    Raises:
        MemreproError: if there are more.
    """
    kinds = list(dict.fromkeys(values))
    if len(kinds) > len(COLOURS):
        raise MemreproError(
            f"a figure has {len(kinds)} lines or colours, and nobody tells more than "
            f"{len(COLOURS)} apart: draw fewer, or a grid: {', '.join(map(str, kinds))}"
        )
    return dict(zip(kinds, zip(MARKS, COLOURS, strict=True), strict=False))


def draw_lines(
    data: pd.DataFrame,
    x: str,
    y: str,
    line: str,
    panel: str = "",
    levels: Mapping[Any, Mapping[str, float]] | None = None,
) -> Figure:
    """Lines that are named where they end.

    Args:
        data: a row a point.
        x: the column across.
        y: the column of heights, whose name stands at its axis.
        line: the column whose values are lines, ten at most.
        panel: the column whose values are panels, and their titles.
        levels: panel (or '') → name → height of a level line.
    """
    parts = dict(list(data.groupby(panel, sort=False))) if panel else {"": data}
    figure, axes = stacked([_HIGH] * len(parts), 0.5, 0)
    looks = looks_of(data[line])
    for axis, (name, part) in zip(axes, parts.items(), strict=True):
        ends = []
        for label, points in part.groupby(line, sort=False):
            mark, colour = looks[label]
            axis.plot(points[x], points[y], color=colour, marker=mark, markersize=4)
            ends.append((str(label), float(points[x].iloc[-1]), float(points[y].iloc[-1]), colour))
        for label, level in (levels or {}).get(name, {}).items():
            axis.axhline(level, color=GREY, linestyle="--", linewidth=1, zorder=1)
            ends.append((label, float(part[x].max()), level, GREY))
        axis.margins(x=0.02)
        axis.set_title(name)
        axis.set_ylabel(y)
        label_ends(axis, ends, _HIGH)
    axes[-1].set_xlabel(x)
    return figure


def label_ends(
    axis: Axes, ends: Sequence[tuple[str, float, float, str]], height: float, width: int = 20
) -> None:
    """Name lines at the right of an axis, where they end, moved apart as little as needed.

    Args:
        axis: whose limits and scales are set.
        ends: name, last point and colour of each line.
        height: of the axis in inches.
        width: letters in a line of a name.
    """
    axis.set_ylim(axis.get_ylim())
    to_share = axis.transData + axis.transAxes.inverted()
    named = []
    for name, x, y, colour in ends:
        across, up = to_share.transform((x, y))
        if across > 0.7:
            named.append((float(up), x, y, fill(name, width), colour))
        else:  # a line that ends early is named there
            axis.annotate(name, (x, y), (0, 5), textcoords="offset points", ha="center",
                          fontsize=8, color=INK)  # fmt: skip
    named.sort()
    lines = np.array([name.count("\n") + 1 for *_, name, _ in named])
    sizes = (lines * _LINE + 0.04) / height
    apart = np.concatenate([[0], np.cumsum((sizes[:-1] + sizes[1:]) / 2)])
    shares = np.array([share for share, *_ in named])
    places = isotonic_regression(shares - apart).x + apart
    for place, (_, x, y, name, colour) in zip(places, named, strict=True):
        axis.annotate(
            name, (x, y), (1.05, place), textcoords="axes fraction", va="center", fontsize=8,
            linespacing=1.05, color=INK, annotation_clip=False, arrowprops={
                "arrowstyle": "-", "color": colour, "linewidth": 1, "shrinkA": 1, "shrinkB": 3},
        )  # fmt: skip


def draw_intervals(
    data: pd.DataFrame,
    row: str,
    value: str,
    panel: str = "",
    title: str = "",
) -> Figure:
    """Points with their intervals, a line a row, below each panel the axis.

    A point is marked by the side of 0 on which its interval lies.

    Args:
        data: a row a point; `low` and `high` are the interval.
        row: the column of names.
        value: the column of places.
        panel: the column whose values are panels, and their titles.
        title: of the figure, which says what stands across.
    """
    parts = dict(list(data.groupby(panel, sort=False))) if panel else {"": data}
    rows = {name: list(dict.fromkeys(part[row])) for name, part in parts.items()}
    names = {one: fill(str(one), _NAME) for shown in rows.values() for one in shown}
    pitch = {one: _LINE * (text.count("\n") + 1) + 0.05 for one, text in names.items()}
    heights = [sum(pitch[one] for one in shown) for shown in rows.values()]
    figure, axes = stacked(heights, above=0.6, sharex=True)
    axes[0].locator_params(axis="x", nbins=6)
    for kind, (mark, colour) in SIDES.items():
        axes[0].plot([], [], mark, color=colour, markersize=4, label=kind)
    for axis, (name, part) in zip(axes, parts.items(), strict=True):
        ends = np.cumsum([pitch[one] for one in rows[name]])
        middle = dict(zip(rows[name], ends - [pitch[one] / 2 for one in rows[name]], strict=True))
        for point in part.to_dict("records"):
            low, high, place = point["low"], point["high"], middle[point[row]]
            mark, colour = SIDES[side(low, high)]
            axis.plot([low, high], [place, place], color=colour, linewidth=1.3)
            axis.plot([point[value]], [place], mark, color=colour, markersize=4)
        axis.set_yticks(list(middle.values()), [names[one] for one in middle])
        axis.set_ylim(ends[-1], 0)
        axis.grid(axis="y", visible=False)
        axis.tick_params(labelbottom=True)
        axis.axvline(0, color=INK, linestyle="--", linewidth=0.9, zorder=1)
        _head(axis, str(name))
    share_legend(figure, title)
    return figure


def _head(axis: Axes, name: str, room: float = 0) -> None:
    """Name a panel from the figure's left edge on, `room` inches above it."""
    text = fill(name, 60)
    axis.set_title("\n" * text.count("\n") + " ")
    axis.annotate(
        text, (0.01, 1), (0, 5 + 72 * room), xycoords=("figure fraction", "axes fraction"),
        textcoords="offset points", fontsize=9, fontweight="bold", annotation_clip=False,
        in_layout=False,
    )  # fmt: skip


def side(low: float, high: float) -> str:
    """On which side of 0 an interval lies: a key of `SIDES`."""
    return "above" if low > 0 else "below" if high < 0 else "no clear difference"


def share_legend(figure: Figure, title: str = "") -> None:
    """One legend under the title, above the panels, each name in it once."""
    shown = [axis.get_legend_handles_labels() for axis in figure.axes]
    known = {text: mark for marks, texts in shown for mark, text in zip(marks, texts, strict=True)}
    wide = [len(text) + 6 for text in known]
    figure.legend(
        [*known.values()], [*known], loc="outside upper left", title=title or None,
        ncols=len(wide) if sum(wide) < 66 else max(1, 66 // max(wide)), alignment="left",
        title_fontsize=9,
    )  # fmt: skip


def draw_grid(
    data: pd.DataFrame,
    row: str,
    column: str,
    value: str,
    panel: str = "",
    limit: float = 1.0,
    clear: str = "",
    digits: int = 0,
    title: str = "",
) -> Figure:
    """Numbers in hundredths on colours, names of columns above them.

    Args:
        data: a row a number; a pair that has none is left empty.
        row: the column of names down.
        column: the column of names across.
        value: the column of numbers; if any is below 0, colours tell the sides of 0.
        panel: the column whose values are panels, and their titles.
        limit: the number with the strongest colour.
        clear: the column that tells which numbers are in bold.
        digits: of the hundredths.
        title: of the figure.
    """
    parts = dict(list(data.groupby(panel, sort=False))) if panel else {"": data}
    rows, columns = list(dict.fromkeys(data[row])), list(dict.fromkeys(data[column]))
    signed = bool((data[value] < 0).any())
    turned = max(map(len, map(str, columns))) * len(columns) > 40
    room = 0.075 * max(map(len, map(str, columns))) if turned else 0.25
    many = len(columns) > 10
    names = [fill(str(one), 30 if many else _NAME) for one in rows]
    height = max(0.2, *(_LINE * (name.count("\n") + 1) + 0.03 for name in names))
    figure, axes = stacked([height * len(rows)] * len(parts), room + 0.3, 0.3 * bool(title))
    for axis, (name, part) in zip(axes, parts.items(), strict=True):
        grid = part.pivot(index=row, columns=column, values=value).reindex(rows, columns=columns)
        # Adding 0 takes the sign from what is rounded to it.
        texts = ((100 * grid).round(digits) + 0.0).map(f"{{:.{digits}f}}".format)
        texts = texts.replace("-", "\u2212", regex=True)
        sns.heatmap(
            grid, annot=texts, fmt="", annot_kws={"fontsize": 7 if many else 8}, linewidths=0.5,
            cmap="RdBu" if signed else "Blues", vmin=-limit if signed else 0, vmax=limit,
            cbar=False, ax=axis,
        )  # fmt: skip
        if clear:
            bold = part.set_index([row, column])[clear]
            for text, place in zip(axis.texts, grid.stack().dropna().index, strict=True):
                text.set_fontweight("bold" if bold[place] else "normal")
        axis.grid(visible=False)
        axis.set_yticks(np.arange(len(rows)) + 0.5, names, rotation=0)
        axis.tick_params(axis="x", top=False, bottom=False, labeltop=True, labelbottom=False)
        axis.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=90 if turned else 0)
        axis.set(xlabel="", ylabel="")
        _head(axis, str(name), 0 if turned else 0.22)
    figure.suptitle(title, x=0.01, ha="left")
    return figure
