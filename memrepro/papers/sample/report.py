"""The sample's tables and figure; its numbers stand beside no paper's."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem import cost, further, trace_tables
from memrepro.papers.rfmem.measured import Costs
from memrepro.papers.rfmem.traces import Traces, or_none
from memrepro.report import figures
from memrepro.report.profile import Metrics, Views, exclusion_cells
from memrepro.report.tables import Cell, number, write_cells
from memrepro.study.evaluation import metrics_file
from memrepro.study.params import load_plan

OVERALL = "overall"
_VIEWS = Views("sample")
show_table, show_figure = _VIEWS.table, _VIEWS.figure


def by_type(metrics: pd.DataFrame) -> Iterator[Cell]:
    """recall_all@5 of every experiment, by question type."""
    chosen = metrics[(metrics["metric"] == "recall_all") & (metrics["k"] == 5)]
    for experiment, rows in chosen.groupby("experiment", sort=False):
        kinds = [(kind, part["value"]) for kind, part in rows.groupby("kind", sort=True)]
        for kind, values in [*kinds, (OVERALL, rows["value"])]:
            value = number(values.mean())
            row, column = str(experiment), str(kind)
            yield Cell(row, column, "recall_all@5", "", value, len(values), NOT_COMPARABLE)


def cutoffs(metrics: pd.DataFrame) -> Iterator[Cell]:
    """recall_all and both NDCGs at each cut-off, over all questions."""
    chosen = metrics[metrics["metric"].isin(["recall_all", "ndcg", "ndcg_longmemeval"])]
    for (experiment, metric, k), rows in chosen.groupby(["experiment", "metric", "k"], sort=False):
        name = f"{metric}@{k}"
        value = number(rows["value"].mean())
        yield Cell(str(experiment), name, name, "", value, len(rows), NOT_COMPARABLE)


def _draw_recall(data: pd.DataFrame) -> Figure:
    grid = data.pivot(index="experiment", columns="question type", values="recall_all@5")
    grid = grid.loc[data["experiment"].unique(), data["question type"].unique()]
    figure = Figure(figsize=(10, 0.45 * len(grid) + 2.5), layout="constrained")
    axis = figure.subplots()
    sns.heatmap(grid, annot=True, fmt=".2f", vmin=0, vmax=1, cmap="viridis", ax=axis)
    axis.set_title("Sample benchmark: recall_all@5 by session (not comparable with any paper)")
    axis.set_ylabel("")
    return figure


def _recall_by_type(cells: list[Cell], folder: Path) -> list[Path]:
    rows = [(c.row, c.column, float(c.reproduced), c.n) for c in cells]
    data = pd.DataFrame(rows, columns=["experiment", "question type", "recall_all@5", "n"])
    return figures.save(lambda: _draw_recall(data), data, folder, "recall_by_type")


def build(profile: str, folder: Path) -> list[Path]:
    """Write the sample's tables and figure into a folder; return their paths."""
    metrics = read_table(metrics_file(profile))
    # Rounds and sweeps over key schemes are in the other reports.
    names = [n for n, e in load_plan().experiments.items() if e.granularity == "session"]
    metrics = metrics[metrics["experiment"].isin(names) & (metrics["level"] == "session")]
    sessions = list(by_type(metrics))
    traces = Traces(profile)
    costs = Costs(traces)
    recalls = or_none(further.recall_cells(costs, Metrics(profile), "sample"), "R@5 overall")
    return [
        *write_cells(sessions, folder, "overview"),
        *write_cells(cutoffs(metrics), folder, "cutoffs"),
        *write_cells(recalls, folder, "rfmem"),
        *trace_tables.build(traces, folder),
        *cost.build(costs, folder),
        *write_cells(exclusion_cells(profile, "sample"), folder, "exclusions"),
        *_recall_by_type(sessions, folder),
    ]
