"""Keys: what a memory is searched by, and the scores of docs through their keys."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memrepro.core.ranking import Ranking, Rankings, top_rows
from memrepro.core.similarity import Doubles, Floats, max_by_owner, products
from memrepro.errors import MemreproError

_BLOCK = 1 << 26  # scores held at once
_RANKED = 1 << 16  # scores ranked at once: few enough for a processor's cache


@dataclass(frozen=True)
class Keys:
    """The keys of one memory.

    Attributes:
        doc_ids: the docs, shape (n_docs,), in the order of the memory.
        rows: each key's place in `unique`, shape (n_keys,).
        unique: the texts of all keys of the data set, each once, shape (n_unique,); shared.
        fields: the field of each key, shape (n_keys,); 'all' for a concatenation.
        owner: the doc's index of each key, shape (n_keys,), ascending.
        ties: what decides between docs of one score, the least first, shape (n_docs,).
        vectors: of the unique texts, shape (n_unique, dimension); shared; None for lexical search.
    """

    doc_ids: tuple[str, ...]
    rows: NDArray[np.int64]
    unique: Sequence[str]
    fields: tuple[str, ...]
    owner: NDArray[np.int64]
    ties: NDArray[np.uint64]
    vectors: Floats | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """One a key, shape (n_keys,)."""
        return tuple(self.unique[row] for row in self.rows)

    def with_vectors(self, vectors: Floats) -> "Keys":
        """The same keys with the vectors of the unique texts, shape (n_unique, dimension)."""
        if len(vectors) != len(self.unique):
            raise MemreproError(
                f"{len(vectors)} vectors for {len(self.unique)} texts: must be equal"
            )
        return replace(self, vectors=vectors)

    def key_scores(self, query_vectors: Floats) -> Doubles:
        """The similarity of each query with each key, shape (n_queries, n_keys).

        In double precision, so that no ranking depends on the order in which a machine adds; and a
        text that is the key of two docs is scored once, so that they tie to the last bit.
        """
        vectors = self._vectors()
        if (self.rows[1:] > self.rows[:-1]).all():
            everything = len(self.rows) == len(vectors)
            return products(query_vectors, vectors if everything else vectors[self.rows])
        rows, place = np.unique(self.rows, return_inverse=True)
        return products(query_vectors, vectors[rows])[:, place]

    def key_vectors(self) -> Floats:
        """One vector a key, shape (n_keys, dimension)."""
        return self._vectors()[self.rows]

    def _vectors(self) -> Floats:
        if self.vectors is None:
            raise MemreproError("these keys have no vectors: this retriever needs an encoder")
        return self.vectors

    def best(self, key_scores: Doubles, which: NDArray[np.bool_] | None = None) -> Doubles:
        """Max-sim: each doc's best key, shape (n_queries, n_docs); −inf without a key.

        Args:
            key_scores: shape (n_queries, n_keys).
            which: shape (n_keys,), the keys that count; all of them where it is None.
        """
        if which is None:
            return max_by_owner(key_scores, self.owner, len(self.doc_ids))
        return max_by_owner(key_scores[:, which], self.owner[which], len(self.doc_ids))

    def only(self, which: NDArray[np.bool_]) -> "Keys":
        """Some of the keys, of shape (n_keys,), for the same docs."""
        fields = tuple(np.array(self.fields, object)[which].tolist())
        return replace(self, rows=self.rows[which], owner=self.owner[which], fields=fields)

    def without_bare_docs(self) -> "Keys":
        """The same keys without the docs that have none, such as sessions of no user's words."""
        owned, owner = np.unique(self.owner, return_inverse=True)
        if len(owned) == len(self.doc_ids):
            return self
        doc_ids = tuple(map(self.doc_ids.__getitem__, owned.tolist()))
        return replace(self, doc_ids=doc_ids, owner=owner, ties=self.ties[owned])

    def doc_vectors(self) -> Floats:
        """One vector a doc, shape (n_docs, dimension).

        Raises:
            MemreproError: if a doc has no key, or more than one.
        """
        counts = np.bincount(self.owner, minlength=len(self.doc_ids))
        if self.vectors is None or (counts != 1).any():
            raise MemreproError(
                f"doc {self.doc_ids[int(np.argmax(counts != 1))]!r} has "
                f"{0 if self.vectors is None else counts[int(np.argmax(counts != 1))]} vectors: "
                "this retriever needs one a doc; choose the key scheme 'concat' or 'user_only'"
            )
        return self.vectors[self.rows]


@dataclass(frozen=True, eq=False)
class Request:
    """The queries asked of one memory: what a retriever is given, and all that it may see.

    Each is known by itself, not by its contents, so that what was made of it can be kept.

    Attributes:
        keys: of the memory.
        query_ids: shape (n_queries,).
        query_texts: shape (n_queries,).
        query_vectors: shape (n_queries, dimension), or None for a lexical retriever.
        doc_dates: each doc's dates as (first, last) ordinals, shape (n_docs,), or None.
        ranges: the dates that each query asks about, None for one that asks about none; shape
            (n_queries,), or None.
        doc_sessions: the number of each doc's session, ascending, shape (n_docs,), or None.
    """

    keys: Keys
    query_ids: Sequence[str]
    query_texts: Sequence[str]
    query_vectors: Floats | None = None
    doc_dates: Sequence[Sequence[tuple[int, int]]] | None = None
    ranges: Sequence[tuple[int, int] | None] | None = None
    doc_sessions: NDArray[np.int64] | None = None

    def vectors_of_queries(self) -> Floats:
        """The queries' vectors, shape (n_queries, dimension).

        Raises:
            MemreproError: if there are none.
        """
        if self.query_vectors is None:
            raise MemreproError("these queries have no vectors: this retriever needs an encoder")
        return self.query_vectors

    def doc_scores(self) -> Doubles:
        """Max-sim of each query with each doc, shape (n_queries, n_docs)."""
        return self.keys.best(self.keys.key_scores(self.vectors_of_queries()))


