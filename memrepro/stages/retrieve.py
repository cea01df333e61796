"""retrieve: one experiment's run, or a sweep's runs; sees no qrels."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from memrepro import paths
from memrepro.errors import MemreproError
from memrepro.experiment import Experiment, load_plan
from memrepro.keys import Request, make_keys
from memrepro.memory import GRANULARITIES, Dataset, Query
from memrepro.numerics.similarity import Floats
from memrepro.prepared import load, text_id
from memrepro.ranking import to_frame
from memrepro.retrievers import make_retriever
from memrepro.stages.done import Done
from memrepro.store import read_table, write_table

_ANEW = "delete it and run `dvc repro` again, which makes it from the data and the cache"


def _read_vectors(experiment: Experiment) -> Mapping[str, Mapping[str, Floats]]:
    """Role → text id → vector, all finite and of one dimension."""
    path = paths.vectors(experiment.dataset, experiment.encoder)
    table = read_table(path)
    if set(table.columns) != {"role", "text_id", "vector"}:
        raise MemreproError(f"{path} has the columns {list(table.columns)}: {_ANEW}")
    if len(sizes := sorted({len(v) for v in table["vector"]})) != 1:
        raise MemreproError(f"{path} has vectors of the dimensions {sizes}: {_ANEW}")
    finite = np.isfinite(np.stack(list(table["vector"]))).all(axis=1)
    if not finite.all():
        first = table["text_id"][int(np.argmin(finite))]
        raise MemreproError(
            f"{path} has {int((~finite).sum())} vectors with NaN or infinity, the first of text "
            f"{first}: {_ANEW}"
        )
    return {
        str(role): dict(zip(rows["text_id"], rows["vector"], strict=True))
        for role, rows in table.groupby("role")
    }


def _pick(vectors: Mapping[str, Floats], texts: Sequence[str], experiment: Experiment) -> Floats:
    """The vectors of texts, shape (n, dimension)."""
    try:
        return np.stack([vectors[text_id(text)] for text in texts])
    except KeyError as error:
        path = paths.vectors(experiment.dataset, experiment.encoder)
        raise MemreproError(f"{path} has no vector of text {error}: {_ANEW}") from error


def make_requests(dataset: Dataset, experiment: Experiment) -> list[Request]:
    """One request a memory, in the data set's order; with vectors if there is an encoder."""
    asked: dict[str, list[Query]] = {}
    for query in dataset.queries:
        asked.setdefault(query.memory_id, []).append(query)
    vectors = _read_vectors(experiment) if experiment.encoder else {}
    requests = []
    for memory_id, queries in asked.items():
        memory = GRANULARITIES[experiment.granularity](dataset.memories[memory_id])
        keys = make_keys(memory, experiment.keying)
        query_vectors = None
        if experiment.encoder:
            keys = keys.with_vectors(_pick(vectors.get("document", {}), keys.texts, experiment))
            asked_texts = [q.text for q in queries]
            query_vectors = _pick(vectors.get("query", {}), asked_texts, experiment)
        ids, texts = [q.query_id for q in queries], [q.text for q in queries]
        requests.append(Request(keys, ids, texts, query_vectors))
    return requests


def run(experiment: str) -> Done:
    """Run an experiment (or a sweep, one run a setting) and write its rankings."""
    entry = load_plan().experiment(experiment)
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    requests = make_requests(dataset, entry)
    runs = []
    for setting, parameters in entry.settings().items():
        table = to_frame(make_retriever(entry.method, entry.retriever, parameters).search(requests))
        if entry.vary:
            table.insert(0, "setting", setting)
        runs.append(table)
    table = pd.concat(runs, ignore_index=True)
    output = (paths.sweep if entry.vary else paths.run)(entry.profile, experiment)
    write_table(output, table)
    summary = pd.DataFrame(
        {
            "experiment": [experiment],
            "runs": [len(runs)],
            "queries": [table["query_id"].nunique()],
            "docs a query": [round(len(table) / len(runs) / table["query_id"].nunique(), 2)],
        }
    )
    inputs = sorted(paths.prepared(entry.dataset).glob("*.parquet"))
    if entry.encoder:
        inputs.append(paths.vectors(entry.dataset, entry.encoder))
    return Done(f"retrieve {experiment}", summary, inputs, [output])
