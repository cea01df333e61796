"""What the tiered store costs as it grows, beside one index over turns.

    python benchmarks/memory_scale.py [--segments 1000 10000 100000 1000000] [--publish]

Each store of each size is filled in a process of its own, then opened and searched in another, all
in one run. A stretch of three synthetic turns is one segment; its words fall as 1/rank and have no
digits or dates, its vector is drawn from its text, so that no time is an encoder's. Vectors lie in
24 of 384 dimensions, which makes their cosines spread as those of sentences do. The alternatives
hold one vector a turn: a flat FAISS index in memory, and a LanceDB table on the disk.

Up to `STREAMED` segments the tiered store takes messages in by `add`. A larger one is loaded: its
messages and segments are inserted by the store's own functions, without looking for the cuts, and
opening it brings the vectors level; there is no ingest time then. For ten segments of WARM there is
one fact, of a segment of its own, which is older.
"""

import argparse
import hashlib
import multiprocessing
import os
import platform
import resource
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from memrepro.core.similarity import Doubles, normalise
from memrepro.encode.encoder import HashEncoder, Role, Vectors
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.files.progress import bar
from memrepro.retrieve.tiered.keys.segments import Message, segment_text

if TYPE_CHECKING:
    from memrepro.memory.memory import TieredMemory

# A store's libraries are imported where it is used: what they take counts as its memory.
COLUMNS = [
    "store", "segments", "step", "n", "p50_ms", "p95_ms", "recall_5", "filled", "fill_s",
    "ingest_s_per_1000", "memory_mb", "disk_mb", "processor", "threads",
]  # fmt: skip
TURNS = 3  # of a segment, the least
STREAMED = 100_000
PER_FACT = 10  # segments
_DIMENSION, _RANK = 384, 24
_WORDS, _A_TURN, _A_QUESTION = 20_000, 12, 4
_LETTERS = "bcdfghjklmnpqrstvwxz"
_AS_LETTERS = str.maketrans("0123456789ABCDEFGHIJ", _LETTERS)
_AT_ONCE = 1000  # segments that are added together
_QUERIES, _SECONDS = 40, 20.0  # of a step, at most
_TOP = 5
# Over an hour of silence ends a segment, and a million of them must end before the year 2100.
APART, _A_TURN_TAKES = 3660.0, 10.0
_MIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
_SHIFTS = np.array([30, 27], np.uint64)
USER = "someone"

Step = Callable[[str], object]


class Drawn(HashEncoder):
    """A random vector a text, the same for the same text, at next to no cost."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, dimension) float32 of length 1; both roles are alike."""
        digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
        seeds = np.frombuffer(b"".join(digests), np.uint64)
        # splitmix64 of the seed and the dimension's number.
        mixed = seeds[:, None] + np.arange(1, _RANK + 1, dtype=np.uint64) * _MIX[0]
        for shift, factor in zip(_SHIFTS, _MIX[1:], strict=True):
            mixed = (mixed ^ (mixed >> shift)) * factor
        drawn = ndtri(((mixed >> _SHIFTS[0]).astype(np.float64) + 0.5) / 2**34)
        return normalise((drawn @ _basis(self.dimension)).astype(np.float32))


@cache
def _basis(dimension: int) -> Doubles:
    return np.random.default_rng(3).standard_normal((_RANK, dimension))


def _word(number: int) -> str:
    """A number as letters among which there is no vowel, so that no date is seen in them."""
    return np.base_repr(number, len(_LETTERS)).translate(_AS_LETTERS)


@cache
def _vocabulary() -> tuple[NDArray[np.object_], Doubles]:
    weights = 1 / np.arange(1, _WORDS + 1)
    return np.array([_word(i) for i in range(_WORDS)], object), np.cumsum(weights / weights.sum())


def segments(first: int, last: int) -> Iterator[list[list[Message]]]:
    """The messages of the segments of these numbers, which may be negative, some at a time."""
    words, bounds = _vocabulary()
    for start in range(first, last, _AT_ONCE):
        many = min(_AT_ONCE, last - start)
        rng = np.random.default_rng([7, start - first, last - first])
        drawn = words[np.searchsorted(bounds, rng.random((many, TURNS, _A_TURN)))]
        yield [
            [
                Message(
                    f"m{number:+09d}-{turn}",
                    "user" if turn % 2 == 0 else "assistant",
                    number * APART + _A_TURN_TAKES * turn,
                    " ".join(said) + (" z" if number < 0 else " y") + _word(abs(number)),
                )
                for turn, said in enumerate(turns)
            ]
            for number, turns in enumerate(drawn, start)
        ]


def questions(n: int, seed: int) -> list[str]:
    """Questions of four words, common and rare."""
    words, _ = _vocabulary()
    drawn = np.random.default_rng(seed).integers(3, 2000, (n, _A_QUESTION))
    return [" ".join(words[row]) for row in drawn]


