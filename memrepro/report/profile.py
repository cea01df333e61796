"""What every report needs of a profile: its excluded questions, and views for its notebook."""

from pathlib import Path
from typing import Any

import pandas as pd
from IPython.display import Image

from memrepro import paths
from memrepro.errors import MemreproError
from memrepro.numerics.bootstrap import paired_difference
from memrepro.report.tables import Cell, show
from memrepro.store import read_table


def exclusion_cells(profile: str, name: str) -> list[Cell]:
    """How many questions the data sets of a name leave out, by level, protocol and reason."""
    ledger = read_table(paths.exclusions(profile))
    ledger = ledger[ledger["dataset"].str.startswith(name)]
    groups: Any = ledger.groupby(["dataset", "level", "protocol", "reason"], sort=True).size()
    return [
        Cell(f"{dataset} by {level}, {protocol}", reason, "questions", "", str(n), n, "")
        for (dataset, level, protocol, reason), n in groups.items()
    ]


class Metrics:
    """The per-question values of a profile's experiments."""

    def __init__(self, profile: str) -> None:
        self._frame = read_table(paths.metrics(profile))
        keys = ["experiment", "setting", "level", "metric", "k"]
        # As categories a million rows are grouped in a second.
        groups: Any = self._frame.astype(dict.fromkeys(keys, "category")).groupby(
            keys, observed=True, sort=False
        )
        self._places = groups.indices

    def settings(self, experiment: str) -> list[str]:
        """The settings of an experiment that were run, in order; none if it was not."""
        return list(dict.fromkeys(key[1] for key in self._places if key[0] == experiment))

    def values(
        self, experiment: str, level: str, metric: str, k: int, setting: str = ""
    ) -> pd.DataFrame:
        """`query_id, kind, value` of an experiment, in the order of the questions.

        Raises:
            MemreproError: if it was not evaluated so.
        """
        key = (experiment, setting, level, metric, k)
        if key not in self._places:
            raise MemreproError(
                f"no {metric}@{k} of {experiment!r} {setting!r} by {level}: run `dvc repro`"
            )
        rows: pd.DataFrame = self._frame.iloc[self._places[key]]
        return rows[["query_id", "kind", "value"]].reset_index(drop=True)


def difference(before: pd.DataFrame, now: pd.DataFrame) -> str:
    """The mean change of a metric with its 95 % paired bootstrap interval, and questions moved.

    Args:
        before: `query_id, kind, value`.
        now: the same of the same questions.

    Raises:
        MemreproError: if they are of different questions.
    """
    both = before.merge(now, on="query_id", suffixes=(" before", " now"))
    if not len(before) == len(now) == len(both):
        raise MemreproError(
            f"{len(before)} questions before and {len(now)} now have {len(both)} in common: a "
            "paired difference needs the same questions"
        )
    old, new = (both[f"value {when}"].to_numpy() for when in ("before", "now"))
    interval = paired_difference(old, new)
    won, lost = int((new > old).sum()), int((new < old).sum())
    return (
        f"{interval.mean:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}], won {won}, lost {lost}"
    )


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
