"""The docs nearest to many queries of many memories: arrays only, by the one tie rule."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles, Floats

Ints = NDArray[np.int64]
_PRODUCTS = 1 << 22  # held at once: many, since BLAS reads all docs for each block of queries
_PAIRS = 1 << 16  # numbers of docs worked on at once: few enough for a processor's cache


@dataclass(frozen=True)
class QueryBatch:
    """The queries asked of one memory.

    Attributes:
        queries: shape (n_queries, dimension).
        docs: one vector a doc, shape (n_docs, dimension); there may be none.
        ties: what decides between docs of one score, the least first, shape (n_docs,).
    """

    queries: Floats
    docs: Floats
    ties: NDArray[np.uint64]


@dataclass(frozen=True)
class Corpus:
    """All memories' docs, one memory after the other.

    Attributes:
        docs: shape (n_docs_of_all, dimension).
        ties: shape (n_docs_of_all,).
        first: the place of a memory's first doc, and the end, shape (n_memories + 1,).
        memory: of each query, shape (n_queries,).
        originals: the queries, shape (n_queries, dimension).
    """

    docs: Floats
    ties: NDArray[np.uint64]
    first: Ints
    memory: Ints
    originals: Doubles

    @property
    def width(self) -> int:
        """How many docs the largest memory has."""
        return int((self.first[1:] - self.first[:-1]).max())


def corpus_of(asked: Sequence[QueryBatch]) -> Corpus:
    """The memories as one corpus; at least one, all of one dimension."""
    return Corpus(
        np.concatenate([one.docs for one in asked]),
        np.concatenate([one.ties for one in asked]),
        np.cumsum([0, *(len(one.docs) for one in asked)]),
        np.repeat(np.arange(len(asked)), [len(one.queries) for one in asked]),
        np.concatenate([one.queries for one in asked]).astype(np.float64),
    )


def within(groups: Ints) -> Ints:
    """The place of each element in its group, from 0; groups ascend."""
    return np.arange(len(groups)) - groups.searchsorted(groups)


def nearest(queries: Doubles, memory: Ints, corpus: Corpus, n: int) -> tuple[Ints, Ints, Doubles]:
    """The n docs of its memory that are nearest to each query: `ranking.top_k` for all of them.

    One float32 product a memory says which docs may be among the n; these alone are scored in
    double precision, each by itself, so that equal docs tie to the last bit.

    Args:
        queries: shape (n_queries, dimension); not those of the corpus, but ones made of them.
        memory: of each query, ascending, shape (n_queries,).
        corpus: the docs.
        n: at least 1.

    Returns:
        Query, the doc's place in the corpus, similarity, (n_found,) each, the nearest first.
    """
    vectors = queries.astype(np.float32)
    # The greatest error of a float32 product of d terms, with the query's own rounding, twice.
    slack = 2 * (vectors.shape[1] + 2) * 2.0**-24 * np.linalg.norm(vectors, axis=1)
    owners, places = [], []
    for one in np.unique(memory):
        rows = slice(*np.searchsorted(memory, [one, one + 1]))
        first, end = corpus.first[one : one + 2]
        docs = corpus.docs[first:end]
        if n >= len(docs):
            query, doc = np.indices((rows.stop - rows.start, len(docs))).reshape(2, -1)
        else:
            longest = np.float32(np.sqrt(np.einsum("nd,nd->n", docs, docs).max()))
            query, doc = _reaching(vectors[rows], docs, n, slack[rows] * longest)
        owners.append(query + rows.start)
        places.append(doc + first)
    owner, place = np.concatenate(owners), np.concatenate(places)
    similarity = _rowwise(queries, owner, corpus.docs, place)
    order = np.lexsort((corpus.ties[place], -similarity, owner))
    order = order[within(owner[order]) < n]
    return owner[order], place[order], similarity[order]


def _reaching(queries: Floats, docs: Floats, n: int, slack: Floats) -> tuple[Ints, Ints]:
    """The docs that may be among the n nearest to each query, as query and doc, (n_found,) each.

    The n-th greatest of the maxima of parts of the docs is no more than the n-th greatest product.
    """
    n_parts = min(16 * n, len(docs))
    width = len(docs) // n_parts
    found = []
    step = max(1, _PRODUCTS // len(docs))
    for start in range(0, len(queries), step):
        products = queries[start : start + step] @ docs.T
        parts = products[:, : n_parts * width].reshape(len(products), width, n_parts)
        greatest = parts.max(axis=1)
        least = np.partition(greatest, n_parts - n, axis=1)[:, n_parts - n]
        flat = np.flatnonzero(products >= (least - slack[start : start + step])[:, None])
        found.append(flat + start * len(docs))
    query, doc = np.divmod(np.concatenate(found), len(docs))
    return query, doc


def _rowwise(queries: Doubles, owner: Ints, docs: Floats, place: Ints) -> Doubles:
    """⟨queries[owner[i]], docs[place[i]]⟩, shape (n_pairs,)."""
    products = np.empty(len(owner))
    step = max(1, _PAIRS // docs.shape[1])
    for start in range(0, len(owner), step):
        block = slice(start, start + step)
        left, right = queries[owner[block]], docs[place[block]].astype(np.float64)
        products[block] = np.einsum("pd,pd->p", left, right)
    return products
