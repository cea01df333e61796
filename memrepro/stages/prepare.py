"""prepare: a data set's files as rounds, texts, queries and, apart from them, qrels."""

import importlib
from collections import Counter

import pandas as pd

from memrepro import paths
from memrepro.datasets.registry import registration
from memrepro.experiment import load_plan
from memrepro.fetch import check_before_use
from memrepro.memory import Dataset
from memrepro.prepared import save, save_qrels
from memrepro.stages.done import Done
from memrepro.store import write_table


def count(dataset: Dataset) -> pd.DataFrame:
    """Each memory's number of queries, sessions and rounds, in the data set's order."""
    asked = Counter(query.memory_id for query in dataset.queries)
    rows = [
        (key, asked[key], len({r.session_id for r in memory.rounds}), len(memory.rounds))
        for key, memory in dataset.memories.items()
    ]
    return pd.DataFrame(rows, columns=["memory_id", "queries", "sessions", "rounds"])


def run(dataset: str) -> Done:
    """Load a data set through its module and write it as tables.

    Raises:
        MemreproError: if a file is missing, was changed since it was fetched, or is malformed.
    """
    entry, folder = load_plan().dataset(dataset), paths.raw(dataset)
    check_before_use(registration(dataset), folder)
    loaded = importlib.import_module(f"memrepro.datasets.{entry.module}").load(folder, dataset)
    written = save(loaded, paths.prepared(dataset))
    qrels = paths.qrels(entry.profile, dataset)
    save_qrels(loaded, qrels)
    statistics = paths.statistics(entry.profile, dataset)
    write_table(statistics, count(loaded))
    gold = {query_id for by_query in loaded.qrels.values() for query_id in by_query}
    kinds = pd.DataFrame([(q.kind, q.query_id in gold) for q in loaded.queries])
    summary = kinds.groupby(0, sort=False)[1].agg(["size", "sum"]).reset_index()
    summary.columns = pd.Index(["kind", "queries", "with gold"])
    sizes = [len(memory.rounds) for memory in loaded.memories.values()]
    summary["memories"] = len(sizes)
    summary["rounds"] = sum(sizes)
    inputs = sorted(path for path in folder.rglob("*") if path.is_file())
    return Done(f"prepare {dataset}", summary, inputs, [*written, qrels, statistics])
