"""RF-Mem's alternatives to its recollection (Tables 15, 16; D.8, D.9), and its routing (Table 17).

Tables 15 and 16 are printed for multi-qa-MiniLM alone, and stand as printed. The same rows are
computed here under all-mpnet-base-v2 and all-MiniLM-L6-v2, each held against familiarity; what
D.8 and D.9 say of all alternatives is then checked on both.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_IN_PAPER, NOT_RUN, judge
from memrepro.papers.rfmem.printed import printed_rows, printed_table
from memrepro.papers.rfmem.routing import (
    CUTOFFS,
    ENCODERS,
    GATE,
    KINDS,
    Encoder,
    choose,
    routings,
    side_by_side,
    signals,
)
from memrepro.report import figures
from memrepro.report.profile import Metrics, difference
from memrepro.report.tables import Cell, number, write_cells

FAMILIARITY, RECOLLECTION, GATED = "Famili.", "Recol.", "RF-Mem"
_KMEANS = "Basic KMeans"
_GRAPH = "Graph + Breadth-First Search"
# Table -> block of the printed table -> ending of the experiments' names, before K.
BLOCKS = {
    "table15": {
        _KMEANS: "recollection",
        "DBSCAN cluster (KMeans alternative)": "dbscan",
        "Spectral cluster (KMeans alternative)": "spectral",
        "Gate (α-mix alternative)": "gated-mix",
        f"{_GRAPH} (whole alternative)": "graph",
    },
    "table16": {
        f"{_KMEANS} (Early-Stop)": "recollection",
        f"{_KMEANS} (Fully Exploration)": "full",
        f"{_GRAPH} (Early-Stop)": "graph",
        f"{_GRAPH} (Fully Exploration)": "full-graph",
    },
}
_NO_VECTORS = (
    "the encoder multi-qa-MiniLM comes from a model hub and is not here: the same rows are "
    "computed under mpnet and MiniLM"
)
_HUB = "profile full: multi-qa-MiniLM and bge-base come from a model hub"
_UNTIMED = "no latency of it has been measured"
_GATE_NOTE = (
    "RF-Mem rows: each question takes familiarity's recall or that of the row above, by the gate "
    "on its familiarity scores (λ = 30, θ of the paper 0.6 and 0.0, τ = 0.2 on the mean form of H "
    "as the released code's default)"
)
_SETTINGS = (
    "α = 0.9 (K = 5) and 0.2 (K = 10), where there is an α; the alternatives' own parameters are "
    "not printed: ε = 0.5 and 2 docs at least (DBSCAN), γ = 1 (spectral), 3 neighbours (graph)"
)
# Sweeps of what the paper leaves open, by path: ending of the name, and the parameter.
SWEEPS = {
    "dbscan": ("eps", "ε"),
    "spectral": ("gamma", "γ"),
    "graph": ("neighbours", "neighbours"),
    "full": ("rounds", "rounds"),
    "full-graph": ("rounds", "rounds"),
}
_LABELS = {
    path: block.replace(" (Fully Exploration)", ", full").split(" (")[0]
    for blocks in BLOCKS.values()
    for block, path in blocks.items()
}
# The bounds on the mean score that the paper and the released code have.
BOUNDS = {"θ of the paper (0.6, 0.0)": (0.6, 0.0), "θ of the code (0.5, 0.2)": (0.5, 0.2)}


class Claim(NamedTuple):
    """What D.8 or D.9 says of two rows of a table: that the first has the higher recall."""

    text: str
    table: str
    better: tuple[str, str]
    worse: tuple[str, str]


def claims() -> Iterator[Claim]:
    """What D.8 and D.9 claim of Tables 15 and 16, row against row."""
    for table, blocks in BLOCKS.items():
        section = "D.8" if table == "table15" else "D.9"
        for block in blocks:
            # Table 16 repeats the two blocks with early stop.
            if "Early-Stop" not in block:
                text = f"{section}: RF-Mem over Recol., {block}"
                yield Claim(text, table, (block, GATED), (block, RECOLLECTION))
    gate, graph = "Gate (α-mix alternative)", f"{_GRAPH} (whole alternative)"
    base = (_KMEANS, FAMILIARITY)
    for path in (RECOLLECTION, GATED):
        yield Claim(f"D.8.3: gated mixing over Famili., {path}", "table15", (gate, path), base)
        text = f"D.8.3: α-mix over gated mixing, {path}"
        yield Claim(text, "table15", (_KMEANS, path), (gate, path))
    text = "D.8.4: clusters over the graph, Recol."
    yield Claim(text, "table15", (_KMEANS, RECOLLECTION), (graph, RECOLLECTION))
    for name in (_KMEANS, _GRAPH):
        full, stopped = f"{name} (Fully Exploration)", f"{name} (Early-Stop)"
        text = f"D.9: full over early stop, RF-Mem, {name}"
        yield Claim(text, "table16", (full, GATED), (stopped, GATED))
    base = (f"{_KMEANS} (Early-Stop)", FAMILIARITY)
    yield Claim("D.9: the graph, full, RF-Mem over Famili.", "table16", (full, GATED), base)


class Rows:
    """Recall@k of each question in the rows of Tables 15 and 16, under one encoder."""

    def __init__(self, profile: str, metrics: Metrics, encoder: Encoder) -> None:
        self._profile, self._metrics, self.encoder = profile, metrics, encoder

    @cached_property
    def signals(self) -> dict[int, pd.DataFrame]:
        """K → the gate's signals and choice, of every question asked."""
        return {k: signals(self.encoder.probes(self._profile, k), GATE) for k in CUTOFFS}

    def recall(self, path: str, row: str, k: int) -> pd.DataFrame:
        """`query_id, kind, value` of one of a path's rows: Famili., Recol. or RF-Mem."""
        if row == FAMILIARITY:
            return self.encoder.recall(self._metrics, "familiarity", k)
        deliberate = self.encoder.recall(self._metrics, path, k)
        return deliberate if row == RECOLLECTION else self.gated(deliberate, k)

    def gated(self, deliberate: pd.DataFrame, k: int) -> pd.DataFrame:
        """The RF-Mem row of a recollection: `query_id, kind, value`."""
        both = self.both(deliberate, k)
        value = choose(both, self.signals[k]["familiar"])
        return both[["query_id", "kind"]].assign(value=value)

    def both(self, deliberate: pd.DataFrame, k: int) -> pd.DataFrame:
        """Recall@k of the two paths: `query_id, kind, familiarity, recollection`."""
        return side_by_side(self.recall("", FAMILIARITY, k), deliberate)

    def sweep(self, path: str, parameter: str, k: int) -> Iterator[tuple[str, pd.DataFrame]]:
        """The settings of a recollection's sweep, each with recall@k by question."""
        name = f"{self.encoder.stem}-{path}-k{k}-by-{parameter}"
        for setting in self._metrics.settings(name):
            yield setting, self._metrics.values(name, "session", "recall", k, setting)


