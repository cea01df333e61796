"""What printed numbers say of each other, with no run: every rule over every table.

The rules know no document: they run over any tables in the ledger's format.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from memrepro.audit import formulas, moved, shapes, shares, twice, unstated, wholes
from memrepro.audit.documents import documents, tables
from memrepro.audit.finding import Finding
from memrepro.audit.tables import Table

# Rule → what it asks of all tables of one document.
OF_DOCUMENT: Mapping[str, Callable[[Sequence[Table]], Iterator[Finding]]] = {
    "number of questions": unstated.unstated,
    "parts of a question": shares.in_parts,
    "slipped columns": unstated.slipped,
    "printed twice": twice.repeated,
    "recomputed": formulas.recomputed,
}
# Rule → what it asks of each table.
OF_TABLE: Mapping[str, Callable[[Table], Iterator[Finding]]] = {
    "shares": shares.stated,
    "sizes of parts": unstated.sizes,
    "ratio in a cell": shares.ratios,
    "weighted whole": wholes.weighted,
    "searched whole": wholes.searched,
    "whole rows": wholes.rows,
    "same whole": moved.same_whole,
    "rises with k": shapes.falling,
    "gain with k": shapes.gains,
    "change in a column": shapes.changes,
    "same number in a row": shapes.same_in_row,
    "half-life": shapes.half_lives,
}


def findings(found: Sequence[Table]) -> list[Finding]:
    """All findings over tables, by document; what is printed in several of them at the end.

    Raises:
        MemreproError: naming the table and row of a formula that cannot be computed.
    """
    by_document: dict[str, list[Table]] = {}
    for table in found:
        by_document.setdefault(table.document, []).append(table)
    made: list[Finding] = []
    for own in by_document.values():
        for of_table in OF_TABLE.values():
            for table in own:
                made += of_table(table)
        for of_document in OF_DOCUMENT.values():
            made += of_document(own)
    made += twice.settings(found)
    return made


@cache
def of_documents() -> tuple[Finding, ...]:
    """The findings over the documents."""
    return tuple(findings([table for document in documents() for table in tables(document)]))
