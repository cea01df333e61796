"""retrieve: one experiment's run, and perhaps its trace; sees no qrels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import pandas as pd

from memrepro.core.key_builder import KeyBuilder, PlainKeyBuilder
from memrepro.core.keys import Request
from memrepro.core.memory import Dataset, Memory, Query
from memrepro.core.prepared import load, load_dates, load_extractions, load_ranges, text_id
from memrepro.core.ranking import COLUMNS, to_frame
from memrepro.core.similarity import Floats
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.retrieve import Retriever, make_retriever
from memrepro.study.params import Experiment, Plan, load_plan
from memrepro.study.result import StageResult

_ANEW = "delete it and run `dvc repro` again, which makes it from the data and the cache"


def read_vectors(experiment: Experiment) -> Mapping[str, Mapping[str, Floats]]:
    """Role → text id → vector, all finite and of one dimension."""
    path = experiment.vectors
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
        raise MemreproError(
            f"{experiment.vectors} has no vector of text {error}: {_ANEW}"
        ) from error


def make_requests(
    dataset: Dataset,
    experiment: Experiment,
    vectors: Mapping[str, Mapping[str, Floats]],
    builder_of: type[KeyBuilder] = PlainKeyBuilder,
) -> list[Request]:
    """One request a memory, in the data set's order; with vectors if there is an encoder."""
    asked: dict[str, list[Query]] = {}
    for query in dataset.queries:
        asked.setdefault(query.memory_id, []).append(query)
    extractions = load_extractions(paths.extracted(experiment.dataset))
    builder = builder_of(experiment.granularity, experiment.key_scheme, extractions)
    memories = [dataset.memories[memory_id] for memory_id in asked]
    made = builder.make_all(memories)
    if experiment.encoder:
        shared = _pick(vectors.get("document", {}), builder.texts, experiment)
        made = [keys.with_vectors(shared) for keys in made]
    requests = []
    for keys, queries in zip(made, asked.values(), strict=True):
        texts = [q.text for q in queries]
        query_vectors = (
            _pick(vectors.get("query", {}), texts, experiment) if experiment.encoder else None
        )
        requests.append(Request(keys, [q.query_id for q in queries], texts, query_vectors))
    if experiment.ranges:
        return _with_times(requests, memories, builder, load_plan(), experiment)
    return requests


def _with_times(
    requests: Sequence[Request],
    memories: Sequence[Memory],
    builder: KeyBuilder,
    plan: Plan,
    experiment: Experiment,
) -> list[Request]:
    """The requests with each doc's dates, those of its session, and each query's range."""
    profile = plan.dataset(experiment.dataset).profile
    dates = load_dates(paths.dates(profile, experiment.dataset), experiment.dates)
    found = load_ranges(paths.ranges(profile, experiment.dataset), experiment.ranges)
    ranges = {one.query_id: (one.start, one.end) for one in found}
    timed = []
    for request, memory in zip(requests, memories, strict=True):
        of_session = [dates.get((memory.memory_id, s.session_id), []) for s in memory.sessions]
        doc_dates = [of_session[i] for i in builder.sessions_of_docs(memory)]
        asked = [ranges.get(query_id) for query_id in request.query_ids]
        timed.append(replace(request, doc_dates=doc_dates, ranges=asked))
    return timed


class Trace(Protocol):
    """How queries were answered; the columns are the method's to say."""

    @property
    def queries(self) -> pd.DataFrame:
        """One row a query."""

    @property
    def branches(self) -> pd.DataFrame:
        """One row a search."""

    @property
    def hits(self) -> pd.DataFrame:
        """The run, and where each doc was found."""


class Traced(Protocol):
    """A retriever that tells how it found what it found."""

    def trace(self, requests: Sequence[Request]) -> Trace:
        """How each query is answered; its hits are the rankings of `search`."""


def write_trace(trace: Trace, folder: Path) -> tuple[pd.DataFrame, list[Path]]:
    """Write a trace's three tables; return the run, which is its hits', and their paths.

    Whole numbers are int32, and the scores of hits float32, as in a run. The numbers of branches,
    which no rule compares with a threshold, are float32 too; a gate's signals stay as they are.
    """
    small = {"i": np.int32, "f": np.float32}
    hits = _retyped(trace.hits, small)
    tables = {
        "queries": _retyped(trace.queries, {"i": np.int32}),
        "branches": _retyped(trace.branches, small),
        "hits": hits,
    }
    for name, table in tables.items():
        write_table(folder / f"{name}.parquet", table)
    return hits[COLUMNS], [folder / f"{name}.parquet" for name in tables]


def _retyped(table: pd.DataFrame, types: Mapping[str, type]) -> pd.DataFrame:
    """The table with the columns of each kind of type ('i', 'f') in another one."""
    kinds = zip(table.columns, (dtype.kind for dtype in table.dtypes), strict=True)
    return table.astype({name: types[kind] for name, kind in kinds if kind in types})


def run(
    experiment: str,
    builder_of: type[KeyBuilder] = PlainKeyBuilder,
    attach_encoder: Callable[[Retriever, Experiment], Retriever] = lambda retriever, _: retriever,
) -> StageResult:
    """Run an experiment and write its rankings, and its trace.

    Args:
        experiment: by name.
        builder_of: what makes its keys.
        attach_encoder: gives a retriever what no parameter names, such as an encoder.
    """
    plan = load_plan()
    entry = plan.experiment(experiment)
    if entry.group:
        raise MemreproError(f"{experiment} is a sweep: run its group, {entry.group}, by `sweep`")
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    vectors = read_vectors(entry) if entry.encoder else {}
    requests = make_requests(dataset, entry, vectors, builder_of)
    made = make_retriever(entry.method, entry.retriever, dict(entry.parameters))
    retriever = attach_encoder(made, entry)
    outputs = [paths.run(entry.profile, experiment)]
    if experiment in plan.traced:
        # The plan admits none without one.
        trace = cast(Traced, retriever).trace(requests)
        table, traces = write_trace(trace, paths.trace(entry.profile, experiment))
        outputs += traces
    else:
        table = to_frame(retriever.search(requests))
    write_table(outputs[0], table)
    summary = summarise(experiment, 1, len(dataset.queries), len(table))
    return StageResult(f"retrieve {experiment}", summary, inputs_of(entry, plan), outputs)


def summarise(experiment: str, runs: int, queries: int, rows: int) -> pd.DataFrame:
    """What a reader of the notebook sees of an experiment: one row."""
    row = (experiment, runs, queries, round(rows / runs / queries, 2))
    return pd.DataFrame([row], columns=["experiment", "runs", "queries", "docs a query"])


def inputs_of(entry: Experiment, plan: Plan) -> list[Path]:
    """The files that an experiment reads."""
    folders = (paths.prepared(entry.dataset), paths.extracted(entry.dataset))
    inputs = [path for folder in folders for path in sorted(folder.glob("*.parquet"))]
    if entry.encoder:
        inputs.append(entry.vectors)
    if entry.ranges:
        profile = plan.dataset(entry.dataset).profile
        inputs += [path(profile, entry.dataset) for path in (paths.dates, paths.ranges)]
    return inputs
