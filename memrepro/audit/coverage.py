"""Coverage: which printed numbers a report here accounts for, with what outcome and why.

The ledger is joined with the tables under `results/<profile>/<document>/`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from memrepro.audit.consistency import of_documents
from memrepro.audit.finding import FAILS, HOLDS
from memrepro.audit.documents import documents
from memrepro.audit.ledger import Entry, printed_entries
from memrepro.audit.tables import PROSE
from memrepro.audit.verdicts import JUDGED, NOT_COMPARABLE, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table

AGREES, DIFFERS = "agrees with other printed numbers", "differs from other printed numbers"
NO_TABLE = "in no table here"
# A verdict is of a run or of the data; what printed numbers say of each other stands apart.
OUTCOMES = (*JUDGED, AGREES, DIFFERS, NOT_COMPARABLE, NOT_RUN, NO_TABLE)
# What cells are called that were computed from printed numbers alone, whatever their verdict says.
_OF_PRINTED = {
    "as printed", "text", "cases", "claim", "consistency", "share", "mean of parts",
    "arithmetic on printed numbers",
}  # fmt: skip
_AMOUNT = re.compile(r" \d+(?= digits)")
# The rules that say of one number whether it follows from others.
_FOLLOWS = ("recomputed", "half-life")


class Match(NamedTuple):
    """A report's cell for a printed number: its file, what it says, of `OUTCOMES`, and why."""

    file: str
    outcome: str
    reason: str


class Place(NamedTuple):
    """A cell of a report; `table` is the stem of its file."""

    table: str
    row: str
    column: str
    reported: str
    metric: str
    verdict: str
    term: str
    note: str


def cells(profile: str, document: str) -> list[Place]:
    """The cells with a printed number of a document's report, file by file.

    None where the profile has no report on it.
    """
    found = []
    for path in sorted((paths.results(profile) / document).glob("*.csv")):
        frame = read_table(path)
        if {"row", "column", "reported", "verdict"} <= set(frame.columns):
            frame = frame[frame["reported"] != ""].assign(table=path.stem)
            frame = frame.reindex(columns=list(Place._fields), fill_value="")
            found += [Place(*map(str, cell)) for cell in frame.to_numpy()]
    return found


class Cells:
    """The cells of a document's report, to be looked up by a printed number."""

    def __init__(self, places: list[Place]) -> None:
        self._places = places
        # The first of equal ones counts.
        self._by_place = {(p.table, p.row, p.column): p for p in reversed(places)}
        self._by_row = {(p.row, p.reported): p for p in reversed(places)}

    def of(self, entry: Entry) -> Match | None:
        """The cell of a printed number: of the table of that name, or a check of that row's name.

        A number of the prose stands under its row's name in a report's checks, and one of a figure
        behind the figure's name.
        """
        found = self._by_place.get((entry.table, entry.row, entry.column))
        if found is None and entry.column == PROSE:
            found = self._by_row.get((entry.row, entry.printed))
        if found is None and entry.table.startswith("figure"):
            named = (p for p in self._places if p.row.endswith(f": {entry.row}"))
            found = next((p for p in named if p.reported == entry.printed), None)
        return None if found is None else _match(found)


def _match(cell: Place) -> Match:
    if cell.verdict not in JUDGED:
        # A note's first clause is the reason; what follows are findings about the table.
        return Match(cell.table, cell.verdict, cell.note.split("; ")[0].split(": ")[0])
    if cell.metric in _OF_PRINTED:
        agrees = cell.verdict != JUDGED[-1]
        return Match(cell.table, AGREES if agrees else DIFFERS, "a check of the paper's report")
    # Without its amount, so that reasons can be counted.
    return Match(cell.table, cell.verdict, _AMOUNT.sub(" the printed", cell.term).split(" by ")[0])


def covered(profile: str) -> pd.DataFrame:
    """Every printed number with what accounts for it: the ledger's columns and those of `Match`.

    Words are left out. A number that no report has is held against what follows from other printed
    ones by a formula.
    """
    numbers = [entry for entry in printed_entries() if entry.kind != "word"]
    followed, found = _recomputed(), []
    for document in documents():
        known = Cells(cells(profile, document))
        reported = (paths.results(profile) / document).is_dir()
        none = "no table has it" if reported else f"no report on the profile {profile!r}"
        for entry in (one for one in numbers if one.document == document):
            match = known.of(entry)
            where = entry.row if entry.column == PROSE else f"{entry.row}, {entry.column}"
            outcome = followed.get((document, entry.table, where), "")
            if match is None and outcome:
                match = Match("", outcome, "recomputed by a formula")
            found.append((*entry, *(match or Match("", NO_TABLE, none))))
    return pd.DataFrame(found, columns=[*Entry._fields, *Match._fields])


def _recomputed() -> dict[tuple[str, str, str], str]:
    """Document, table and place → whether a number follows from others."""
    outcomes = {HOLDS: AGREES, FAILS: DIFFERS}
    return {
        (one.document, one.table, one.where): outcomes[one.words]
        for one in of_documents()
        if one.rule in _FOLLOWS
    }


def by_outcome(found: pd.DataFrame) -> pd.DataFrame:
    """How many numbers each document has of each outcome: `document, outcome, numbers`.

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
    return pd.DataFrame(rows, columns=["document", "outcome", "numbers"])


def by_reason(found: pd.DataFrame) -> pd.DataFrame:
    """The same by reason, the most frequent first: `document, outcome, reason, numbers`."""
    keys = ["document", "outcome", "reason"]
    counts = found.groupby(keys, sort=False).size().rename("numbers").reset_index()
    place = counts["document"].map(documents().index)
    ordered = counts.assign(place=place).sort_values(
        ["place", "numbers", "outcome", "reason"], ascending=[True, False, True, True]
    )
    return ordered[[*keys, "numbers"]].reset_index(drop=True)


def without_term(profile: str) -> Iterator[tuple[str, int, int]]:
    """Tables with judged cells that name no term: path, how many, of how many judged."""
    for path in sorted(paths.results(profile).glob("*/*.csv")):
        frame = read_table(path)
        if {"verdict", "term"} <= set(frame.columns):
            judged = frame[frame["verdict"].isin(JUDGED)]
            if lacking := int((judged["term"] == "").sum()):
                yield f"{path.parent.name}/{path.name}", lacking, len(judged)
