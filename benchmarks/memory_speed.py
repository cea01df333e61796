"""How fast a memory is beside plain LanceDB: searches, additions and deletions, in one run."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.encode.encoder import HashEncoder
from memrepro.memory.user_memory import Memory


def speed(sizes: Sequence[int], dimension: int = 384, queries: int = 200) -> pd.DataFrame:
    """Milliseconds of a search, of a message added by the hundred and of a deletion; LanceDB too.

    Vectors are drawn, as the same encoder stands before both.
    """
    import lancedb

    rng = np.random.default_rng(7)
    vocabulary = [f"word{n}" for n in range(5000)]
    encoder = HashEncoder(dimension)
    rows = []
    for size in sizes:
        texts = [" ".join(rng.choice(vocabulary, 12)) for _ in range(size)]
        asked = [" ".join(rng.choice(vocabulary, 6)) for _ in range(queries)]
        with tempfile.TemporaryDirectory() as scratch:
            vectors = encoder.encode(texts, "document")
            table = lancedb.connect(Path(scratch) / "lance").create_table(
                "messages", [{"id": "", "text": texts[0], "vector": vectors[0]}]
            )
            memory = Memory(scratch, encoder=encoder)

            def add_lance(at: int, table=table, texts=texts, vectors=vectors) -> None:
                some = texts[at : at + 100]
                pairs = zip(some, encoder.encode(some, "document"), strict=True)
                table.add([{"id": f"m{at}", "text": t, "vector": v} for t, v in pairs])

            def add_memory(at: int, memory=memory, texts=texts) -> None:
                some = enumerate(texts[at : at + 100], at)
                memory.add([{"content": t, "id": f"m{i}", "at": 1.6e9 + 60 * i} for i, t in some])

            adds = {"LanceDB": add_lance, "memory": add_memory}
            searches = {
                "LanceDB": lambda q, t=table: t.search(encoder.encode([q], "query")[0])
                .limit(5).to_list(),
                "memory": lambda q, m=memory: m.search(q),
            }  # fmt: skip
            deletes = {
                "LanceDB": lambda i, t=table: t.delete(f"id = 'm{i}'"),
                "memory": lambda i, m=memory: m.forget(f"m{i}"),
            }
            for name in adds:
                adding = timed(adds[name], range(0, size, 100))
                searching = timed(searches[name], asked)
                deleting = timed(deletes[name], [100 * i for i in range(5)])
                rows.append({
                    "segments": size, "store": name, "search p50": np.percentile(searching, 50),
                    "search p95": np.percentile(searching, 95),
                    "add, a message": np.sum(adding) / size, "delete, p50": np.median(deleting),
                })  # fmt: skip
            memory.close()
    return pd.DataFrame(rows)


def timed(work: Callable[[Any], object], given: Sequence[Any]) -> list[float]:
    """Milliseconds of each call."""
    found = []
    for one in given:
        began = time.perf_counter()
        work(one)
        found.append(1000 * (time.perf_counter() - began))
    return found
