"""Figures of runs as data: a grid of rows by kind of question.

figures:
by_type: {per: study, rows: [BM25, …], metric: recall_all, k: 5, called: retriever}
"""

from pathlib import Path

import pandas as pd

from memrepro.report import figures
from memrepro.report.document import Document
from memrepro.report.panels import draw_grid
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec, as_specs, filled, place_of, why_not


def draw(document: Document, runs: Runs, entry: Spec, folder: Path, name: str) -> list[Path]:
    """Write the mean of a metric by row and kind of question, drawn and as data; nothing unrun."""
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
