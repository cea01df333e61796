"""Associa's tables and figures: as printed, and what is run of them on the data that are here."""

from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.papers.associa import claims, diagrams, graphs, here
from memrepro.papers.associa.here import STUDIES, TABLE1, Runs
from memrepro.report import checks, figures
from memrepro.report.profile import Metrics, Views, exclusion_cells
from memrepro.report.tables import write_cells
from memrepro.study.params import load_plan

_VIEWS = Views("associa")
show_table, show_figure = _VIEWS.table, _VIEWS.figure
K = 5
_METRIC = f"recall_all@{K}"


def _draw_bars(data: pd.DataFrame, title: str) -> Figure:
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    axis = figure.subplots()
    sns.barplot(data, x="question type", y=_METRIC, hue="retriever", ax=axis)
    axis.set_title(f"{title}: {_METRIC} by question type, docs are rounds")
    axis.set_ylim(0, 1)
    axis.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _by_type(runs: Runs, folder: Path, name: str) -> list[Path]:
    """recall_all@K of Table 1's rows by question type; nothing where no row was run."""
    rows = [
        (row, kind, float(part["value"].mean()), len(part))
        for row in TABLE1
        if not runs.why_not(row)
        for kind, part in runs.values(row, "recall_all", K).groupby("kind", sort=True)
    ]
    if not rows:
        return []
    data = pd.DataFrame(rows, columns=["retriever", "question type", _METRIC, "n"])
    return figures.save(lambda: _draw_bars(data, runs.study.title), data, folder, name)


def show_tables(profile: str, item: str) -> pd.DataFrame:
    """A table of every study of a profile, one below the other, for the notebook."""
    return _VIEWS.tables(profile, item, STUDIES[profile])


def show_figures(profile: str, item: str) -> None:
    """A figure of every study of a profile, for the notebook."""
    _VIEWS.show_figures(profile, item, STUDIES[profile])


def build(profile: str, folder: Path) -> list[Path]:
    """Write Associa's tables and figures of a profile into a folder; return their paths."""
    metrics, plan = Metrics(profile), load_plan()
    written = [
        *checks.build("associa", folder),
        *diagrams.build(folder),
    ]
    for study in STUDIES[profile]:
        runs, stem = Runs(metrics, plan, study), study.stem
        compared = claims.compare(runs)
        for item, cells in (
            ("table1_here", here.table1(runs)),
            ("table3_here", here.table3(runs)),
            ("differences", claims.differences(compared)),
            ("claims", claims.claims(runs, compared)),
            ("protocols", here.protocols(profile, runs)),
            ("exclusions", exclusion_cells(profile, study.dataset)),
            ("graphs", graphs.graph_cells(profile, study.dataset, plan)),
        ):
            written += write_cells(cells, folder, f"{stem}_{item}")
        written += claims.draw(compared, study.title, folder, f"{stem}_differences_drawn")
        written += _by_type(runs, folder, f"{stem}_by_type")
    return written
