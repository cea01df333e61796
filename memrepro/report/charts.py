"""Figures of runs as data: bars of rows by kind of question, and lines over a sweep's settings.

figures:
by_type: {per: study, what: bars, rows: [BM25, …], metric: recall_all, k: 5, called: retriever}
by_alpha: {per: study, what: lines, run: "{stem}-alpha", metrics: [ndcg@5], called: α}
by_days: {per: study, what: lines, rows: {BM25: …}, metrics: [ndcg@5], called: days}  # a line each
"""

from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.errors import MemreproError
from memrepro.report import figures
from memrepro.report.document import Document
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec, as_specs, filled, metric_of, place_of, why_not


def draw(document: Document, runs: Runs, entry: Spec, folder: Path, name: str) -> list[Path]:
    """Write a figure with its data; nothing where none of its runs was made."""
    if entry["what"] == "bars":
        return _bars(document, runs, entry, folder, name)
    if entry["what"] == "lines":
        return _lines(document, runs, entry, folder, name)
    raise MemreproError(f"figure {name}: `what` is {entry['what']!r}; known are bars and lines")


def _bars(document: Document, runs: Runs, entry: Spec, folder: Path, name: str) -> list[Path]:
    """The mean of a metric by row and kind of question."""
    rows, metric, called = [], f"{entry['metric']}@{entry['k']}", entry["called"]
    for label, row in as_specs(entry["rows"], document.named):
        spec = filled({**entry, **row}, runs.planned)
        found = None if why_not(runs, spec) else runs.values(place_of(spec))
        if found is not None:
            for kind, part in found.groupby("kind", sort=True):
                rows.append((label, kind, float(part["value"].mean()), len(part)))
    if not rows:
        return []
    data = pd.DataFrame(rows, columns=[called, "question type", metric, "n"])

    def picture() -> Figure:
        figure = Figure(figsize=(entry.get("width", 10), 4.2), layout="constrained")
        axis = figure.subplots()
        sns.barplot(data, x="question type", y=metric, hue=called, ax=axis)
        axis.set_title(f"{entry['title']}: {metric} by question type")
        axis.set_ylim(0, 1)
        axis.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    return figures.save(picture, data, folder, name)


def _lines(document: Document, runs: Runs, entry: Spec, folder: Path, name: str) -> list[Path]:
    """Metrics over the settings of a sweep, or of one a row; the document's setting marked."""
    called, rows = entry["called"], []
    hue = "row" if "rows" in entry else "metric"
    for label, row in as_specs(entry.get("rows", {"": None}), document.named):
        spec = filled({**entry, **row, "called": called, "setting": ""}, runs.planned)
        for setting in runs.settings(spec["run"]) if spec["run"] in runs.planned else ():
            for metric in entry["metrics"]:
                found = runs.values(place_of({**spec, **metric_of(metric), "setting": setting}))
                if found is not None:
                    mean = float(found["value"].mean())
                    rows.append((float(setting), label or metric, mean, len(found)))
    if not rows:
        return []
    data = pd.DataFrame(rows, columns=[called, hue, "value", "n"])
    least = min((row[0] for row in rows if row[0] > 0), default=1.0)

    def picture() -> Figure:
        figure = Figure(figsize=(10 if hue == "row" else 7, 4), layout="constrained")
        axis = figure.subplots()
        sns.lineplot(data, x=called, y="value", hue=hue, style=hue, markers=True, ax=axis)
        if "marked" in entry:
            axis.axvline(entry["marked"], color="0.5", linestyle=":", label="the document's")
        if entry.get("log") and data[called].min() > 0:
            axis.set_xscale("log")
            axis.set_xticks(places := np.unique(data[called]), [f"{x:g}" for x in places])
            axis.minorticks_off()
        elif entry.get("log"):
            axis.set_xscale("symlog", linthresh=least)
        axis.set_title(f"{entry['title']}: by {called}")
        if hue == "row":
            axis.set_ylabel(", ".join(entry["metrics"]))
        axis.legend(fontsize=9)
        if hue == "row":
            sns.move_legend(axis, "upper left", bbox_to_anchor=(1, 1))
        return figure

    return figures.save(picture, data, folder, name)
