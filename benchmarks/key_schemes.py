"""One run over 500 questions with 500 sessions each, against a per-question loop.

    python benchmarks/key_schemes.py [--questions 500] [--sessions 500] [--json]

The haystacks are the sample benchmark's at that size, read from prepared tables, so that a session
that stands in many of them is one object. Vectors are drawn at random: only their number matters.
Timed from vectors in memory to the run's table: `product` is the matrix product of all queries
with all unique keys alone, `experiment` is all of it (keys, search, table; each beside it), and
`loop` takes the questions one by one, as research scripts do: keys of the haystack, its vectors,
one product. The loop runs once, the others three times by turns, and the best counts; rankings
must be equal, ties included.
"""

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.core.key_builder import PlainKeyBuilder
from memrepro.core.keys import Request
from memrepro.core.memory import GRANULARITIES, Dataset
from memrepro.core.prepared import load, save
from memrepro.core.ranking import to_frame
from memrepro.core.similarity import normalise, products
from memrepro.data.longmemeval import pieces_of
from memrepro.data.sample import compile_benchmark
from memrepro.retrieve import make_retriever

K = 50
DIMENSION = 384
CASES = (
    ("session", "user_only"),
    ("session", "fielded"),
    ("round", "user_only"),
    ("round", "fielded"),
)


def haystacks(questions: int, sessions: int) -> Dataset:
    """The sample benchmark of that size, written to prepared tables and read again."""
    with tempfile.TemporaryDirectory() as name:
        instances = compile_benchmark(seed=13, questions=questions, sessions=sessions)
        for _ in save(pieces_of(instances, "sample"), Path(name)):
            pass
        return load(Path(name), "sample")


def experiment(
    dataset: Dataset, granularity: str, key_scheme: str, vectors: np.ndarray, queries: np.ndarray
) -> tuple[pd.DataFrame, dict[str, float]]:
    """What the retrieve stage does once its tables are read, and what its parts took."""
    began = time.perf_counter()
    builder = PlainKeyBuilder(granularity, key_scheme)
    made = builder.make_all([dataset.memories[q.memory_id] for q in dataset.queries])
    shared = vectors[: len(builder.texts)]
    requests = [
        Request(keys.with_vectors(shared), [query.query_id], [query.text], queries[i : i + 1])
        for i, (query, keys) in enumerate(zip(dataset.queries, made, strict=True))
    ]
    keyed = time.perf_counter()
    rankings = make_retriever("dense", "dense", {"k": K}).search(requests)
    searched = time.perf_counter()
    run = to_frame(rankings)
    ended = time.perf_counter()
    parts = {"keys": keyed - began, "search": searched - keyed, "table": ended - searched}
    return run, {"experiment": ended - began, **parts}


def loop(
    dataset: Dataset,
    granularity: str,
    key_scheme: str,
    row_of: dict[str, int],
    vectors: np.ndarray,
    queries: np.ndarray,
) -> pd.DataFrame:
    """Question by question: the docs' texts, their vectors, one product, a sort."""
    rows = []
    for number, query in enumerate(dataset.queries):
        scores: dict[str, float] = {}
        ids, places = [], []
        for session in dataset.memories[query.memory_id].sessions:
            for doc in GRANULARITIES[granularity](session):
                texts = (
                    [doc.fields["user"]] if key_scheme == "user_only" and "user" in doc.fields
                    else list(doc.fields.values()) if key_scheme == "fielded" else []
                )  # fmt: skip
                ids += [doc.round_id] * len(texts)
                places += [row_of[text] for text in texts]
        # One text has one score, as in the experiment: each row once.
        unique = sorted(set(places))
        of_row = dict(
            zip(unique, vectors[unique].astype(np.float64) @ queries[number], strict=True)
        )
        for doc_id, place in zip(ids, places, strict=True):
            scores[doc_id] = max(scores.get(doc_id, -np.inf), of_row[place])
        order = sorted(scores, key=lambda d: (-scores[d], hashlib.sha256(d.encode()).digest()))
        rows += [(query.query_id, d, rank) for rank, d in enumerate(order[:K], start=1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])


def timed(action: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    result = action()
    return time.perf_counter() - began, result


def measure(dataset: Dataset, granularity: str, key_scheme: str) -> dict[str, float | int | str]:
    """Times of the product, the experiment and the loop, and how far their rankings differ."""
    builder = PlainKeyBuilder(granularity, key_scheme)
    held = sum(len(keys.rows) for keys in builder.make_all(list(dataset.memories.values())))
    generator = np.random.default_rng(0)
    size = (len(builder.texts), DIMENSION)
    vectors = normalise(generator.normal(size=size).astype(np.float32))
    queries = normalise(generator.normal(size=(len(dataset.queries), DIMENSION)).astype(np.float32))
    row_of = {text: row for row, text in enumerate(builder.texts)}
    best = {"product": np.inf, "experiment": np.inf}
    seconds, plain = timed(lambda: loop(dataset, granularity, key_scheme, row_of, vectors, queries))
    for _ in range(3):
        product, _ = timed(lambda: products(queries, vectors))
        best["product"] = min(best["product"], product)
        run, parts = experiment(dataset, granularity, key_scheme, vectors, queries)
        if parts["experiment"] < best["experiment"]:
            best |= parts
    best["loop"] = seconds  # slow, and as fast each time: once
    both = run.merge(plain, on=["query_id", "rank"], how="outer", suffixes=("", " loop"))
    differ = both[both["doc_id"] != both["doc_id loop"]]
    return {
        "docs": granularity,
        "key_scheme": key_scheme,
        "keys in haystacks": held,
        "unique keys": len(builder.texts),
        **{f"{name} (s)": seconds for name, seconds in best.items()},
        "experiment ÷ product": best["experiment"] / best["product"],
        "loop ÷ experiment": best["loop"] / best["experiment"],
        "ranks that differ": len(differ),
        "of": len(run),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    dataset = haystacks(arguments.questions, arguments.sessions)
    rows = [measure(dataset, *case) for case in CASES]
    if arguments.json:
        print(json.dumps(rows, indent=1, default=float))
    else:
        print(pd.DataFrame(rows).to_markdown(index=False, floatfmt=".3f"))


if __name__ == "__main__":
    main()
