"""RF-Mem's alternatives to its recollection (Tables 15 and 16; D.8, D.9), with the gate over each.

Both tables are printed for multi-qa-MiniLM alone. The same rows are computed here under
all-mpnet-base-v2 and all-MiniLM-L6-v2, each held against familiarity.
"""

from collections.abc import Iterator

from memrepro.core.similarity import Doubles
from memrepro.papers.rfmem.cells import row_cells
from memrepro.papers.rfmem.grid import KINDS, OPEN, Grid, grids_of
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number

FAMILIARITY, RECOLLECTION, GATED = "Famili.", "Recol.", "RF-Mem"


def recall_in(grid: Grid, path: str, row: str) -> tuple[Doubles, list[RunSource]]:
    """Recall by question in one of a path's rows (Famili., Recol. or RF-Mem), and its sources."""
    if row == FAMILIARITY:
        return grid.familiarity, grid.sources("familiarity")
    deliberate = grid.recall(path)
    if row == RECOLLECTION:
        return deliberate, grid.sources(path)
    return grid.gated(deliberate), grid.sources("familiarity", path)


def rows(_: Runs, table: Spec) -> Iterator[Cell]:
    """Table 15 or 16 under another `encoder`, with each row's gain over familiarity.

    `blocks` of the table: block of the printed table → path, by which runs are named.
    """
    grids = [grid for grid in grids_of(OPEN) if grid.encoder.short == table["encoder"]]
    for place, (block, path) in enumerate(table["blocks"].items()):
        for row in (FAMILIARITY, RECOLLECTION, GATED)[place > 0 :]:
            note, label = table["gated_note" if row == GATED else "note"], f"{block}, {row}"
            for grid in grids:
                found, sources = recall_in(grid, path, row)
                for column, kind in KINDS.items():
                    part = found[grid.of_kind(kind)]
                    texts = {f"R@{grid.k} {column}": number(part.mean()) if len(part) else ""}
                    of_kind = [one._replace(kind=kind or "") for one in sources]
                    yield from row_cells(label, f"recall@{grid.k}", texts, len(part), note, of_kind)
                gain = "" if row == FAMILIARITY else grid.compare(grid.familiarity, found)
                both = [*grid.sources("familiarity"), *sources]
                against = {f"R@{grid.k} Overall against {FAMILIARITY}": gain}
                yield from row_cells(label, "difference", against, len(found), note, both)
