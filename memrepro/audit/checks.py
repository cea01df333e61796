"""Checks of a document's printed numbers and words, as its `printed.yaml` lists them.

Under `checks` stand the tables of the document's report, each with what is checked in it:

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.audit import consistency, documents
from memrepro.audit.finding import FAILS, HOLDS
from memrepro.audit.formulas import (
    Span,
    cells_of,
    compared,
    evaluate,
    recomputed_cells,
    spans_of,
)
from memrepro.audit.printed import parse
from memrepro.audit.shares import shares_of
from memrepro.audit.tables import PROSE, Table
from memrepro.audit.verdicts import judge
from memrepro.audit.wholes import each_whole, is_whole

KINDS = ("formulas", "further", "shares", "wholes", "claims", "by_reading", "rules", "twice")


class NumberCheck(NamedTuple):
    """A printed number beside what follows from others.

    Attributes:
        row: of the report's table.
        column: the same.
        metric: what sort of check it is.
        printed: the string.
        value: what follows.
        n: how many questions stand behind it, or 1.
        agrees: whether it is the printed one; None where that is left open.
        term: what decided that.
        note: the formula, or what else a reader must know.
    """

    row: str
    column: str
    metric: str
    printed: str
    value: float
    n: int
    agrees: bool | None
    term: str
    note: str


class ClaimCheck(NamedTuple):
    """What a document says, and what its numbers or a reader say of it.

    Attributes:
        row: of the report's table.
        said: as printed; '' where the check is of numbers alone.
        expected: what would be so if it held; '' where the claim says it itself.
        found: what is so.
        words: 'holds', 'does not hold', or what else can be said.
        n: how many comparisons were made.
        sure: how sure it is and by what; '' for arithmetic.
        by_reading: whether a person judged it.
    """

    row: str
    said: str
    expected: str
    found: str
    words: str
    n: int
    sure: str = ""
    by_reading: bool = False


class Pair(NamedTuple):
    """One number that is printed in two places."""

    first: str
    printed: str
    second: str
    again: str
    agree: bool


Check = NumberCheck | ClaimCheck


def check_tables(document: str, papers: Path = documents.PAPERS) -> list[str]:
    """The tables of checks that a document's report has; without that of what is printed twice."""
    return [
        name for name, kinds in documents.checks(document, papers).items() if "twice" not in kinds
    ]


def checks_of(document: str, name: str, papers: Path = documents.PAPERS) -> list[Check]:
    """The checks of one table of a document's report.

    Raises:
        MemreproError: naming the row of a formula that cannot be computed.
    """
    tables, found = documents.tables(document, papers), list[Check]()
    for kind, entries in documents.checks(document, papers)[name].items():
        match kind:
            case "formulas":
                found += _by_formulas([t for t in tables if t.name in entries], tables)
            case "further":
                for row, entry in entries.items():
                    found += _further(row, entry, tables)
            case "shares":
                for table, entry in entries.items():
                    found += _shares(_with(tables, table, entry), entry.get("note", ""))
            case "wholes":
                for table, entry in entries.items():
                    found += _wholes(_with(tables, table, entry))
            case "claims":
                found += [_claim(row, entry, tables) for row, entry in entries.items()]
            case "by_reading":
                found += [_reading(row, entry, tables) for row, entry in entries.items()]
            case "rules":
                found += _of_rules(document, entries)
    return found


def printed_again(document: str, papers: Path = documents.PAPERS) -> list[Pair]:
    """What a document prints twice, as its file pairs it."""
    tables, found = documents.tables(document, papers), []
    for kinds in documents.checks(document, papers).values():
        for entry in kinds.get("twice", ()):
            for names in _each(entry.get("each")):
                one, two = (cells_of(tables, ref, names).cells for ref in entry["pair"])
                places = [ref.split(" | ")[0] for ref in entry["pair"]]
                for first, second in zip(one, two, strict=True):
                    numbers = [parse(cell[2]) for cell in (first, second)]
                    same = len({number and number.value for number in numbers}) == 1
                    here, there = (
                        f"{t}: {c[0]}, {c[1]}" for t, c in zip(places, (first, second), strict=True)
                    )
                    found.append(Pair(here, first[2], there, second[2], same))
    return found


def _label(table: Table) -> str:
    """A table's name for people: 'Table 3' of 'table3'."""
    stem, number = re.fullmatch(r"(\D+)(.*)", table.name).groups()  # type: ignore[union-attr]
    return f"{stem.capitalize()} {number}".strip()