def fill_tiered(folder: Path, n_segments: int) -> float:
    """Fill WARM and COLD; seconds of `add`, or NaN where segments were loaded."""
    seconds = float("nan")
    with opened(folder) as memory:
        if n_segments <= STREAMED:
            seconds = 0.0
            for some in segments(0, n_segments):
                messages = [message for segment in some for message in segment]
                began = perf_counter()
                memory.add(messages)
                seconds += perf_counter() - began
        else:
            _load(memory, 0, n_segments)
    # Opening brings vectors level, and maintenance closes the last segment and builds indices.
    with opened(folder) as memory:
        memory.maintain(n_segments * APART)
        n_facts = n_segments // PER_FACT
        ids = _load(memory, -n_facts, 0)
        with memory.journal.transaction() as db:
            memory.journal.chill(ids)
            _load_facts(db, ids)
            memory.journal.put("behind", True)
    with opened(folder) as memory:
        # No reader needs the versions that filling has left.
        memory.index.compact(timedelta(0))
    return seconds


def opened(folder: Path, *, user: str = USER, **more: Any) -> "TieredMemory":
    """A memory in which nothing grows old, and whose searches have no limit in time."""
    from memrepro.memory.memory import TieredMemory
    from memrepro.memory.settings import Settings

    settings = Settings(warm_days=1e6, dense_ms=600_000.0, threshold=more.pop("threshold", 0.65))
    return TieredMemory(folder, user, Drawn(_DIMENSION), settings, **more)


def _load(memory: "TieredMemory", first: int, last: int) -> list[str]:
    """Insert segments into the journal, whose vectors are made at the next opening: their ids."""
    from memrepro.memory.stretches import keep, segment_id

    # Indices are written in random order: what SQLite holds by default makes it write all twice.
    memory.journal.connection.execute("PRAGMA cache_size=-1000000")
    ids: list[str] = []
    for some in segments(first, last):
        with memory.journal.transaction() as db:
            memory.journal.insert([message for messages in some for message in messages])
            told = [(messages, segment_text(messages)) for messages in some]
            made = {segment_id(*one): one for one in told}
            keep(db, made)
            ids += made
            memory.journal.put("behind", True)
    return ids


def _load_facts(db: sqlite3.Connection, sources: Sequence[str]) -> None:
    """Write one fact a segment into COLD."""
    from memrepro.memory.cold_tables import digest, note, write
    from memrepro.memory.language.fact import Candidate, Fact

    for number, (text, source) in enumerate(
        zip(questions(len(sources), 13), sources, strict=True), -len(sources)
    ):
        told = Candidate(text, "fact", 1.0, (source,), number * APART)
        fact = Fact.from_statement(digest([text, source]), told)
        write(db, fact)
        note(db, "add", fact.fact_id, "", told, told.at, "")


def open_tiered(folder: Path, n_segments: int) -> dict[str, Step]:
    """The steps of a search over it."""
    now = n_segments * APART
    memory, unsure = opened(folder, mode="read"), opened(folder, mode="read", threshold=0.95)
    wordless = opened(folder, mode="read")

    def fails(texts: Sequence[str], role: Role) -> Vectors:
        raise MemreproError("no encoder")

    wordless.encoder.encode = fails  # type: ignore[method-assign]
    facts = dict(zip(questions(_QUERIES, 11), questions(n_segments // PER_FACT, 13), strict=False))
    return {
        "HOT": lambda query: memory.recent(),
        "WARM, dense and BM25": lambda query: memory.search(query, now),
        "WARM, BM25 alone": lambda query: wordless.search(query, now),
        # WARM is not sure of a fact's own words.
        "WARM, then COLD's facts": lambda query: unsure.search(facts.get(query, query), now),
    }


def recall_tiered(folder: Path) -> float:
    """The share of the five segments nearest to a question that its search finds."""
    with opened(folder, mode="read") as memory:
        shares = []
        for vector in memory.encoder.encode(questions(_QUERIES, 11), "query"):
            found, _ = memory.index.nearest("segments", vector, _TOP)
            exact, _ = memory.index.nearest("segments", vector, _TOP, exact=True)
            shares.append(len(set(found) & set(exact)) / len(exact))
    return float(np.mean(shares))


def _turns(n_segments: int) -> Iterator[tuple[list[str], list[str], Vectors]]:
    """The ids, texts and vectors of turns, some at a time."""
    encoder = Drawn(_DIMENSION)
    for some in segments(0, n_segments):
        messages = [message for segment in some for message in segment]
        texts = [message.text for message in messages]
        yield [m.message_id for m in messages], texts, encoder.encode(texts, "document")


def fill_lancedb(folder: Path, n_segments: int) -> float:
    """One LanceDB table with a vector a turn; seconds of adding."""
    import lancedb
    import pyarrow as pa

    vector = pa.list_(pa.float32(), _DIMENSION)
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("vector", vector)])
    table: Any = lancedb.connect(folder).create_table("turns", schema=schema)
    seconds = 0.0
    for ids, texts, vectors in _turns(n_segments):
        began = perf_counter()
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), _DIMENSION)
        table.add(pa.table({"id": ids, "text": texts, "vector": column}, schema=schema))
        seconds += perf_counter() - began
    return seconds


