"""What RF-Mem's tables are built from: printed numbers, rows of cells, and where they come from."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from memrepro.audit import documents
from memrepro.audit.printed import parse
from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_IN_PAPER, NOT_RUN, judge
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison
from memrepro.files import paths
from memrepro.report.sources import FileSource, Source, write_sources
from memrepro.report.tables import Cell
from memrepro.study.params import load_plan


def printed_rows(table: str) -> dict[str, dict[str, str]]:
    """A table as printed: row → column → string."""
    return documents.printed_rows("rfmem", table)


def numeric(shown: str) -> float:
    """The number in a printed string such as '3.14ms'."""
    found = parse(shown)
    if found is None:
        raise MemreproError(f"printed.yaml: {shown!r} prints no number")
    return float(found.value)


def share(part: int, whole: int) -> str:
    """`67 of 230 (29.1%)`."""
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "of none"


def signed(value: float) -> str:
    """A difference at four digits, with its sign; one that rounds to zero is +0.0000."""
    return f"{round(value, 4) + 0.0:+.4f}"


def file_of(path: Path, profile: str) -> FileSource:
    """A file of a profile's results as the source of a number."""
    return FileSource(str(path.relative_to(paths.results(profile))))


def run_path(name: str) -> Path:
    """The file of the rankings of a run or of a whole sweep."""
    entry = load_plan().experiment(name)
    return paths.run(entry.profile, name, entry.study)


def ranking_of(name: str) -> FileSource:
    """The rankings of a run or of a whole sweep as the source of a number."""
    return file_of(run_path(name), load_plan().experiment(name).profile)


def row_cells(
    row: str, metric: str, found: Mapping[str, str | Comparison], n: int, note: str = "",
    sources: Iterable[Source] = (),
) -> Iterator[Cell]:  # fmt: skip
    """Cells of one row without a printed number: column → text or comparison."""
    told = write_sources(sources)
    for column, one in found.items():
        yield Cell(row, column, metric, "", "", n, NOT_IN_PAPER, note=note, sources=told).filled(
            one
        )


def judged(
    row: str, column: str, metric: str, shown: str, text: str, value: float | None, n: int,
    note: str = "", sources: Iterable[Source] = (), printed: str = "", picked: bool = False,
) -> Cell:  # fmt: skip
    """A cell judged by the printed string, '' for none; without a value it is not comparable.

    `printed` is where that string is printed, `picked` whether a setting was chosen to meet it.
    """
    label, term = NOT_IN_PAPER if not shown else NOT_COMPARABLE, ""
    if shown and value is not None:
        label, term = judge(shown, value, picked)
    told = write_sources(sources)
    return Cell(
        row,
        column,
        metric,
        shown,
        text,
        n,
        label,
        term,
        note,
        told,
        printed=printed if shown else "",
    )


def missing(
    row: str, column: str, metric: str, why: str, shown: str = "", printed: str = ""
) -> Cell:
    """A cell that was not run, and why."""
    return Cell(row, column, metric, shown, "", 0, NOT_RUN, note=why, printed=printed)
