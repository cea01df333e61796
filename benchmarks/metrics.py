"""Metrics for all questions at once against a plain Python loop over questions, in one run.

    python benchmarks/metrics.py [--queries 2000] [--json]

Prints questions/s of both, their ratio, and the largest difference between the values.
"""

import argparse
import json
import time
from itertools import product
from math import log2

import numpy as np
import pandas as pd

from memrepro.evaluate.metrics import evaluate, lay_out, ranks_of

NAMES = ["recall_all", "recall_any", "recall", "ndcg", "ndcg_longmemeval"]
KS = [1, 3, 5, 10, 50]


def make(
    n_queries: int, seed: int = 0
) -> tuple[pd.DataFrame, dict[str, tuple[tuple[str, ...], ...]]]:
    """Runs of 50 docs, gold of 1 to 4 parts with 1 to 2 alternatives each."""
    generator = np.random.default_rng(seed)
    rows, gold = [], {}
    for q in range(n_queries):
        docs = generator.permutation(200)[:50]
        rows += [(f"q{q}", f"d{d}", rank) for rank, d in enumerate(docs, start=1)]
        gold[f"q{q}"] = tuple(
            tuple(f"d{d}" for d in generator.choice(200, generator.integers(1, 3), replace=False))
            for _ in range(generator.integers(1, 5))
        )
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"]), gold


def plain(run: pd.DataFrame, gold: dict[str, tuple[tuple[str, ...], ...]]) -> np.ndarray:
    """The same metrics as a reader would write them: question by question, k by k."""
    ranked = {q: list(rows["doc_id"]) for q, rows in run.groupby("query_id", sort=False)}
    values = []
    for name, k in product(NAMES, KS):
        for query_id, parts in gold.items():
            best = 0.0
            for combination in product(*parts):
                wanted = set(combination)
                top = ranked[query_id][:k]
                hits = [rank for rank, doc in enumerate(top, start=1) if doc in wanted]
                size = min(len(wanted), k)
                if name == "recall_all":
                    value = float(len(hits) == len(wanted))
                elif name == "recall_any":
                    value = float(bool(hits))
                elif name == "recall":
                    value = len(hits) / len(wanted)
                elif name == "ndcg":
                    ideal = sum(1 / log2(i + 1) for i in range(1, size + 1))
                    value = sum(1 / log2(r + 1) for r in hits) / ideal
                else:
                    ideal = sum(1 / max(1, log2(i)) for i in range(1, size + 1))
                    value = sum(1 / max(1, log2(r)) for r in hits) / ideal
                best = max(best, value)
            values.append(best)
    return np.array(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for n in (arguments.queries // 4, arguments.queries):
        run, gold = make(n)
        start = time.perf_counter()
        ours = evaluate(ranks_of(run), lay_out(gold), NAMES, KS).frame()["value"].to_numpy()
        middle = time.perf_counter()
        theirs = plain(run, gold)
        end = time.perf_counter()
        rows.append(
            {
                "questions": n,
                "here, questions/s": round(n / (middle - start)),
                "plain loop, questions/s": round(n / (end - middle)),
                "ratio": round((end - middle) / (middle - start), 1),
                "largest difference": float(np.abs(ours - theirs).max()),
            }
        )
    print(
        json.dumps(rows, indent=1)
        if arguments.json
        else pd.DataFrame(rows).to_markdown(index=False)
    )


if __name__ == "__main__":
    main()
