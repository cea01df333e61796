"""RF-Mem's alternatives to its recollection (Tables 15 and 16; D.8, D.9), with the gate over each.

Both tables are printed for multi-qa-MiniLM alone. The same rows are computed here under
all-mpnet-base-v2 and all-MiniLM-L6-v2, each held against familiarity.
"""

from collections.abc import Iterator

from memrepro.audit.tables import join_references, reference
from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.similarity import Doubles
from memrepro.papers.rfmem.cells import printed_rows, row_cells
from memrepro.papers.rfmem.grid import CUTOFFS, KINDS, OPEN, Grid, grids_of
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource, write_sources
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


def claims(_: Runs, table: Spec) -> Iterator[Cell]:
    """Each claim of D.8 and D.9: the printed difference, and what it is under our encoders.

    `claims` of the table: words → printed table, the row that is better, and the other; `paths`:
    printed table → its blocks.
    """
    for text, (name, *pair) in table["claims"].items():
        shown, paths = printed_rows(name), table["paths"][name]
        for k in CUTOFFS:
            column, rows = f"R@{k} Overall", [", ".join(row) for row in pair]
            high, low = (float(shown[row][column]) for row in rows)
            place = join_references(reference(name, row, column) for row in rows)
            for grid in (grid for grid in grids_of(OPEN) if grid.k == k):
                (now, second), (before, first) = (
                    recall_in(grid, paths[block], row) for block, row in pair
                )
                yield Cell(
                    text, f"{grid.encoder.short} R@{k}", "difference", f"{high - low:+.4f}", "",
                    len(now), NOT_COMPARABLE, "", table["note"], write_sources([*first, *second]),
                    place, grid.compare(before, now),
                )  # fmt: skip


def sweeps(_: Runs, table: Spec) -> Iterator[Cell]:
    """Overall recall of Recol. and RF-Mem over the parameters that D.8 and D.9 do not name.

    `sweeps` of the table: path → row's name, parameter and its symbol.
    """
    for path, (label, parameter, symbol) in table["sweeps"].items():
        for grid in (grid for grid in grids_of(OPEN) if grid.encoder.short == table["encoder"]):
            base, direct = grid.familiarity, grid.source("familiarity")
            for setting, deliberate in grid.sweep(path, parameter).items():
                at, row = grid.source(path, parameter, setting), f"{label}, {symbol} = {setting}"
                for name, found, sources in (
                    (RECOLLECTION, deliberate, [at]),
                    (GATED, grid.gated(deliberate), [direct, at]),
                ):
                    column, n = f"R@{grid.k} {name}", len(found)
                    texts = {column: number(found.mean())}
                    yield from row_cells(row, f"recall@{grid.k}", texts, n, sources=sources)
                    against = {f"{column} against {FAMILIARITY}": grid.compare(base, found)}
                    yield from row_cells(row, "difference", against, n, sources=[direct, at])
