"""Figures of runs as data: a grid of rows by kind of question, and lines over a sweep's settings.

figures:
by_type: {per: study, what: grid, rows: [BM25, …], metric: recall_all, k: 5, called: retriever}
by_alpha: {per: study, what: lines, run: "{stem}-alpha", metrics: [ndcg@5], called: α}
by_days: {per: study, what: lines, rows: {BM25: …}, metrics: [ndcg@5], called: days}  # a line each
"""

from pathlib import Path

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.report import figures
from memrepro.report.document import Document
from memrepro.report.panels import draw_grid, draw_lines
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec, as_specs, filled, metric_of, place_of, why_not


def draw(document: Document, runs: Runs, entry: Spec, folder: Path, name: str) -> list[Path]:
    """Write a figure with its data; nothing where none of its runs was made."""
    if entry["what"] == "grid":
        return _grid(document, runs, entry, folder, name)
    if entry["what"] == "lines":
        return _lines(document, runs, entry, folder, name)
    raise MemreproError(f"figure {name}: `what` is {entry['what']!r}; known are grid and lines")


def _grid(document: Document, runs: Runs, entry: Spec, folder: Path, name: str) -> list[Path]:
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
    return figures.save(
        lambda: draw_grid(data, called, "question type", metric, title=f"{metric}, in hundredths"),
        data, folder, name,
    )  # fmt: skip


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
    marked = {"the document's": entry["marked"]} if "marked" in entry else None
    shown = data.rename(columns={"value": entry["metrics"][0]}) if hue == "row" else data
    return figures.save(
        lambda: draw_lines(shown, called, shown.columns[2], hue, marked=marked, height=2.5,
                           log="x" * bool(entry.get("log"))),
        data, folder, name,
    )  # fmt: skip
