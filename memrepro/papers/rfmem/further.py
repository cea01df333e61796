"""RF-Mem on data sets that its paper does not have: recall of its three paths, held together."""

from collections.abc import Iterator, Mapping

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.papers.rfmem.measured import Costs, Family
from memrepro.report.profile import Metrics, difference
from memrepro.report.tables import Cell, number

CUTOFFS = (5, 10)
_NOTE = (
    "not in the paper; differences with their 95 % paired bootstrap intervals and the questions "
    "won and lost, not corrected for their number"
)


def recall_cells(costs: Costs, metrics: Metrics, dataset: str) -> Iterator[Cell]:
    """Recall of familiarity, recollection and gate on a data set, and their differences."""
    seen = set[str]()
    for family in costs.families():
        entry = costs.entry(family.recollection)
        if entry.dataset != dataset:
            continue
        if missing := [name for name in family[:3] if name not in metrics.experiments]:
            why = f"{', '.join(missing)} not evaluated: run `dvc repro`"
            row, column = family.recollection, f"R@{CUTOFFS[0]} overall"
            yield Cell(row, column, "recall", "", "", 0, NOT_RUN, note=why)
            continue
        for k in CUTOFFS:
            found = {
                name: metrics.values(name, entry.granularity, "recall", k) for name in family[:3]
            }
            yield from _by_kind({n: v for n, v in found.items() if n not in seen}, k)
            yield from _against(family, found, k)
        seen |= set(found)


def _by_kind(found: Mapping[str, pd.DataFrame], k: int) -> Iterator[Cell]:
    for name, values in found.items():
        kinds = [(kind, part["value"]) for kind, part in values.groupby("kind", sort=True)]
        for kind, part in [("overall", values["value"]), *kinds]:
            yield Cell(name, f"R@{k} {kind}", f"recall@{k}", "", number(part.mean()), len(part),
                       NOT_COMPARABLE, note=_NOTE)  # fmt: skip


def _against(family: Family, found: Mapping[str, pd.DataFrame], k: int) -> Iterator[Cell]:
    for name, rival, path in (
        (family.recollection, family.familiarity, "familiarity"),
        (family.gated, family.familiarity, "familiarity"),
        (family.gated, family.recollection, "recollection"),
    ):
        text = difference(found[rival], found[name])
        yield Cell(name, f"R@{k} less {path}'s", "difference", "", text, len(found[name]),
                   NOT_COMPARABLE, note=_NOTE)  # fmt: skip
