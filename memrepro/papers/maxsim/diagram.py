"""The max-sim document's Figure 1: three key schemes of a conversation round, drawn (§3.2)."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from memrepro.report import figures

# Places in a panel, whose width and height are 1: columns, and rows from above.
USER, BOTH, ASSISTANT = 0.22, 0.5, 0.78
_TEXTS, _KEYS, _SIMILARITIES, _SCORE, _REMARK = 0.93, 0.70, 0.47, 0.20, 0.04
_ROWS = {"round $i$": _TEXTS, "keys": _KEYS, "similarity": _SIMILARITIES, "score": _SCORE}
_BLUE, _ORANGE, _GREEN, *_, _BROWN = sns.color_palette("colorblind", 6).as_hex()
_GREY, _DARK = "#8a8a8a", "#333333"
_NAMES = {USER: "user", ASSISTANT: "assistant"}
_COLOURS = {USER: _BLUE, ASSISTANT: _ORANGE}
_SIM, _QUERY = 0.16, 0.22  # widths of boxes


class Key(NamedTuple):
    """A key of the round: its column, what it embeds, the columns of its texts, its colour."""

    column: float
    text: str
    made_of: tuple[float, ...]
    colour: str


class Panel(NamedTuple):
    """A key scheme: its keys, the query's column, the rule of the score, what the caption says."""

    title: str
    keys: tuple[Key, ...]
    query: float
    rule: str
    equation: int
    remark: str


_USER_KEY = Key(USER, "enc($u_i$)", (USER,), _COLOURS[USER])
_ASSISTANT_KEY = Key(ASSISTANT, "enc($a_i$)", (ASSISTANT,), _COLOURS[ASSISTANT])
_BOTH_KEY = Key(BOTH, r"enc($u_i \oplus a_i$)", (USER, ASSISTANT), _BROWN)
PANELS = (
    Panel(
        "(a) User-Only",
        (_USER_KEY,),
        0.6,
        "$s_{user}(q, i)$ =\nsim(enc($q$), enc($u_i$))",
        1,
        "misses assistant-side information",
    ),
    Panel(
        "(b) Concatenation",
        (_BOTH_KEY,),
        0.88,
        "$s_{concat}(q, i)$ =\n" + r"sim(enc($q$), enc($u_i \oplus a_i$))",
        2,
        "a single embedding: cross-field interference",
    ),
    Panel(
        "(c) Fielded Max-Sim",
        (_USER_KEY, _ASSISTANT_KEY),
        BOTH,
        "$s_{maxsim}(q, i)$ =\nmax(sim(enc($q$), enc($u_i$)), sim(enc($q$), enc($a_i$)))",
        3,
        "scores by the better field, keeps both signals",
    ),
)


def data() -> pd.DataFrame:
    """What the diagram shows: `panel, keys, rule, equation, remark`."""
    plain = str.maketrans({"$": "", "{": "", "}": "", "\n": " "})
    rows = [
        (
            panel.title,
            ", ".join(key.text for key in panel.keys),
            panel.rule,
            f"Eq. {panel.equation}",
            panel.remark,
        )
        for panel in PANELS
    ]
    frame = pd.DataFrame(rows, columns=["panel", "keys", "rule", "equation", "remark"])
    return frame.map(lambda text: text.translate(plain).replace(r"\oplus", "⊕"))


def _box(axis: Axes, x: float, y: float, text: str, colour: str, width: float = 0.36) -> float:
    """Draw a box and return half its height."""
    height = 0.1 + 0.06 * text.count("\n")
    axis.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2), width, height,
            boxstyle="round,pad=0,rounding_size=0.02", facecolor=f"{colour}22",
            edgecolor=colour, linewidth=1.5, linestyle="--" if colour == _GREY else "-",
        )
    )  # fmt: skip
    ink = _GREY if colour == _GREY else "black"
    axis.text(x, y, text, ha="center", va="center", fontsize=10, color=ink, linespacing=1.35)
    return height / 2


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": _DARK, "linewidth": 1.2, "shrinkA": 2, "shrinkB": 2}
    axis.annotate("", xy=end, xytext=start, arrowprops=style)


def _draw_panel(axis: Axes, panel: Panel) -> None:
    axis.set(xlim=(0, 1), ylim=(0, 1))
    axis.axis("off")
    axis.set_title(panel.title, fontsize=13)
    keyed = {column for key in panel.keys for column in key.made_of}
    for column, name in _NAMES.items():
        colour = _COLOURS[column] if column in keyed else _GREY
        half = _box(axis, column, _TEXTS, f"{name} ${name[0]}_i$", colour)
        if column not in keyed:
            axis.text(
                column, _KEYS, "not indexed", ha="center", va="center", fontsize=10, color=_GREY
            )
    score = _box(axis, BOTH, _SCORE, panel.rule, _DARK, width=0.98)
    _box(axis, panel.query, _SIMILARITIES, "enc($q$)", _GREEN, width=_QUERY)
    for key in panel.keys:
        _box(axis, key.column, _KEYS, key.text, key.colour)
        for column in key.made_of:
            _arrow(axis, (column, _TEXTS - half), (key.column, _KEYS + half))
        _box(axis, key.column, _SIMILARITIES, "sim", _DARK, width=_SIM)
        _arrow(axis, (key.column, _KEYS - half), (key.column, _SIMILARITIES + half))
        _arrow(axis, (key.column, _SIMILARITIES - half), (key.column, _SCORE + score))
        side = 1 if panel.query > key.column else -1
        start, end = panel.query - side * _QUERY / 2, key.column + side * _SIM / 2
        _arrow(axis, (start, _SIMILARITIES), (end, _SIMILARITIES))
    axis.text(BOTH, _REMARK, panel.remark, ha="center", va="center", fontsize=10, style="italic")


def draw() -> Figure:
    """The three panels side by side, the query's embedding at the height of the similarities."""
    figure = Figure(figsize=(14, 4.8), layout="constrained")
    axes = figure.subplots(1, len(PANELS))
    for axis, panel in zip(axes, PANELS, strict=True):
        _draw_panel(axis, panel)
    for name, height in _ROWS.items():
        axes[0].text(-0.03, height, name, ha="right", va="center", color=_DARK, fontsize=10)
    return figure


def build(folder: Path) -> list[Path]:
    """Write the diagram as `figure1`; return its paths."""
    return figures.save(draw, data(), folder, "figure1")
