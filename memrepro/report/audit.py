"""The audit's tables and figure: the ledger, what accounts for it, and what its numbers say."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from memrepro.audit import coverage
from memrepro.audit.consistency import of_documents
from memrepro.audit.finding import FAILS, HOLDS, Finding
from memrepro.audit.ledger import counts
from memrepro.audit.printed import KINDS
from memrepro.audit.tables import PROSE
from memrepro.audit.verdicts import AGREES, DIFFERS, NOT_COMPARABLE
from memrepro.files.atomic import write_table
from memrepro.report import figures
from memrepro.report.panels import draw_grid
from memrepro.report.tables import Cell, verdict_cells, write_cells

_LABELS = {HOLDS: AGREES, FAILS: DIFFERS}


def ledger_cells() -> Iterator[Cell]:
    """How many numbers of each kind each table prints."""
    for line in counts().to_dict("records"):
        row, n = f"{line['document']}, {line['table']}", int(line["numbers"])
        for kind in ("numbers", *KINDS):
            yield Cell(row, kind, "printed", "", str(line[kind]), n, "")


def coverage_cells(found: pd.DataFrame) -> Iterator[Cell]:
    """How many numbers each document prints, and how many have each outcome."""
    for document, part in coverage.by_outcome(found).groupby("document", sort=False):
        total = int(part["n"].sum())
        yield Cell(str(document), "numbers", "numbers", "", str(total), total, "")
        for outcome, n in part[["outcome", "n"]].to_numpy():
            yield Cell(str(document), outcome, "numbers", "", str(n), total, "")


def reason_cells(found: pd.DataFrame) -> Iterator[Cell]:
    """The same by reason."""
    for document, outcome, why, n in coverage.by_reason(found).to_numpy():
        row = f"{document}: {outcome}" + (f" ({why})" if why else "")
        yield Cell(row, "numbers", "numbers", "", str(n), int(n), "")


def unaccounted_cells(found: pd.DataFrame) -> Iterator[Cell]:
    """The numbers that nothing here computes and no other printed number gives."""
    left = found[found["outcome"] == coverage.NOT_CHECKABLE]
    for entry in left.to_dict("records"):
        column = "" if entry["column"] == PROSE else f", {entry['column']}"
        row = f"{entry['document']}, {entry['table']}: {entry['row']}{column}"
        shown, why = entry["printed"], entry["reason"]
        yield Cell(row, PROSE, entry["metric"], shown, "", 0, coverage.NOT_CHECKABLE, note=why)


def consistency_cells(found: Iterable[Finding]) -> Iterator[Cell]:
    """Every finding as a row: verdict, expected, found, how sure, over how many numbers."""
    seen: dict[str, int] = {}
    for one in found:
        row = f"{one.document}, {one.table}, {one.rule}: {one.where}"
        seen[row] = seen.get(row, 0) + 1
        if seen[row] > 1:
            row = f"{row} ({seen[row]})"
        label, term = _LABELS.get(one.words, NOT_COMPARABLE), f"{one.sure}: {one.why}"
        verdict = Cell(row, "verdict", one.rule, one.printed, one.words, one.n, label, term)
        texts = {"expected": one.expected, "found": one.found, "how sure": one.sure}
        yield from verdict_cells(verdict, texts)


def _draw_shares(data: pd.DataFrame) -> Figure:
    title = "printed numbers of each document by verdict, in hundredths"
    return draw_grid(data, "outcome", "document", "share", title=title)


def _drawn(found: pd.DataFrame, folder: Path) -> list[Path]:
    """Bars of the outcomes by document, each as a share of its numbers."""
    data = coverage.by_outcome(found)
    data = data[data["document"] != "all"].copy()
    data["share"] = data["n"] / data.groupby("document")["n"].transform("sum")
    return figures.save(lambda: _draw_shares(data), data, folder, "verdicts")


def write_report(profile: str, folder: Path) -> list[Path]:
    """Write the audit's tables and figure into a folder; return their paths."""
    found, findings = coverage.covered(profile), of_documents()
    made = {
        "numbers": found,
        "counts": coverage.by_outcome(found),
        "findings": pd.DataFrame(findings, columns=list(Finding._fields)),
    }
    for name, frame in made.items():
        write_table(folder / f"{name}.csv", frame)
    return [
        *write_cells(ledger_cells(), folder, "ledger"),
        *write_cells(coverage_cells(found), folder, "coverage"),
        *write_cells(reason_cells(found), folder, "reasons"),
        *write_cells(unaccounted_cells(found), folder, "unaccounted"),
        *write_cells(consistency_cells(findings), folder, "consistency"),
        *_drawn(found, folder),
        *(folder / f"{name}.csv" for name in made),
    ]