def open_lancedb(folder: Path, n_segments: int) -> dict[str, Step]:
    """Its search, of all vectors."""
    import lancedb

    encoder, table = Drawn(_DIMENSION), lancedb.connect(folder).open_table("turns")

    def search(query: str) -> object:
        found: Any = table.search(encoder.encode([query], "query")[0])
        return found.distance_type("cosine").limit(_TOP).to_list()

    return {"search": search}


def fill_faiss(folder: Path, n_segments: int) -> float:
    """One flat FAISS index with a vector a turn, written to the disk; seconds of both."""
    import faiss

    index, seconds = faiss.IndexFlatIP(_DIMENSION), 0.0
    for _, _, vectors in _turns(n_segments):
        began = perf_counter()
        index.add(vectors)
        seconds += perf_counter() - began
    began = perf_counter()
    faiss.write_index(index, str(folder / "turns.faiss"))
    return seconds + perf_counter() - began


def open_faiss(folder: Path, n_segments: int) -> dict[str, Step]:
    """Its search, of all vectors, from memory."""
    import faiss

    encoder, index = Drawn(_DIMENSION), faiss.read_index(str(folder / "turns.faiss"))
    return {"search": lambda query: index.search(encoder.encode([query], "query"), _TOP)}


STORES: Mapping[
    str, tuple[Callable[[Path, int], float], Callable[[Path, int], dict[str, Step]]]
] = {
    "tiered": (fill_tiered, open_tiered),
    "LanceDB over turns": (fill_lancedb, open_lancedb),
    "FAISS over turns": (fill_faiss, open_faiss),
}


def fill(store: str, n_segments: int, folder: Path) -> tuple[str, float, float]:
    """Fill a store: 'streamed' or 'loaded', seconds of all, and seconds for 1,000 turns or NaN."""
    began = perf_counter()
    adding = STORES[store][0](folder, n_segments)
    took = round(perf_counter() - began, 1)
    how = "loaded" if np.isnan(adding) else "streamed"
    return how, took, round(1000 * adding / (n_segments * TURNS), 4)


def measure(store: str, n_segments: int, folder: Path) -> list[tuple[Any, ...]]:
    """Step, searches, p50, p95 and this process's peak memory; one row a step."""
    before = _peak_mb()
    steps = STORES[store][1](folder, n_segments)
    times: dict[str, list[float]] = {}
    for step, work in steps.items():
        asked, until, taken = questions(_QUERIES, 11), perf_counter() + _SECONDS, []
        work(asked[0])  # what is opened at the first call
        for query in asked:
            if (began := perf_counter()) >= until:
                break
            work(query)
            taken.append(1000 * (perf_counter() - began))
        times[step] = taken
    weighs = round(_peak_mb() - before)
    return [
        (step, len(ms), *np.quantile(ms, (0.5, 0.95)).round(3).tolist(), weighs)
        for step, ms in times.items()
    ]


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` returns, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def _rows(store: str, n_segments: int, folder: Path) -> list[tuple[Any, ...]]:
    filled = alone(fill, store, n_segments, folder)
    disk = round(sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 2**20, 1)
    recall = alone(recall_tiered, folder) if store == "tiered" else 1.0
    machine = (platform.processor() or platform.machine(), os.cpu_count())
    return [
        (store, n_segments, *times, recall if "dense" in times[0] else np.nan, *filled, weighs,
         disk, *machine)
        for *times, weighs in alone(measure, store, n_segments, folder)
    ]  # fmt: skip


def write(table: pd.DataFrame, name: str, publish: bool) -> None:
    """Print a table and write it, where the tiered report reads it or beside what is measured."""
    print(table.to_string(index=False))
    path = paths.measured("open") / f"{name}.parquet"
    write_table(paths.latency("open", name, ".parquet") if publish else path, table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sizes = [1000, 10_000, 100_000, 1_000_000]
    parser.add_argument("--segments", type=int, nargs="+", default=sizes)
    parser.add_argument("--publish", action="store_true", help="into results/open/latency")
    given = parser.parse_args()
    near = paths.build_folder("scale").parent
    near.mkdir(parents=True, exist_ok=True)
    rows, jobs = [], [(store, n) for n in given.segments for store in STORES]
    with bar(len(jobs), "stores", "store") as progress:
        for store, n in jobs:
            with tempfile.TemporaryDirectory(dir=near) as folder:
                rows += _rows(store, n, Path(folder))
            progress.update()
    write(pd.DataFrame(rows, columns=COLUMNS), "tiered-scale", given.publish)


if __name__ == "__main__":
    main()
