"""Which of the documents' claims stood and which fell."""

from collections.abc import Iterator

import pandas as pd

from memrepro.audit.claims import FALLS, NOTE, class_counts
from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.report.tables import Cell


def class_cells(claims: pd.DataFrame) -> Iterator[Cell]:
    """How many claims of each document have each verdict."""
    parts = [(str(name), part) for name, part in claims.groupby("document", sort=True)]
    for document, part in [*parts, ("all", claims)] if parts else []:
        sources = " + ".join(f"file {source}" for source in dict.fromkeys(part["source"]))
        n, counts = class_counts(part)
        for column, count in {"claims": n, **counts}.items():
            yield Cell(
                document, column, "claims", "", str(count), n, NOT_COMPARABLE, note=NOTE,
                sources=sources,
            )  # fmt: skip


def fallen_cells(claims: pd.DataFrame) -> Iterator[Cell]:
    """The claims that do not hold: where they stand, as printed, and what came out."""
    for one in claims[claims["class"] == FALLS].to_dict("records"):
        yield Cell(
            f"{one['document']}, {one['claim']}", "verdict", "claim", one["said"], one["verdict"],
            one["n"], NOT_COMPARABLE, sources=f"file {one['source']}",
        )  # fmt: skip
