"""The embedding store against a loop that re-encodes each question's haystack.

    python benchmarks/embedding.py [--json] [--questions 120] [--loop-questions 8]
    python benchmarks/embedding.py --runtimes all-mpnet-base-v2
    python benchmarks/embedding.py --drift all-mpnet-base-v2   # needs PersonaBench, prepared

Both use the same encoder (MiniLM), device and batch size, so what differs is that the store
encodes each unique text once. Every measurement runs in its own process, for its peak memory.
The haystacks are the sample benchmark's (sessions, the user's words), of 1, 2, 4 and 8 times as
many questions. The loop takes as long for each question: it runs over a few, and its texts/s count.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Query
from memrepro.core.prepared import load, load_qrels
from memrepro.core.ranking import to_frame
from memrepro.data.longmemeval import pieces_of
from memrepro.data.sample import compile_benchmark
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import evaluate, lay_out, ranks_of
from memrepro.files import paths
from memrepro.retrieve import make_retriever

ENCODER = "all-minilm-l6-v2"
SCALES = (1, 2, 4, 8)
Haystacks = Sequence[Sequence[str]]


def haystacks(questions: int) -> Haystacks:
    """The sample benchmark of that many questions: each memory's sessions, the user's words."""
    instances = compile_benchmark(seed=13, questions=questions, sessions=40)
    pieces = pieces_of(instances, "sample")
    return [make_keys(piece.memory, "user_only", "session").texts for piece in pieces]


def measure_store(memories: Haystacks) -> dict[str, float]:
    """Embed all haystacks through a new store, then once more from what it holds."""
    encoder = load_encoder(ENCODER)
    encoder.encode(["warm up"], "document")
    with tempfile.TemporaryDirectory() as folder, VectorStore(Path(folder) / "e.sqlite") as store:
        texts = [text for memory in memories for text in memory]
        began = time.perf_counter()
        embed(texts, encoder, "document", store, progress=False)
        first = time.perf_counter() - began
        began = time.perf_counter()
        embed(texts, encoder, "document", store, progress=False)
        return {
            "slots": len(texts),
            "encoded": store.encoded,
            "seconds": first,
            "again": time.perf_counter() - began,
        }


def measure_loop(memories: Haystacks) -> dict[str, float]:
    """Encode each question's haystack anew, as research scripts do."""
    encoder = load_encoder(ENCODER)
    encoder.encode(["warm up"], "document")
    began = time.perf_counter()
    for memory in memories:
        encoder.encode(memory, "document")
    slots = sum(map(len, memories))
    return {"slots": slots, "encoded": slots, "seconds": time.perf_counter() - began}


def measure_runtimes(memories: Haystacks, model: str = ENCODER) -> dict[str, dict[str, float]]:
    """Torch, and OpenVINO in both precisions, alternating three times.

    On 128 session texts and on 32 of six joined; a processor without bfloat16 has two.
    """
    distinct = list(dict.fromkeys(text for memory in memories for text in memory))
    joined = [" ".join(distinct[i : i + 6]) for i in range(0, 192, 6)]
    encoders = {
        name: load_encoder(model, device="cpu", runtime=name) for name in ("torch", "openvino")
    }
    with suppress(MemreproError):
        encoders["bfloat16"] = load_encoder(model, device="cpu", dtype="bfloat16")
    rows = {}
    for length, texts in (("short", distinct[:128]), ("long", joined)):
        speeds: dict[str, list[float]] = {name: [] for name in encoders}
        vectors = {}
        for encoder in encoders.values():
            encoder.encode(texts[:32], "document")
        for _ in range(3):
            for name, encoder in encoders.items():
                began = time.perf_counter()
                vectors[name] = encoder.encode(texts, "document")
                speeds[name].append(len(texts) / (time.perf_counter() - began))
        for name in encoders:
            rows[f"{name}, {length}"] = {
                "texts": len(texts),
                "median": statistics.median(speeds[name]),
                "least": min(speeds[name]),
                "most": max(speeds[name]),
                "difference": float(np.abs(vectors[name] - vectors["torch"]).max()),
            }
    return rows


def measure_drift(model: str, dataset: str = "personabench-n00") -> dict[str, float]:
    """What bfloat16 changes in rankings of sessions by similarity, and in their recall."""
    data = load(paths.prepared(dataset), dataset)
    kinds, gold = load_qrels(paths.qrels("open", dataset), "session")
    # As in RF-Mem's Table 2.
    gold = {query: parts for query, parts in gold.items() if kinds[query] != "Subjective"}
    dense, judged = make_retriever("dense", "dense", {"k": 10}), lay_out(gold)
    encoders = {
        dtype: load_encoder(model, device="cpu", dtype=dtype) for dtype in ("float32", "bfloat16")
    }
    asked: dict[str, list[Query]] = {}
    for query in data.queries:
        asked.setdefault(query.memory_id, []).append(query)
    runs = {}
    for dtype, encoder in encoders.items():
        requests = []
        for memory_id, queries in asked.items():
            keys = make_keys(data.memories[memory_id], "concat", "session")
            keys = keys.with_vectors(encoder.encode(keys.unique, "document"))
            ids, texts = [q.query_id for q in queries], [q.text for q in queries]
            requests.append(Request(keys, ids, texts, encoder.encode(texts, "query")))
        runs[dtype] = to_frame(dense.search(requests))
    lists = [run.groupby("query_id", observed=True)["doc_id"].agg(list) for run in runs.values()]
    shared = [len({*a} & {*b}) / len(a) for a, b in zip(*lists, strict=True)]
    found = {"queries": len(shared), "top-10 agreement": statistics.mean(shared)}
    found["equal rankings"] = statistics.mean(a == b for a, b in zip(*lists, strict=True))
    for dtype, run in runs.items():
        values = evaluate(ranks_of(run), judged, ["recall"], (5, 10)).by
        found |= {f"recall@{k}, {dtype}": float(of.mean()) for (_, k), of in values.items()}
    return found


