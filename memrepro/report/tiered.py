"""The tiered document's tables and figures: as printed, and what is run of it here."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from memrepro.experiment import load_plan
from memrepro.report import (
    tiered_claims,
    tiered_compare,
    tiered_consistency,
    tiered_decay,
    tiered_diagram,
    tiered_figures,
    tiered_here,
    tiered_printed,
)
from memrepro.report.profile import Metrics, Views, exclusion_cells
from memrepro.report.tables import Cell, write_cells
from memrepro.report.tiered_here import STUDIES, SWEEPS, Runs, Study

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
        *tiered_printed.build(folder),
        *tiered_diagram.build(folder),
        *write_cells(tiered_decay.cells(), folder, "decay"),
        *write_cells(tiered_decay.outweighed(), folder, "outweighed"),
        *tiered_decay.draw(folder),
        *write_cells(tiered_consistency.consistency(), folder, "consistency"),
        *write_cells(tiered_figures.latency(profile), folder, "latency"),
        *tiered_figures.draw_latency(profile, folder, "latency_drawn"),
    ]
    for study in STUDIES[profile]:
        runs = Runs(metrics, plan, profile, study)
        compared = tiered_compare.compare(runs, tiered_claims.pairs(runs))
        for item, cells in _tables(runs, compared):
            written += write_cells(cells, folder, f"{study.stem}_{item}")
        name = f"{study.stem}_differences_drawn"
        written += tiered_compare.draw(compared, study.title, folder, name)
        for what in SWEEPS if study.tasks else ():
            written += tiered_figures.sweep(runs, what, folder, f"{study.stem}_by_{what}_drawn")
    return written


def _tables(runs: Runs, compared: tiered_compare.Compares) -> Iterator[tuple[str, Iterable[Cell]]]:
    """The tables of a study."""
    yield "design", tiered_here.design(runs)
    yield "differences", tiered_compare.differences(compared)
    yield "exclusions", exclusion_cells(runs.profile, runs.study.dataset)
    if runs.study.tasks:
        yield "granularity", tiered_here.granularity(runs)
        yield "granularity_by_type", tiered_here.granularity_by_type(runs)
        yield "models_here", tiered_here.models(runs)
        yield "claims", tiered_claims.claims(runs, compared)
        for what in SWEEPS:
            yield f"by_{what}", tiered_here.sweep(runs, what)
