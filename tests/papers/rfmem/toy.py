"""Toy runs and traces of RF-Mem's experiments in a folder of their own, for tests of its report."""

from functools import cache

import numpy as np
import pandas as pd

from memrepro.core.keys import Keys, Request
from memrepro.core.ranking import tie_keys, to_frame
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.rfmem.cells import run_path
from memrepro.papers.rfmem.traces import Recorded, Records
from memrepro.report.document import Document
from memrepro.report.engine import Tables
from memrepro.report.runs import Runs
from memrepro.retrieve import make_retriever
from memrepro.study.params import load_plan
from tests import measured

KINDS = ("Basic information", "Social", "Preference easy", "Preference hard")
N_QUERIES, N_DOCS = 12, 30


@cache
def plan():
    """The project's own `params.yaml`, read once."""
    return load_plan()


def requests(prefix="q", n_queries=N_QUERIES, n_docs=N_DOCS, seed=0):
    """One memory of random docs, and queries near some of them."""
    rng = np.random.default_rng(seed)
    docs = rng.normal(size=(n_docs, 8))
    docs /= np.linalg.norm(docs, axis=1, keepdims=True)
    near = docs[rng.integers(0, n_docs, n_queries)] + rng.normal(size=(n_queries, 8)) * 0.3
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    ids = tuple(f"d{i:02}" for i in range(n_docs))
    keys = Keys(ids, np.arange(n_docs), ids, ("all",) * n_docs, np.arange(n_docs), tie_keys(ids))
    keys = keys.with_vectors(docs.astype(np.float32))
    names = [f"{prefix}{i:02}" for i in range(n_queries)]
    return [Request(keys, names, names, near.astype(np.float32))]


def write_trace(name, asked):
    """Search by a traced experiment and write its run and trace; return the trace."""
    entry = plan().experiments[name]
    made = make_retriever(entry.method, entry.retriever, dict(entry.parameters)).trace(asked)
    folder = paths.trace(entry.profile, name, entry.study)
    for part in ("queries", "branches", "hits"):
        write_table(folder / f"{part}.parquet", getattr(made, part))
    write_table(run_path(name), made.hits[["query_id", "doc_id", "rank", "score"]])
    return made


def write_run(name, asked):
    """Search by an experiment and write its run; return it."""
    entry = plan().experiments[name]
    found = make_retriever(entry.method, entry.retriever, dict(entry.parameters)).search(asked)
    run = to_frame(found)
    write_table(run_path(name), run)
    return run


def write_family(name, asked):
    """Write a recollection, the gate over it, and the familiarity that both look at."""
    write_trace(name, asked)
    write_trace(name.replace("recollection", "gated"), asked)
    write_run(Recorded(name, plan()).direct, asked)


def write_gold(dataset, level, gold):
    """Write qrels: query id → relevant doc ids."""
    rows = [
        (query_id, KINDS[i % 4], level if docs else "", 0 if docs else -1, doc_id, "")
        for i, (query_id, docs) in enumerate(gold.items())
        for doc_id in docs or [""]
    ]
    columns = ["query_id", "kind", "level", "part", "doc_id", "reason"]
    write_table(paths.qrels("open", dataset), pd.DataFrame(rows, columns=columns))


def write_metrics(profile, level, recalls, cutoffs=(5, 10)):
    """Write recall of experiments: name → query id → value, the same at every cut-off."""
    rows = [
        (name, "", level, query_id, KINDS[i % 4], "recall", k, value)
        for name, by_query in recalls.items()
        for k in cutoffs
        for i, (query_id, value) in enumerate(by_query.items())
    ]
    measured.write_metrics(paths.metrics(profile), rows)


def write_lengths(dataset, level, asked, tokens_of_doc):
    """Write lengths: each request a memory `m<number>`; a doc's words are twice its tokens."""
    rows = []
    for number, request in enumerate(asked):
        for doc_id in request.keys.doc_ids:
            tokens = tokens_of_doc(doc_id)
            rows.append((f"m{number}", doc_id, level, 5 * tokens, 2 * tokens, tokens))
        rows += [(f"m{number}", query_id, "query", 30, 6, 7) for query_id in request.query_ids]
    columns = ["memory_id", "doc_id", "level", "characters", "words", "tokens"]
    profile = plan().dataset(dataset).profile
    write_table(paths.lengths(profile, dataset), pd.DataFrame(rows, columns=columns))


def write_memories(dataset, memories):
    """Write which memory each question asks: query id → memory."""
    rows = [(memory, query_id, "query") for query_id, memory in memories.items()]
    profile = plan().dataset(dataset).profile
    table = pd.DataFrame(rows, columns=["memory_id", "doc_id", "level"])
    write_table(paths.lengths(profile, dataset), table)


def write_latency(name, times):
    """Write a latency file: experiment → (encode, search) in milliseconds."""
    rows = [
        (experiment, part, 100, f"{mean:.3f}", f"{mean / 2:.3f}", f"{2 * mean:.3f}", "cpu", 2, "v")
        for experiment, both in times.items()
        for part, mean in zip(("encode", "search"), both, strict=True)
    ]
    columns = ["experiment", "part", "n", "mean_ms", "p50_ms", "p95_ms", "processor", "threads",
               "versions"]  # fmt: skip
    entry = plan().latency[name]
    write_table(paths.latency(entry.profile, name), pd.DataFrame(rows, columns=columns))


def cells(name, profile="open"):
    """A table of `tables.yaml`: (row, column) → cell."""
    found = Tables(Document.load("rfmem"), Runs([profile], plan())).cells(name, {})
    return {(c.row, c.column): c for c in found}


def traced(name):
    """A traced experiment of the open profile."""
    return Records("open").experiments[name]


def records():
    """The open profile's experiments, with what was recorded of them."""
    return Records("open")