MEASURES = {"store": measure_store, "loop": measure_loop, "runtimes": measure_runtimes}


def child(measure: str, questions: int) -> dict:
    """One measurement in a process of its own, with its peak memory in MiB."""
    command = [sys.executable, __file__, "--child", measure, "--questions", str(questions)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def compare(questions: int, loop_questions: int) -> dict:
    rows = []
    for scale in SCALES:
        n = questions * scale
        store = child("store", n)
        loop = child("loop", min(n, loop_questions))
        speed = loop["slots"] / loop["seconds"]
        rows.append(
            {
                "questions": n,
                "slots": store["slots"],
                "unique": store["encoded"],
                "store_seconds": store["seconds"],
                "store_again_seconds": store["again"],
                "store_encoded_per_s": store["encoded"] / store["seconds"],
                "store_slots_per_s": store["slots"] / store["seconds"],
                "store_peak_mib": store["peak_mib"],
                "loop_seconds": store["slots"] / speed,
                "loop_slots_per_s": speed,
                "loop_peak_mib": loop["peak_mib"],
                "loop_extrapolated_from": None if n <= loop_questions else loop_questions,
                "ratio": store["slots"] / speed / store["seconds"],
            }
        )
    return {"rows": rows, "runtimes": child("runtimes", questions)}


def markdown(result: dict) -> str:
    lines = [
        "| questions | texts in haystacks | unique | store s | again s | loop s | loop ÷ store "
        "| store: encoded/s | store: haystack texts/s | loop: texts/s | peak MiB store / loop |",
        "|" + " ---: |" * 11,
    ]
    for r in result["rows"]:
        mark = "" if r["loop_extrapolated_from"] is None else (
            f" (extrapolated from {r['loop_extrapolated_from']} questions)"
        )  # fmt: skip
        lines.append(
            f"| {r['questions']} | {r['slots']} | {r['unique']} | {r['store_seconds']:.2f} "
            f"| {r['store_again_seconds']:.3f} | {r['loop_seconds']:.2f}{mark} | {r['ratio']:.2f} "
            f"| {r['store_encoded_per_s']:.1f} | {r['store_slots_per_s']:.1f} "
            f"| {r['loop_slots_per_s']:.1f} "
            f"| {r['store_peak_mib']:.0f} / {r['loop_peak_mib']:.0f} |"
        )
    first, last = result["rows"][0], result["rows"][-1]
    lines += [
        "",
        f"{last['questions'] / first['questions']:.0f} times the questions take the store "
        f"{last['store_seconds'] / first['store_seconds']:.2f} times as long, and the loop "
        f"{last['loop_seconds'] / first['loop_seconds']:.2f} times.",
        "",
    ]
    return "\n".join(lines) + "\n" + runtimes_markdown(result["runtimes"])


def runtimes_markdown(runtimes: dict) -> str:
    lines = [
        "| on a CPU | texts | texts/s, median of 3 (range) | largest difference to torch |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, r in runtimes.items():
        if name != "peak_mib":
            lines.append(
                f"| {name} | {r['texts']} | {r['median']:.1f} ({r['least']:.1f}-{r['most']:.1f}) "
                f"| {r['difference']:.1e} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=120, help="at 1x; 2x, 4x and 8x follow")
    parser.add_argument(
        "--loop-questions", type=int, default=8, help="the loop's most; the rest is extrapolated"
    )
    parser.add_argument("--runtimes", metavar="ENCODER", help="only compare runtimes, with ENCODER")
    parser.add_argument("--drift", metavar="ENCODER", help="only compare rankings, with ENCODER")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", choices=list(MEASURES), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.runtimes:
        found = measure_runtimes(haystacks(given.questions), given.runtimes)
        print(json.dumps(found, indent=1) if given.json else runtimes_markdown(found))
        return
    if given.drift:
        drifted = measure_drift(given.drift)
        print(json.dumps(drifted, indent=1) if given.json else pd.Series(drifted).to_markdown())
        return
    if given.child:
        result = MEASURES[given.child](haystacks(given.questions))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # KiB on Linux
        print(json.dumps({**result, "peak_mib": peak}))
        return
    result = compare(given.questions, given.loop_questions)
    print(json.dumps(result, indent=1) if given.json else markdown(result))


if __name__ == "__main__":
    main()
