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
_USER, _BOTH, _ASSISTANT = 0.22, 0.5, 0.78
_TEXTS, _KEYS, _SIMILARITIES, _SCORE, _REMARK = 0.93, 0.70, 0.47, 0.20, 0.04
_ROWS = {"round $i$": _TEXTS, "keys": _KEYS, "similarity": _SIMILARITIES, "score": _SCORE}
_BLUE, _ORANGE, _GREEN, *_, _BROWN = sns.color_palette("colorblind", 6).as_hex()
_GREY, _DARK = "#8a8a8a", "#333333"
_FIELDS = {_USER: ("user", _BLUE), _ASSISTANT: ("assistant", _ORANGE)}
_SIM, _QUERY = 0.16, 0.22  # widths of boxes


class _Key(NamedTuple):
    """A key of the round: its column, what it embeds, the columns of its texts, its colour."""

    column: float
    text: str
    made_of: tuple[float, ...]
    colour: str


class _Panel(NamedTuple):
    """A key scheme: its keys, the query's column, the rule of the score, what the caption says."""

    title: str
    keys: tuple[_Key, ...]
    query: float
    rule: str
    equation: str
    remark: str


_USER_KEY = _Key(_USER, "enc($u_i$)", (_USER,), _BLUE)
_ASSISTANT_KEY = _Key(_ASSISTANT, "enc($a_i$)", (_ASSISTANT,), _ORANGE)
_BOTH_KEY = _Key(_BOTH, r"enc($u_i \oplus a_i$)", (_USER, _ASSISTANT), _BROWN)
_PANELS = (
    _Panel(
        "(a) User-Only", (_USER_KEY,), 0.6,
        "$s_{user}(q, i)$ =\nsim(enc($q$), enc($u_i$))",
        "Eq. 1", "misses assistant-side information",
    ),
    _Panel(
        "(b) Concatenation", (_BOTH_KEY,), 0.88,
        "$s_{concat}(q, i)$ =\nsim(enc($q$), enc($u_i \\oplus a_i$))",
        "Eq. 2", "a single embedding: cross-field interference",
    ),
    _Panel(
        "(c) Fielded Max-Sim", (_USER_KEY, _ASSISTANT_KEY), _BOTH,
        "$s_{maxsim}(q, i)$ =\nmax(sim(enc($q$), enc($u_i$)), sim(enc($q$), enc($a_i$)))",
        "Eq. 3", "scores by the better field, keeps both signals",
    ),
)  # fmt: skip


def _data() -> pd.DataFrame:
    """What the diagram shows: `panel, keys, rule, equation, remark`, without marks of TeX."""
    rows = [(p.title, ", ".join(k.text for k in p.keys), *p[3:]) for p in _PANELS]
    frame = pd.DataFrame(rows, columns=["panel", "keys", "rule", "equation", "remark"])
    plain = str.maketrans({"$": "", "{": "", "}": "", "\n": " "})
    return frame.map(lambda text: text.translate(plain).replace(r"\oplus", "⊕"))


def _draw_box(axis: Axes, x: float, y: float, text: str, colour: str, width: float = 0.36) -> float:
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


def _draw_arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": _DARK, "linewidth": 1.2, "shrinkA": 2, "shrinkB": 2}
    axis.annotate("", xy=end, xytext=start, arrowprops=style)


def _draw_panel(axis: Axes, panel: _Panel) -> None:
    axis.set(xlim=(0, 1), ylim=(0, 1))
    axis.axis("off")
    axis.set_title(panel.title, fontsize=13)
    keyed = {column for key in panel.keys for column in key.made_of}
    for column, (name, colour) in _FIELDS.items():
        shown = colour if column in keyed else _GREY
        half = _draw_box(axis, column, _TEXTS, f"{name} ${name[0]}_i$", shown)
        if column not in keyed:
            axis.text(
                column, _KEYS, "not indexed", ha="center", va="center", fontsize=10, color=_GREY
            )
    score = _draw_box(axis, _BOTH, _SCORE, panel.rule, _DARK, width=0.98)
    _draw_box(axis, panel.query, _SIMILARITIES, "enc($q$)", _GREEN, width=_QUERY)
    for key in panel.keys:
        _draw_box(axis, key.column, _KEYS, key.text, key.colour)
        for column in key.made_of:
            _draw_arrow(axis, (column, _TEXTS - half), (key.column, _KEYS + half))
        _draw_box(axis, key.column, _SIMILARITIES, "sim", _DARK, width=_SIM)
        _draw_arrow(axis, (key.column, _KEYS - half), (key.column, _SIMILARITIES + half))
        _draw_arrow(axis, (key.column, _SIMILARITIES - half), (key.column, _SCORE + score))
        side = 1 if panel.query > key.column else -1
        start, end = panel.query - side * _QUERY / 2, key.column + side * _SIM / 2
        _draw_arrow(axis, (start, _SIMILARITIES), (end, _SIMILARITIES))
    axis.text(_BOTH, _REMARK, panel.remark, ha="center", va="center", fontsize=10, style="italic")


def _draw() -> Figure:
    """The three panels side by side, the query's embedding at the height of the similarities."""
    figure = Figure(figsize=(14, 4.8), layout="constrained")
    axes = figure.subplots(1, len(_PANELS))
    for axis, panel in zip(axes, _PANELS, strict=True):
        _draw_panel(axis, panel)
    for name, height in _ROWS.items():
        axes[0].text(-0.03, height, name, ha="right", va="center", color=_DARK, fontsize=10)
    return figure


def write_diagram(folder: Path) -> list[Path]:
    """Write the diagram as `figure1`; return its paths."""
    return figures.save(_draw, _data(), folder, "figure1")
