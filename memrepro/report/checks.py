"""A document's tables that no run stands behind: its checks, and what is printed and not run."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from memrepro.audit import checks, documents
from memrepro.audit.checks import Check, ClaimCheck, NumberCheck
from memrepro.audit.finding import FAILS, HOLDS
from memrepro.audit.verdicts import AGREES, BY_READING, DIFFERS, NOT_COMPARABLE
from memrepro.files.atomic import write_table
from memrepro.report.tables import Cell, number, verdict_cells, write_cells

_WORDS = {HOLDS: AGREES, FAILS: DIFFERS}
_AGREES = {True: AGREES, False: DIFFERS, None: NOT_COMPARABLE}


def check_cells(document: str, name: str) -> Iterator[Cell]:
    """The cells of one of a document's tables of checks."""
    for check in checks.checks_of(document, name):
        yield from cells_of(check)


def cells_of(check: Check) -> Iterator[Cell]:
    """The cells of one check: a number beside what follows, or a claim's verdict and reasons."""
    if isinstance(check, NumberCheck):
        whole = check.value == int(check.value) and "." not in check.printed
        value = str(int(check.value)) if whole else number(check.value)
        label = _AGREES[check.agrees]
        yield Cell(
            check.row, check.column, check.metric, check.printed, value, check.n, label,
            check.term, check.note,
        )  # fmt: skip
    elif not check.expected:
        yield Cell(check.row, "value", "cases", check.said, check.found.split(";")[0], check.n,
                   _label(check), _ALL, check.found.partition("; not: ")[2])  # fmt: skip
    else:
        term = check.found.split(";")[0]
        head = Cell(check.row, "verdict", "claim", check.said, check.words, check.n, _label(check))
        head = head if check.by_reading else head._replace(term=term)
        texts = {"expected": check.expected, "found": check.found, "how sure": check.sure}
        yield from verdict_cells(head, {name: text for name, text in texts.items() if text})


_ALL = "all cases must hold"


def _label(check: ClaimCheck) -> str:
    return BY_READING if check.by_reading else _WORDS.get(check.words, NOT_COMPARABLE)


def cells_by_row(document: str, name: str) -> Mapping[str, list[Cell]]:
    """A document's checks of one table, by row."""
    return {check.row: list(cells_of(check)) for check in checks.checks_of(document, name)}


def printed_cells(document: str, table: str) -> Iterator[Cell]:
    """The cells of a printed table that no run computes, with the reason."""
    told, notes = documents.without_run(document)[table], documents.printed_notes(document, table)
    for row, cells in documents.printed_rows(document, table).items():
        reasons = [told.get("why", ""), told.get("rows", {}).get(row, ""), *notes]
        note = "; ".join(filter(None, reasons))
        for column, shown in cells.items():
            if shown:
                label = told.get("columns", {}).get(column, told["verdict"])
                yield Cell(row, column, "as printed", shown, "", 0, label, note=note)
        for column, texts in told.get("here", {}).items():
            yield Cell(row, column, "setting", "", texts[row], 0, "", note=note)


def with_computed(document: str, table: str, computed: Iterable[Cell]) -> list[Cell]:
    """The cells of such a table, computed ones in their places, and further rows after them."""
    found = {(cell.row, cell.column): cell for cell in computed}
    kept = [found.pop((cell.row, cell.column), cell) for cell in printed_cells(document, table)]
    return [*kept, *found.values()]


def printed_twice(document: str) -> pd.DataFrame:
    """What a document prints twice: `first, printed, second, printed again, agree`."""
    frame = pd.DataFrame(checks.printed_again(document), columns=list(checks.Pair._fields))
    frame["agree"] = frame["agree"].map({True: "yes", False: "no"})
    return frame.rename(columns={"again": "printed again"})


def build(
    document: str, folder: Path, computed: Mapping[str, Iterable[Cell]] | None = None
) -> list[Path]:
    """Write a document's checks and the tables that no run computes; return the paths.

    Args:
        document: its name.
        folder: where to.
        computed: table → cells that a run has, for tables of which most cells have none.
    """
    by_table, written = computed or {}, list[Path]()
    for table in documents.without_run(document):
        cells = with_computed(document, table, by_table.get(table, ()))
        written += write_cells(cells, folder, table)
    for name in checks.check_tables(document):
        written += write_cells(check_cells(document, name), folder, name)
    if len(twice := printed_twice(document)):
        write_table(folder / "printed_twice.csv", twice)
        written.append(folder / "printed_twice.csv")
    return written
