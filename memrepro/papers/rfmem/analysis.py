"""RF-Mem's report beyond `tables.yaml`: what is counted, the check of claims, and the figures."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from scipy.stats import binomtest

from memrepro.audit.verdicts import OTHER_EDITION
from memrepro.core.prepared import load_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem import (
    cases,
    claims,
    cost,
    score_lists,
    sweep_figures,
    thresholds,
)
from memrepro.papers.rfmem.cells import file_of, judged, printed_rows, row_cells, share
from memrepro.papers.rfmem.grid import OPEN, grids_of
from memrepro.papers.rfmem.traces import records_of
from memrepro.report.document import Document
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell

DOCUMENT = Document.load("rfmem")


def _count(row: str, column: str, shown: str, value: float, source: FileSource) -> Cell:
    """A printed count or mean against its value, at two digits."""
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return judged(row, column, "count", shown, text, float(value), 1, sources=[source])


def _names(given: str | Sequence[str]) -> Sequence[str]:
    """A name, or several, as `tables.yaml` writes them."""
    return [given] if isinstance(given, str) else given


def _larger(table: Spec, printed: str, of: str) -> Iterator[Cell]:
    """The columns of 128k and 1M: questions of a row's types, or of its topic."""
    path = paths.sizes(OPEN, "personamem-32k")
    if not path.is_file():
        return
    found = read_table(path)
    for size, rows in found[found["of"] == of].groupby("size", sort=False):
        here = dict(zip(rows["name"], rows["questions"].astype(int), strict=True))
        named = {row: _names(names) for row, names in table["counted"].items()}
        if strange := sorted(set(here) - {name for names in named.values() for name in names}):
            raise MemreproError(
                f"{of} {strange[0]!r} of PersonaMem {size} is in no row of {printed}"
            )
        values = {row: sum(here.get(name, 0) for name in names) for row, names in named.items()}
        if of == "type":
            values = {"# of samples": sum(here.values()), **values}
        shown = printed_rows(printed)
        for row, value in values.items():
            yield _count(row, str(size), shown[row][str(size)], value, file_of(path, OPEN))


def sessions(_: Runs, table: Spec) -> Iterator[Cell]:
    """Table 10's column of S: the sessions of its edition after the cleaning, never judged."""
    path = paths.statistics(OPEN, table["dataset"])
    if not path.is_file():
        return
    held = read_table(path)["sessions"].astype(int)
    values = {
        "Total Questions": str(len(held)),
        "Total Session-level Memory": f"{held.sum():,}",
        "Min Session-level Memory per Question": str(held.min()),
        "Max Session-level Memory per Question": str(held.max()),
        "Avg Session-level Memory per Question": f"{held.mean():.2f}",
    }
    column, source = table["column"], write_sources([file_of(path, OPEN)])
    for row, text in values.items():
        yield Cell(
            row, column, "count", printed_rows("table10")[row][column], text, len(held),
            OTHER_EDITION, note=table["note"], sources=source,
        )  # fmt: skip


def types(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Table 7: PersonaMem's questions by type; of 32k also the tokens of its memories."""
    path = paths.qrels(OPEN, "personamem-32k")
    kinds, _ = load_qrels(path, "session")
    counted = Counter(kinds.values())
    values = {
        row: sum(counted[kind] for kind in _names(kinds)) for row, kinds in table["counted"].items()
    }
    printed = {row: cells["32k"] for row, cells in printed_rows("table7").items()}
    for row, value in {"# of samples": len(kinds), **values}.items():
        yield _count(row, "32k", printed[row], value, file_of(path, OPEN))
    shown = printed["Avg tokens of memory"]
    yield cost.tokens_of_memories(records_of(runs.profile), shown)
    yield from _larger(table, "table7", "type")


def topics(_: Runs, table: Spec) -> Iterator[Cell]:
    """Table 8: PersonaMem's questions by topic.

    Raises:
        MemreproError: if a topic of the data stands in no row of the table.
    """
    path = paths.topics(OPEN, "personamem-32k")
    if not path.is_file():
        return
    found = read_table(path)
    here = dict(zip(found["topic"], found["questions"].astype(int), strict=True))
    if strange := sorted(set(here) - set(table["counted"].values())):
        raise MemreproError(f"topic {strange[0]!r} of personamem-32k is in no row of Table 8")
    for row, cells in printed_rows("table8").items():
        shown, value = cells["32k"], here.get(table["counted"][row], 0)
        cell = _count(row, "32k", "0" if shown == "–" else shown, value, file_of(path, OPEN))
        if shown == "–":
            cell = cell._replace(reported=shown, note="the dash is read as no question")
        yield cell
    yield from _larger(table, "table8", "topic")


def evidence(_: Runs, table: Spec) -> Iterator[Cell]:
    """How well the turn that PersonaMem's distance leads to fits what else the data say."""
    path = paths.evidence(OPEN, "personamem-32k")
    if not path.is_file():
        return
    for check, met, of in read_table(path).itertuples(index=False):
        found = binomtest(int(met), int(of)).proportion_ci(method="wilson")
        texts = {
            "met": share(int(met), int(of)),
            "95 % interval": f"[{found.low:.3f}, {found.high:.3f}]",
        }
        yield from row_cells(
            check, "evidence", texts, int(of), table["note"], [file_of(path, OPEN)]
        )


def users(_: Runs, table: Spec) -> Iterator[Cell]:
    """Table 9: PersonaBench's queries and docs by user."""
    path = paths.statistics(OPEN, "personabench-n00")
    found = read_table(path)
    for column, name in table["counted"].items():
        values = found[name].astype(int).tolist()
        by_row = {str(user): value for user, value in enumerate(values, start=1)}
        by_row |= {"Sum": sum(values), "Avg": sum(values) / len(values)}
        for row, cells in printed_rows("table9").items():
            yield _count(row, column, cells[column], by_row[row], file_of(path, OPEN))


def check(_: Runs, claim: Spec) -> Iterator[Cell]:
    """A claim on recall, by the function of `claims` that it names."""
    note = DOCUMENT.claims["recall_note"]
    yield from getattr(claims, claim["check"])(grids_of(OPEN), {**claim, "note": note})


def write_analysis(profile: str, folder: Path) -> list[Path]:
    """Write the figures into a folder; return their paths."""
    records, grids = records_of(profile), grids_of(OPEN)
    return [
        *thresholds.alpha_sweep_figure(grids, folder),
        *sweep_figures.draw_all(grids, folder),
        *score_lists.signals_figures(score_lists.DRAWN, folder),
        *cases.draw_cases(records, folder),
    ]
