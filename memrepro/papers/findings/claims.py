"""Which of the documents' claims stood and which fell, from their reports' tables of claims."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.files.atomic import read_table
from memrepro.report.tables import Cell

HOLDS, DIRECTION, OPEN = "holds", "in this direction only", "undecided"
FALLS, UNCHECKED = "does not hold", "cannot be checked here"
CLASSES = (HOLDS, DIRECTION, OPEN, FALLS, UNCHECKED)
# What a verdict in words begins with.
_BEGINNINGS = {
    "holds": HOLDS,
    "in this direction only": DIRECTION,
    "undecided": OPEN,
    "does not hold": FALLS,
}
# Questions of this project's own stand in the same tables.
_OUR_OWN = ("not in the paper", "not in the document")
_NOTE = "a claim that several studies test is counted once for each verdict that they give"


def read_claims(results: Path) -> pd.DataFrame:
    """Every claim of a profile's reports: `document, claim, class, said, verdict, n, source`.

    A claim that several studies test has a line for each class that they give.
    """
    rows = []
    for path in sorted(results.glob("*/*claims.csv")):
        frame = read_table(path)
        if path.parent.name == "findings" or "column" not in frame:
            continue
        for cell in frame[frame["column"] == "verdict"].to_dict("records"):
            if not cell["row"].startswith(_OUR_OWN):
                verdict, source = cell["reproduced"], path.relative_to(results).as_posix()
                rows.append(
                    (path.parent.name, cell["row"], cell["reported"], verdict, _classed(verdict),
                     int(cell["n"]), source)
                )  # fmt: skip
    columns = ["document", "claim", "said", "verdict", "class", "n", "source"]
    found = pd.DataFrame(rows, columns=columns)
    one = found.groupby(["document", "claim", "class"], sort=False, as_index=False)
    kept: dict[str, Any] = {"said": "first", "verdict": "first", "n": "max"}
    kept["source"] = " + file ".join
    return one.agg(kept) if len(found) else found


def _classed(verdict: str) -> str:
    return next((c for start, c in _BEGINNINGS.items() if verdict.startswith(start)), UNCHECKED)


def class_cells(claims: pd.DataFrame) -> Iterator[Cell]:
    """How many claims of each document have each verdict."""
    parts = [(str(name), part) for name, part in claims.groupby("document", sort=True)]
    for document, part in [*parts, ("all", claims)] if parts else []:
        counted = Counter(part["class"])
        sources = " + ".join(f"file {source}" for source in dict.fromkeys(part["source"]))
        claims_of = len(part[["document", "claim"]].drop_duplicates())
        texts = {"claims": claims_of} | {name: counted[name] for name in CLASSES}
        for column, count in texts.items():
            yield Cell(
                document, column, "claims", "", str(count), claims_of, NOT_COMPARABLE,
                note=_NOTE, sources=sources,
            )  # fmt: skip


def fallen_cells(claims: pd.DataFrame) -> Iterator[Cell]:
    """The claims that do not hold: where they stand, as printed, and what came out."""
    for one in claims[claims["class"] == FALLS].to_dict("records"):
        yield Cell(
            f"{one['document']}, {one['claim']}", "verdict", "claim", one["said"], one["verdict"],
            one["n"], NOT_COMPARABLE, sources=f"file {one['source']}",
        )  # fmt: skip
