"""What the gate's thresholds decide: every routing that some τ gives, and Table 17 (D.10).

The paper does not print τ. What is chosen after looking at the printed numbers says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.papers.rfmem.cells import judged, missing, printed_rows, recall_of, row_cells, share
from memrepro.papers.rfmem.grid import CUTOFFS, GATES, KINDS, TAU, Grid, Routing, routings
from memrepro.report.panels import save_panels
from memrepro.report.tables import Cell, number
from memrepro.retrieve.rfmem.gate import Gate

_HUB = "profile full: multi-qa-MiniLM and bge-base come from a model hub"
_BOTH = ("familiarity", "recollection")


def closest(grid: Grid, every: Sequence[Routing]) -> Routing:
    """The routing nearest to the printed gated row: least sum of distances, then the lowest τ."""
    shown = printed_rows("table2")[f"{grid.encoder.name} RF-Mem"]
    recalls = np.stack([grid.gated(grid.recollection, one.familiar) for one in every])
    distances = np.zeros(len(every))
    for column, kind in KINDS.items():
        if (mask := grid.of_kind(kind)).any():
            means = np.round(recalls[:, mask].mean(axis=1), 4)
            distances += np.abs(means - float(shown[f"R@{grid.k} {column}"]))
    return every[int(np.argmin(np.round(distances, 6)))]


def _mpnet(grids: Sequence[Grid]) -> Iterator[tuple[str, Gate, Grid]]:
    """Each gate with the grids of the encoder that the paper has."""
    for name, gate in GATES.items():
        for grid in grids:
            if grid.encoder.short == "mpnet":
                yield name, gate, grid


def gated_closest(grids: Sequence[Grid]) -> Iterator[Cell]:
    """The gated mpnet row at the closest threshold, with the paper's bounds and the code's."""
    for name, gate, grid in _mpnet(grids):
        every = routings(grid.signals, gate, every=True)
        best = closest(grid, every)
        recall = grid.gated(grid.recollection, best.familiar)
        note = (
            f"{name}, K = {grid.k}: closest of {len(every)} routings is τ from {best.low:.6f} to "
            f"{best.high:.6f}, found after the fact"
        )
        for column, kind in KINDS.items():
            values, column = recall[grid.of_kind(kind)], f"R@{grid.k} {column}"
            shown, value = printed_rows("table2")["mpnet RF-Mem"][column], float(values.mean())
            yield judged(f"mpnet RF-Mem, {name}", column, f"recall@{grid.k}", shown, number(value),
                         value, len(values), note, grid.sources(*_BOTH, kind=kind))  # fmt: skip


def gate_sweep(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Overall recall of the gated row at every routing."""
    rows = [
        (grid.k, name, one.middle, grid.gated(grid.recollection, one.familiar).mean())
        for name, gate, grid in _mpnet(grids)
        for one in routings(grid.signals, gate, every=True)
    ]
    data = pd.DataFrame(rows, columns=["k", "curve", "entropy threshold τ", "overall recall"])
    return _against_printed(data, "entropy threshold τ", folder, "gate_sweep")


