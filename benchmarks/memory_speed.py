"""How fast a memory is beside plain LanceDB: searches, additions and deletions, in one run."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.encode.encoder import HashEncoder
from memrepro.encode.load import load_encoder
from memrepro.memory.user_memory import Memory


def speed(sizes: Sequence[int], name: str | None = None, queries: int = 200) -> pd.DataFrame:
    """Milliseconds of a search, of a message added by the hundred and of a deletion; LanceDB too.

    By the clock, and of the processor, which a busy machine changes less. The same encoder stands
    before both; where none is named vectors are hashes, and what is timed are the stores alone.
    """
    import lancedb

    rng = np.random.default_rng(7)
    vocabulary = [f"word{n}" for n in range(5000)]
    encoder = load_encoder(name) if name else HashEncoder(384)
    rows = []
    for size in sizes:
        texts = [" ".join(rng.choice(vocabulary, 12)) for _ in range(size)]
        asked = [" ".join(rng.choice(vocabulary, 6)) for _ in range(queries)]
        with tempfile.TemporaryDirectory() as scratch:
            table = lancedb.connect(Path(scratch) / "lance").create_table(
                "messages", [{"id": "", "text": "", "vector": encoder.encode(["a"], "document")[0]}]
            )
            memory = Memory(scratch, encoder=encoder)

            def add_lance(at: int, table=table, texts=texts) -> None:
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
            for store in adds:
                adding, adding_cpu = timed(adds[store], range(0, size, 100))
                searching, searching_cpu = timed(searches[store], asked)
                deleting, deleting_cpu = timed(deletes[store], [100 * i for i in range(5)])
                rows.append({
                    "segments": size, "store": store,
                    "search p50": np.percentile(searching, 50),
                    "search p95": np.percentile(searching, 95), "CPU p50": np.median(searching_cpu),
                    "add, a message": adding.sum() / size, "add, CPU": adding_cpu.sum() / size,
                    "delete p50": np.median(deleting), "delete, CPU": np.median(deleting_cpu),
                })  # fmt: skip
            memory.close()
    return pd.DataFrame(rows)


def timed(work: Callable[[Any], object], given: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Milliseconds of each call, by the clock and of the processor."""
    found = []
    for one in given:
        began, used = time.perf_counter(), time.process_time()
        work(one)
        found.append((time.perf_counter() - began, time.process_time() - used))
    by_clock, of_processor = 1000 * np.array(found).T
    return by_clock, of_processor
