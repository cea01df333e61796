"""What printed numbers say of each other, with no run: every rule over every table.

The rules know no document: they run over any tables in the ledger's format.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from memrepro.audit.documents import documents, tables
from memrepro.audit.finding import FAILS, SURE, Finding
from memrepro.audit.percent import in_shares
from memrepro.audit.rules import (
    formulas,
    marks,
    moved,
    rows,
    shapes,
    shares,
    statistics,
    twice,
    unstated,
    weights,
    wholes,
)
from memrepro.audit.sizes.inferred import inferred
from memrepro.audit.tables import Table

# Rule → what it asks of all tables of one document, percentages read as shares.
OF_SHARES: Mapping[str, Callable[[Sequence[Table]], Iterator[Finding]]] = {
    "number of questions": unstated.unstated,
    "parts of a question": shares.in_parts,
    "slipped columns": unstated.slipped,
}
# Rule → the same, of the tables as printed.
OF_DOCUMENT: Mapping[str, Callable[[Sequence[Table]], Iterator[Finding]]] = {
    "printed twice": twice.repeated,
    "recomputed": formulas.recomputed,
}
# Rule → what it asks of each table, percentages read as shares.
OF_TABLE: Mapping[str, Callable[[Table], Iterator[Finding]]] = {
    "shares": shares.stated,
    "sizes of parts": unstated.sizes,
    "ratio in a cell": shares.ratios,
    "weighted whole": wholes.weighted,
    "searched whole": weights.searched,
    "whole rows": rows.rows,
    "whole columns": rows.columns,
    "same whole": moved.same_whole,
    "rises with k": shapes.falling,
    "gain with k": shapes.gains,
    "change in a column": shapes.changes,
    "same number in a row": shapes.same_in_row,
    "mixed digits": shapes.mixed,
    "half-life": shapes.half_lives,
    "marked best": marks.best,
    "marked significant": marks.significant,
    "F1 of P and R": statistics.f1,
    "harmonic mean": statistics.harmonic,
    "mean and deviation": statistics.grimmer,
    "value in its interval": statistics.inside,
    "interval and n": statistics.widths,
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
        shared = [in_shares(table) for table in own]
        for of_table in OF_TABLE.values():
            for table in shared:
                made += of_table(table)
        for of_shares in OF_SHARES.values():
            made += of_shares(shared)
        for of_document in OF_DOCUMENT.values():
            made += of_document(own)
        made = _surest([*made, *inferred(shared)])
    made += twice.settings(found)
    return [as_printed(one, found) for one in made]


def _surest(made: Sequence[Finding]) -> list[Finding]:
    """One finding for each place that two rules say does not hold for the same reason: the surest.

    A number that is no share, or no mean, of stated or inferred sizes is such a reason.
    """
    best: dict[tuple[str, ...], Finding] = {}
    for one in made:
        key = (one.document, one.table, one.rule, one.where)
        if one.rule in ("impossible share", "whole and parts") and one.words == FAILS:
            kept = best.setdefault(key, one)
            if SURE.index(one.sure) < SURE.index(kept.sure):
                best[key] = one
    return [
        one for one in made
        if best.get((one.document, one.table, one.rule, one.where), one) is one
        or one.words != FAILS
    ]  # fmt: skip


def as_printed(finding: Finding, tables: Sequence[Table]) -> Finding:
    """A finding with the string as its table prints it, where a rule read a percentage as share."""
    if at := cell_of(finding, tables):
        table, row, column = at
        return finding._replace(printed=table.rows[row][column] if finding.printed else "")
    return finding


def cell_of(finding: Finding, tables: Iterable[Table]) -> tuple[Table, str, str] | None:
    """The table, row and column of the one cell that a finding is of, or None."""
    for table in tables:
        if (table.document, table.name) == (finding.document, finding.table):
            for row, column, _ in table.cells():
                if f"{row}, {column}" == finding.where:
                    return table, row, column
    return None


@cache
def of_documents() -> tuple[Finding, ...]:
    """The findings over the documents."""
    return tuple(findings([table for document in documents() for table in tables(document)]))
