"""tiered_scale: what the tiered store costs as it grows, beside one index over turns.

Each store of each size is filled and searched in a process of its own, all in one run. A stretch of
five synthetic turns is one segment; its words fall as 1/rank, its vector is drawn from its text, so
that no time is an encoder's. The alternatives hold one vector a turn: a flat FAISS index in memory,
and a LanceDB table on the disk.
"""

import multiprocessing
import os
import platform
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from memrepro import paths
from memrepro.core.similarity import Floats, normalise
from memrepro.encode import HashEncoder, Role, Vectors
from memrepro.experiment import load_plan
from memrepro.progress import bar
from memrepro.retrievers.tiered.segments import Message
from memrepro.stages.done import Done
from memrepro.store import write_table

COLUMNS = [
    "store", "segments", "step", "n", "p50_ms", "p95_ms", "ingest_s_per_1000", "memory_mb",
    "disk_mb", "processor", "threads",
]  # fmt: skip
TURNS = 5  # of a segment
_DIMENSION = 384
_WORDS, _A_TURN = 20_000, 12
_AT_ONCE = 1000  # segments that are added together
_QUERIES = 40
_TOP = 5
_START, _APART = 1_700_000_000.0, 2 * 3600.0  # two hours of silence end a segment
_MB = 1 << 20

Step = Callable[[str], object]


class RandomEncoder(HashEncoder):
    """A random vector a text, the same for the same text, at next to no cost."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, dimension) float32 of length 1; both roles are alike."""
        rows = [
            np.random.default_rng(list(text[-40:].encode())).standard_normal(
                self.dimension, np.float32
            )
            for text in texts
        ]
        return normalise(np.stack(rows))


def turns(n_segments: int) -> Iterator[list[Message]]:
    """The messages of that many segments, some at a time."""
    rng = np.random.default_rng(7)
    weights = 1 / np.arange(1, _WORDS + 1)
    bounds = np.cumsum(weights / weights.sum())
    for first in range(0, n_segments, _AT_ONCE):
        many = min(_AT_ONCE, n_segments - first)
        drawn = np.searchsorted(bounds, rng.random((many, TURNS, _A_TURN)))
        yield [
            Message(
                f"m{first + i}-{j}",
                "user" if j % 2 == 0 else "assistant",
                _START + (first + i) * _APART + 60.0 * j,
                " ".join(f"w{word}" for word in drawn[i, j]) + f" m{first + i}x{j}",
            )
            for i in range(many)
            for j in range(TURNS)
        ]


def queries() -> list[str]:
    """Questions of four words, common and rare."""
    rng = np.random.default_rng(11)
    return [" ".join(f"w{word}" for word in rng.integers(3, 2000, 4)) for _ in range(_QUERIES)]


def fill_tiered(folder: Path, n_segments: int) -> dict[str, Step]:
    """The tiered store, all of it in WARM; its steps."""
    from memrepro.errors import MemreproError
    from memrepro.tiered_store.memory import TieredMemory
    from memrepro.tiered_store.settings import Settings

    # No limit in time: what a search takes is what is asked here. One random vector in about
    # 20,000 is similar enough.
    settings = Settings(warm_days=1e6, threshold=0.2, dense_ms=600_000.0)
    encoder = RandomEncoder(_DIMENSION)
    memory = TieredMemory(folder, "someone", encoder, settings)
    for some in turns(n_segments):
        memory.add(some)
    now = _START + n_segments * _APART

    def lexical(query: str) -> object:
        def fails(texts: Sequence[str], role: Role) -> Vectors:
            raise MemreproError("no encoder")

        encoder.encode = fails  # type: ignore[method-assign]
        try:
            return memory.search(query, now)
        finally:
            del encoder.encode

    memory.close()
    memory = TieredMemory(folder, "someone", encoder, settings, mode="read")
    return {
        "HOT": lambda query: memory.recent(),
        "WARM, dense and BM25": lambda query: memory.search(query, now),
        "WARM, BM25 alone": lexical,
    }


def fill_lancedb(folder: Path, n_segments: int) -> dict[str, Step]:
    """One LanceDB table with a vector a turn."""
    import lancedb
    import pyarrow as pa

    encoder = RandomEncoder(_DIMENSION)
    vector = pa.list_(pa.float32(), _DIMENSION)
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("vector", vector)])
    table: Any = lancedb.connect(folder).create_table("turns", schema=schema)
    for some in turns(n_segments):
        texts = [message.text for message in some]
        flat = pa.array(encoder.encode(texts, "document").ravel())
        column = pa.FixedSizeListArray.from_arrays(flat, _DIMENSION)
        ids = [message.message_id for message in some]
        table.add(pa.table({"id": ids, "text": texts, "vector": column}, schema=schema))

    def search(query: str) -> object:
        vector = encoder.encode([query], "query")[0]
        return table.search(vector).distance_type("cosine").limit(_TOP).to_list()

    return {"search": search}


def fill_faiss(folder: Path, n_segments: int) -> dict[str, Step]:
    """One flat FAISS index with a vector a turn, written to the disk."""
    import faiss

    encoder = RandomEncoder(_DIMENSION)
    index = faiss.IndexFlatIP(_DIMENSION)
    for some in turns(n_segments):
        index.add(encoder.encode([message.text for message in some], "document"))
    faiss.write_index(index, str(folder / "turns.faiss"))

    def search(query: str) -> object:
        return index.search(_row(encoder, query), _TOP)

    return {"search": search}


def _row(encoder: RandomEncoder, query: str) -> Floats:
    return encoder.encode([query], "query")


STORES = {
    "tiered": fill_tiered,
    "LanceDB over turns": fill_lancedb,
    "FAISS over turns": fill_faiss,
}


def measure(store: str, n_segments: int) -> list[tuple[Any, ...]]:
    """One row a step, in this process, whose peak memory is the store's."""
    before = _peak_mb()
    with tempfile.TemporaryDirectory(dir=paths.build("scale").parent) as name:
        folder = Path(name)
        began = perf_counter()
        steps = STORES[store](folder, n_segments)
        ingest = perf_counter() - began
        disk = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / _MB
        times = {}
        for step, work in steps.items():
            work(queries()[0])  # what is opened at the first call
            times[step] = [_milliseconds(work, query) for query in queries()]
        per_1000 = 1000 * ingest / (n_segments * TURNS)
        weighs = (round(per_1000, 4), round(_peak_mb() - before), round(disk, 1))
    machine = (platform.processor() or platform.machine(), os.cpu_count())
    return [
        (store, n_segments, step, len(ms), round(float(np.median(ms)), 3),
         round(float(np.quantile(ms, 0.95)), 3), *weighs, *machine)
        for step, ms in times.items()
    ]  # fmt: skip


def _milliseconds(work: Step, query: str) -> float:
    began = perf_counter()
    work(query)
    return 1000 * (perf_counter() - began)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(name: str) -> Done:
    """Measure an entry of `scales` and write its table."""
    plan = load_plan()
    entry = plan.scale(name)
    rows: list[tuple[Any, ...]] = []
    context = multiprocessing.get_context("spawn")
    paths.build("scale").parent.mkdir(parents=True, exist_ok=True)
    jobs = [(store, n) for n in entry.segments for store in STORES]
    with bar(len(jobs), f"scale {name}", "store") as progress:
        for store, n in jobs:
            with context.Pool(1) as pool:
                rows += pool.apply(measure, (store, n))
            progress.update()
    output = paths.scale(entry.profile, name)
    table = pd.DataFrame(rows, columns=COLUMNS)
    write_table(output, table)
    return Done(f"scale {name}", table, [], [output])
