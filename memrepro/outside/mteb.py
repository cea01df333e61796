"""What MTEB publishes of an encoder on its tasks LoCoMo and LongMemEval, beside a run here.

`mteb.csv`: all-MiniLM-L6-v2 (revision 8b3219a, mteb 2.3.0), from embeddings-benchmark/results at
9de86c0 and 50857bc. The task LoCoMo is the data set `locomo-mteb` under the protocols of
`protocols.yaml` that are named after its subsets.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from memrepro.outside.runs import read_run
from memrepro.outside.score import gold_of, values_of
from memrepro.study.plan import Plan

DATASET, DEEPEST = "locomo-mteb", 100
_METRICS = {"recall": "recall", "ndcg": "ndcg", "hit": "recall_any"}


class Beside(NamedTuple):
    """A published value and, where there is a run, ours: `here`, of `n_here` questions; else −1."""

    task: str
    subset: str
    metric: str
    n: int
    published: float
    n_here: int
    here: float


@cache
def published() -> pd.DataFrame:
    """`task, subset, n, metric, value`, the metric such as 'recall@10'."""
    return pd.read_csv(Path(__file__).with_name("mteb.csv"))


def beside(run: Path, plan: Plan) -> list[Beside]:
    """Every published value beside that of a run of `DATASET`, 100 docs a question, in parquet.

    Raises:
        MemreproError: if it is no run of the data set, or the data set was not prepared.
    """
    read, gold = read_run(run, DATASET, plan, "turn"), gold_of(DATASET, plan)
    values, _ = values_of([read], gold, plan, "recall", DEEPEST)
    here = values[values["level"] == "turn"].set_index(["protocol", "metric", "k"])
    found = []
    for task, subset, n, metric, value in published().itertuples(index=False):
        name, _, k = metric.partition("@")
        place = (f"MTEB {subset}", _METRICS[name], int(k))
        ours = here.loc[[place]].iloc[0] if task == "LoCoMo" else None
        told = (-1, -1.0) if ours is None else (int(ours["n"]), float(ours["value"]))
        found.append(Beside(task, subset, metric, int(n), float(value), *told))
    return found
