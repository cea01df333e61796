"""What the gate's thresholds decide: every routing that some τ gives, and Table 17 (D.10).

The paper does not print τ. What is chosen after looking at the printed numbers says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from memrepro.audit.tables import reference
from memrepro.audit.verdicts import NOT_REPRODUCED, judge
from memrepro.papers.rfmem import cost
from memrepro.papers.rfmem.cells import judged, missing, printed_rows, row_cells
from memrepro.papers.rfmem.grid import (
    BOTH,
    CUTOFFS,
    GATE,
    GATES,
    OPEN,
    TAU,
    Grid,
    Routing,
    grids_of,
    routings,
)
from memrepro.papers.rfmem.traces import records_of
from memrepro.report import figures
from memrepro.report.panels import draw_lines
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number
from memrepro.retrieve.rfmem.gate import Gate


def closest(grid: Grid, every: Sequence[Routing]) -> Routing:
    """The routing nearest to the printed gated row: least sum of distances, then the lowest τ."""
    shown = printed_rows("table2")[f"{grid.encoder.name} RF-Mem"]
    recalls, distances = grid.over_tau(every), np.zeros(len(every))
    for column, _, mask in grid.columns():
        means = np.round(recalls[:, mask].mean(axis=1), 4)
        distances += np.abs(means - float(shown[f"R@{grid.k} {column}"]))
    return every[int(np.argmin(np.round(distances, 6)))]


def _mpnet(grids: Sequence[Grid]) -> Iterator[tuple[str, Grid, list[Routing]]]:
    """Each gate's name, and every routing of it, of the encoder that the paper has."""
    for name, gate in GATES.items():
        for grid in grids:
            if grid.encoder.short == "mpnet":
                yield name, grid, routings(grid.signals, gate, every=True)


def gated_closest(_: Runs, __: Spec) -> Iterator[Cell]:
    """The gated mpnet row at the closest threshold, with the paper's bounds and the code's."""
    printed = printed_rows("table2")["mpnet RF-Mem"]
    for name, grid, every in _mpnet(grids_of(OPEN)):
        best = closest(grid, every)
        recall = grid.gated(grid.recollection, best.familiar)
        note = (
            f"{name}, K = {grid.k}: closest of {len(every)} routings is τ from {best.low:.6f} to "
            f"{best.high:.6f}, found after the fact"
        )
        for column, kind, mask in grid.columns():
            value, shown = float(recall[mask].mean()), f"R@{grid.k} {column}"
            yield judged(f"mpnet RF-Mem, {name}", shown, f"recall@{grid.k}", printed[shown],
                         number(value), value, int(mask.sum()), note,
                         grid.sources(*BOTH, kind=kind),
                         reference("table2", "mpnet RF-Mem", shown), picked=True)  # fmt: skip