def as_printed(table: str) -> Iterator[Cell]:
    """The cells of Table 15 or 16, none of them run."""
    for (row, column), shown in printed_table(table).items():
        metric = f"recall@{column.split()[0].removeprefix('R@')}"
        yield Cell(row, column, metric, shown, "", 0, NOT_RUN, note=_NO_VECTORS)


def ours(rows: Rows, table: str) -> Iterator[Cell]:
    """Table 15 or 16 under another encoder, with each row's gain over familiarity."""
    first = next(iter(BLOCKS[table]))
    for block, path in BLOCKS[table].items():
        for row in (FAMILIARITY, RECOLLECTION, GATED):
            if row != FAMILIARITY or block == first:
                yield from _row(f"{block}, {row}", rows, path, row)


def _row(label: str, rows: Rows, path: str, row: str) -> Iterator[Cell]:
    note = _GATE_NOTE if row == GATED else _SETTINGS
    for k in CUTOFFS:
        found = rows.recall(path, row, k)
        for column, kind in KINDS.items():
            part = found["value"] if kind is None else found.loc[found["kind"] == kind, "value"]
            text = number(part.mean()) if len(part) else ""
            yield Cell(label, f"R@{k} {column}", f"recall@{k}", "", text, len(part),
                       NOT_IN_PAPER, note=note)  # fmt: skip
        text = ""
        if row != FAMILIARITY:
            text = difference(rows.recall(path, FAMILIARITY, k), found)
        column = f"R@{k} Overall against {FAMILIARITY}"
        yield Cell(label, column, "difference", "", text, len(found), NOT_IN_PAPER, note=note)


