"""A document's tables that no run stands behind: its checks, and what is printed and not run.

Under `checks` of a `printed.yaml` stand tables of the report, each with what is checked in it:

    formulas     tables, of which every cell with a formula is a row
    further      row → {of: the printed cells, is: formula with references, note, open: true}
    shares       table → {n, note}: each share against the nearest that its n questions give
    wholes       table → {n}: each whole against the mean of its parts
    claims       row → {cases, each, expected, found, values, n}: one formula, a comparison, whose
                 cases must all hold; `each` has what its `{name}` stand for in turn
    by_reading   row → {expected, found, values, words, sure}: judged by a person
    rules        the audit's rules whose findings are rows
    twice        pairs of references to cells that print the same

`said` is what is printed, or where ('table | row | column'); without it, what a row of that name
prints. `values` are formulas by name, for `{name}` in `expected` and `found`.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.audit import documents
from memrepro.audit.consistency import of_documents
from memrepro.audit.finding import FAILS, HOLDS
from memrepro.audit.printed import parse
from memrepro.audit.rules.formulas import (
    Span,
    cells_of,
    compared,
    evaluate,
    recomputed_cells,
    spans_of,
)
from memrepro.audit.rules.shares import shares_of
from memrepro.audit.rules.wholes import each_whole, is_whole
from memrepro.audit.tables import PROSE, Table, reference
from memrepro.audit.verdicts import (
    AGREES,
    BY_READING,
    DIFFERS,
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    judge,
)
from memrepro.files.atomic import write_table
from memrepro.report.tables import Cell, number, verdict_cells, write_cells

_WORDS = {HOLDS: AGREES, FAILS: DIFFERS}
_AGREES = {True: AGREES, False: DIFFERS, None: NOT_COMPARABLE}
_ARITHMETIC = "arithmetic on printed numbers"
_ALL = "all cases must hold"


def write_checks(document: str, folder: Path) -> list[Path]:
    """Write a document's checks and the tables that no run computes; return the paths."""
    written = list[Path]()
    for table in documents.without_run(document):
        written += write_cells(printed_cells(document, table), folder, table)
    for name in check_tables(document):
        written += write_cells(check_cells(document, name), folder, name)
    if len(twice := printed_twice(document)):
        write_table(folder / "printed_twice.csv", twice)
        written.append(folder / "printed_twice.csv")
    return written


def printed_cells(document: str, table: str) -> Iterator[Cell]:
    """The cells of a printed table that no run computes, with the reason."""
    told, notes = documents.without_run(document)[table], documents.printed_notes(document, table)
    for row, cells in documents.printed_rows(document, table).items():
        reasons = [told.get("why", ""), told.get("rows", {}).get(row, ""), *notes]
        note = "; ".join(filter(None, reasons))
        for column, shown in cells.items():
            if shown:
                label, place = told.get("columns", {}).get(column, told["verdict"]), (row, column)
                yield Cell(*place, "as printed", shown, "", 0, label, note=note,
                           printed=reference(table, *place))  # fmt: skip
        for column, texts in told.get("here", {}).items():
            yield Cell(row, column, "setting", "", texts[row], 0, "", note=note)


def check_tables(document: str) -> list[str]:
    """A document's tables of checks; without that of what is printed twice."""
    return [name for name, kinds in documents.checks(document).items() if "twice" not in kinds]


@cache
def checked_rows(document: str, name: str) -> Mapping[str, list[Cell]]:
    """One of a document's tables of checks, by row."""
    found: dict[str, list[Cell]] = {}
    for cell in check_cells(document, name):
        found.setdefault(cell.row, []).append(cell)
    return found


def check_cells(document: str, name: str) -> Iterator[Cell]:
    """One of a document's tables of checks.

    Raises:
        MemreproError: naming the row of a formula that cannot be computed.
    """
    tables = documents.tables(document)
    for kind, entries in documents.checks(document)[name].items():
        if kind == "formulas":
            yield from _by_formulas(entries, tables)
        elif kind == "rules":
            yield from _by_rules(entries, document)
        else:
            for row, entry in entries.items():
                yield from _BY_ENTRY[kind](row, entry, tables)


