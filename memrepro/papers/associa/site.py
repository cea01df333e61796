"""What the site draws of this document: the subgraphs of a handful of questions.

They are drawn where the vectors of a memory graph are on this machine.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from memrepro.papers.associa.view import absent, draw_question
from memrepro.provenance.places import is_evaluated, metrics_of, run_file
from memrepro.report.profile import Metrics
from memrepro.study.params import Experiment, Plan

_EACH = 2  # questions won, and as many lost


class Drawing(NamedTuple):
    """A question whose subgraph can be drawn, on the graph of an experiment; why it was chosen."""

    dataset: str
    query_id: str
    experiment: str
    outcome: str

    def draw(self) -> Figure:
        """The subgraph."""
        return draw_question(self.experiment, self.query_id)


def drawings(profile: str, plan: Plan) -> Iterator[Drawing]:
    """Questions that the method, as the document has it, wins and loses; no variants of it."""
    for name, entry in plan.experiments.items():
        if (entry.profile, entry.method, entry.retriever) != (profile, "associa", "associa"):
            continue
        if absent(entry) or not is_evaluated(profile) or not run_file(name).is_file():
            continue
        for query_id, outcome in _chosen(metrics_of(profile), name, _baseline(plan, entry)):
            yield Drawing(entry.dataset, query_id, name, outcome)
        return


def _baseline(plan: Plan, entry: Experiment) -> tuple[str, str] | None:
    """The experiment and setting that search the same docs by plain similarity."""
    base = entry.key_scheme.partition("+")[0]
    for name, other in {**plan.experiments, **plan.sweeps}.items():
        same = (other.dataset, other.encoder, other.granularity) == (
            entry.dataset, entry.encoder, entry.granularity,
        )  # fmt: skip
        if same and other.method == "dense" and not other.ranges:
            for setting, variant in other.variants().items():
                if variant.key_scheme == base:
                    return name, setting
    return None


def _chosen(metrics: Metrics, name: str, baseline: tuple[str, str] | None) -> list[tuple[str, str]]:
    """The first questions by id that the method finds and the baseline misses, and vice versa."""
    here = _found(metrics, name, "")
    if baseline is None or baseline[0] not in metrics.experiments:
        return [(query_id, "the first questions") for query_id in here.index[: 2 * _EACH]]
    there = _found(metrics, *baseline).reindex(here.index)
    won, lost = here.index[here > there], here.index[here < there]
    return [(q, "found here, missed by plain similarity") for q in sorted(won)[:_EACH]] + [
        (q, "missed here, found by plain similarity") for q in sorted(lost)[:_EACH]
    ]


def _found(metrics: Metrics, name: str, setting: str) -> pd.Series:
    """1 or 0 by question."""
    values = metrics.values(name, "round", "recall_all", 10, setting)
    return values.set_index("query_id")["value"]
