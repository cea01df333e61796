"""latency: how long one query takes to encode, and to search its memory by; a measurement.

What is timed is the retriever as the runs use it, with all that it lays out anew at each call. The
released code's 'retrieval time' (RF-Mem, Table 1) is both parts together (docs/protocols.md,
RF-Mem: paper and released code).
"""

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np
import pandas as pd

from memrepro.core.keys import Request
from memrepro.core.memory import Dataset
from memrepro.core.prepared import load
from memrepro.core.similarity import Doubles
from memrepro.encode.encoder import Encoder
from memrepro.encode.load import load_encoder
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.files.machine import processor
from memrepro.files.progress import bar
from memrepro.retrieve import Retriever, make_retriever
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult, data_files
from memrepro.study.search.requests import make_requests, read_vectors

COLUMNS = [
    "experiment", "part", "n", "mean_ms", "p50_ms", "p95_ms", "processor", "threads", "versions",
]  # fmt: skip
QUERIES = 100  # at most, so that the stage takes about a minute
_WARM_UP = 3


def chosen(dataset: Dataset) -> list[str]:
    """The ids of the queries that are timed: at most `QUERIES`, evenly spread over the data set."""
    places = np.linspace(
        0, len(dataset.queries), min(QUERIES, len(dataset.queries)), endpoint=False
    )
    return [dataset.queries[int(place)].query_id for place in places]


def alone(requests: Sequence[Request], query_ids: set[str]) -> Iterator[Request]:
    """Each of the queries as a request of its own, in the order of the requests."""
    for request in requests:
        for place, query_id in enumerate(request.query_ids):
            if query_id in query_ids:
                one = slice(place, place + 1)
                yield replace(
                    request,
                    query_ids=request.query_ids[one],
                    query_texts=request.query_texts[one],
                    query_vectors=request.vectors_of_queries()[one],
                    ranges=None if request.ranges is None else request.ranges[one],
                )


def time_encoding(encoder: Encoder, texts: Sequence[str]) -> Doubles:
    """Seconds to encode each text by itself, never from a cache, shape (n_texts,)."""
    for text in texts[:_WARM_UP]:
        encoder.encode([text], "query")
    taken = np.empty(len(texts))
    for place, text in enumerate(texts):
        start = perf_counter()
        encoder.encode([text], "query")
        taken[place] = perf_counter() - start
    return taken


def time_search(retriever: Retriever, requests: Sequence[Request], repeats: int) -> Doubles:
    """Seconds to search each request by itself, the median of its repeats, shape (n_requests,)."""
    for request in requests[:_WARM_UP]:
        retriever.search([request])
    taken = np.empty((repeats, len(requests)))
    # The repeats of a query lie apart, so that a busy moment does not fall on all of them.
    for times in taken:
        for place, request in enumerate(requests):
            start = perf_counter()
            retriever.search([request])
            times[place] = perf_counter() - start
    median: Doubles = np.median(taken, axis=0)
    return median


def row(experiment: str, part: str, seconds: Doubles, versions: str) -> dict[str, str | int]:
    """A row of the table: milliseconds over the queries, and what they were measured on."""
    values = 1000 * np.array([seconds.mean(), *np.percentile(seconds, [50, 95])])
    named = dict(zip(("mean_ms", "p50_ms", "p95_ms"), (f"{v:.3f}" for v in values), strict=True))
    return {
        "experiment": experiment, "part": part, "n": len(seconds), **named,
        "processor": processor(), "threads": os.cpu_count() or 1, "versions": versions,
    }  # fmt: skip


def run(name: str) -> StageResult:
    """Time the experiments of an entry of `latency`, one query at a time.

    The table is `COLUMNS`: parts 'encode', the same for all of them, and 'search'.
    """
    plan = load_plan()
    entry = plan.timed(name)
    experiments = {key: plan.experiments[key] for key in entry.experiments}
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    ids = chosen(dataset)
    texts = [query.text for query in dataset.queries if query.query_id in set(ids)]
    python = f"Python {platform.python_version()}, numpy {np.__version__}"
    encoder = load_encoder(entry.encoder)
    encoding = time_encoding(encoder, texts)
    vectors = read_vectors(next(iter(experiments.values())))
    rows, made = [], dict[tuple[str, str], list[Request]]()
    with bar(len(experiments), f"latency {name}", "experiment") as progress:
        for key, one in experiments.items():
            requests = made.setdefault((one.granularity, one.key_scheme), [])
            if not requests:
                requests += alone(make_requests(dataset, one, vectors), set(ids))
            retriever = make_retriever(one.method, one.retriever, dict(one.parameters))
            searching = time_search(retriever, requests, entry.repeats)
            rows += [
                row(key, "encode", encoding, f"{encoder.identity.runtime}, {python}"),
                row(key, "search", searching, python),
            ]
            progress.update()
    table = pd.DataFrame(rows, columns=COLUMNS)
    output = paths.measured(entry.profile) / f"{name}.csv"
    write_table(output, table)
    vectors_file = paths.vectors(entry.profile, entry.dataset, entry.encoder)
    inputs = [*data_files(entry.dataset), vectors_file]
    return StageResult(f"latency {name}", table, inputs, [output])
