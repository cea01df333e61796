"""What became of the documents' claims, from their reports' tables of claims; and the count of it.

Whoever tells how many claims hold tells it from here. Questions of this project's own stand in the
same tables and are no claims of a document.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.audit.verdicts import UNDECIDED
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_table

HOLDS, DIRECTION, FALLS = "holds", "in this direction only", "does not hold"
UNCHECKED = "cannot be checked here"
# Class → of one claim, and of several. A verdict in words begins with the class, or is unchecked.
_WORDS = {
    HOLDS: ("holds", "hold"),
    DIRECTION: ("holds in its direction only", "hold in their direction only"),
    UNDECIDED: ("is undecided", "are undecided"),
    FALLS: ("does not hold", "do not hold"),
    UNCHECKED: (UNCHECKED, UNCHECKED),
}
CLASSES = tuple(_WORDS)
_OUR_OWN = ("not in the paper", "not in the document")
NOTE = "a claim that several studies test is counted once for each verdict that they give"


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
    return next((start for start in CLASSES if verdict.startswith(start)), UNCHECKED)


def class_counts(claims: pd.DataFrame) -> tuple[int, dict[str, int]]:
    """How many claims there are, and how many have each class, in the order of `CLASSES`."""
    n = len(claims[["document", "claim"]].drop_duplicates())
    return n, {name: int((claims["class"] == name).sum()) for name in CLASSES}


def claims_in_words(claims: pd.DataFrame, document: str) -> str:
    """A document's counts as in 'Of …'; classes that no claim has are left out.

    Args:
        claims: of `read_claims`.
        document: by name, or 'all'.

    Raises:
        MemreproError: if it has no claims.
    """
    own = claims if document == "all" else claims[claims["document"] == document]
    if own.empty:
        known = ", ".join(dict.fromkeys(claims["document"]))
        raise MemreproError(f"no claim of {document!r} is counted: known are {known}")
    n, counts = class_counts(own)
    *parts, last = _parts(counts)
    told = f"{', '.join(parts)} and {last}" if parts else last
    return f"{n} claims, {told}" + (f" ({NOTE})" if sum(counts.values()) > n else "")


def _parts(counts: dict[str, int]) -> Iterator[str]:
    for name, count in counts.items():
        if count:
            yield f"{count} {_WORDS[name][count > 1]}"
