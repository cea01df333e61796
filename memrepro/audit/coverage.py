"""Coverage: what became of each printed number, and why.

The ledger is joined with the tables under `results/<profile>/<document>/`, whose column `printed`
names the printed cell that a computed one is compared with, and with what follows from other
printed numbers. Of several things that can be said of a number a run counts most: the first row of
the number's own table, then those of other tables. Without a run it is the first of `OUTCOMES`.
"""

import csv
import re
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from memrepro.audit.consistency import of_documents
from memrepro.audit.documents import documents
from memrepro.audit.finding import FAILS, HOLDS
from memrepro.audit.ledger import Entry, printed_entries
from memrepro.audit.tables import AND, PROSE, reference
from memrepro.audit.verdicts import (
    AGREES,
    BY_READING,
    DIFFERS,
    DIRECTION,
    EXACT,
    JUDGED,
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    NOT_RUN,
    OTHER_EDITION,
    PICKED,
    WITHIN,
)
from memrepro.files import paths
from memrepro.files.atomic import read_table

RUN_EXACT = "reproduced by a run (exact)"
RUN_WITHIN = "reproduced by a run (within tolerance)"
RUN_PICKED = "reproduced by a run (picked)"
RUN_DIFFERS = "run and different"
DATASET = "dataset statistic"
ARITHMETIC_AGREES = "arithmetic on printed numbers (agrees)"
ARITHMETIC_DIFFERS = "arithmetic on printed numbers (differs)"
NOT_CHECKABLE = "not checkable"
BY_RUN = (RUN_EXACT, RUN_WITHIN, RUN_PICKED, RUN_DIFFERS, DATASET)
FURTHER = (OTHER_EDITION, BY_READING, NOT_COMPARABLE, NOT_RUN, NOT_CHECKABLE)
OUTCOMES = (*BY_RUN, ARITHMETIC_AGREES, ARITHMETIC_DIFFERS, *FURTHER)
_OF_VERDICT = {
    EXACT: RUN_EXACT, WITHIN: RUN_WITHIN, PICKED: RUN_PICKED, DIRECTION: RUN_DIFFERS,
    NOT_REPRODUCED: RUN_DIFFERS, AGREES: ARITHMETIC_AGREES, DIFFERS: ARITHMETIC_DIFFERS,
    BY_READING: BY_READING,
}  # fmt: skip
# The metrics of cells that count a data set's questions, docs or tokens.
_OF_DATA = {"count", "questions"}
_COUNTED = "_figure9_text"  # what a text says of the data, counted again
_AMOUNT = re.compile(r" \d+(?= digits)")
# The rules that say of one number whether it follows from others.
_FOLLOWS = ("recomputed", "half-life")
_NOWHERE = "nothing here computes it, and no other printed number gives it"


class Match(NamedTuple):
    """A report's cell for a printed number: its file, what it says, of `OUTCOMES`, and why."""

    file: str
    outcome: str
    reason: str


class Place(NamedTuple):
    """A cell of a report; `table` is the stem of its file, `printed` as in its csv."""

    table: str
    reported: str
    metric: str
    verdict: str
    term: str
    note: str
    printed: str


def cells(profile: str, document: str) -> list[Place]:
    """The cells of a document's report that are compared with one printed cell, file by file.

    None where the profile has no report on it.
    """
    found = []
    for path in sorted((paths.results(profile) / document).glob("*.csv")):
        with path.open(
            encoding="utf-8", errors="replace", newline=""
        ) as file:  # data of figures may be large
            names = next(csv.reader(file), [])
        if {"reported", "verdict", "printed"} <= set(names):
            frame = read_table(path).assign(table=path.stem)
            frame = frame[(frame["printed"] != "") & ~frame["printed"].str.contains(AND)]
            frame = frame.reindex(columns=list(Place._fields), fill_value="")
            found += [Place(*map(str, cell)) for cell in frame.to_numpy()]
    return found