def printed_twice(document: str) -> pd.DataFrame:
    """What a document prints twice: `first, printed, second, printed again, agree`."""
    tables, found = documents.tables(document), []
    pairs = [
        pair for kinds in documents.checks(document).values() for pair in kinds.get("twice", ())
    ]
    for entry in pairs:
        for names in _each(entry.get("each")):
            sides = []
            for side in entry["pair"]:
                table = side.split(" | ")[0]
                cells = cells_of(tables, side, names).cells
                sides.append([(f"{table}: {row}, {column}", s) for row, column, s in cells])
            for first, second in zip(*sides, strict=True):
                one, two = parse(first[1]), parse(second[1])
                same = (one and one.value) == (two and two.value)
                found.append((*first, *second, "yes" if same else "no"))
    columns = ["first", "printed", "second", "printed again", "agree"]
    return pd.DataFrame(found, columns=columns)


def _number_cell(
    row: str, column: str, metric: str, printed: str, value: float, n: int, agrees: bool | None,
    term: str, note: str, place: str = "",
) -> Cell:  # fmt: skip
    """A printed number, of that place in its document, beside what follows from others."""
    whole = value == int(value) and "." not in printed
    shown = str(int(value)) if whole else number(value)
    label = _AGREES[agrees]
    return Cell(row, column, metric, printed, shown, n, label, term, note, printed=place)


def _claim_cells(
    row: str, said: str, expected: str, found: str, words: str, n: int, sure: str = "",
    label: str = "", place: str = "",
) -> Iterator[Cell]:  # fmt: skip
    """A claim's verdict and reasons; where the claim says itself what is expected, its cases."""
    term, label = found.split(";")[0], label or _WORDS.get(words, NOT_COMPARABLE)
    if not expected:
        failed = found.partition("; not: ")[2]
        yield Cell(row, "value", "cases", said, term, n, label, _ALL, failed, printed=place)
        return
    term = "" if label == BY_READING else term
    texts = {"expected": expected, "found": found, "how sure": sure}
    verdict = Cell(row, "verdict", "claim", said, words, n, label, term, printed=place)
    yield from verdict_cells(verdict, {name: text for name, text in texts.items() if text})


def _label(table: Table) -> str:
    """A table's name for people: 'Table 3' of 'table3'."""
    return re.sub(r"(?<=\D)(?=\d)", " ", table.name, count=1).capitalize()


def _by_formulas(names: Sequence[str], tables: Sequence[Table]) -> Iterator[Cell]:
    for one in recomputed_cells(tables):
        if one.table.name in names:
            row, column = f"{_label(one.table)}: {one.row}", one.column
            if column == PROSE:
                row, column = one.row, "value"
            printed = one.table.rows[one.row][one.column]
            yield _number_cell(
                row, column, _ARITHMETIC, printed, one.value, 1, one.agrees, one.why, one.source,
                reference(one.table.name, one.row, one.column),
            )  # fmt: skip


def _by_rules(rules: Sequence[str], document: str) -> Iterator[Cell]:
    for one in of_documents():
        if one.document == document and one.rule in rules:
            row, sure = f"{one.rule}: {one.where}", f"{one.sure}: {one.why}"
            yield from _claim_cells(
                row, one.printed, one.expected, one.found, one.words, one.n, sure
            )


def _further(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Cell]:
    note = entry.get("note") or "; ".join(entry["is"])
    for of, column, shown in cells_of(tables, entry["of"], {}).cells:
        names = {"row": of, "column": column}
        value = evaluate(entry["is"], tables, f"check {row!r}", names)
        agrees, _, why = (None, "", "") if entry.get("open") else compared(shown, value)
        yield _number_cell(
            row.format(**names), column, _ARITHMETIC, shown, float(value.at[0]),
            entry.get("n", 1), agrees, why, note,
        )  # fmt: skip


def _sized(tables: Sequence[Table], name: str, entry: Mapping[str, Any]) -> Table:
    """A table with the sizes that a check gives it."""
    (table,) = (one for one in tables if one.name == name)
    return replace(table, reading={**table.reading, **({"n": entry["n"]} if "n" in entry else {})})


