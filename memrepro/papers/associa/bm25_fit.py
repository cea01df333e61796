"""Under which protocol the printed BM25 of Table 1 comes out, of all that were named beforehand.

The paper names neither what a doc is nor its text, tokens, labels and NDCG, and counts 428 of 500
questions without saying which. The runs `lme-s-bm25-fit-…` are every combination of doc (round,
session, turn), text (the user's words, both sides'), tokens (cut at blanks as LongMemEval's code
does, or words in lower case) and order of ties; each is evaluated under every protocol of
`params.yaml`, at its own level and rolled up to sessions.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.report.document import Document
from memrepro.report.runs import Runs
from memrepro.report.sources import write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number
from memrepro.study.evaluation import each_protocol, read_gold
from memrepro.study.params import load_plan

_RUNS = "lme-s-bm25-fit-"
_DATASET = "longmemeval-s"
_NDCGS = {"ndcg": "NDCG", "ndcg_longmemeval": "released NDCG"}
_SHOWN = 12  # of the best fits
_ROUNDED = 0.0005  # half a unit of the last printed digit


class Fit(NamedTuple):
    """A protocol, its four values, how many questions it counts, and the largest difference."""

    protocol: str
    values: tuple[float, ...]
    n: int
    distance: float
    run: str


def fits(runs: Runs, printed: tuple[float, ...]) -> list[Fit]:
    """Every protocol's recall_all@5, NDCG@5, recall_all@10, NDCG@10, the nearest first."""
    plan = load_plan()
    gold = read_gold(plan.dataset(_DATASET).profile, _DATASET, plan.evaluation.protocols)
    found = []
    for run in (name for name in plan.runs if name.startswith(_RUNS)):
        if runs.why_not(run):
            continue
        ranking = runs.ranking(run)
        ranking["rank"] = ranking.groupby("query_id", sort=False).cumcount() + 1
        granularity = plan.runs[run].granularity
        for level, key, evaluated in each_protocol(
            ranking, granularity, gold, plan.evaluation.protocols
        ):
            for ndcg, called in _NDCGS.items():
                by = evaluated(["recall_all", ndcg], [5, 10]).by
                pairs = [(metric, k) for k in (5, 10) for metric in ("recall_all", ndcg)]
                if not all(pair in by for pair in pairs):
                    continue
                values = tuple(float(by[pair].mean()) for pair in pairs)
                distance = float(np.max(np.abs(np.array(values) - printed)))
                name = f"{run.removeprefix(_RUNS)}, by {level}, labels {key}, {called}"
                found.append(Fit(name, values, len(by[pairs[0]]), distance, run))
    return sorted(found, key=lambda fit: (fit.distance, fit.protocol))


def fit_cells(runs: Runs, _: Spec) -> Iterator[Cell]:
    """The nearest protocols: their values beside the printed ones, and the largest difference."""
    columns = ["Recall@5", "NDCG@5", "Recall@10", "NDCG@10"]
    places = [f"Longmemeval-s, {one.lower()}" for one in columns]
    printed = Document.load("associa").printed("table1")["BM25"]
    texts = [printed[place] for place in places]
    found = fits(runs, tuple(map(float, texts)))
    note = (
        f"all protocols were named before the first was evaluated; the {_SHOWN} nearest are shown"
    )
    if found:
        summary = {
            "protocols": str(len(found)),
            "give all four numbers": str(sum(fit.distance < _ROUNDED for fit in found)),
            "nearest": found[0].protocol,
            "largest difference": number(found[0].distance),
        }
        source = write_sources([runs.file(fit.run) for fit in found[:1]])
        for column, text in summary.items():
            yield Cell(
                "all", column, "as printed", "", text, found[0].n, NOT_COMPARABLE, note=note,
                sources=source,
            )  # fmt: skip
            note = ""
    for fit in found[:_SHOWN]:
        source = write_sources([runs.file(fit.run)])
        rows = dict(zip(columns, zip(texts, map(number, fit.values), strict=True), strict=True))
        rows["largest difference"] = ("", number(fit.distance))
        for column, (reported, text) in rows.items():
            yield Cell(
                fit.protocol, column, "as printed", reported, text, fit.n, NOT_COMPARABLE,
                sources=source,
            )  # fmt: skip
