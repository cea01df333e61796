"""RF-Mem's alternatives to its recollection (Tables 15 and 16; D.8, D.9), with the gate over each.

Both tables are printed for multi-qa-MiniLM alone. The same rows are computed here under
all-mpnet-base-v2 and all-MiniLM-L6-v2, each held against familiarity.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.similarity import Doubles
from memrepro.papers.rfmem.cells import missing, printed_rows, recall_of, row_cells
from memrepro.papers.rfmem.grid import CUTOFFS, KINDS, Grid
from memrepro.report.profile import difference
from memrepro.report.sources import RunSource, write_sources
from memrepro.report.tables import Cell, number

FAMILIARITY, RECOLLECTION, GATED = "Famili.", "Recol.", "RF-Mem"
_KMEANS = "Basic KMeans"
_GRAPH = "Graph + Breadth-First Search"
_STOP, _FULL = "(Early-Stop)", "(Fully Exploration)"
# Table -> block of the printed table -> ending of the experiments' names, before K.
BLOCKS = {
    "table15": {
        _KMEANS: "recollection",
        "DBSCAN cluster (KMeans alternative)": "dbscan",
        "Spectral cluster (KMeans alternative)": "spectral",
        "Gate (α-mix alternative)": "gated-mix",
        f"{_GRAPH} (whole alternative)": "graph",
    },
    "table16": {
        f"{_KMEANS} {_STOP}": "recollection",
        f"{_KMEANS} {_FULL}": "full",
        f"{_GRAPH} {_STOP}": "graph",
        f"{_GRAPH} {_FULL}": "full-graph",
    },
}
_NO_VECTORS = (
    "the encoder multi-qa-MiniLM comes from a model hub and is not here: the same rows are "
    "computed under mpnet and MiniLM"
)
_GATE_NOTE = (
    "RF-Mem rows: each question takes familiarity's recall or that of the row above, by the gate "
    "on its familiarity scores (λ = 30, θ of the paper 0.6 and 0.0, τ = 0.2 on the mean form of H "
    "as the released code's default)"
)
_SETTINGS = (
    "α = 0.9 (K = 5) and 0.2 (K = 10), where there is an α; the alternatives' own parameters are "
    "not printed: ε = 0.5 and 2 docs at least (DBSCAN), γ = 1 (spectral), 3 neighbours (graph)"
)
# Sweeps of what the paper leaves open, by path: what it is called, the parameter and its symbol.
SWEEPS = {
    "dbscan": ("DBSCAN cluster", "eps", "ε"),
    "spectral": ("Spectral cluster", "gamma", "γ"),
    "graph": (_GRAPH, "neighbours", "neighbours"),
    "full": (f"{_KMEANS}, full", "rounds", "rounds"),
    "full-graph": (f"{_GRAPH}, full", "rounds", "rounds"),
}


class Claim(NamedTuple):
    """What D.8 or D.9 says of two rows of a table: that the first has the higher recall."""

    text: str
    table: str
    better: tuple[str, str]
    worse: tuple[str, str]


def claims() -> Iterator[Claim]:
    """What D.8 and D.9 claim of Tables 15 and 16, row against row."""
    for table, section in (("table15", "D.8"), ("table16", "D.9")):
        for block in BLOCKS[table]:
            if _STOP not in block:  # Table 16 repeats the two blocks with early stop
                text = f"{section}: RF-Mem over Recol., {block}"
                yield Claim(text, table, (block, GATED), (block, RECOLLECTION))
    gate, graph = "Gate (α-mix alternative)", f"{_GRAPH} (whole alternative)"
    for path in (RECOLLECTION, GATED):
        text = f"D.8.3: gated mixing over Famili., {path}"
        yield Claim(text, "table15", (gate, path), (_KMEANS, FAMILIARITY))
        text = f"D.8.3: α-mix over gated mixing, {path}"
        yield Claim(text, "table15", (_KMEANS, path), (gate, path))
    text = "D.8.4: clusters over the graph, Recol."
    yield Claim(text, "table15", (_KMEANS, RECOLLECTION), (graph, RECOLLECTION))
    for name in (_KMEANS, _GRAPH):
        text = f"D.9: full over early stop, RF-Mem, {name}"
        yield Claim(text, "table16", (f"{name} {_FULL}", GATED), (f"{name} {_STOP}", GATED))
    text, base = "D.9: the graph, full, RF-Mem over Famili.", (f"{_KMEANS} {_STOP}", FAMILIARITY)
    yield Claim(text, "table16", (f"{_GRAPH} {_FULL}", GATED), base)


def recall_in(grid: Grid, path: str, row: str) -> tuple[Doubles, list[RunSource]]:
    """Recall by question in one of a path's rows (Famili., Recol. or RF-Mem), and its sources."""
    if row == FAMILIARITY:
        return grid.familiarity, grid.sources("familiarity")
    deliberate = grid.recall(path)
    if row == RECOLLECTION:
        return deliberate, grid.sources(path)
    return grid.gated(deliberate), grid.sources("familiarity", path)


def as_printed(table: str) -> Iterator[Cell]:
    """The cells of Table 15 or 16, none of them run."""
    for row, cells in printed_rows(table).items():
        for column, shown in cells.items():
            metric = f"recall@{column.split()[0].removeprefix('R@')}"
            yield missing(row, column, metric, _NO_VECTORS, shown)


def ours(grids: Sequence[Grid], table: str) -> Iterator[Cell]:
    """Table 15 or 16 under another encoder, with each row's gain over familiarity.

    Args:
        grids: the encoder's, one a K.
        table: which.
    """
    for place, (block, path) in enumerate(BLOCKS[table].items()):
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


def checked_claims(grids: Sequence[Grid]) -> Iterator[Cell]:
    """Each claim of D.8 and D.9: the printed difference, and what it is under our encoders."""
    for claim in claims():
        shown, blocks = printed_rows(claim.table), BLOCKS[claim.table]
        for k in CUTOFFS:
            high, low = (
                float(shown[", ".join(row)][f"R@{k} Overall"])
                for row in (claim.better, claim.worse)
            )
            for grid in grids:
                if grid.k != k:
                    continue
                (before, first), (now, second) = (
                    recall_in(grid, blocks[block], row)
                    for block, row in (claim.worse, claim.better)
                )
                text = difference(grid.frame(before), grid.frame(now))
                yield Cell(claim.text, f"{grid.encoder.short} R@{k}", "difference",
                           f"{high - low:+.4f}", text, len(now), NOT_COMPARABLE,
                           note="printed: the difference under multi-qa-MiniLM",
                           sources=write_sources([*first, *second]))  # fmt: skip


def swept(grids: Sequence[Grid]) -> Iterator[Cell]:
    """Overall recall of Recol. and RF-Mem over the parameters that D.8 and D.9 do not name."""
    for path, (label, parameter, symbol) in SWEEPS.items():
        for grid in grids:
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
