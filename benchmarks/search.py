"""Dense search of one memory: the matrix product in double precision beside faiss.

    OMP_NUM_THREADS=1 python benchmarks/search.py [--keys 1000 …] [--queries 1 …] [--approximate]

Random vectors of 384 dimensions with a common part, as those of texts have; a key a doc; the 50
best. Timed from shared vectors in memory to rankings, certificate and second scoring included, by
turns, best of three; rankings and scores must be equal. With OMP_NUM_THREADS=1 the processor's time
counts, else the clock's. MiB are what a child process that does the same once needs beyond what it
began with. The product is left out where its scores alone need more than 2 GB. `--approximate`
shows the recall of the lists (IVF) at these sizes instead.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
from bench import peak

from memrepro.core.keys import Keys, Request, best_first
from memrepro.core.ranking import to_frame
from memrepro.core.similarity import normalise
from memrepro.retrieve.dense import index

K, DIMENSION, TURNS, MOST = 50, 384, 3, 2 << 30
CLOCK = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter


def drawn(n_keys: int, n_queries: int) -> Request:
    """A memory that holds each second text of those that it shares with others."""
    generator = np.random.default_rng(n_keys)

    def vectors(n: int) -> np.ndarray:
        drawn = generator.standard_normal((n, DIMENSION), np.float32)
        return normalise(drawn + np.float32(0.3))

    ids = tuple(f"d{i}" for i in range(n_keys))
    everyone, rows = np.arange(n_keys), 2 * np.arange(n_keys)
    ties = generator.permutation(n_keys).astype(np.uint64)
    shared = np.repeat(vectors(n_keys), 2, axis=0)
    keys = Keys(ids, rows, range(2 * n_keys), ("all",) * n_keys, everyone, ties, shared)
    names = [f"q{i}" for i in range(n_queries)]
    return Request(keys, names, names, vectors(n_queries))


def by_product(request: Request) -> list:
    return best_first([(request, request.doc_scores())], K)


def by_faiss(request: Request) -> list:
    return index.search_memory(request, K)


def _grown(way: str, n_keys: int, n_queries: int) -> float:
    request = drawn(n_keys, n_queries)
    before = peak(afresh=True)
    WAYS[way](request)
    return peak() - before


def memory(way: str, n_keys: int, n_queries: int) -> float:
    """MiB that it needs beyond the memory's texts and vectors.

    In a process that is begun anew: one that is forked waits for its parent's threads for ever.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_grown, way, n_keys, n_queries).result()


WAYS = {"product": by_product, "faiss": by_faiss}


def measure(request: Request) -> dict[str, float]:
    n_keys, n_queries = len(request.keys.rows), len(request.query_ids)
    actions = dict(WAYS)
    if n_keys * n_queries * 8 > MOST:
        del actions["product"]
    row: dict[str, float] = {"keys": n_keys, "queries": n_queries}
    row |= {f"{name} MiB": memory(name, n_keys, n_queries) for name in actions}
    best, found = dict.fromkeys(actions, np.inf), {}
    for _ in range(TURNS):
        for name, action in actions.items():
            began = CLOCK()
            found[name] = action(request)
            best[name] = min(best[name], CLOCK() - began)
    row |= {f"{name} ms": 1000 * seconds for name, seconds in best.items()}
    if "product" in actions:
        row["product ÷ faiss"] = best["product"] / best["faiss"]
        if not to_frame(found["product"]).equals(to_frame(found["faiss"])):
            raise SystemExit(f"{n_keys} keys, {n_queries} queries: the rankings differ")
    return row


def approximate(request: Request) -> dict[str, float]:
    """The scan beside the lists, as if the memory were too large to scan."""
    row: dict[str, float] = {"keys": len(request.keys.rows), "queries": len(request.query_ids)}
    lists = int(4 * len(request.keys.rows) ** 0.5)
    for name, made in (("scan", 0), ("lists", lists)):
        index.lists_of = lambda n_queries, n_keys, made=made: made
        began = CLOCK()
        found = index.search_memory(request, K)
        row[f"{name} s"] = CLOCK() - began
    return {**row, "recall": found.recall}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--approximate", action="store_true")
    options = parser.parse_args()
    action = approximate if options.approximate else measure
    for n_keys in options.keys:
        rows = [action(drawn(n_keys, n_queries)) for n_queries in options.queries]
        print(pd.DataFrame(rows).to_markdown(index=False, floatfmt=".4g"), flush=True)


if __name__ == "__main__":
    main()