def checked_claims(all_rows: dict[str, Rows]) -> Iterator[Cell]:
    """Each claim of D.8 and D.9: the printed difference, and what it is under our encoders."""
    for claim in claims():
        shown, blocks = printed_rows(claim.table), BLOCKS[claim.table]
        for k in CUTOFFS:
            overall = f"R@{k} Overall"
            high, low = (float(shown[", ".join(r)][overall]) for r in (claim.better, claim.worse))
            for name, rows in all_rows.items():
                before, now = (
                    rows.recall(blocks[block], row, k) for block, row in (claim.worse, claim.better)
                )
                text = difference(before, now)
                yield Cell(claim.text, f"{name} R@{k}", "difference", f"{high - low:+.4f}", text,
                           len(now), NOT_COMPARABLE,
                           note="printed: the difference under multi-qa-MiniLM")  # fmt: skip


def swept(rows: Rows) -> Iterator[Cell]:
    """Overall recall of Recol. and RF-Mem over the parameters that D.8 and D.9 do not name."""
    for path, (parameter, symbol) in SWEEPS.items():
        for k in CUTOFFS:
            direct = rows.recall(path, FAMILIARITY, k)
            for setting, deliberate in rows.sweep(path, parameter, k):
                row = f"{_LABELS[path]}, {symbol} = {setting}"
                for name, found in ((RECOLLECTION, deliberate), (GATED, rows.gated(deliberate, k))):
                    column, n = f"R@{k} {name}", len(found)
                    text = number(found["value"].mean())
                    yield Cell(row, column, f"recall@{k}", "", text, n, NOT_IN_PAPER)
                    text = difference(direct, found)
                    column += f" against {FAMILIARITY}"
                    yield Cell(row, column, "difference", "", text, n, NOT_IN_PAPER)


def routing(all_rows: dict[str, Rows]) -> pd.DataFrame:
    """Every routing by τ: `encoder, k, bounds, low, high, recollected, asked, recall, n`.

    It holds where low < τ ≤ high; `recollected` of all questions asked, as Table 17 counts, and
    recall over those that have a relevant doc.
    """
    found = []
    for name, rows in all_rows.items():
        for k in CUTOFFS:
            both = rows.both(rows.recall("recollection", RECOLLECTION, k), k)
            direct, deliberate = (both[path].to_numpy() for path in ("familiarity", "recollection"))
            place = rows.signals[k].index.get_indexer(pd.Index(both["query_id"]))
            for bounds, (high, low) in BOUNDS.items():
                gate = replace(GATE, mean_high=high, mean_low=low)
                found += [
                    (name, k, bounds, one.low, one.high, one.recollected, len(one.familiar),
                     np.where(one.familiar.to_numpy()[place], direct, deliberate).mean(), len(both))
                    for one in routings(rows.signals[k], gate)
                ]  # fmt: skip
    columns = ["encoder", "k", "bounds", "low", "high", "recollected", "asked", "recall", "n"]
    return pd.DataFrame(found, columns=columns)


def _released(table: pd.DataFrame) -> pd.Series:
    """Of the routings of one gate that at the released τ."""
    tau = GATE.entropy_threshold
    return table[(table["low"] < tau) & (tau <= table["high"])].iloc[0]


def _of(table: pd.DataFrame, encoder: str, k: int, bounds: str) -> pd.DataFrame:
    kept = (table["encoder"] == encoder) & (table["k"] == k) & (table["bounds"] == bounds)
    return table[kept]