def _by_formulas(wanted: Sequence[Table], tables: Sequence[Table]) -> Iterator[NumberCheck]:
    for one in recomputed_cells(tables):
        if one.table in wanted:
            prose = one.column == PROSE
            row = one.row if prose else f"{_label(one.table)}: {one.row}"
            column, shown = "value" if prose else one.column, one.table.rows[one.row][one.column]
            yield NumberCheck(
                row, column, _ARITHMETIC, shown, one.value, 1, one.agrees, one.why, one.source
            )


_ARITHMETIC = "arithmetic on printed numbers"


def _further(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[NumberCheck]:
    for of, column, shown in cells_of(tables, entry["of"], {}).cells:
        names = {"row": of, "column": column}
        value = evaluate(entry["is"], tables, f"check {row!r}", names)
        agrees, _, why = compared(shown, value)
        told, why = (None, "") if entry.get("open") else (agrees, why)
        name, source = row.format(**names), entry.get("note") or "; ".join(entry["is"])
        yield NumberCheck(
            name,
            column,
            _ARITHMETIC,
            shown,
            float(value.at[0]),
            entry.get("n", 1),
            told,
            why,
            source,
        )


def _with(tables: Sequence[Table], name: str, entry: Mapping[str, Any]) -> Table:
    (table,) = (one for one in tables if one.name == name)
    return replace(table, reading={**table.reading, **({"n": entry["n"]} if "n" in entry else {})})


def _shares(table: Table, note: str) -> Iterator[NumberCheck]:
    for entry, bare, steps in shares_of(table):
        if steps and not is_whole(table, entry.row, entry.column):
            value = round(float(bare) * steps) / steps
            verdict = judge(bare, value)
            agrees = verdict.label != "not reproduced"
            row = f"{_label(table)}, {entry.row}"
            yield NumberCheck(
                row,
                entry.column,
                "share",
                entry.printed,
                value,
                entry.n,
                agrees,
                verdict.term,
                note,
            )


def _wholes(table: Table) -> Iterator[NumberCheck]:
    for whole, value, holds, why in each_whole(table):
        row, n = f"{_label(table)}, {whole.row}", sum(whole.sizes or ())
        term = "the mean of its parts, weighted"
        yield NumberCheck(
            row, whole.column, "mean of parts", whole.shown, value, n, holds, term, why
        )


def _said(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> str:
    said = str(entry.get("said", ""))
    if " | " in said:
        table, of, column = said.split(" | ")
        return next(t.rows[of][column] for t in tables if t.name == table)
    own = (t.rows[row][PROSE] for t in tables if PROSE in t.columns and row in t.rows)
    return said or next(own, "")


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


def _claim(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> ClaimCheck:
    held, failed = 0, list[str]()
    for names in _each(entry.get("each")):
        where = f"check {row!r}"
        holds = evaluate(entry["cases"], tables, where, names).at
        held += int(holds.sum())
        spans = list(spans_of(entry["cases"], tables, names).values())
        failed += [_case(spans, i, len(holds)) for i in range(len(holds)) if not holds[i]]
    n = held + len(failed)
    found = f"{held} of {n}" + (f"; not: {'; '.join(failed)}" if failed else "")
    if "found" in entry:
        found = str(entry["found"]).format(held=held, n=n, **_values(row, entry, tables))
    said, words = _said(row, entry, tables), FAILS if failed else HOLDS
    return ClaimCheck(row, said, entry.get("expected", ""), found, words, entry.get("n", n))


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


def _reading(row: str, entry: Mapping[str, Any], tables: Sequence[Table]) -> ClaimCheck:
    values = _values(row, entry, tables)
    expected, found = (str(entry[key]).format(**values) for key in ("expected", "found"))
    said, n = _said(row, entry, tables), int(entry.get("n", 1))
    return ClaimCheck(row, said, expected, found, entry["words"], n, entry.get("sure", ""), True)


def _of_rules(document: str, rules: Sequence[str]) -> Iterator[ClaimCheck]:
    for one in consistency.of_documents():
        if one.document == document and one.rule in rules:
            row, sure = f"{one.rule}: {one.where}", f"{one.sure}: {one.why}"
            yield ClaimCheck(row, one.printed, one.expected, one.found, one.words, one.n, sure)
