"""From a cell to the runs and files that its table names for it, and whether they give its number.

Five relations, each named in the answer. *mean*: of one run's values. *difference*: the mean of the
second run's values − that of the first. *computed*: from the named sources, in a way that the
cell's note tells. *disagrees*: the named run gives another number. *none*: no source is named.
"""

from collections.abc import Sequence
from typing import NamedTuple

from memrepro.errors import MemreproError
from memrepro.provenance.places import Place, entry, mean_of, plan, stated, values
from memrepro.report.profile import compare_values
from memrepro.report.sources import FileSource, RunSource, read_sources
from memrepro.report.tables import DIGITS, Cell

MEAN, DIFFERENCE, COMPUTED, DISAGREES, NONE = (
    "mean", "difference", "computed", "disagrees", "none",
)  # fmt: skip
_TEXTS = {
    MEAN: "the mean of this run's values, computed again, is the number",
    DIFFERENCE: "the mean of the second run's values − that of the first, computed again, is the "
    "number",
    COMPUTED: "computed from the sources that the table names, and not the mean of one run",
    NONE: "the table names no source for this cell",
}


class Link(NamedTuple):
    """Where a cell's number comes from.

    Attributes:
        relation: MEAN, DIFFERENCE, COMPUTED, DISAGREES or NONE.
        text: the same as a sentence.
        places: the runs; of a difference before and after.
        files: other tables, by their paths below `results/<profile>`.
    """

    relation: str
    text: str
    places: tuple[Place, ...] = ()
    files: tuple[str, ...] = ()


def link(cell: Cell) -> Link:
    """Where the number of a cell comes from.

    Raises:
        MemreproError: if its table names a source that params.yaml does not have.
    """
    if not cell.reproduced:
        return Link(NONE, cell.note or f"{cell.verdict}: nothing was computed here")
    sources = read_sources(cell.sources)
    if not sources:
        return Link(NONE, _TEXTS[NONE])
    places = tuple(_place(one) for one in sources if isinstance(one, RunSource))
    files = tuple(one.path for one in sources if isinstance(one, FileSource))
    relation, text = (COMPUTED, _TEXTS[COMPUTED]) if files else _relation(cell, places)
    return Link(relation, text, places, files)


def _place(source: RunSource) -> Place:
    if source.setting not in (known := entry(source.run).variants()):
        raise MemreproError(
            f"source '{source}': {source.run} has the settings {', '.join(map(repr, known))}"
        )
    run, setting, level, metric, k, kind = source
    return Place(run, setting, level, stated(), metric, k, kind)


def _relation(cell: Cell, places: Sequence[Place]) -> tuple[str, str]:
    """How the number stands to its runs: the relation, and a sentence."""
    shown = _number(cell)
    if shown is None or len(places) > 2:
        return COMPUTED, _TEXTS[COMPUTED]
    try:
        found = [mean_of(place) for place in places]
    except MemreproError as error:
        return COMPUTED, f"{_TEXTS[COMPUTED]}; its values are not kept ({error})"
    digits = len(cell.reproduced.split()[0].partition(".")[2])
    if len(places) == 2:
        (old, before), (new, after) = found
        same = before == after == cell.n and _equals(new - old, shown, digits)
        if same and _tells(cell, *places):
            return DIFFERENCE, _TEXTS[DIFFERENCE]
        return COMPUTED, _TEXTS[COMPUTED]
    ((mean, n),) = found
    if n == cell.n and _equals(mean, shown, digits):
        return MEAN, _TEXTS[MEAN]
    if cell.metric == f"{places[0].metric}@{places[0].k}":
        return DISAGREES, (
            f"the table names this run, whose values have the mean {mean:.{DIGITS}f} over {n} "
            "questions: it is not the number"
        )
    return COMPUTED, f"{_TEXTS[COMPUTED]} (the run's mean is {mean:.{DIGITS}f}, n = {n})"


def _number(cell: Cell) -> float | None:
    """The number with which a cell begins; None if it begins with none."""
    try:
        return float(cell.reproduced.split()[0])
    except ValueError:
        return None


def _equals(value: float, shown: float, digits: int) -> bool:
    """Whether a value is what a table shows, whichever way a tie is rounded."""
    return abs(value - shown) <= 0.5 * 10.0**-digits + 1e-9


def _tells(cell: Cell, before: Place, after: Place) -> bool:
    """Whether a comparison is that of two places; a difference without interval is so."""
    if cell.comparison is None:
        return cell.reproduced[0] in "+-"
    dataset = entry(before.experiment).dataset
    try:
        found = compare_values(values(before), values(after), dataset, plan())
    except MemreproError:  # not of the same questions
        return False
    return cell.comparison.as_dict() == found.as_dict()
