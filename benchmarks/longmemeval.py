"""LongMemEval S with its real texts: seconds and peak memory of each step as the questions grow.

    python benchmarks/longmemeval.py [--shares 8 4 2 1] [--peers 10] [--json]

Needs the raw file, the prepared tables and the vectors of the profile `open` (`make repro
PROFILE=open`). Each step and share is a process of its own, so that its peak is its own: the first
questions are read and prepared, searched by one run of each method over the vectors of the embed
stage, and evaluated. `--peers` asks a tenth of the questions of what the released code does: the
haystack of each question by itself, by `rank_bm25`, and by NumPy's product over vectors that are
there (the released code encodes each haystack anew, which is not timed here). Nothing is written.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from memrepro.core.memory import Dataset
from memrepro.core.prepared import load, load_extractions, save, save_places, save_qrels
from memrepro.core.ranking import to_frame
from memrepro.data import read_pieces
from memrepro.files import paths
from memrepro.retrieve import attach_encoder, make_retriever
from memrepro.study.evaluation import evaluate_run, read_gold
from memrepro.study.params import load_plan
from memrepro.study.search.requests import make_requests, read_vectors

NAME = "longmemeval-s"
# One run of each method, and the setting of it.
RUNS = {
    "BM25, rounds": ("lme-s-bm25-words", ""),
    "cosine, rounds": ("lme-s-minilm-round-hybrid", "1.0"),
    "hybrid, rounds": ("lme-s-minilm-round-hybrid", "0.5"),
    "hybrid, sessions": ("lme-s-minilm-session-hybrid", "0.5"),
    "facts as keys": ("lme-s-minilm-round-with-fact-keys", "0.5"),
    "time filter": ("lme-s-minilm-round-with-time", "0.5"),
    "neighbours": ("lme-s-minilm-with-neighbours-low", "0.5"),
    "recollection": ("lme-s-minilm-round-with-recollection-low", "0.5"),
    "graph": ("lme-s-minilm-with-graph-low", "0.5"),
    "tiered design": ("lme-s-minilm-turns-design", ""),
}


def first_questions(share: int) -> Dataset:
    """The memories of the first 1/share of the questions."""
    whole = load(paths.prepared(NAME), NAME)
    queries = whole.queries[: max(1, len(whole.queries) // share)]
    asked = {query.memory_id for query in queries}
    memories = {key: one for key, one in whole.memories.items() if key in asked}
    return replace(whole, memories=memories, queries=queries)


def prepare(share: int) -> dict[str, float]:
    """Read the file and write the tables of the first questions."""
    entry = load_plan().dataset(NAME)
    n = pq.read_metadata(paths.prepared(NAME) / "queries.parquet").num_rows // share
    began = Clock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pieces = islice(read_pieces(entry.module, paths.raw(NAME), NAME, entry.parameters), n)
        pieces = save_qrels(save(pieces, folder), folder / "qrels.parquet")
        rounds = sum(len(one.memory.rounds) for one in save_places(pieces, folder / "p.parquet"))
    return {"questions": n, "docs": rounds} | began.took()


def search(share: int, method: str) -> dict[str, float]:
    """Search by a method, and evaluate; reading the tables and vectors is told apart."""
    name, setting = RUNS[method]
    plan = load_plan()
    one = plan.runs[name].variants()[setting]
    began = Clock()
    dataset, extractions = first_questions(share), load_extractions(paths.extracted(NAME))
    vectors = read_vectors(one) if one.encoder else None
    reading = began.took()["seconds"]
    began = Clock()
    requests = make_requests(dataset, one, vectors, extractions)
    made = make_retriever(one.method, one.retriever, dict(one.parameters))
    run = to_frame(attach_encoder(made, _no_encoder, models=plan.models).search(requests))
    took = began.took()
    docs = sum(len(request.keys.doc_ids) for request in requests)
    began = Clock()
    gold = read_gold("open", NAME, plan.evaluation.protocols)
    known = {query.query_id for query in dataset.queries}
    part = replace(
        gold,
        kinds={q: kind for q, kind in gold.kinds.items() if q in known},
        by_level={
            level: {q: parts for q, parts in found.items() if q in known}
            for level, found in gold.by_level.items()
        },
        _judged={},
    )
    values = list(evaluate_run(name, one, run, plan, part))
    assert values
    evaluating = began.took()["seconds"]
    return {
        "questions": len(known),
        "docs": docs,
        "reading": reading,
        "evaluating": evaluating,
        **took,
    }


def peers(share: int) -> dict[str, float]:
    """A question at a time, as the released code does: `rank_bm25`, and NumPy's product."""
    from rank_bm25 import BM25Okapi

    plan = load_plan()
    one = plan.runs["lme-s-minilm-round-hybrid"].variants()["1.0"]
    dataset = first_questions(share)
    requests = make_requests(dataset, one, read_vectors(one))
    texts = {request.query_ids[0]: request for request in requests}
    asked = {query.query_id: query.text for query in dataset.queries}
    began = Clock()
    for query_id, request in texts.items():
        said = [request.keys.unique[row].split(" ") for row in request.keys.rows]
        np.argsort(BM25Okapi(said).get_scores(asked[query_id].split(" ")))[::-1][:10]
    lexical = began.took()["seconds"]
    began = Clock()
    for request in texts.values():
        scores = request.keys.vectors[request.keys.rows] @ request.vectors_of_queries()[0]
        np.argsort(scores)[::-1][:10]
    docs = sum(len(request.keys.doc_ids) for request in requests)
    return {
        "questions": len(requests), "docs": docs, "rank_bm25": lexical,
        "product": began.took()["seconds"],
    }  # fmt: skip


def _no_encoder(texts: object) -> np.ndarray:
    raise AssertionError("all vectors are there")


class Clock:
    """Seconds by the clock and of the processor since it was made, and this process's peak."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def took(self) -> dict[str, float]:
        """`seconds, processor, peak`, the last in MiB."""
        return {
            "seconds": time.perf_counter() - self._wall,
            "processor": time.process_time() - self._cpu,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


STEPS: dict[str, Callable[..., dict[str, float]]] = {
    "prepare": prepare, "search": search, "peers": peers,
}  # fmt: skip


def measured(step: str, share: int, *more: str) -> dict[str, object]:
    """A step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, "--share", str(share), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{step} {share} {more}: {done.stderr[-2000:]}")
    return {"step": " ".join([step, *more]), "share": f"1/{share}", **json.loads(done.stdout)}


def rows(shares: list[int], tenth: int) -> Iterator[dict[str, object]]:
    """Each step at each share."""
    for share in shares:
        yield measured("prepare", share)
        for method in RUNS:
            yield measured("search", share, method)
    yield measured("peers", tenth)


def main() -> None:
    """Print the table, or do one step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shares", nargs="+", type=int, default=[8, 4, 2, 1])
    parser.add_argument("--peers", type=int, default=10, help="one in so many questions")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--share", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(STEPS[given.step](given.share, *given.more)))
        return
    table = pd.DataFrame(rows(given.shares, given.peers)).round(2)
    print(table.to_json(orient="records") if given.json else table.to_markdown(index=False))


if __name__ == "__main__":
    main()
