"""RF-Mem's recollection for all queries at once, against a loop over queries with scikit-learn.

    python benchmarks/recollection.py [--queries 200] [--dimension 768] [--json]

PersonaBench's memories with mpnet's vectors where they have been made (else random ones of that
size), and random memories of 500 and 5,000 docs. The loop is the reference of the tests,
`recollection_reference`, in single precision: a product, k-means of scikit-learn for each branch.
It runs with all threads and with one, which may be faster on so few points; the faster counts. The
loop, over 24 of the queries, and the batch, over all, run alternating, five times, and the best of
each counts. All rankings are compared, rank by rank, with those of the loop in single precision and
in double. With one thread the processor's time of that thread is counted, else the clock's.

Then one query at a time: the batch of one query, without and with encoding it (MiniLM).
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise, product

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from memrepro.core.key_builder import PlainKeyBuilder
from memrepro.core.prepared import load, text_id
from memrepro.core.similarity import normalise
from memrepro.encode.load import load_encoder
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.retrieve.rfmem.nearest import QueryBatch
from memrepro.retrieve.rfmem.recollection import Printed, Released, Settings, recollect
from memrepro.retrieve.rfmem.reference import recollect_one
from memrepro.study.params import load_plan
from memrepro.study.search.retrieval import read_vectors

TURNS, FEW = 5, 24
VARIANTS = {"released": Released, "printed": Printed}
EXPERIMENT = "rfmem-mpnet-recollection-k5"
SETTINGS = {
    "K=5, F=1, α=0.9": {"k": 5, "fanout": 1, "alpha": 0.9},
    "K=10, F=2, α=0.2": {"k": 10, "fanout": 2, "alpha": 0.2},
}  # RF-Mem's Table 2
QUESTION = "Which restaurant did I say I wanted to go to for my birthday?"


def drawn(n_memories: int, n_docs: int, n_queries: int, dimension: int) -> list[QueryBatch]:
    """Random memories; vectors have a common part, as those of texts have."""
    generator = np.random.default_rng(n_docs)

    def vectors(n: int) -> np.ndarray:
        return normalise(generator.normal(size=(n, dimension)).astype(np.float32) + 0.5)

    return [
        QueryBatch(
            vectors(n_queries), vectors(n_docs), generator.permutation(n_docs).astype(np.uint64)
        )
        for _ in range(n_memories)
    ]


def personabench() -> tuple[str, list[QueryBatch]]:
    """The real memories, or random ones of their number and size."""
    experiment = load_plan().experiment(EXPERIMENT)
    try:
        dataset = load(paths.prepared(experiment.dataset), experiment.dataset)
        vectors = read_vectors(experiment)
    except MemreproError:
        return "6 memories of 88 docs, random", drawn(6, 88, 44, 768)
    builder = PlainKeyBuilder(experiment.granularity, experiment.key_scheme)
    asked = []
    for memory_id, memory in dataset.memories.items():
        keys = builder.make(memory)
        docs = np.stack([vectors["document"][text_id(text)] for text in keys.texts])
        texts = [query.text for query in dataset.queries if query.memory_id == memory_id]
        queries = np.stack([vectors["query"][text_id(text)] for text in texts])
        asked.append(QueryBatch(queries, docs, keys.ties))
    sizes = sorted(len(one.docs) for one in asked)
    return f"PersonaBench, {len(asked)} of {sizes[0]} to {sizes[-1]} docs", asked


def batch(asked: Sequence[QueryBatch], settings: Settings) -> list[list[int]]:
    """The docs of each query, all queries at once."""
    hits = recollect(asked, settings)
    n_queries = sum(len(one.queries) for one in asked)
    ends = np.searchsorted(hits.query, np.arange(n_queries + 1)).tolist()
    return [hits.doc[a:b].tolist() for a, b in pairwise(ends)]


def loop(
    asked: Sequence[QueryBatch], settings: Settings, kind: type = np.float32
) -> list[list[int]]:
    """The docs of each query, one query after the other."""
    found = []
    for one in asked:
        docs = one.docs.astype(kind)
        for query in one.queries.astype(kind):
            found.append(list(recollect_one(query, docs, one.ties, settings)))
    return found


def with_one_thread(action: Callable[[], list[list[int]]]) -> list[list[int]]:
    with threadpool_limits(1):
        return action()


def ranks_that_differ(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> int:
    return sum(
        a != b or len(x) != len(y)
        for x, y in zip(one, other, strict=True)
        for a, b in zip(x, y, strict=False)
    )


def measure(name: str, asked: Sequence[QueryBatch], chosen: str, variant: str) -> dict[str, object]:
    """Queries a second of each path, and how far their rankings differ."""
    settings = VARIANTS[variant](beam_width=3, **SETTINGS[chosen])
    few = [QueryBatch(a.queries[: FEW // len(asked)], a.docs, a.ties) for a in asked]
    ways: dict[str, tuple[Sequence[QueryBatch], Callable[[], list[list[int]]]]] = {
        "loop": (few, lambda: loop(few, settings)),
        "loop, one thread": (few, lambda: with_one_thread(lambda: loop(few, settings))),
        "batch": (asked, lambda: batch(asked, settings)),
        "batch, one thread": (asked, lambda: with_one_thread(lambda: batch(asked, settings))),
    }
    speed = dict.fromkeys(ways, 0.0)
    for _ in range(TURNS):
        for way, (over, action) in ways.items():
            # With one thread that thread's time is counted, which other work disturbs less.
            clock = time.thread_time if "one thread" in way else time.perf_counter
            began = clock()
            action()
            taken = clock() - began
            speed[way] = max(speed[way], sum(len(one.queries) for one in over) / taken)
    found = batch(asked, settings)
    plain = with_one_thread(lambda: loop(asked, settings))
    exact = with_one_thread(lambda: loop(asked, settings, np.float64))
    return {
        "memory": name,
        "variant": variant,
        "settings": chosen,
        "queries": len(found),
        **{f"{way} q/s": round(rate) for way, rate in speed.items()},
        "batch ÷ faster loop": round(speed["batch"] / max(list(speed.values())[:2]), 1),
        "÷, one thread each": round(speed["batch, one thread"] / speed["loop, one thread"], 1),
        "ranks": sum(map(len, exact)),
        "differ": ranks_that_differ(found, plain),
        "differ, double": ranks_that_differ(found, exact),
    }


def latency(name: str, asked: Sequence[QueryBatch]) -> dict[str, object]:
    """Milliseconds of one query by itself, the median of 50."""
    settings = Released(beam_width=3, **SETTINGS["K=10, F=2, α=0.2"])
    first = asked[0]
    single = [QueryBatch(first.queries[i : i + 1], first.docs, first.ties) for i in range(40)]
    taken = []
    for number in range(50):
        one = single[number % len(single)]
        began = time.perf_counter()
        recollect([one], settings)
        between = time.perf_counter()
        recollect_one(one.queries[0], one.docs, one.ties, settings)
        taken.append((between - began, time.perf_counter() - between))
    batch_ms, loop_ms = 1e3 * np.median(taken, axis=0)
    return {"memory": name, "batch of one (ms)": batch_ms, "loop (ms)": loop_ms}


def encoding() -> float:
    """Milliseconds to encode one question with MiniLM, the median of 20."""
    encoder = load_encoder("all-minilm-l6-v2", device="cpu")
    encoder.encode([QUESTION], "query")
    taken = []
    for _ in range(20):
        began = time.perf_counter()
        encoder.encode([QUESTION], "query")
        taken.append(time.perf_counter() - began)
    return 1e3 * float(np.median(taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    memories = dict([personabench()])
    for n_docs in (500, 5000):
        asked = drawn(1, n_docs, arguments.queries, arguments.dimension)
        memories[f"{n_docs} docs, random"] = asked
    rows = []
    for name, asked in memories.items():
        for variant, chosen in product(VARIANTS, SETTINGS):
            rows.append(measure(name, asked, chosen, variant))
            print(rows[-1], file=sys.stderr)
    encoded = encoding()
    alone = [latency(name, asked) for name, asked in memories.items()]
    for row in alone:
        row["with encoding (ms)"] = row["batch of one (ms)"] + encoded
    if arguments.json:
        print(json.dumps([rows, alone], indent=1, default=float, ensure_ascii=False))
        return
    print(pd.DataFrame(rows).to_markdown(index=False))
    print()
    print(pd.DataFrame(alone).to_markdown(index=False, floatfmt=".2f"))


if __name__ == "__main__":
    main()
