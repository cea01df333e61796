"""Abstention: how well a ranking's scores tell questions without an answer from those with one."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.prepared import load_qrels
from memrepro.core.similarity import Doubles
from memrepro.evaluate.bootstrap import RESAMPLES, SEED, Interval
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.runs import Runs
from memrepro.report.sources import write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, with_ends
from memrepro.study.params import load_plan

ABSTENTION = "abstention"
_SHARPNESS = 20.0  # λ of RF-Mem's gate outside PersonaBench


def signals(scores: Doubles) -> Mapping[str, float]:
    """What a list of scores, the best first, shape (k,), says of its question; higher: answerable.

    The entropy is RF-Mem's (Equations 1 and 2, the mean over the list), with its sign turned: an
    even list is an unfamiliar one.
    """
    logits = _SHARPNESS * (scores - scores.max())
    p = np.exp(logits) / np.exp(logits).sum()
    return {
        "best score": float(scores[0]),
        "best − second": float(scores[0] - scores[1]) if len(scores) > 1 else 0.0,
        "mean of the list": float(scores.mean()),
        "gate's entropy": float(np.mean(p * np.log(np.maximum(p, 1e-300)))),
    }


def auc(values: Doubles, answerable: NDArray[np.bool_]) -> Interval:
    """The area under the ROC curve, .5 by chance, with its 95 % interval.

    Questions with and without an answer are each resampled among themselves.

    Args:
        values: of each question, shape (n,), higher for answerable ones.
        answerable: shape (n,).
    """
    yes, no = values[answerable], values[~answerable]
    # The area is the share of pairs in which the answerable question has the higher value.
    above = (yes[:, None] > no) + (yes[:, None] == no) / 2
    drawn_yes, drawn_no = _drawn(*above.shape)
    found = ((drawn_yes @ above) * drawn_no).sum(axis=1) / above.size
    low, high = np.percentile(np.round(found, 12), [2.5, 97.5])
    return Interval(float(above.mean()), float(low), float(high))


@lru_cache(maxsize=4)
def _drawn(*sizes: int) -> tuple[NDArray[np.int64], ...]:
    """How often each resample has each question, for each size, shape (RESAMPLES, size)."""
    generator = np.random.default_rng(SEED)
    return tuple(generator.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) for n in sizes)


def abstention_cells(runs: Runs, table: Spec) -> Iterator[Cell]:
    """The AUC of each signal of each list."""
    dataset = table["dataset"]
    profile = load_plan().dataset(dataset).profile
    kinds, _ = load_qrels(paths.qrels(profile, dataset), "session")
    for title, one in table["lists"].items():
        run, setting = one["run"], str(one.get("setting", ""))
        if runs.why_not(run, setting):
            continue
        ranking = read_table(paths.run(profile, run, load_plan().runs[run].study))
        if "setting" in ranking:
            ranking = ranking[ranking["setting"] == setting]
        ranking = ranking.sort_values(["query_id", "rank"])
        told = pd.DataFrame(
            {
                query_id: signals(scores.to_numpy(np.float64))
                for query_id, scores in ranking.groupby("query_id", observed=True)["score"]
            }
        ).T
        answerable = np.array([kinds[query_id] != ABSTENTION for query_id in told.index])
        note = (
            f"{int((~answerable).sum())} questions without an answer against "
            f"{int(answerable.sum())} with one; .5 is chance; 95 % intervals by question"
        )
        for name in told:
            text = with_ends(auc(told[name].to_numpy(), answerable))
            yield Cell(
                title, str(name), "AUC", "", text, len(told), NOT_COMPARABLE, note=note,
                sources=write_sources([runs.file(run)]),
            )  # fmt: skip
