"""What the tiered store's steps take by tier and size, as a table and drawn."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.documents import printed_rows
from memrepro.audit.verdicts import NOT_IN_PAPER, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report import figures
from memrepro.report.sources import FileSource
from memrepro.report.tables import Cell

_FALLBACK = printed_rows("tiered", "parameters")["fallback, time of the vector search"]
TIMEOUT = float(_FALLBACK["printed"].removesuffix("ms"))
_NAME = "tiered-scale"


def _scale(profile: str) -> pd.DataFrame | None:
    path = paths.latency(profile, _NAME, ".parquet")
    return read_table(path) if path.is_file() else None


def latency(profile: str) -> Iterator[Cell]:
    """Median and 95th percentile of each step by the number of segments; what a store weighs."""
    table = _scale(profile)
    if table is None:
        why = "results/<profile>/latency/tiered-scale.parquet is not there: it has not been run"
        yield Cell("every step", "p50 / p95 ms", "latency", "", "", 0, NOT_RUN, note=why)
        return
    note = (
        f"the document's chain falls back after {TIMEOUT:.0f} ms of vector search; a measurement "
        "of one machine"
    )
    source = str(FileSource(f"latency/{_NAME}.parquet"))
    columns = ["store", "segments", "step", "p50_ms", "p95_ms"]
    for store, segments, step, p50, p95 in table[columns].itertuples(index=False):
        row, shown = f"{store}, {step}", f"{p50:.2f} / {p95:.2f}"
        column = f"{segments} segments, p50 / p95 ms"
        yield Cell(row, column, "latency", "", shown, 0, NOT_IN_PAPER, note=note, sources=source)
    weights = ["ingest_s_per_1000", "memory_mb", "disk_mb"]
    whole = table[["store", "segments", *weights]].drop_duplicates(["store", "segments"])
    for store, segments, ingest, memory, disk in whole.itertuples(index=False):
        row, column = f"{store}, weight", f"{segments} segments, p50 / p95 ms"
        shown = f"{ingest:.2f} s per 1,000 taken in; {memory:.0f} MB in memory; {disk:.1f} MB"
        yield Cell(row, column, "size", "", shown, 0, NOT_IN_PAPER, note=note, sources=source)


def _draw_steps(data: pd.DataFrame) -> Figure:
    stores = list(dict.fromkeys(data["store"]))
    figure = Figure(figsize=(6.5 * len(stores), 4.4), layout="constrained")
    axes = figure.subplots(1, len(stores), sharey=True, squeeze=False)[0]
    for axis, store in zip(axes, stores, strict=True):
        part = data[data["store"] == store]
        sns.lineplot(
            part, x="segments", y="ms", hue="step", style="percentile", markers=True, ax=axis
        )
        axis.axhline(TIMEOUT, color="0.5", linestyle=":", label=f"{TIMEOUT:.0f} ms, fallback")
        axis.set(xscale="log", yscale="log", title=store)
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.suptitle("A query's time by tier and size", fontsize=12)
    return figure


def draw_latency(profile: str, folder: Path, name: str) -> list[Path]:
    """Each step's median and 95th percentile by size, a panel a store, beside the timeout."""
    table = _scale(profile)
    if table is None:
        return []
    data = table.melt(
        ["store", "segments", "step"], ["p50_ms", "p95_ms"], var_name="percentile", value_name="ms"
    )
    data["percentile"] = data["percentile"].str.removesuffix("_ms")
    return figures.save(lambda: _draw_steps(data), data, folder, name)
