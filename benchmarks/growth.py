"""10,000 to 640,000 vectors: searching them by three indices of faiss, and the store of vectors.

    python benchmarks/growth.py

One thread; processor time, so that other work on the machine does not count. The vectors lie around
drawn centres, as texts lie around topics (independent entries have no neighbours to find, and no
index but the whole scan finds them).
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import faiss
import numpy as np
import pandas as pd

from memrepro.encode.vectors import VectorStore

DIMENSION, TOP, QUERIES = 384, 10, 200
SIZES = [10_000 * factor for factor in (1, 4, 16, 64)]
TOPICS, SPREAD = 2_000, 0.8


def drawn(generator: np.random.Generator, centres: np.ndarray, number: int) -> np.ndarray:
    found = np.empty((number, DIMENSION), np.float32)
    for start in range(0, number, 20_000):
        part = found[start : start + 20_000]
        noise = generator.standard_normal(part.shape, np.float32) * SPREAD / DIMENSION**0.5
        part[:] = centres[generator.integers(TOPICS, size=len(part))] + noise
    faiss.normalize_L2(found)
    return found


def index_of(kind: str, number: int) -> faiss.Index:
    if kind == "flat":
        return faiss.IndexFlatIP(DIMENSION)
    lists = int(4 * number**0.5)
    codes = "Flat" if kind == "IVF" else "SQ8"
    index = faiss.index_factory(DIMENSION, f"IVF{lists},{codes}", faiss.METRIC_INNER_PRODUCT)
    faiss.extract_index_ivf(index).nprobe = 32
    return index


def rows() -> list[dict[str, object]]:
    generator = np.random.default_rng(5)
    centres = drawn(generator, np.zeros((TOPICS, DIMENSION), np.float32), TOPICS)
    every, queries = (drawn(generator, centres, number) for number in (SIZES[-1], QUERIES))
    found = []
    for number in SIZES:
        vectors, exact = every[:number], None
        for kind in ("flat", "IVF", "IVF, 8 bits"):
            index, began = index_of(kind, number), time.process_time()
            if not index.is_trained:
                index.train(vectors[:: max(1, number // (40 * index.nlist))])
            index.add(vectors)
            built, began = time.process_time() - began, time.process_time()
            _, ids = index.search(queries, TOP)
            searched = time.process_time() - began
            exact = ids if exact is None else exact
            same = [len(set(a) & set(b)) / TOP for a, b in zip(ids, exact, strict=True)]
            found.append(
                {
                    "vectors": number,
                    "index": kind,
                    "built in s": round(built, 2),
                    "ms a query": round(1000 * searched / QUERIES, 3),
                    "MB": round(len(faiss.serialize_index(index)) / 1e6),
                    f"recall@{TOP}": round(float(np.mean(same)), 3),
                }
            )
            print(found[-1], flush=True)
    return found


def store_rows() -> list[dict[str, object]]:
    """Commits of 32 vectors, as `embed` makes them, and reading 10,000 of all that are there."""
    found = []
    draw = np.random.default_rng(6)
    with TemporaryDirectory() as folder, VectorStore(Path(folder) / "e.sqlite") as store:
        for number, more in zip(SIZES, np.diff([0, *SIZES]), strict=True):
            vectors = draw.standard_normal((int(more), DIMENSION), np.float32)
            keys = [draw.bytes(32) for _ in vectors]
            began = time.process_time()
            for start in range(0, len(keys), 32):
                store.add(keys[start : start + 32], vectors[start : start + 32])
            added, began = time.process_time() - began, time.process_time()
            store.read(keys[:10_000], DIMENSION)
            read = time.process_time() - began
            found.append(
                {
                    "vectors": number,
                    "added a second": round(more / added),
                    "read a second": round(10_000 / read),
                    "MB": round(sum(p.stat().st_size for p in Path(folder).iterdir()) / 1e6),
                }
            )
            print(found[-1], flush=True)
    return found


if __name__ == "__main__":
    faiss.omp_set_num_threads(1)
    for table in (rows(), store_rows()):
        print(pd.DataFrame(table).to_markdown(index=False), end="\n\n")