class Cells:
    """The cells of a document's report, to be looked up by a printed number."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._by_printed: dict[str, list[Place]] = {}
        for one in places:
            self._by_printed.setdefault(one.printed, []).append(one)

    def matches(self, entry: Entry) -> list[Match]:
        """What the cells beside a printed number say, those of its own table first."""
        found = self._by_printed.get(reference(entry.table, entry.row, entry.column), ())
        return [_match(one) for one in sorted(found, key=lambda one: one.table != entry.table)]


def _match(cell: Place) -> Match:
    # A note's first clause is the reason; what follows are findings about the table.
    why = cell.note.split("; ")[0].split(": ")[0]
    outcome = _OF_VERDICT.get(cell.verdict, cell.verdict or NOT_COMPARABLE)
    if cell.verdict in JUDGED:
        # Without its amount, so that reasons can be counted.
        why = _AMOUNT.sub(" the printed", cell.term).split(" by ")[0]
        if cell.metric in _OF_DATA or cell.table.endswith(_COUNTED):
            outcome = DATASET if outcome in (RUN_EXACT, RUN_WITHIN) else outcome
            why = f"a statistic of the data, {why}" if outcome == RUN_DIFFERS else why
    elif cell.verdict in _OF_VERDICT:
        why = "a check of the document's report"
    return Match(cell.table, outcome if outcome in OUTCOMES else NOT_COMPARABLE, why)


def covered(profile: str) -> pd.DataFrame:
    """Every printed number with what became of it: the ledger's columns and those of `Match`.

    Words are left out.
    """
    numbers = [entry for entry in printed_entries() if entry.kind != "word"]
    followed, found = _recomputed(), []
    for document in documents():
        known = Cells(cells(profile, document))
        for entry in (one for one in numbers if one.document == document):
            where = entry.row if entry.column == PROSE else f"{entry.row}, {entry.column}"
            said = known.matches(entry)
            if outcome := followed.get((document, entry.table, where)):
                said.insert(0, Match("", outcome, "recomputed by a formula"))
            found.append((*entry, *first(said)))
    return pd.DataFrame(found, columns=[*Entry._fields, *Match._fields])


def first(said: Iterable[Match]) -> Match:
    """What counts of all that is said of a printed number: the first run, if there is one."""

    def rank(match: Match) -> int:
        return 0 if match.outcome in BY_RUN else OUTCOMES.index(match.outcome)

    return min(said, key=rank, default=Match("", NOT_CHECKABLE, _NOWHERE))


def _recomputed() -> dict[tuple[str, str, str], str]:
    """Document, table and place → whether a number follows from others."""
    outcomes = {HOLDS: ARITHMETIC_AGREES, FAILS: ARITHMETIC_DIFFERS}
    return {
        (one.document, one.table, one.where): outcomes[one.words]
        for one in of_documents()
        if one.rule in _FOLLOWS
    }


def by_outcome(found: pd.DataFrame) -> pd.DataFrame:
    """How many numbers each document has of each outcome: `document, outcome, n`.

    The last rows are of all documents; an outcome that none has is there with 0.
    """
    counts = found.groupby(["document", "outcome"]).size().unstack(fill_value=0)
    counts = counts.reindex(index=list(documents()), columns=list(OUTCOMES), fill_value=0)
    counts.loc["all"] = counts.sum()
    rows = [
        (str(document), outcome, int(n))
        for document, line in zip(counts.index, counts.to_numpy(), strict=True)
        for outcome, n in zip(OUTCOMES, line, strict=True)
    ]
    return pd.DataFrame(rows, columns=["document", "outcome", "n"])


def by_reason(found: pd.DataFrame) -> pd.DataFrame:
    """The same by reason, the most frequent first: `document, outcome, reason, n`."""
    keys = ["document", "outcome", "reason"]
    counts = found.groupby(keys, sort=False).size().rename("n").reset_index()
    place = counts["document"].map(documents().index)
    ordered = counts.assign(place=place).sort_values(
        ["place", "n", "outcome", "reason"], ascending=[True, False, True, True]
    )
    return ordered[[*keys, "n"]].reset_index(drop=True)
