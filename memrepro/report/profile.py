"""What every report needs of a profile: its excluded questions, and views for its notebook."""

from pathlib import Path
from typing import Any

import pandas as pd
from IPython.display import Image

from memrepro import paths
from memrepro.report.tables import Cell, show
from memrepro.store import read_table


def exclusion_cells(profile: str, name: str) -> list[Cell]:
    """How many questions the data sets of a name leave out, by granularity and reason."""
    ledger = read_table(paths.exclusions(profile))
    ledger = ledger[ledger["dataset"].str.startswith(name)]
    groups: Any = ledger.groupby(["dataset", "granularity", "reason"], sort=True).size()
    return [
        Cell(f"{dataset} by {granularity}", reason, "questions", "", str(n), n, "")
        for (dataset, granularity, reason), n in groups.items()
    ]


class Views:
    """The written tables and figures of one paper, for its notebook."""

    def __init__(self, paper: str) -> None:
        self.paper = paper

    def folder(self, profile: str) -> Path:
        """Where the paper's tables and figures lie."""
        return paths.results(profile) / self.paper

    def table(self, profile: str, name: str) -> pd.DataFrame:
        """A table, wide."""
        return show(self.folder(profile), name)

    def figure(self, profile: str, name: str) -> Image:
        """A figure."""
        return Image(filename=self.folder(profile) / f"{name}.png")  # type: ignore[no-untyped-call]