# A row that is gathered costs about as much time as this many products of a query and a row.
_GATHERED = 30


def score_all(requests: Sequence[Request]) -> Iterator[tuple[Request, Doubles]]:
    """Each request with its key scores, shape (n_queries, n_keys).

    Where memories share their texts, all queries are scored against all unique vectors in one
    matrix product (in blocks, for memory), and a memory picks its columns; where they share few,
    each memory's own vectors are gathered instead. Whichever costs less is done.
    """
    if not requests:
        return
    shared = requests[0].keys.vectors
    asked = sum(len(r.query_ids) for r in requests)
    held = sum(len(r.keys.rows) for r in requests)
    own = any(r.keys.vectors is not shared for r in requests)
    if shared is None or own or asked * len(shared) > _GATHERED * held:
        for request in requests:
            yield request, request.keys.key_scores(request.vectors_of_queries())
        return
    for block in blocks_of(requests, lambda r: len(r.query_ids), max(1, _BLOCK // len(shared))):
        queries = np.concatenate([r.vectors_of_queries() for r in block])
        scores = products(queries, shared)
        start = 0
        for request in block:
            end = start + len(request.query_ids)
            yield request, scores[start:end, request.keys.rows]
            start = end


def blocks_of(
    requests: Sequence[Request], size: Callable[[Request], int], most: int
) -> Iterator[list[Request]]:
    """The requests in order, so many at once that their sizes add up to `most`, at least one."""
    block: list[Request] = []
    held = 0
    for request in requests:
        one = size(request)
        if block and held + one > most:
            yield block
            block, held = [], 0
        block.append(request)
        held += one
    if block:
        yield block


def best_first(scored: Iterable[tuple[Request, Doubles]], k: int) -> Rankings:
    """The k best docs of each query, in the order of the requests.

    Args:
        scored: requests, each with the scores of its docs, shape (n_queries, n_docs).
        k: length of a ranking.
    """
    parts = [_ranked_together(block, k) for block in _side_by_side(scored)]
    sizes = [np.diff(part.ends) for part in parts]
    return Rankings(
        [query_id for part in parts for query_id in part.query_ids],
        np.concatenate([np.zeros(0, object), *(part.doc_ids for part in parts)]),
        np.concatenate([np.zeros(0), *(part.scores for part in parts)]),
        np.concatenate([np.zeros(1, np.intp), *sizes]).cumsum(),
    )


def _side_by_side(
    scored: Iterable[tuple[Request, Doubles]],
) -> Iterator[list[tuple[Request, Doubles]]]:
    """The requests in order, as many at once as a cache holds, each as wide as the widest."""
    block: list[tuple[Request, Doubles]] = []
    rows, width = 0, 0
    for request, scores in scored:
        rows, width = rows + len(scores), max(width, scores.shape[1])
        if block and rows * width > _RANKED:
            yield block
            block, (rows, width) = [], scores.shape
        block.append((request, scores))
    if block:
        yield block


def _ranked_together(block: Sequence[tuple[Request, Doubles]], k: int) -> Rankings:
    """As `best_first`; memories with fewer docs than another have −inf in their place."""
    keys = [request.keys for request, _ in block]
    docs_of = [len(one.doc_ids) for one in keys]
    memory = np.repeat(np.arange(len(block)), [len(scores) for _, scores in block])
    if len(block) == 1:
        (((_, scores),), ties) = block, keys[0].ties[None]
    else:
        scores = np.full((len(memory), max(docs_of)), -np.inf)
        ties = np.zeros((len(block), max(docs_of)), np.uint64)
        start = 0
        for number, (_, own) in enumerate(block):
            n = docs_of[number]
            ties[number, :n] = keys[number].ties
            scores[start : (start := start + len(own)), :n] = own
    docs, reached = top_rows(scores, ties, memory, k)
    found = reached > -np.inf
    ends = np.concatenate([[0], found.sum(axis=1).cumsum()])
    hits, first = docs[found].tolist(), 0
    doc_ids: list[str] = []
    for one, last in zip(keys, ends[np.bincount(memory).cumsum()].tolist(), strict=True):
        doc_ids += map(one.doc_ids.__getitem__, hits[first:last])
        first = last
    return Rankings(
        [query_id for request, _ in block for query_id in request.query_ids],
        np.array(doc_ids, object),
        reached[found].astype(np.float64),
        ends,
    )


def ranked(
    keys: Keys, query_id: str, docs: NDArray[np.intp], scores: NDArray[np.floating]
) -> Ranking:
    """A ranking of docs, given by index, with the score of each."""
    doc_ids = tuple(map(keys.doc_ids.__getitem__, docs.tolist()))
    return Ranking(query_id, doc_ids, tuple(scores.tolist()))
