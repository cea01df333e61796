"""What a retriever is asked: the keys and queries of memories, with vectors, dates and times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from memrepro.core.key_builder import KeyBuilder
from memrepro.core.keys import Request
from memrepro.core.memory import Dataset, Memory, Query
from memrepro.core.prepared import (
    load_asked,
    load_dates,
    load_extractions,
    load_ranges,
    text_id,
)
from memrepro.core.similarity import Floats
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.study.params import Experiment, Plan, load_plan

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
    dataset: Dataset, experiment: Experiment, vectors: Mapping[str, Mapping[str, Floats]]
) -> list[Request]:
    """One request a memory, in the data set's order; with vectors if there is an encoder."""
    asked: dict[str, list[Query]] = {}
    for query in _queries(dataset, experiment):
        asked.setdefault(query.memory_id, []).append(query)
    extractions = load_extractions(paths.extracted(experiment.dataset))
    builder = key_builder_for(experiment.key_scheme)(
        experiment.granularity, experiment.key_scheme, extractions
    )
    memories = [dataset.memories[memory_id] for memory_id in asked]
    made = builder.make_all(memories)
    picked: list[Floats | None] = [None] * len(memories)
    if experiment.encoder:
        shared = _pick(vectors.get("document", {}), builder.texts, experiment)
        made = [keys.with_vectors(shared) for keys in made]
        known = vectors.get("query", {})
        picked = [_pick(known, [q.text for q in one], experiment) for one in asked.values()]
    requests = [
        builder.request(keys, memory, queries, query_vectors=query_vectors)
        for keys, memory, queries, query_vectors in zip(
            made, memories, asked.values(), picked, strict=True
        )
    ]
    if experiment.ranges:
        return _with_times(requests, memories, builder, load_plan(), experiment)
    return requests


def _queries(dataset: Dataset, experiment: Experiment) -> Sequence[Query]:
    """The queries of a data set at the times when an experiment asks them."""
    if not experiment.asked:
        return dataset.queries
    profile = load_plan().dataset(experiment.dataset).profile
    evidence = load_asked(paths.asked(profile, experiment.dataset))
    return [
        replace(query, at=_later(evidence[query.query_id], experiment.asked))
        for query in dataset.queries
        if query.query_id in evidence
    ]


def _later(at: str, days: int) -> str:
    return (datetime.fromisoformat(at) + timedelta(days)).isoformat(timespec="minutes")


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
