"""BM25 of 200 queries over 1,000 to 64,000 texts: ours, `rank_bm25`, and `bm25s` where it is here.

    pip install bm25s==0.3.16    # into an environment of its own, or this one for a moment
    python benchmarks/bm25.py

One thread, in turn, five of each; processor time of the search alone, and of index and search. The
scores of the first two are compared, bit for bit; bm25s has another idf, so that only the work is
the same.
"""

import importlib.util
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pandas as pd
from rank_bm25 import BM25Okapi

from memrepro.retrieve.bm25.retrievers import Postings

SIZES, QUERIES, TURNS = (1_000, 2_000, 4_000, 16_000, 64_000), 200, 5
LIBRARY_UP_TO = 4_000  # texts: beyond, the library takes minutes a turn


def drawn(number: int, length: int, seed: int) -> list[list[str]]:
    """Texts whose words fall as 1/rank, as in tiered_scale."""
    rng, words = np.random.default_rng(seed), np.array([f"w{n}" for n in range(20_000)], object)
    bounds = np.cumsum(1 / np.arange(1, len(words) + 1))
    found = words[np.searchsorted(bounds / bounds[-1], rng.random((number, length)))]
    return [list(row) for row in found]


def of_bm25s(corpus: list[list[str]]) -> Callable[[list[list[str]]], object]:
    import bm25s

    index = bm25s.BM25(method="robertson")
    index.index(corpus, show_progress=False)
    return lambda queries: [index.get_scores(query) for query in queries]


def of_class(kind: type) -> Callable[[list[list[str]]], Callable[[list[list[str]]], object]]:
    def make(corpus: list[list[str]]) -> Callable[[list[list[str]]], object]:
        index = kind(corpus)
        return lambda queries: [index.get_scores(query) for query in queries]

    return make


def main() -> None:
    makers = {"ours": of_class(Postings), "rank_bm25": of_class(BM25Okapi)}
    if importlib.util.find_spec("bm25s"):
        makers["bm25s"] = of_bm25s
    rows = []
    for size in SIZES:
        corpus, queries = drawn(size, 60, size), drawn(QUERIES, 8, 1)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in makers}
        scores = {}
        for _ in range(TURNS):
            for name, make in makers.items():
                if name == "rank_bm25" and size > LIBRARY_UP_TO:
                    continue
                began = time.process_time()
                search = make(corpus)
                indexed = time.process_time()
                scores[name] = search(queries)
                times[name].append((time.process_time() - indexed, time.process_time() - began))
        if "rank_bm25" in scores:
            assert np.array_equal(scores["ours"], scores["rank_bm25"])
        row: dict[str, object] = {"texts": size}
        for name, own in times.items():
            if own:
                row[f"{name}: search ms"] = round(1000 * median(one for one, _ in own), 1)
                row[f"{name}: both ms"] = round(1000 * median(one for _, one in own), 1)
        rows.append(row)
        print(row, flush=True)
    print(pd.DataFrame(rows).to_markdown(index=False))


if __name__ == "__main__":
    main()