def alpha_sweep(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Overall recall of recollection at every α that was run."""
    rows = [
        (grid.k, "Recollection here", float(alpha), recall.mean())
        for grid in grids
        if grid.encoder.short == "mpnet"
        for alpha, recall in grid.sweeps["α"].items()
    ]
    data = pd.DataFrame(rows, columns=["k", "curve", "α", "overall recall"])
    return _against_printed(data, "α", folder, "alpha_sweep")


def _against_printed(data: pd.DataFrame, x: str, folder: Path, name: str) -> list[Path]:
    printed = printed_rows("table2")
    lines = {
        k: {f"printed {p}": float(printed[f"mpnet {p}"][f"R@{k} Overall"])
            for p in ("Famili.", "Recol.", "RF-Mem")}
        for k in CUTOFFS
    }  # fmt: skip
    return save_panels(
        data, folder, name, x=x, y="overall recall", hue="curve", col="k", levels=lines,
        drawstyle="default",
    )  # fmt: skip


def routing_table(grids: Sequence[Grid]) -> pd.DataFrame:
    """Every routing by τ: `encoder, k, bounds, low, high, recollected, asked, recall, n`.

    It holds where low < τ ≤ high; `recollected` of all questions asked, as Table 17 counts, and
    recall over those that have a relevant doc.
    """
    found = []
    for grid in grids:
        place = grid.asked.index.get_indexer(pd.Index(grid.questions["query_id"]))
        for bounds, gate in GATES.items():
            found += [
                (grid.encoder.short, grid.k, bounds, one.low, one.high, one.recollected,
                 len(one.familiar), grid.gated(grid.recollection, one.familiar[place]).mean(),
                 len(place))
                for one in routings(grid.asked, gate)
            ]  # fmt: skip
    columns = ["encoder", "k", "bounds", "low", "high", "recollected", "asked", "recall", "n"]
    return pd.DataFrame(found, columns=columns)


def _released(table: pd.DataFrame) -> pd.Series:
    """Of the routings of one gate that at the released τ."""
    return table[(table["low"] < TAU) & (table["high"] >= TAU)].iloc[0]


def table17(table: pd.DataFrame, grids: Sequence[Grid], time: Cell) -> Iterator[Cell]:
    """Table 17: judged where the encoder is here, at the released τ and at others.

    Of mpnet the released default is judged first, then the τ that routes as printed, then one that
    gives the printed recall, and the α that comes nearest to the recall with the printed routes.

    Args:
        table: of `routing_table`.
        grids: of which mpnet's at K = 5 is the table's.
        time: Table 2's cell of the same time.
    """
    for row, cells in printed_rows("table17").items():
        if row != "mpnet":
            for column, shown in cells.items():
                yield missing(row, column, "routing", _HUB, shown)
    printed = printed_rows("table17")["mpnet"]
    yield time._replace(row="mpnet", column="Time")
    by_encoder = {grid.encoder.short: grid for grid in grids if grid.k == 5}
    parts = dict(list(table[table["k"] == 5].groupby(["encoder", "bounds"])))
    for bounds, gate in GATES.items():
        mpnet, grid = parts["mpnet", bounds], by_encoder["mpnet"]
        yield from _routed(grid, f"{bounds}, τ = 0.2", _released(mpnet), printed)
        away = (mpnet["recollected"] - int(printed["Route→Recol."])).abs()
        remark = f"nearest of {len(mpnet)} routings, found after the fact"
        yield from _routed(grid, f"{bounds}, τ by the routes", mpnet.iloc[away.argmin()], printed,
                           remark)  # fmt: skip
        away = (mpnet["recall"].round(4) - float(printed["R@5 Overall"])).abs().round(6)
        near = mpnet[away == away.min()]
        direct = near["asked"] - near["recollected"]
        remark = (
            f"first of {len(near)} of {len(mpnet)} routings with the recall nearest to the "
            f"printed, of which {direct.min()} to {direct.max()} questions go to Famili.; found "
            "after the fact"
        )
        yield from _routed(grid, f"{bounds}, τ by the recall", near.iloc[0], printed, remark)
        yield _by_alpha(bounds, gate, grid, printed)
    for bounds in GATES:
        one = _released(parts["minilm", bounds])
        yield from _routed(by_encoder["minilm"], f"{bounds}, τ = 0.2", one, {})


def _by_alpha(bounds: str, gate: Gate, grid: Grid, printed: Mapping[str, str]) -> Cell:
    """Recall nearest to the printed, over the α that were run, of τ that routes as printed."""
    every = routings(grid.asked, gate)
    one = min(every, key=lambda routing: abs(routing.recollected - int(printed["Route→Recol."])))
    place = grid.asked.index.get_indexer(pd.Index(grid.questions["query_id"]))
    shown = printed["R@5 Overall"]
    found = {a: float(grid.gated(recall, one.familiar[place]).mean())
             for a, recall in grid.sweep("recollection", "alpha").items()}  # fmt: skip
    best = min(found, key=lambda alpha: abs(found[alpha] - float(shown)))
    row = f"mpnet, {bounds}, τ by the routes, any α"
    note = f"{row}: nearest of {len(found)} α is {best}"
    at_best = recall_of(grid.run("recollection", "alpha"), 5, setting=best)
    return judged(row, "R@5 Overall", "recall@5", shown, number(found[best]), found[best],
                  len(place), note, [*grid.sources("familiarity"), at_best])  # fmt: skip


def _routed(
    grid: Grid, name: str, one: pd.Series, shown: Mapping[str, str], remark: str = ""
) -> Iterator[Cell]:
    row, asked = f"{grid.encoder.name}, {name}", int(one["asked"])
    direct, deep = asked - int(one["recollected"]), int(one["recollected"])
    note = "; ".join(filter(None, (f"{row}: τ from {one['low']:.6f} to {one['high']:.6f}", remark)))
    for column, metric, text, value, n, runs in (
        ("Route→Famili.", "routing", str(direct), direct, asked, _BOTH[:1]),
        ("Route→Recol.", "routing", str(deep), deep, asked, _BOTH[:1]),
        ("R@5 Overall", "recall@5", number(one["recall"]), one["recall"], int(one["n"]), _BOTH),
    ):
        yield judged(row, column, metric, shown.get(column, ""), text, float(value), n, note,
                     grid.sources(*runs))  # fmt: skip


def routing_cells(table: pd.DataFrame, grids: Sequence[Grid]) -> Iterator[Cell]:
    """Of each gate: how many it routes to recollection, and recall, at the released and any τ."""
    for grid in grids:
        own = table[(table["encoder"] == grid.encoder.short) & (table["k"] == grid.k)]
        for bounds, part in own.groupby("bounds", sort=False):
            row, asked = f"{grid.encoder.short}, K = {grid.k}, {bounds}", int(part["asked"].iloc[0])
            one, routed = _released(part), part["recollected"]
            counts = {
                "recollected, τ = 0.2": share(one["recollected"], asked),
                "recollected, any τ": f"{routed.min()} to {routed.max()}",
            }
            yield from row_cells(row, "routing", counts, asked,
                                 sources=grid.sources("familiarity"))  # fmt: skip
            worst, best = (part.iloc[at] for at in (part["recall"].argmin(),
                                                    part["recall"].argmax()))  # fmt: skip
            recalls = {
                "recall, τ = 0.2": number(one["recall"]),
                "recall, no entropy familiar": number(part.iloc[0]["recall"]),
                "recall, every entropy familiar": number(part.iloc[-1]["recall"]),
                "recall, worst τ": f"{number(worst['recall'])} (τ to {worst['high']:.4f})",
                "recall, best τ": f"{number(best['recall'])} (τ to {best['high']:.4f})",
            }
            yield from row_cells(row, f"recall@{grid.k}", recalls, int(part["n"].iloc[0]),
                                 sources=grid.sources(*_BOTH))  # fmt: skip


def routing_figure(table: pd.DataFrame, folder: Path) -> list[Path]:
    """The share recollected and recall over τ, with θ of the paper; a column a cut-off."""
    data = table[table["bounds"] == next(iter(GATES))].copy()
    data["share recollected"] = data["recollected"] / data["asked"]
    # A threshold that gives the routing; from the greatest entropy on nothing changes.
    shown = data.assign(τ=data["high"].where(np.isfinite(data["high"]), 1.02 * data["low"]))
    shown = shown.melt(["k", "encoder", "τ"], ["share recollected", "recall"], "what")
    return save_panels(
        data, folder, "routing_by_threshold", shown, x="τ", y="value", hue="encoder", col="k",
        row="what", drawstyle="steps-pre",
    )  # fmt: skip
