"""A document's checks as tables: what its numbers and words say of each other, with no run."""

from collections.abc import Iterator
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


def check_cells(document: str, name: str, papers: Path = documents.PAPERS) -> Iterator[Cell]:
    """The cells of one of a document's tables of checks."""
    for check in checks.checks_of(document, name, papers):
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


def printed_twice(document: str, papers: Path = documents.PAPERS) -> pd.DataFrame:
    """What a document prints twice: `first, printed, second, printed again, agree`."""
    frame = pd.DataFrame(checks.printed_again(document, papers), columns=list(checks.Pair._fields))
    frame["agree"] = frame["agree"].map({True: "yes", False: "no"})
    return frame.rename(columns={"again": "printed again"})


def build(document: str, folder: Path, papers: Path = documents.PAPERS) -> list[Path]:
    """Write a document's tables of checks into a folder; return the paths."""
    written = list[Path]()
    for name in checks.check_tables(document, papers):
        written += write_cells(check_cells(document, name, papers), folder, name)
    if len(twice := printed_twice(document, papers)):
        write_table(folder / "printed_twice.csv", twice)
        written.append(folder / "printed_twice.csv")
    return written
