"""Associa's Figures 1 to 3, drawn anew: what each shows, in this project's words.

Figure 1 is of §1, Figure 2 of §4.1, whose edges are those of `associa.yaml`, and Figure 3 of §4.2
and Appendix B. Shapes and lines tell the kinds apart without colour.
"""

from pathlib import Path
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from memrepro.report import figures
from memrepro.report.associa_printed import printed

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


FIGURE1 = Diagram(
    "figure1",
    "What is similar, and what is evidence",
    (
        Box("query", "query: how much of a and b together?", "query", 0.5, 0.93),
        Box("dense", "dense retrieval:\none vector of the query", "step", 0.2, 0.72),
        Box("intent a", "intent: a, bound\nto its event", "step", 0.62, 0.72),
        Box("intent b", "intent: b, bound\nto its event", "step", 0.88, 0.72),
        Box("similar 1", "round: talks of a,\nno number", "utterance", 0.1, 0.40),
        Box("similar 2", "round: talks of b,\nno number", "utterance", 0.32, 0.40),
        Box("evidence a", "round: a, its event\nand a number", "utterance", 0.62, 0.40),
        Box("evidence b", "round: b, its event\nand a number", "utterance", 0.88, 0.40),
        Box("blurred", "both intents blur: key evidence is missed", "remark", 0.21, 0.17),
        Box("gathered", "each intent finds its evidence", "remark", 0.75, 0.17),
        Box("model", "language model answers", "model", 0.5, 0.05),
    ),
    (
        Arrow("query", "dense"),
        Arrow("query", "intent a"),
        Arrow("query", "intent b"),
        Arrow("dense", "similar 1", "similar"),
        Arrow("dense", "similar 2", "similar"),
        Arrow("dense", "evidence a", "less similar", dashed=True),
        Arrow("intent a", "evidence a", "entities"),
        Arrow("intent b", "evidence b", "entities"),
        Arrow("similar 1", "blurred", dashed=True),
        Arrow("similar 2", "blurred", dashed=True),
        Arrow("evidence a", "gathered"),
        Arrow("evidence b", "gathered"),
        Arrow("blurred", "model", dashed=True),
        Arrow("gathered", "model"),
    ),
    (11, 6),
)
_NODES = {
    "user/speaker": (0.1, 0.5),
    "utterance": (0.36, 0.5),
    "event": (0.66, 0.82),
    "event time": (0.91, 0.82),
    "entity": (0.66, 0.18),
    "another entity": (0.91, 0.18),
}


def _figure2() -> Diagram:
    """The schema: a node a type, an arrow an edge; a relation joins two entities."""
    arrows = []
    for edge in printed("schema").values():
        end = edge["to"] if edge["to"] != edge["from"] else f"another {edge['to']}"
        arrows.append(Arrow(edge["from"], end, edge["label"].strip("<|>")))
    kinds = [entry["category"] for entry in printed("categories").values()]
    listed = "an entity is one of\n" + ",\n".join(", ".join(kinds[i : i + 3]) for i in (0, 3, 6))
    nodes = (Box(n, n, n.removeprefix("another "), x, y) for n, (x, y) in _NODES.items())
    return Diagram(
        "figure2",
        "The event-centric memory graph",
        (*nodes, Box("categories", listed, "remark", 0.24, 0.1)),
        tuple(arrows),
        (10, 5),
    )


FIGURE3 = Diagram(
    "figure3",
    "Intuitive association and deliberating recall",
    (
        Box("query", "query", "query", 0.06, 0.72),
        Box("graph", "memory graph", "graph", 0.06, 0.30),
        Box("prizes", "prizes of nodes\nand edges (Eq. 6)", "step", 0.23, 0.72),
        Box("virtual", "virtual nodes for edges\nabove the cost (Eq. 7–9)", "step", 0.44, 0.72),
        Box("tree", "Steiner tree of prizes\nless costs (Eq. 10)", "step", 0.66, 0.72),
        Box("subgraph", "union of subgraphs", "graph", 0.87, 0.72),
        Box("deliberate", "deliberating model:\nwhich clues are missing?", "model", 0.66, 0.30),
        Box("augment", "query ⊕ missing clue", "query", 0.36, 0.30),
        Box("importance", "importance ranking:\nPageRank (Eq. 11–12)", "step", 0.87, 0.08),
        Box("answer", "utterances, ranked", "utterance", 0.5, 0.08),
        Box("association", "intuitive association", "remark", 0.44, 0.93),
        Box("recall", "deliberating recall, at most max_iter rounds", "remark", 0.5, 0.46),
    ),
    (
        Arrow("query", "prizes"),
        Arrow("graph", "prizes"),
        Arrow("prizes", "virtual"),
        Arrow("virtual", "tree"),
        Arrow("tree", "subgraph"),
        Arrow("subgraph", "deliberate"),
        Arrow("deliberate", "augment", "each clue", dashed=True),
        Arrow("augment", "prizes", "again", dashed=True),
        Arrow("deliberate", "importance", "none"),
        Arrow("subgraph", "importance", "max_iter reached", at=0.45),
        Arrow("importance", "answer"),
    ),
    (13, 5.2),
)


def diagrams() -> tuple[Diagram, ...]:
    """The three figures."""
    return FIGURE1, _figure2(), FIGURE3


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


def build(folder: Path) -> list[Path]:
    """Write the three diagrams, each with what it shows; return the paths."""
    return [
        path
        for diagram in diagrams()
        for path in figures.save(draw(diagram), data(diagram), folder, diagram.name)
    ]
