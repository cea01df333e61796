"""The tiered document's tables and figures: as printed, and what is run of it here."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from memrepro.papers.tiered import (
    claims,
    compare,
    decay,
    diagram,
    figures,
    here,
)
from memrepro.papers.tiered.here import STUDIES, SWEEPS, Runs, Study
from memrepro.report import checks
from memrepro.report.profile import Metrics, Views, exclusion_cells
from memrepro.report.tables import Cell, write_cells
from memrepro.study.params import load_plan

_VIEWS = Views("tiered")
show_table, show_figure = _VIEWS.table, _VIEWS.figure
SHARED = ("design", "differences", "differences_drawn", "exclusions")  # of every study


def _studies(profile: str, item: str) -> list[Study]:
    """The studies that have an item: the main one, which has tasks, and of some all."""
    return [s for s in STUDIES[profile] if s.tasks or item in SHARED]


def show_tables(profile: str, item: str) -> pd.DataFrame:
    """A table of every study that has it, one below the other, for the notebook."""
    return _VIEWS.tables(profile, item, _studies(profile, item))


def show_figures(profile: str, item: str) -> None:
    """A figure of every study that has it, for the notebook."""
    _VIEWS.show_figures(profile, item, _studies(profile, item))


def build(profile: str, folder: Path) -> list[Path]:
    """Write the tiered document's tables and figures into a folder; return their paths."""
    metrics, plan = Metrics(profile), load_plan()
    written = [
        *checks.build("tiered", folder),
        *diagram.build(folder),
        *write_cells(decay.cells(), folder, "decay"),
        *write_cells(decay.outweighed(), folder, "outweighed"),
        *decay.draw(folder),
        *write_cells(figures.latency(profile), folder, "latency"),
        *figures.draw_latency(profile, folder, "latency_drawn"),
    ]
    for study in STUDIES[profile]:
        runs = Runs(metrics, plan, profile, study)
        compared = compare.compare(runs, claims.pairs(runs))
        for item, cells in _tables(runs, compared):
            written += write_cells(cells, folder, f"{study.stem}_{item}")
        name = f"{study.stem}_differences_drawn"
        written += compare.draw(compared, study.title, folder, name)
        for what in SWEEPS if study.tasks else ():
            written += figures.sweep(runs, what, folder, f"{study.stem}_by_{what}_drawn")
    return written


def _tables(runs: Runs, compared: compare.Compares) -> Iterator[tuple[str, Iterable[Cell]]]:
    """The tables of a study."""
    yield "design", here.design(runs)
    yield "differences", compare.differences(compared)
    yield "exclusions", exclusion_cells(runs.profile, runs.study.dataset)
    if runs.study.tasks:
        yield "granularity", here.granularity(runs)
        yield "granularity_by_type", here.granularity_by_type(runs)
        yield "models_here", here.models(runs)
        yield "claims", claims.claims(runs, compared)
        for what in SWEEPS:
            yield f"by_{what}", here.sweep(runs, what)
