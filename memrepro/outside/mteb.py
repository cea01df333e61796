"""What MTEB publishes of an encoder on its tasks LoCoMo and LongMemEval, beside a run here.

`mteb.csv`: all-MiniLM-L6-v2 (revision 8b3219a, mteb 2.3.0), from embeddings-benchmark/results at
9de86c0 and 50857bc. The task LoCoMo is the data set `locomo-mteb` under the protocols of
`protocols.yaml` that are named after its subsets.
"""

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from memrepro.core.similarity import Doubles
from memrepro.evaluate.metrics import evaluate, ranks_of
from memrepro.files.atomic import read_table
from memrepro.outside.runs import OutsideRun
from memrepro.outside.score import further_protocols, gold_of, values_of
from memrepro.study.plan import Plan

DATASET, DEEPEST = "locomo-mteb", 100
_MOST = 4  # pairs that are exchanged at once; each further one multiplies what is tried
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


class Exchange(NamedTuple):
    """Two docs of a question that stand next to each other, the upper at `rank`, `gap` apart."""

    query_id: str
    rank: int
    gap: float


@cache
def published() -> pd.DataFrame:
    """`task, subset, n, metric, value`, the metric such as 'recall@10'."""
    return pd.read_csv(Path(__file__).with_name("mteb.csv"))


def beside(run: Path, plan: Plan) -> list[Beside]:
    """Every published value beside that of a run of `DATASET`, 100 docs a question, in parquet.

    Raises:
        MemreproError: if the run is not there, or the data set was not prepared.
    """
    # A stage's own run: it needs none of the questions that an outside file is asked.
    frame, gold = read_table(run, ["query_id", "doc_id"]), gold_of(DATASET, plan)
    read = OutsideRun(run.stem, run, "turn", frame, {})
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


def exchanges(
    run: Path, plan: Plan, subset: str, within: float = 1e-4
) -> tuple[tuple[Exchange, ...], dict[str, float]] | None:
    """The fewest neighbours that must change places for a subset's published values to come out.

    Encoders differ in the last digits of a cosine by their precision and machine, so that docs of
    almost one score may stand either way.

    Args:
        run: as of `beside`.
        plan: with the data set.
        subset: of the task LoCoMo.
        within: the largest difference of two cosines that is tried, among the first eleven docs.

    Returns:
        the pairs, and each metric's value once they have changed places; None where no choice of
        at most four gives all values to five decimals.
    """
    frame, gold = read_table(run), gold_of(DATASET, plan)
    name = f"MTEB {subset}"
    protocols = further_protocols(plan, set(gold.kinds.values()))
    judged = gold.judged("turn", name, protocols[name])
    table = published()
    told = table[(table["task"] == "LoCoMo") & (table["subset"] == subset)]
    places = [(_METRICS[m.partition("@")[0]], int(m.partition("@")[2])) for m in told["metric"]]
    assert judged is not None
    frame = frame[frame["query_id"].isin(judged.query_ids)]

    def values_by_question(ranking: pd.DataFrame) -> Doubles:
        """Shape (n_published, n_questions)."""
        names, ks = zip(*places, strict=True)
        by = evaluate(ranks_of(ranking), judged, set(names), sorted(set(ks))).by
        return np.stack([by[place] for place in places])

    ours, wanted = values_by_question(frame), told["value"].to_numpy()
    order = frame.sort_values(["query_id", "rank"], kind="stable").reset_index(drop=True)
    below = order.shift(-1)
    gaps = order["score"] - below["score"]
    near = order[
        (below["query_id"] == order["query_id"]) & (gaps <= within) & (order["rank"] <= 10)
    ]
    tried = {}
    for at in near.index:
        docs = order["doc_id"].astype(str).to_numpy(copy=True)
        docs[[at, at + 1]] = docs[[at + 1, at]]
        change = (values_by_question(order.assign(doc_id=docs)) - ours).sum(axis=1)
        if change.any():
            found = Exchange(str(order["query_id"][at]), int(order["rank"][at]), float(gaps[at]))
            tried[found] = change
    for size in range(min(len(tried), _MOST) + 1):
        for some in combinations(tried, size):
            moved = (ours.sum(axis=1) + sum(tried[one] for one in some)) / ours.shape[1]
            if np.abs(moved - wanted).max() <= 5.1e-6:
                return some, dict(zip(told["metric"], map(float, moved), strict=True))
    return None