def table2(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Table 2's times, and where the gated mpnet row at τ = 0.2 is not the printed one, what is."""
    yield from cost.times(runs, table)
    printed, row = printed_rows("table2")["mpnet RF-Mem"], "mpnet RF-Mem"
    name = next(iter(GATES))
    for grid in (grid for grid in grids_of(OPEN) if grid.encoder.short == "mpnet"):
        if any(runs.why_not(grid.run(path)) for path in (*BOTH, "gated")):
            continue
        at, near = grid.recall("gated"), closest(grid, routings(grid.signals, GATE, every=True))
        best = grid.gated(grid.recollection, near.familiar)
        for column, kind, mask in grid.columns():
            shown = printed[f"R@{grid.k} {column}"]
            value, other = float(at[mask].mean()), float(best[mask].mean())
            if judge(shown, value).label == NOT_REPRODUCED:
                met = judge(shown, other, picked=True).label
                note = (
                    f"{table['rows'][row]['note']}; the closest routing gives {number(other)} "
                    f"({met}), found after the fact: table2_gated_closest, row '{row}, {name}'"
                )
                yield judged(row, f"R@{grid.k} {column}", f"recall@{grid.k}", shown, number(value),
                             value, int(mask.sum()), note,
                             grid.sources("gated", kind=kind))  # fmt: skip


def alpha_sweep_figure(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Overall recall of recollection at every α under mpnet, beside what is printed."""
    rows = [
        (grid.k, "Recollection here", float(alpha), recall.mean())
        for grid in grids
        if grid.encoder.short == "mpnet"
        for alpha, recall in grid.sweeps["α"].items()
    ]
    printed = printed_rows("table2")
    lines = {
        f"K = {k}": {f"printed {path}": float(printed[f"mpnet {path}"][f"R@{k} Overall"])
            for path in ("Famili.", "Recol.", "RF-Mem")}
        for k in CUTOFFS
    }  # fmt: skip
    data = pd.DataFrame(rows, columns=["k", "curve", "α", "overall recall"])
    return figures.save(lambda: _draw_alphas(data, lines), data, folder, "alpha_sweep")


def _draw_alphas(data: pd.DataFrame, lines: Mapping[str, Mapping[str, float]]) -> Figure:
    shown = data.assign(k="K = " + data["k"].astype(str))
    return draw_lines(shown, "α", "overall recall", "curve", "k", levels=lines)


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


def table17(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Table 17: judged where the encoder is here, at the released τ and at others.

    Of mpnet the released default is judged first, then the τ that routes as printed, then one that
    gives the printed recall, and the α that comes nearest to the recall with the printed routes.
    """
    rows = printed_rows("table17")
    for row, cells in rows.items():
        if row != "mpnet":
            for column, shown in cells.items():
                place = reference("table17", row, column)
                yield missing(row, column, "routing", table["note"], shown, place)
    one = records_of(runs.profile).experiments[cost.TIMED["mpnet RF-Mem", "R@5 Time"]]
    time = cost.time_cell("mpnet", "Time", rows["mpnet"]["Time"], one)
    yield time._replace(printed=_of_mpnet("Time"))
    grids = {grid.encoder.short: grid for grid in grids_of(OPEN) if grid.k == 5}
    parts = dict(list(routing_table(list(grids.values())).groupby(["encoder", "bounds"])))
    printed, grid = rows["mpnet"], grids["mpnet"]
    for bounds, gate in GATES.items():
        every = parts["mpnet", bounds]
        yield from _routed(grid, f"{bounds}, τ = 0.2", _released(every), printed)
        away = (every["recollected"] - int(printed["Route→Recol."])).abs()
        remark = f"nearest of {len(every)} routings, found after the fact"
        nearest = every.iloc[away.argmin()]
        yield from _routed(grid, f"{bounds}, τ by the routes", nearest, printed, remark)
        away = (every["recall"].round(4) - float(printed["R@5 Overall"])).abs().round(6)
        near = every[away == away.min()]
        direct = near["asked"] - near["recollected"]
        remark = (
            f"first of {len(near)} of {len(every)} routings with the recall nearest to the "
            f"printed, of which {direct.min()} to {direct.max()} questions go to Famili.; found "
            "after the fact"
        )
        name = f"{bounds}, τ by the recall"
        yield from _routed(grid, name, near.iloc[0], printed, remark)
        texts = {"Route→Famili., every such τ": f"{direct.min()} to {direct.max()}"}
        yield from row_cells(f"{grid.encoder.name}, {name}", "routing", texts,
                             int(near["asked"].iloc[0]), sources=grid.sources(*BOTH))  # fmt: skip
        yield _by_alpha(bounds, gate, grid, printed)
    for bounds in GATES:
        at = _released(parts["minilm", bounds])
        yield from _routed(grids["minilm"], f"{bounds}, τ = 0.2", at, {})


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
    sources = [grid.source("familiarity"), grid.source("recollection", "alpha", best)]
    return judged(row, "R@5 Overall", "recall@5", shown, number(found[best]), found[best],
                  len(place), note, sources, _of_mpnet("R@5 Overall"), picked=True)  # fmt: skip


def _routed(
    grid: Grid, name: str, one: pd.Series, shown: Mapping[str, str], remark: str = ""
) -> Iterator[Cell]:
    """The routes and the recall of one τ; a `remark` says how it was picked, if it was."""
    row, asked = f"{grid.encoder.name}, {name}", int(one["asked"])
    direct, deep = asked - int(one["recollected"]), int(one["recollected"])
    note = "; ".join(filter(None, (f"{row}: τ from {one['low']:.6f} to {one['high']:.6f}", remark)))
    for column, metric, text, value, n, runs in (
        ("Route→Famili.", "routing", str(direct), direct, asked, BOTH[:1]),
        ("Route→Recol.", "routing", str(deep), deep, asked, BOTH[:1]),
        ("R@5 Overall", "recall@5", number(one["recall"]), one["recall"], int(one["n"]), BOTH),
    ):
        yield judged(row, column, metric, shown.get(column, ""), text, float(value), n, note,
                     grid.sources(*runs), _of_mpnet(column), picked=bool(remark))  # fmt: skip


def _of_mpnet(column: str) -> str:
    """A cell of Table 17's row of the one encoder of it that is here."""
    return reference("table17", "mpnet", column)
