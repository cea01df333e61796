"""Which protocol the printed numbers fit: each judged cell under every candidate.

The paper does not say whose labels count and how many questions: all 500, the 470 that are no
abstention, or the 419 that the released code keeps; of the temporal ones 133, 127, or what the code
keeps of them. A cell is computed again under each protocol of `params.yaml`, from its own ranking;
the one named fits the most cells within tolerance, then is nearest on average. Under a protocol
that counts abstentions one belongs to the question type that it was made of.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import JUDGED, NOT_COMPARABLE, NOT_RUN, judge
from memrepro.papers.longmemeval.statistics import asked_types
from memrepro.report.document import Document
from memrepro.report.engine import Tables
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource, read_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number
from memrepro.study.evaluation import Gold, each_protocol, read_gold
from memrepro.study.params import load_plan

_TABLES = ("table3", "table4", "table9", "table10")
_CLOSE = JUDGED[:2]  # what fits
_UNRUN = "no printed cell was run: LongMemEval's files and encoders are not available offline"


class Candidate(NamedTuple):
    """A cell under a protocol: its value and the number of questions."""

    value: float
    n: int


def under_each(place: RunSource, ranking: pd.DataFrame) -> dict[str, Candidate]:
    """A cell under every protocol that its data set has labels for.

    Args:
        place: the run, its setting, and the level, metric, k and kind of the cell.
        ranking: of that run and setting, `query_id, doc_id` in order of rank for each question.
    """
    plan = load_plan()
    one = plan.runs[place.run].variants()[place.setting]
    home = plan.dataset(one.dataset).profile
    gold = _gold(home, one.dataset)
    asked = {**gold.kinds, **asked_types(home, one.dataset)}
    numbered = ranking.groupby("query_id", sort=False).cumcount() + 1
    ranking = ranking.assign(rank=numbered)
    found = {}
    for level, key, evaluated in each_protocol(
        ranking, one.granularity, gold, plan.evaluation.protocols
    ):
        if level != place.level:
            continue
        values = evaluated([place.metric], [place.k])
        column = values.by.get((place.metric, place.k))
        if column is None:  # the official roll-up has its own metrics
            continue
        kinds = np.array([asked[query] for query in values.query_ids])
        column = column[kinds == place.kind] if place.kind else column
        if len(column):
            found[key] = Candidate(float(column.mean()), len(column))
    return found


@cache
def _gold(profile: str, dataset: str) -> Gold:
    return read_gold(profile, dataset, load_plan().evaluation.protocols)


class Fit(NamedTuple):
    """How well a protocol fits: cells within tolerance, of how many, and the mean distance."""

    protocol: str
    close: int
    cells: int
    distance: float


def best_fit(judged: Sequence[tuple[str, Mapping[str, Candidate]]]) -> list[Fit]:
    """The protocols, the best first; only those that have every cell.

    Args:
        judged: each printed number with what each protocol gives.
    """
    common = set.intersection(*(set(one) for _, one in judged))
    fits = []
    for protocol in common:
        values = [(printed, one[protocol].value) for printed, one in judged]
        close = sum(judge(printed, value).label in _CLOSE for printed, value in values)
        distance = float(np.mean([abs(float(printed) - value) for printed, value in values]))
        fits.append(Fit(protocol, close, len(values), distance))
    return sorted(fits, key=lambda fit: (-fit.close, fit.distance, fit.protocol))


def cells(runs: Runs, _: Spec) -> Iterator[Cell]:
    """A row a printed cell, a column a protocol; then how many each fits, and the best."""
    document = Document.load("longmemeval")
    engine, study, judged = Tables(document, runs), document.studies(runs.profile)[0], []
    for name in _TABLES:
        for cell in engine.cells(name, study):
            if cell.verdict not in JUDGED or not cell.sources:
                continue
            (place,) = read_sources(cell.sources)
            assert isinstance(place, RunSource)  # a judged cell is the mean of one run
            found = under_each(place, runs.ranking(place.run, place.setting))
            judged.append((cell.reported, found))
            row = f"{name}: {cell.row}, {cell.column}"
            for protocol, one in found.items():
                verdict = judge(cell.reported, one.value)
                yield cell._replace(
                    row=row, column=protocol, reproduced=number(one.value), n=one.n,
                    verdict=verdict.label, term=verdict.term,
                    note="each under its own number of questions",
                )  # fmt: skip
    if not judged:
        yield Cell("none", "protocol", "plan", "", "", 0, NOT_RUN, note=_UNRUN)
        return
    fits = best_fit(judged)
    for fit in fits:
        text = f"{fit.close} of {fit.cells}, mean distance {number(fit.distance)}"
        yield Cell("all cells", fit.protocol, "fits", "", text, fit.cells, NOT_COMPARABLE)
    alike = [fit.protocol for fit in fits if fit[1:] == fits[0][1:]]
    yield Cell("fits best", "protocol", "fits", "", ", ".join(alike), len(judged), NOT_COMPARABLE)
