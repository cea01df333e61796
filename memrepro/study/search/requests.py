"""What a retriever is asked: the keys and queries of memories, with vectors, dates and times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from memrepro.core.extractions import Extractions
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
from memrepro.encode.encoder import Role
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import open_table
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.study.params import Experiment, load_plan

_ANEW = "delete it and run `dvc repro` again, which makes it from the data and the cache"
_PART = 1 << 14  # vectors that are decoded at once


@dataclass(frozen=True)
class TextVectors:
    """The vectors of a data set's texts, as the embed stage wrote them.

    Attributes:
        rows: role → text id → its row.
        vectors: shape (n_texts, dimension), all finite.
        source: the file.
    """

    rows: Mapping[str, Mapping[str, int]]
    vectors: Floats
    source: Path

    def of_texts(self, role: Role, texts: Sequence[str]) -> Floats:
        """The vectors of texts, shape (n, dimension).

        Raises:
            MemreproError: if one has none.
        """
        known = self.rows.get(role, {})
        try:
            return self.vectors[np.array([known[text_id(text)] for text in texts], np.intp)]
        except KeyError as error:
            raise MemreproError(f"{self.source} has no vector of text {error}: {_ANEW}") from error


def read_vectors(experiment: Experiment) -> TextVectors:
    """The vectors that an experiment searches.

    Raises:
        MemreproError: if they are missing, damaged, not finite or not of one dimension.
    """
    path, filled, sizes = experiment.vectors, 0, set[int]()
    vectors: Floats = np.empty((0, 0), np.float32)
    with open_table(path) as table:
        if {*(columns := table.schema_arrow.names)} != {"role", "text_id", "vector"}:
            raise MemreproError(f"{path} has the columns {columns}: {_ANEW}")
        named = table.read(["role", "text_id"]).to_pandas()
        # Part by part, as all vectors of a large corpus fit into memory once.
        for part in table.iter_batches(_PART, columns=["vector"]):
            sizes |= {*part["vector"].value_lengths().unique().to_pylist()}
            if len(sizes) != 1:
                raise MemreproError(
                    f"{path} has vectors of the dimensions {sorted(sizes)}: {_ANEW}"
                )
            if not filled:
                vectors = np.empty((len(named), *sizes), np.float32)
            block = part["vector"].flatten().to_numpy(zero_copy_only=False).reshape(len(part), -1)
            if not (finite := np.isfinite(block).all(axis=1)).all():
                first = named["text_id"][filled + int(np.argmin(finite))]
                raise MemreproError(f"{path} has NaN or infinity in the vector of {first}: {_ANEW}")
            vectors[filled : (filled := filled + len(part))] = block
    rows = {
        str(role): dict(zip(some["text_id"], map(int, some.index), strict=True))
        for role, some in named.groupby("role")
    }
    return TextVectors(rows, vectors, path)


class VectorsOfTexts(Protocol):
    """What has vectors of texts: a file that the embed stage wrote, or an encoder."""

    def of_texts(self, role: Role, texts: Sequence[str]) -> Floats:
        """The vectors of texts, shape (n, dimension)."""
        ...


class Times(NamedTuple):
    """What a time filter knows.

    Attributes:
        dates: memory and session → the dates that it tells of, as (first, last) ordinals.
        ranges: query → the dates that it asks about; one that asks about none is missing.
    """

    dates: Mapping[tuple[str, str], Sequence[tuple[int, int]]]
    ranges: Mapping[str, tuple[int, int]]


def make_requests(
    dataset: Dataset, experiment: Experiment, vectors: VectorsOfTexts | None,
    extractions: Extractions | None = None,
) -> list[Request]:  # fmt: skip
    """One request a memory, in the data set's order; with vectors if there is an encoder.

    The data set's extractions are read unless they are given.
    """
    builder = key_builder_for(experiment.key_scheme)(
        experiment.granularity, experiment.key_scheme,
        extractions or load_extractions(paths.extracted(experiment.dataset)),
    )  # fmt: skip
    times = _times(experiment) if experiment.ranges else None
    return requests_of(_queries(dataset, experiment), dataset.memories, builder, vectors, times)


def requests_of(
    queries: Sequence[Query], memories: Mapping[str, Memory], builder: KeyBuilder,
    vectors: VectorsOfTexts | None, times: Times | None = None,
) -> list[Request]:  # fmt: skip
    """One request a memory that is asked something, in the order of the queries.

    Args:
        queries: of all memories.
        memories: by id.
        builder: of the keys.
        vectors: of keys and queries; None for a lexical search.
        times: for a filter by time.
    """
    asked: dict[str, list[Query]] = {}
    for query in queries:
        asked.setdefault(query.memory_id, []).append(query)
    searched = [memories[memory_id] for memory_id in asked]
    made = builder.make_all(searched)
    picked: list[Floats | None] = [None] * len(searched)
    if vectors is not None:
        shared = vectors.of_texts("document", builder.texts)
        made = [keys.with_vectors(shared) for keys in made]
        picked = [vectors.of_texts("query", [q.text for q in one]) for one in asked.values()]
    requests = [
        builder.request(keys, memory, own, query_vectors=query_vectors)
        for keys, memory, own, query_vectors in zip(
            made, searched, asked.values(), picked, strict=True
        )
    ]
    return requests if times is None else _with_times(requests, searched, builder, times)


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


def _times(experiment: Experiment) -> Times:
    """The dates and ranges of an experiment's data set, by the sources that it names."""
    profile = load_plan().dataset(experiment.dataset).profile
    dates = load_dates(paths.dates(profile, experiment.dataset), experiment.dates)
    found = load_ranges(paths.ranges(profile, experiment.dataset), experiment.ranges)
    return Times(dates, {one.query_id: (one.start, one.end) for one in found})


def _with_times(
    requests: Sequence[Request], memories: Sequence[Memory], builder: KeyBuilder, times: Times
) -> list[Request]:
    """The requests with each doc's dates, those of its session, and each query's range."""
    timed = []
    for request, memory in zip(requests, memories, strict=True):
        of_session = [
            times.dates.get((memory.memory_id, s.session_id), []) for s in memory.sessions
        ]
        doc_dates = [of_session[i] for i in builder.sessions_of_docs(memory)]
        asked = [times.ranges.get(query_id) for query_id in request.query_ids]
        timed.append(replace(request, doc_dates=doc_dates, ranges=asked))
    return timed
