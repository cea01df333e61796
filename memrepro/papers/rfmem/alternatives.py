"""RF-Mem's alternatives to its recollection (Tables 15 and 16; D.8, D.9), with the gate over each.

Both tables are printed for multi-qa-MiniLM alone. The same rows are computed here under
all-mpnet-base-v2 and all-MiniLM-L6-v2, each held against familiarity.
"""

from collections.abc import Iterator, Sequence

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.similarity import Doubles
from memrepro.papers.rfmem.cells import printed_rows, recall_of, row_cells
from memrepro.papers.rfmem.grid import CUTOFFS, KINDS, Grid
from memrepro.report.profile import difference
from memrepro.report.sources import RunSource, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number

FAMILIARITY, RECOLLECTION, GATED = "Famili.", "Recol.", "RF-Mem"
_GATE_NOTE = (
    "RF-Mem rows: each question takes familiarity's recall or that of the row above, by the gate "
    "on its familiarity scores (λ = 30, θ of the paper 0.6 and 0.0, τ = 0.2 on the mean form of H "
    "as the released code's default)"
)
_SETTINGS = (
    "α = 0.9 (K = 5) and 0.2 (K = 10), where there is an α; the alternatives' own parameters are "
    "not printed: ε = 0.5 and 2 docs at least (DBSCAN), γ = 1 (spectral), 3 neighbours (graph)"
)


def recall_in(grid: Grid, path: str, row: str) -> tuple[Doubles, list[RunSource]]:
    """Recall by question in one of a path's rows (Famili., Recol. or RF-Mem), and its sources."""
    if row == FAMILIARITY:
        return grid.familiarity, grid.sources("familiarity")
    deliberate = grid.recall(path)
    if row == RECOLLECTION:
        return deliberate, grid.sources(path)
    return grid.gated(deliberate), grid.sources("familiarity", path)


def ours(grids: Sequence[Grid], table: Spec) -> Iterator[Cell]:
    """Table 15 or 16 under another encoder, with each row's gain over familiarity.

    Args:
        grids: all.
        table: with the `encoder` and the `blocks`: block of the printed table → path.
    """
    grids = [grid for grid in grids if grid.encoder.short == table["encoder"]]
    for place, (block, path) in enumerate(table["blocks"].items()):
        for row in (FAMILIARITY, RECOLLECTION, GATED)[place > 0 :]:
            note, label = _GATE_NOTE if row == GATED else _SETTINGS, f"{block}, {row}"
            for grid in grids:
                found, sources = recall_in(grid, path, row)
                for column, kind in KINDS.items():
                    part = found[grid.of_kind(kind)]
                    texts = {f"R@{grid.k} {column}": number(part.mean()) if len(part) else ""}
                    of_kind = [one._replace(kind=kind or "") for one in sources]
                    yield from row_cells(label, f"recall@{grid.k}", texts, len(part), note, of_kind)
                base = grid.frame(grid.familiarity)
                text = "" if row == FAMILIARITY else difference(base, grid.frame(found))
                both = [*grid.sources("familiarity"), *sources]
                texts = {f"R@{grid.k} Overall against {FAMILIARITY}": text}
                yield from row_cells(label, "difference", texts, len(found), note, both)


def checked_claims(grids: Sequence[Grid], table: Spec) -> Iterator[Cell]:
    """Each claim of D.8 and D.9: the printed difference, and what it is under our encoders.

    Args:
        grids: all.
        table: with `claims`: words → printed table, the row that is better, and the other, and the
            `paths` of the blocks of each printed table.
    """
    for text, (name, *rows) in table["claims"].items():
        shown, paths = printed_rows(name), table["paths"][name]
        for k in CUTOFFS:
            high, low = (float(shown[", ".join(row)][f"R@{k} Overall"]) for row in rows)
            for grid in (grid for grid in grids if grid.k == k):
                (now, second), (before, first) = (
                    recall_in(grid, paths[block], row) for block, row in rows
                )
                shift = difference(grid.frame(before), grid.frame(now))
                yield Cell(text, f"{grid.encoder.short} R@{k}", "difference",
                           f"{high - low:+.4f}", shift, len(now), NOT_COMPARABLE,
                           note="printed: the difference under multi-qa-MiniLM",
                           sources=write_sources([*first, *second]))  # fmt: skip


def swept(grids: Sequence[Grid], table: Spec) -> Iterator[Cell]:
    """Overall recall of Recol. and RF-Mem over the parameters that D.8 and D.9 do not name.

    Args:
        grids: all.
        table: with the `encoder`, and `sweeps`: path → row's name, parameter and its symbol.
    """
    for path, (label, parameter, symbol) in table["sweeps"].items():
        for grid in (grid for grid in grids if grid.encoder.short == table["encoder"]):
            base, direct = grid.frame(grid.familiarity), grid.sources("familiarity")
            for setting, deliberate in grid.sweep(path, parameter).items():
                at = recall_of(grid.run(path, parameter), grid.k, setting=setting)
                for name, found, sources in (
                    (RECOLLECTION, deliberate, [at]),
                    (GATED, grid.gated(deliberate), [*direct, at]),
                ):
                    row, column = f"{label}, {symbol} = {setting}", f"R@{grid.k} {name}"
                    yield from row_cells(row, f"recall@{grid.k}", {column: number(found.mean())},
                                         len(found), sources=sources)  # fmt: skip
                    text = {f"{column} against {FAMILIARITY}": difference(base, grid.frame(found))}
                    yield from row_cells(row, "difference", text, len(found),
                                         sources=[*direct, at])  # fmt: skip
