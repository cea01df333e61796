"""RF-Mem's printed tables, and a printed count beside one of the data."""

from functools import partial

from memrepro.audit import documents
from memrepro.audit.printed import parse
from memrepro.audit.verdicts import judge
from memrepro.errors import MemreproError
from memrepro.report.tables import Cell

printed_rows = partial(documents.printed_rows, "rfmem")
printed_table = partial(documents.printed_table, "rfmem")


def count(row: str, column: str, shown: str, value: float, note: str = "") -> Cell:
    """A printed count or mean against its value, at two digits."""
    verdict = judge(shown, float(value))
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return Cell(row, column, "count", shown, text, 1, verdict.label, verdict.term, note)


def numeric(shown: str) -> float:
    """The number in a printed string.

    Raises:
        MemreproError: if there is none.
    """
    number = parse(shown)
    if number is None:
        raise MemreproError(f"{shown!r} is no number")
    return float(number.value)
