"""Retrieval by the five abilities that LongMemEval asks for (§3.1)."""

from collections.abc import Iterator

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource, write_sources
from memrepro.report.specs import Spec, fill
from memrepro.report.tables import Cell, number

_NAMES = {
    "IE": "information extraction",
    "MR": "multi-session reasoning",
    "KU": "knowledge updates",
    "TR": "temporal reasoning",
    "ABS": "abstention",
}
_DESIGNS = {
    "K = V": "{base}",
    "K = V + fact": "{base}+merge:{fact}",
}
_METRICS = [("recall_all", 5), ("ndcg_longmemeval", 5)]
_UNASKED = "no kind of question here asks for it"
_NO_GOLD = "what is asked was never said, so that no doc answers it: only a reader can be judged"


def cells(runs: Runs, table: Spec) -> Iterator[Cell]:
    """A row an ability, a column a level, design and metric; kinds of one ability are pooled."""
    for ability, name in _NAMES.items():
        kinds = table["asked"][ability]
        for level in ("session", "round"):
            for design, setting in _DESIGNS.items():
                for metric, k in _METRICS:
                    column = f"{level}, {design}, {metric}@{k}"
                    run, how = fill("{stem}", table) + f"-{level}-keys", fill(setting, table)
                    place = RunSource(run, how, level, metric, k)
                    row = f"{ability}: {name}"
                    yield _cell(
                        runs, place, kinds, Cell(row, column, place.name, "", "", 0, NOT_RUN)
                    )


def _cell(runs: Runs, place: RunSource, kinds: list[str], cell: Cell) -> Cell:
    if not kinds:
        return cell._replace(note=_UNASKED)
    if why := runs.why_not(place.run, place.setting):
        return cell._replace(note=why)
    values = runs.values(place)
    if values is None:
        return cell._replace(note=f"not evaluated at {place.k}")
    values = values[values["kind"].isin(kinds)]
    if values.empty:
        return cell._replace(verdict=NOT_COMPARABLE, note=_NO_GOLD)
    return cell._replace(
        reproduced=number(float(values["value"].mean())), n=len(values), verdict=NOT_COMPARABLE,
        note=f"{cell.row}: {', '.join(kinds)}",
        sources=write_sources(place._replace(kind=kind) for kind in kinds),
    )  # fmt: skip
