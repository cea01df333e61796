"""What printed numbers say of each other, with no run: every rule over every table.

The rules know no document: they run over any tables in the ledger's format.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from memrepro.audit.documents import documents, tables
from memrepro.audit.finding import FAILS, SURE, TELLS, WEAK, Finding
from memrepro.audit.percent import in_shares
from memrepro.audit.rules import (
    changes,
    estimates,
    formulas,
    grim,
    intervals,
    marks,
    moved,
    portions,
    rows,
    shapes,
    shares,
    stars,
    statistics,
    twice,
    unstated,
    weights,
    wholes,
)
from memrepro.audit.rules.text import sentences
from memrepro.audit.sizes.inferred import inferred
from memrepro.audit.tables import Table
from memrepro.errors import MemreproError, cut

_FEW = 5
Place = tuple[str, str, str]
Cell = tuple[Table, str, str]

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
    "ratio in a cell": portions.ratios,
    "weighted whole": wholes.weighted,
    "searched whole": weights.searched,
    "whole rows": rows.rows,
    "whole columns": rows.columns,
    "same whole": moved.same_whole,
    "rises with k": shapes.falling,
    "gain with k": shapes.gains,
    "change in a column": changes.changes,
    "same number in a row": shapes.same_in_row,
    "mixed digits": shapes.mixed,
    "same head twice": shapes.same_head,
    "half-life": shapes.half_lives,
    "mean and deviation": grim.grimmer,
    "value in its interval": intervals.inside,
    "ends of an interval": intervals.between,
    "interval and n": intervals.widths,
}
# The same, of the table as printed: what is no share of questions.
OF_PRINTED: Mapping[str, Callable[[Table], Iterator[Finding]]] = {
    "count and percent": portions.portions,
    "share of counts": portions.columns,
    "sum of n": portions.sums_of_n,
    "change of two": changes.of_two,
    "change in a cell": changes.in_cells,
    "estimates": estimates.statistics,
    "interval and estimate": estimates.in_one_cell,
    "tests in cells": estimates.tests_in_cells,
    "stars": stars.stars,
    "marked best": marks.best,
    "marked significant": marks.significant,
    # A precision may be of no questions while the recall beside it is.
    "F1 of P and R": statistics.f1,
    "harmonic mean": statistics.harmonic,
}


def findings(found: Sequence[Table]) -> list[Finding]:
    """All findings over tables, by document; what is printed in several of them at the end.

    Raises:
        MemreproError: naming the table and row of a formula that cannot be computed.
    """
    by_document: dict[str, list[Table]] = {}
    found = [table.once() for table in found]
    for table in found:
        by_document.setdefault(table.document, []).append(table)
    made: list[Finding] = []
    for own in by_document.values():
        shared = [in_shares(table) for table in own]
        for rule, of_table in OF_TABLE.items():
            for table in shared:
                made += _tried(rule, of_table, table)
        for rule, of_printed in OF_PRINTED.items():
            for table in own:
                made += _tried(rule, of_printed, table)
        for rule, of_shares in OF_SHARES.items():
            made += _tried(rule, of_shares, shared)
        for rule, of_document in OF_DOCUMENT.items():
            made += _tried(rule, of_document, own)
        made = _surest([*made, *_tried("inferred sizes", inferred, shared)])
    made += _tried("same setting", twice.settings, found)
    cells = cells_by_place(found)
    return [as_printed(one, cells) for one in made]


def of_texts(document: str, texts: Mapping[str, str]) -> list[Finding]:
    """What the sentences of files say of themselves: file → text."""
    return [
        found for name, text in texts.items() for rule in sentences.OF_TEXT
        for found in _tried(rule.__name__, partial(rule, document, name), text)
    ]  # fmt: skip


def _tried(rule: str, of: Callable[[Any], Iterable[Finding]], what: Any) -> list[Finding]:
    """What a rule finds; one that fails is told, and the others go on.

    Raises:
        MemreproError: what a person must mend, such as a formula that names no cell.
    """
    try:
        return list(of(what))
    except MemreproError:
        raise
    # A cell that nobody has thought of must not cost the other findings.
    except Exception as error:
        tables = [what] if isinstance(what, Table) else [t for t in what if isinstance(t, Table)]
        names = ", ".join(dict.fromkeys(table.name for table in tables[:_FEW]))
        found = f"{type(error).__name__}: {cut(error)}"
        document = tables[0].document if tables else ""
        return [Finding(document, names, rule, "not checked", "", "", found, TELLS, WEAK,
                        "the rule failed here: please report it", 0)]  # fmt: skip


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


def as_printed(finding: Finding, cells: Mapping[Place, Cell]) -> Finding:
    """A finding with the string as its table prints it, where a rule read a percentage as share."""
    if at := cells.get((finding.document, finding.table, finding.where)):
        table, row, column = at
        return finding._replace(printed=table.rows[row][column] if finding.printed else "")
    return finding


def cells_by_place(tables: Iterable[Table]) -> dict[Place, Cell]:
    """Document, table and 'row, column', as findings tell a place → table, row and column."""
    return {
        (table.document, table.name, f"{row}, {column}"): (table, row, column)
        for table in tables for row, column, _ in table.cells()
    }  # fmt: skip


@cache
def of_documents() -> tuple[Finding, ...]:
    """The findings over the documents."""
    return tuple(findings([table for document in documents() for table in tables(document)]))
