"""Table 3's numbers of S: RF-Mem's released LongMemEval program on the edition after the cleaning.

The program counts the questions of whose evidence the user says something (418 of the 499 that are
used, 419 printed), takes their evidence sessions for gold, and cuts one list of 50 at 5, 10 and 50.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from memrepro.audit.verdicts import NOT_IN_PAPER, OTHER_EDITION
from memrepro.core.memory import Parts
from memrepro.core.similarity import Doubles
from memrepro.evaluate.comparison import QUESTION, Groups, compare
from memrepro.evaluate.metrics import evaluate, lay_out, ranks_of
from memrepro.papers.rfmem.cells import printed_rows
from memrepro.report.runs import Runs
from memrepro.report.sources import write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number
from memrepro.study.evaluation import read_gold
from memrepro.study.params import load_plan

_CUTOFFS = (5, 10, 50)


class Recalls(NamedTuple):
    """By cut-off, whether all evidence of each question is found: 1 or 0, shape (n,)."""

    found: Mapping[int, Doubles]

    @property
    def n(self) -> int:
        """How many questions are counted."""
        return len(self.found[_CUTOFFS[0]])

    def share(self, k: int) -> float:
        """The mean over the questions."""
        return float(self.found[k].mean())


def gold_of_program(dataset: str) -> Mapping[str, Parts]:
    """The evidence sessions of each question that the released program counts."""
    plan = load_plan()
    protocols = plan.evaluation.protocols
    gold = read_gold(plan.dataset(dataset).profile, dataset, protocols)
    counted = gold.wanted("session", protocols["official"])
    stated = gold.wanted("session", protocols["stated"])
    return {query_id: parts for query_id, parts in stated.items() if query_id in counted}


def recalls_by_setting(runs: Runs, run: str) -> dict[str, Recalls]:
    """Setting ('' where nothing varies) → recalls of a run of sessions; {} if it was not run."""
    if run not in runs.planned or not (settings := runs.settings(run)):
        return {}
    judged = lay_out(gold_of_program(load_plan().runs[run].dataset))
    found = {}
    for setting in settings:
        ranking = runs.ranking(run, setting)
        ranking["rank"] = ranking.groupby("query_id", sort=False).cumcount() + 1
        by = evaluate(ranks_of(ranking), judged, ["recall_all"], _CUTOFFS).by
        found[setting] = Recalls({k: by["recall_all", k] for k in _CUTOFFS})
    return found


def table3(runs: Runs, table: Spec) -> Iterator[Cell]:
    """The rows of `runs`, row → run: recall_all of sessions, never judged.

    Each row but the first has the paired difference from it, by question, in columns of its own.
    """
    shown, direct, note = printed_rows("table3"), None, table["note"]
    for row, run in table["runs"].items():
        for one in recalls_by_setting(runs, run).values():
            sources = [runs.file(run)]
            for k in _CUTOFFS:
                column = f"LongMemEval-S, Recall@{k}"
                yield Cell(
                    row, column, "recall_all", shown[row][column], number(one.share(k)), one.n,
                    OTHER_EDITION, note=note, sources=write_sources(sources),
                )  # fmt: skip
            if direct is None:
                direct, first = one, run
                continue
            for k in _CUTOFFS:
                groups = Groups(QUESTION, ("",) * one.n)
                found = compare(direct.found[k], one.found[k], groups)
                yield Cell(
                    row, f"LongMemEval-S, Recall@{k} − familiarity's", "recall_all", "", "", one.n,
                    NOT_IN_PAPER, note=note, sources=write_sources([runs.file(first), *sources]),
                    comparison=found,
                )  # fmt: skip
