"""The project's own benchmark, run by run; its numbers are not comparable with any paper's."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.report import figures
from memrepro.report.document import Document
from memrepro.report.engine import Tables
from memrepro.report.panels import draw_grid
from memrepro.report.profile import Metrics
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource
from memrepro.report.tables import Cell, number, write_cells
from memrepro.study.params import load_plan

_OVERALL = "overall"
_CUT = ("recall_all", "ndcg", "ndcg_longmemeval")
_LEVEL = "session"
# RF-Mem's tables of any of its runs.
_OF_RFMEM = ("trace_routing", "trace_gold", "cost_ratios")


def by_type(metrics: Metrics, runs: Sequence[str]) -> Iterator[Cell]:
    """recall_all@5 of every run, by question type."""
    for run in runs:
        rows = metrics.values(run, _LEVEL, "recall_all", 5)
        kinds = [(str(kind), part["value"]) for kind, part in rows.groupby("kind", observed=True)]
        for kind, values in [*kinds, (_OVERALL, rows["value"])]:
            source = RunSource(run, "", _LEVEL, "recall_all", 5, "" if kind == _OVERALL else kind)
            yield Cell(
                run, kind, "recall_all@5", "", number(values.mean()), len(values), NOT_COMPARABLE,
                sources=str(source),
            )  # fmt: skip


def cutoffs(metrics: Metrics, runs: Sequence[str]) -> Iterator[Cell]:
    """recall_all and both NDCGs at each cut-off, over all questions."""
    for run in runs:
        for _, level, metric, k in metrics.evaluated(run):
            if level == _LEVEL and metric in _CUT:
                name, values = f"{metric}@{k}", metrics.values(run, _LEVEL, metric, k)["value"]
                yield Cell(
                    run, name, name, "", number(values.mean()), len(values), NOT_COMPARABLE,
                    sources=str(RunSource(run, "", _LEVEL, metric, k)),
                )  # fmt: skip


def _draw_recall(data: pd.DataFrame) -> Figure:
    title = "Sample benchmark: recall_all@5 by session, in hundredths"
    return draw_grid(data, "experiment", "question type", "recall_all@5", title=title)


def write_sample(profile: str, folder: Path) -> list[Path]:
    """Write the sample's tables and figure into a folder; return their paths."""
    metrics = Metrics(profile)
    # Rounds and sweeps over key schemes are in the other reports.
    planned = load_plan().experiments.items()
    runs = [n for n, e in planned if e.granularity == _LEVEL and n in metrics.experiments]
    sessions = list(by_type(metrics, runs))
    shown = [(c.row, c.column, float(c.reproduced), c.n) for c in sessions]
    data = pd.DataFrame(shown, columns=["experiment", "question type", "recall_all@5", "n"])
    rfmem, own = Document.load("rfmem"), Runs([profile], load_plan())
    tables = Tables(rfmem, own)
    shared = {name: tables.cells(name, {}) for name in _OF_RFMEM}
    return [
        *write_cells(sessions, folder, "overview"),
        *write_cells(cutoffs(metrics, runs), folder, "cutoffs"),
        *(path for name, cells in shared.items() for path in write_cells(cells, folder, name)),
        *write_cells(tables.cells("locomo", {}), folder, "rfmem"),
        *figures.save(lambda: _draw_recall(data), data, folder, "recall_by_type"),
    ]