def table17(table: pd.DataFrame, mpnet_rows: Rows, time: Cell | None = None) -> Iterator[Cell]:
    """Table 17 from `routing`: judged where the encoder is here, at the released τ and at others.

    τ is not printed. Of mpnet the released default is judged first, then the τ that routes as
    printed, then one that gives the printed recall, and the α that comes nearest to the recall
    with the printed routes; all but the first are found after the fact.

    Args:
        table: of `routing`.
        mpnet_rows: the encoder's.
        time: Table 2's cell of the same time, where it was measured.
    """
    for (row, column), shown in printed_table("table17").items():
        if row != "mpnet":
            yield Cell(row, column, "routing", shown, "", 0, NOT_RUN, note=_HUB)
    printed = printed_rows("table17")["mpnet"]
    if time is None:
        time = Cell("mpnet", "Time", "time", printed["Time"], "", 0, NOT_RUN, note=_UNTIMED)
    yield time._replace(row="mpnet", column="Time")
    for bounds in BOUNDS:
        mpnet = _of(table, "mpnet", 5, bounds)
        yield from _routed(f"mpnet, {bounds}, τ = 0.2", _released(mpnet), printed)
        away = (mpnet["recollected"] - int(printed["Route→Recol."])).abs()
        remark = f"nearest of {len(mpnet)} routings, found after the fact"
        yield from _routed(f"mpnet, {bounds}, τ by the routes", mpnet.iloc[away.argmin()], printed,
                           remark)  # fmt: skip
        away = (mpnet["recall"].round(4) - float(printed["R@5 Overall"])).abs().round(6)
        near = mpnet[away == away.min()]
        direct = near["asked"] - near["recollected"]
        remark = (
            f"first of {len(near)} of {len(mpnet)} routings with the recall nearest to the "
            f"printed, of which {direct.min()} to {direct.max()} questions go to Famili.; found "
            "after the fact"
        )
        yield from _routed(f"mpnet, {bounds}, τ by the recall", near.iloc[0], printed, remark)
        yield _by_alpha(bounds, mpnet_rows, printed)
    for bounds in BOUNDS:
        one = _released(_of(table, "minilm", 5, bounds))
        yield from _routed(f"all-MiniLM-L6-v2, {bounds}, τ = 0.2", one, {})


def _by_alpha(bounds: str, rows: Rows, printed: dict[str, str]) -> Cell:
    """Recall nearest to the printed, over the α that were run, of τ that routes as printed."""
    high, low = BOUNDS[bounds]
    every = routings(rows.signals[5], replace(GATE, mean_high=high, mean_low=low))
    one = min(every, key=lambda routing: abs(routing.recollected - int(printed["Route→Recol."])))
    shown = printed["R@5 Overall"]
    found = {
        alpha: choose(rows.both(deliberate, 5), one.familiar)
        for alpha, deliberate in rows.sweep("recollection", "alpha", 5)
    }
    best = min(found, key=lambda alpha: abs(float(found[alpha].mean()) - float(shown)))
    value = float(found[best].mean())
    label, term = judge(shown, value)
    row = f"mpnet, {bounds}, τ by the routes, any α"
    note = f"{row}: nearest of {len(found)} α is {best}"
    return Cell(row, "R@5 Overall", "recall@5", shown, number(value), len(found[best]), label,
                term, note)  # fmt: skip


def _routed(row: str, one: pd.Series, shown: dict[str, str], remark: str = "") -> Iterator[Cell]:
    counts = {
        "Route→Famili.": one["asked"] - one["recollected"],
        "Route→Recol.": one["recollected"],
    }
    values = [(c, "routing", str(n), float(n), int(one["asked"])) for c, n in counts.items()]
    values.append(("R@5 Overall", "recall@5", number(one["recall"]), one["recall"], int(one["n"])))
    note = f"{row}: τ from {one['low']:.6f} to {one['high']:.6f}"
    for column, metric, text, value, n in values:
        printed = shown.get(column, "")
        label, term = judge(printed, value) if printed else (NOT_IN_PAPER, "")
        yield Cell(row, column, metric, printed, text, n, label, term,
                   "; ".join(part for part in (note, remark) if part))  # fmt: skip


