"""RF-Mem's report beyond `tables.yaml`: what is counted, and its analyses, one module each."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from memrepro.core.prepared import load_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem import (
    alternatives,
    cases,
    claims,
    cost,
    learned_gate,
    sensitivity,
    theory,
    thresholds,
    trace_tables,
)
from memrepro.papers.rfmem.cells import file_of, judged, printed_rows
from memrepro.papers.rfmem.grid import grids_of
from memrepro.papers.rfmem.traces import Costs, Traces, or_none
from memrepro.report.document import Document
from memrepro.report.profile import Metrics
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, write_cells

DOCUMENT = Document.of("rfmem")
# PersonaBench's runs, and PersonaMem's, lie there; the full profile's tables stand on them too.
_OPEN = "open"


@lru_cache(maxsize=1)
def _costs(place: Path, profiles: tuple[str, ...]) -> Costs:
    return Costs(Traces(*profiles))


def costs_of(profile: str) -> Costs:
    """The costs of a profile's experiments, read once."""
    return _costs(paths.results(profile), tuple(DOCUMENT.profiles(profile)))


def times(runs: Runs, _: Spec) -> Iterator[Cell]:
    """Table 2's times that were measured."""
    yield from cost.table2_times(costs_of(runs.profile)).values()


def answers(runs: Runs, _: Spec) -> Iterator[Cell]:
    """Table 1's times and tokens."""
    return cost.table1(costs_of(runs.profile))


def routed(runs: Runs, _: Spec) -> Iterator[Cell]:
    """Table 13's routing."""
    return cost.table13(costs_of(runs.profile))


def _count(row: str, column: str, shown: str, value: float, source: FileSource) -> Cell:
    """A printed count or mean against its value, at two digits."""
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return judged(row, column, "count", shown, text, float(value), 1, sources=[source])


def types(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Table 7's column of 32k: PersonaMem's questions by type, and the tokens of its memories."""
    path = paths.qrels(_OPEN, "personamem-32k")
    kinds, _ = load_qrels(path, "session")
    counted, source = Counter(kinds.values()), file_of(path, _OPEN)
    printed = {row: cells["32k"] for row, cells in printed_rows("table7").items()}
    yield _count("# of samples", "32k", printed["# of samples"], len(kinds), source)
    for row, kind in table["counted"].items():
        yield _count(row, "32k", printed[row], counted[kind], source)
    shown = printed["Avg tokens of memory"]
    yield cost.tokens_of_memories(costs_of(runs.profile), shown)


def topics(_: Runs, table: Spec) -> Iterator[Cell]:
    """Table 8's column of 32k: PersonaMem's questions by topic.

    Raises:
        MemreproError: if a topic of the data stands in no row of the table.
    """
    path = paths.topics(_OPEN, "personamem-32k")
    if not path.is_file():
        return
    found = read_table(path)
    here = dict(zip(found["topic"], found["questions"].astype(int), strict=True))
    if strange := sorted(set(here) - set(table["counted"].values())):
        raise MemreproError(f"topic {strange[0]!r} of personamem-32k is in no row of Table 8")
    for row, cells in printed_rows("table8").items():
        shown, value = cells["32k"], here.get(table["counted"][row], 0)
        cell = _count(row, "32k", "0" if shown == "–" else shown, value, file_of(path, _OPEN))
        if shown == "–":
            cell = cell._replace(reported=shown, note="the dash is read as no question")
        yield cell


def users(_: Runs, table: Spec) -> Iterator[Cell]:
    """Table 9: PersonaBench's queries and docs by user."""
    path = paths.statistics(_OPEN, "personabench-n00")
    found = read_table(path)
    for column, name in table["counted"].items():
        values = found[name].astype(int).tolist()
        by_row = {str(user): value for user, value in enumerate(values, start=1)}
        by_row |= {"Sum": sum(values), "Avg": sum(values) / len(values)}
        for row, cells in printed_rows("table9").items():
            yield _count(row, column, cells[column], by_row[row], file_of(path, _OPEN))


def alternative_rows(_: Runs, table: Spec) -> Iterator[Cell]:
    """Tables 15 and 16 under an encoder that is here."""
    return alternatives.ours(grids_of(_OPEN), table)


def alternative_claims(_: Runs, table: Spec) -> Iterator[Cell]:
    """What D.8 and D.9 say of the alternatives."""
    return alternatives.checked_claims(grids_of(_OPEN), table)


def alternative_sweeps(_: Runs, table: Spec) -> Iterator[Cell]:
    """The alternatives over their own parameters."""
    return alternatives.swept(grids_of(_OPEN), table)


def check(runs: Runs, claim: Spec) -> Iterator[Cell]:
    """A claim of `claims.yaml`, by the function that it names."""
    grids = tuple(grids_of(_OPEN))
    if claim["check"] in claims.CHECKS:
        yield from claims.CHECKS[claim["check"]](grids, claim)
    else:
        note = DOCUMENT.claims["note"]
        yield from claims.on_cost(costs_of(runs.profile), grids, claim, note)


def build(profile: str, folder: Path) -> list[Path]:
    """Write the tables and figures of the analyses into a folder; return their paths."""
    costs, metrics, grids = costs_of(profile), Metrics(_OPEN), grids_of(_OPEN)
    rows = [row for grid in grids for row in sensitivity.rows_of(grid)]
    routings = thresholds.routing_table(grids)
    time = cost.table2_times(costs)["mpnet RF-Mem", "R@5 Time"]
    contexts = or_none(cost.context_cells(costs), "docs, asked")
    locomo = or_none(cost.recall_cells(costs, metrics, "locomo"), "R@5 overall")
    tables: dict[str, Iterable[Cell]] = {
        "table2_gated_closest": thresholds.gated_closest(grids),
        "gains": sensitivity.gains(rows),
        "chosen_fairly": sensitivity.chosen_fairly(grids),
        "chosen_by_user": sensitivity.chosen_by_user(grids),
        "comparisons": claims.comparisons(claims.family(tuple(grids))),
        "table17": thresholds.table17(routings, grids, time),
        "routing": thresholds.routing_cells(routings, grids),
        "personamem_contexts": contexts,
        "locomo": locomo,
    }
    return [
        *(path for name, cells in tables.items() for path in write_cells(cells, folder, name)),
        *thresholds.routing_figure(routings, folder),
        *thresholds.gate_sweep(grids, folder),
        *thresholds.alpha_sweep(grids, folder),
        *sensitivity.draw_all(grids, folder),
        *theory.build(_OPEN, metrics, folder),
        *learned_gate.build(grids, folder),
        *trace_tables.build(costs.traces, folder),
        *cases.build(grids, costs.traces, folder),
        *cost.build(costs, folder),
    ]