def _shares(name: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Cell]:
    table = _sized(tables, name, entry)
    for of, bare, steps in shares_of(table):
        if steps and not is_whole(table, of.row, of.column):
            value = round(float(bare) * steps) / steps
            verdict = judge(bare, value)
            yield _number_cell(
                f"{_label(table)}, {of.row}", of.column, "share", of.printed, value, of.n,
                verdict.label != NOT_REPRODUCED, verdict.term, entry.get("note", ""),
            )  # fmt: skip


def _wholes(name: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Cell]:
    table = _sized(tables, name, entry)
    for whole, value, holds, why in each_whole(table):
        yield _number_cell(
            f"{_label(table)}, {whole.row}", whole.column, "mean of parts", whole.shown, value,
            sum(whole.sizes), holds, "the mean of its parts, weighted", why,
        )  # fmt: skip


def _printed_and_place(
    row: str, entry: Mapping[str, Any], tables: Sequence[Table]
) -> tuple[str, str]:
    """What is printed, and its place where the row is of it and does not only quote it."""
    said = str(entry.get("said", ""))
    if " | " in said:
        table, of, column = said.split(" | ")
        return next(t.rows[of][column] for t in tables if t.name == table), ""
    own = (t for t in tables if PROSE in t.columns and row in t.rows)
    if said or not (table_of := next(own, None)):
        return said, ""
    return table_of.rows[row][PROSE], reference(table_of.name, row)


def _each(each: Any) -> list[dict[str, str]]:
    """What `{name}` stand for in turn: all of a mapping's lists together, or a list's mappings."""
    if isinstance(each, Mapping):
        return [dict(zip(each, one, strict=True)) for one in itertools.product(*each.values())]
    return list(each or [{}])


def _values(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> dict[str, float]:
    return {
        name: float(evaluate(formula, tables, f"value {name!r} of {row!r}", {}).at[0])
        for name, formula in entry.get("values", {}).items()
    }


def _claim(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Cell]:
    held, failed = 0, list[str]()
    for names in _each(entry.get("each")):
        holds = evaluate(entry["cases"], tables, f"check {row!r}", names).at
        held += int(holds.sum())
        spans = list(spans_of(entry["cases"], tables, names).values())
        failed += [_case(spans, i, len(holds)) for i in range(len(holds)) if not holds[i]]
    n = held + len(failed)
    found = f"{held} of {n}" + (f"; not: {'; '.join(failed)}" if failed else "")
    if "found" in entry:
        found = str(entry["found"]).format(held=held, n=n, **_values(row, entry, tables))
    (said, place), words = _printed_and_place(row, entry, tables), FAILS if failed else HOLDS
    yield from _claim_cells(
        row, said, entry.get("expected", ""), found, words, entry.get("n", n), place=place
    )


def _case(spans: Sequence[Span], i: int, n: int) -> str:
    """The numbers of one case: the first with its row and column, the others with what differs."""
    cells = [
        span.cells[i if n > 1 and len(span.cells) == n else 0]
        for span in spans
        if len(span.cells) in (1, n)
    ]
    row, column, shown = cells[0]
    told = [f"{row}, {column} {shown}"]
    for other in cells[1:]:
        names = [a for a, b in zip(other, (row, column), strict=False) if a != b]
        told.append(f"{', '.join(names)} {other[2]}".strip())
    return " against ".join(told)


def _reading(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Cell]:
    values = _values(row, entry, tables)
    expected, found = (str(entry[key]).format(**values) for key in ("expected", "found"))
    said, place = _printed_and_place(row, entry, tables)
    yield from _claim_cells(
        row, said, expected, found, entry["words"], int(entry.get("n", 1)), entry.get("sure", ""),
        BY_READING, place,
    )  # fmt: skip


_BY_ENTRY: Mapping[
    str, Callable[[str, Mapping[str, Any], Sequence[Table]], Iterator[Cell]]
] = {
    "further": _further,
    "shares": _shares,
    "wholes": _wholes,
    "claims": _claim,
    "by_reading": _reading,
}  # fmt: skip
