"""Keys: what a memory is searched by. A keying says which texts of a doc are its keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memrepro.errors import MemreproError
from memrepro.memory import Memory, Round
from memrepro.numerics.similarity import Floats, max_by_owner
from memrepro.ranking import tie_keys


def user_only(doc: Round) -> tuple[str, ...]:
    """The user's words alone (max-sim document, Eq. 1; LongMemEval §5.1)."""
    return (doc.fields["user"],) if "user" in doc.fields else ()


def concat(doc: Round) -> tuple[str, ...]:
    """All fields in order, joined by one space, as one key (max-sim document, Eq. 2)."""
    return (" ".join(doc.fields.values()),) if doc.fields else ()


def fielded(doc: Round) -> tuple[str, ...]:
    """One key a field (max-sim document, Eq. 3: the doc's score is the best of its keys)."""
    return tuple(doc.fields.values())


KEYINGS: Mapping[str, Callable[[Round], tuple[str, ...]]] = {
    "user_only": user_only,
    "concat": concat,
    "fielded": fielded,
}


@dataclass(frozen=True)
class Keys:
    """The keys of one memory.

    Attributes:
        doc_ids: the docs, shape (n_docs,), in the order of the memory.
        texts: one a key, shape (n_keys,).
        owner: the doc's index of each key, shape (n_keys,), ascending.
        ties: each doc's place among equals, shape (n_docs,).
        vectors: shape (n_keys, dimension), or None before `with_vectors`.
    """

    doc_ids: tuple[str, ...]
    texts: tuple[str, ...]
    owner: NDArray[np.int64]
    ties: NDArray[np.int64]
    vectors: Floats | None = None

    def with_vectors(self, vectors: Floats) -> "Keys":
        """The same keys with their vectors, shape (n_keys, dimension)."""
        if len(vectors) != len(self.texts):
            raise MemreproError(f"{len(vectors)} vectors for {len(self.texts)} keys: must be equal")
        return replace(self, vectors=vectors)

    def doc_scores(self, query_vectors: Floats) -> Floats:
        """Max-sim of each query with each doc, shape (n_queries, n_docs); −inf without a key."""
        if self.vectors is None:
            raise MemreproError("these keys have no vectors: this retriever needs an encoder")
        return max_by_owner(query_vectors @ self.vectors.T, self.owner, len(self.doc_ids))

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
                "this retriever needs one a doc; choose the keying 'concat' or 'user_only'"
            )
        return self.vectors


def make_keys(memory: Memory, keying: str) -> Keys:
    """The keys of a memory under a keying, without vectors.

    Raises:
        MemreproError: if the keying is unknown, or gives the whole memory no key.
    """
    if keying not in KEYINGS:
        raise MemreproError(f"unknown keying {keying!r}: known are {', '.join(KEYINGS)}")
    texts: list[str] = []
    owner: list[int] = []
    for index, doc in enumerate(memory.rounds):
        found = KEYINGS[keying](doc)
        texts.extend(found)
        owner.extend([index] * len(found))
    if not texts:
        raise MemreproError(
            f"memory {memory.memory_id!r} has no key under the keying {keying!r}: its docs have "
            f"the fields {sorted({f for doc in memory.rounds for f in doc.fields})}; "
            "choose another keying"
        )
    doc_ids = tuple(doc.round_id for doc in memory.rounds)
    return Keys(doc_ids, tuple(texts), np.array(owner, np.int64), tie_keys(doc_ids))


@dataclass(frozen=True)
class Request:
    """The queries asked of one memory: what a retriever is given, and all that it may see.

    Attributes:
        keys: of the memory.
        query_ids: shape (n_queries,).
        query_texts: shape (n_queries,).
        query_vectors: shape (n_queries, dimension), or None for a lexical retriever.
    """

    keys: Keys
    query_ids: Sequence[str]
    query_texts: Sequence[str]
    query_vectors: Floats | None = None

    def doc_scores(self) -> Floats:
        """Max-sim of each query with each doc, shape (n_queries, n_docs)."""
        if self.query_vectors is None:
            raise MemreproError("these queries have no vectors: this retriever needs an encoder")
        return self.keys.doc_scores(self.query_vectors)