def routing_cells(table: pd.DataFrame) -> Iterator[Cell]:
    """Of each gate: how many it routes to recollection, and recall, at the released and any τ."""
    for (name, k, bounds), part in table.groupby(["encoder", "k", "bounds"], sort=False):
        row, metric, n = f"{name}, K = {k}, {bounds}", f"recall@{k}", int(part["n"].iloc[0])
        one, asked = _released(part), int(part["asked"].iloc[0])
        share = f"{one['recollected']} of {asked} ({one['recollected'] / asked:.1%})"
        yield Cell(row, "recollected, τ = 0.2", "routing", "", share, asked, NOT_IN_PAPER)
        least, most = part["recollected"].min(), part["recollected"].max()
        text = f"{least} to {most}"
        yield Cell(row, "recollected, any τ", "routing", "", text, asked, NOT_IN_PAPER)
        worst, best = (part.iloc[at] for at in (part["recall"].argmin(), part["recall"].argmax()))
        for column, value in {
            "recall, τ = 0.2": number(one["recall"]),
            "recall, no entropy familiar": number(part.iloc[0]["recall"]),
            "recall, every entropy familiar": number(part.iloc[-1]["recall"]),
            "recall, worst τ": f"{number(worst['recall'])} (τ to {worst['high']:.4f})",
            "recall, best τ": f"{number(best['recall'])} (τ to {best['high']:.4f})",
        }.items():
            yield Cell(row, column, metric, "", value, n, NOT_IN_PAPER)


def _draw17(data: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, len(CUTOFFS), sharex="col", squeeze=False)
    for column, k in enumerate(CUTOFFS):
        part = data[data["k"] == k]
        for axis, y in zip(axes[:, column], ("share recollected", "recall"), strict=True):
            sns.lineplot(part, x="τ", y=y, hue="encoder", drawstyle="steps-pre", errorbar=None,
                         legend=column == 0, ax=axis)  # fmt: skip
            axis.axvline(GATE.entropy_threshold, color="black", ls="--", lw=1)
            axis.set_xlim(part["τ"].min(), part["τ"].max())
        axes[0, column].set_title(f"K = {k}; dashed: τ = 0.2")
        axes[1, column].set_ylabel(f"Recall@{k}")
    return figure


def _figure17(table: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """The share recollected and recall over τ, with θ of the paper; a column a cut-off."""
    data = table[table["bounds"] == next(iter(BOUNDS))].copy()
    # A threshold that gives the routing; from the greatest entropy on nothing changes.
    data["τ"] = data["high"].where(np.isfinite(data["high"]), 1.02 * data["low"])
    data["share recollected"] = data["recollected"] / data["asked"]
    return figures.save(lambda: _draw17(data), data.drop(columns="τ"), folder, name)


def build(profile: str, folder: Path, time: Cell | None = None) -> list[Path]:
    """Write Tables 15 to 17, their counterparts and the claims; return the paths.

    Args:
        profile: whose runs.
        folder: where to.
        time: of Table 17's mpnet row, where it was measured.
    """
    metrics = Metrics(profile)
    all_rows = {name: Rows(profile, metrics, encoder) for name, encoder in ENCODERS.items()}
    table = routing(all_rows)
    return [
        *(p for t in BLOCKS for p in write_cells(as_printed(t), folder, t)),
        *(
            p
            for t in BLOCKS
            for name, rows in all_rows.items()
            for p in write_cells(ours(rows, t), folder, f"{t}_{name}")
        ),
        *write_cells(checked_claims(all_rows), folder, "alternatives_claims"),
        *write_cells(swept(all_rows["mpnet"]), folder, "alternatives_by_parameter"),
        *write_cells(table17(table, all_rows["mpnet"], time), folder, "table17"),
        *write_cells(routing_cells(table), folder, "routing"),
        *_figure17(table, folder, "routing_by_threshold"),
    ]
