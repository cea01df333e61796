"""Diagrams of boxes and arrows, drawn, and what they show as a table.

Shapes and lines tell the kinds of boxes apart without colour. A document's are in `diagrams.yaml`:
name → `title`, `size`, `boxes` (name → the other fields of `Box`) and `arrows` (those of `Arrow`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from memrepro.files.atomic import read_yaml
from memrepro.report import figures

_BLUE, _ORANGE, _GREEN, _RED, _PURPLE, _BROWN = sns.color_palette("colorblind", 6).as_hex()
_DARK, _GREY = "#333333", "#8a8a8a"
# Kind → (shape, colour, line).
_BOXES = {
    "query": ("round,pad=0.5", _GREEN, "-"),
    "utterance": ("square,pad=0.45", _BLUE, "-"),
    "event": ("round4,pad=0.5", _ORANGE, "-"),
    "entity": ("ellipse,pad=0.3", _PURPLE, "-"),
    "event time": ("square,pad=0.4", _GREY, "--"),
    "user/speaker": ("circle,pad=0.35", _BROWN, "-"),
    "graph": ("round4,pad=0.5", _ORANGE, "--"),
    "step": ("round,pad=0.5", _DARK, "-"),
    "model": ("sawtooth,pad=0.45", _RED, "-"),
    "remark": ("square,pad=0.2", "none", "-"),
}


class Box(NamedTuple):
    """A box: its name, text and kind, and its centre in a drawing whose sides are 1."""

    name: str
    text: str
    kind: str
    x: float
    y: float


class Arrow(NamedTuple):
    """An arrow from box to box, its label, whether it is dashed, and how it bends (0 is straight).

    The label stands at a share of the way.
    """

    start: str
    end: str
    text: str = ""
    dashed: bool = False
    bend: float = 0.0
    at: float = 0.5


class Diagram(NamedTuple):
    """A drawing: its figure's name, title, boxes and arrows, and its size in inches."""

    name: str
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    size: tuple[float, float]


def read_diagrams(path: Path) -> Iterator[Diagram]:
    """The drawings of a document; none where it has no such file."""
    for name, one in read_yaml(path).items() if path.is_file() else ():
        boxes = tuple(Box(box, **fields) for box, fields in one["boxes"].items())
        arrows = tuple(Arrow(**fields) for fields in one["arrows"])
        yield Diagram(name, one["title"], boxes, arrows, tuple(one["size"]))


def data(diagram: Diagram) -> pd.DataFrame:
    """What a diagram shows, a row a box or an arrow: `what, name, kind, text, from, to, x, y`."""
    rows = [("box", b.name, b.kind, _plain(b.text), "", "", str(b.x), str(b.y))
            for b in diagram.boxes]  # fmt: skip
    rows += [
        ("arrow", "", "dashed" if a.dashed else "solid", _plain(a.text), a.start, a.end, "", "")
        for a in diagram.arrows
    ]
    return pd.DataFrame(rows, columns=["what", "name", "kind", "text", "from", "to", "x", "y"])


def _plain(text: str) -> str:
    return text.replace("\n", " ")


def _draw_box(axis: Axes, box: Box) -> FancyBboxPatch:
    shape, colour, line = _BOXES[box.kind]
    remark = colour == "none"
    drawn = axis.text(
        box.x, box.y, box.text, ha="center", va="center", fontsize=10,
        style="italic" if remark else "normal", linespacing=1.3, zorder=3,
        bbox={"boxstyle": shape, "facecolor": "white" if remark else _light(colour),
              "edgecolor": colour, "linestyle": line, "linewidth": 1.5},
    )  # fmt: skip
    patch = drawn.get_bbox_patch()
    assert patch is not None  # a text with `bbox` has one
    return patch


def _light(colour: str) -> tuple[float, ...]:
    """The colour, mixed with white; opaque, so that no arrow shines through."""
    return tuple(sns.light_palette(colour, 8)[1])


def draw(diagram: Diagram) -> Figure:
    """A diagram, arrows from edge to edge of its boxes.

    A box knows its size once it is drawn, so that the arrows come after the boxes.
    """
    figure = Figure(figsize=diagram.size, layout="constrained")
    axis = figure.subplots()
    axis.set(xlim=(0, 1), ylim=(0, 1))
    axis.axis("off")
    axis.set_title(diagram.title, fontsize=13)
    patches = {box.name: _draw_box(axis, box) for box in diagram.boxes}
    places = {box.name: (box.x, box.y) for box in diagram.boxes}
    for arrow in diagram.arrows:
        start, end = places[arrow.start], places[arrow.end]
        style = {
            "arrowstyle": "-|>", "color": _DARK, "linewidth": 1.3,
            "linestyle": "--" if arrow.dashed else "-",
            "patchA": patches[arrow.start], "patchB": patches[arrow.end],
            "connectionstyle": f"arc3,rad={arrow.bend}", "shrinkA": 1, "shrinkB": 1,
        }  # fmt: skip
        axis.annotate("", xy=end, xytext=start, arrowprops=style, zorder=4)
        if arrow.text:
            x, y = (a + (b - a) * arrow.at for a, b in zip(start, end, strict=True))
            axis.text(
                x, y, arrow.text, ha="center", va="center", fontsize=9, color=_DARK, zorder=5,
                bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
            )  # fmt: skip
    return figure


def write(diagram: Diagram, folder: Path) -> list[Path]:
    """Write a diagram with what it shows; return the paths."""
    return figures.save(lambda: draw(diagram), data(diagram), folder, diagram.name)
