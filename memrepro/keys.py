"""Keys: what a memory is searched by. A keying says which texts of a doc are its keys.

A key remembers the field that it was made of, so that a rule may weigh the fields.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memrepro.errors import MemreproError
from memrepro.memory import Memory, Round
from memrepro.numerics.similarity import Floats, max_by_owner
from memrepro.ranking import Ranking, tie_keys, top_k

# A doc's keys: (field, text), each field at most once.
Keying = Callable[[Round], Sequence[tuple[str, str]]]


def only(field: str) -> Keying:
    """One field's words alone (max-sim document, Eq. 1; LongMemEval §5.1: the user's)."""
    return lambda doc: [(field, doc.fields[field])] if field in doc.fields else []


def concat(doc: Round) -> Sequence[tuple[str, str]]:
    """All fields in order, joined by one space, as one key (max-sim document, Eq. 2)."""
    return [("all", " ".join(doc.fields.values()))] if doc.fields else []


def fielded(doc: Round) -> Sequence[tuple[str, str]]:
    """One key a field (max-sim document, Eq. 3: the doc's score is the best of its keys)."""
    return list(doc.fields.items())


# LoCoMo's two fields are its two speakers.
KEYINGS: Mapping[str, Keying] = {
    "user_only": only("user"),
    "assistant_only": only("assistant"),
    "speaker_a_only": only("speaker_a"),
    "speaker_b_only": only("speaker_b"),
    "concat": concat,
    "fielded": fielded,
}


@dataclass(frozen=True)
class Keys:
    """The keys of one memory.

    Attributes:
        doc_ids: the docs, shape (n_docs,), in the order of the memory.
        texts: one a key, shape (n_keys,).
        fields: the field of each key, shape (n_keys,); 'all' for a concatenation.
        owner: the doc's index of each key, shape (n_keys,), ascending.
        ties: each doc's place among equals, shape (n_docs,).
        vectors: shape (n_keys, dimension), or None before `with_vectors`.
    """

    doc_ids: tuple[str, ...]
    texts: tuple[str, ...]
    fields: tuple[str, ...]
    owner: NDArray[np.int64]
    ties: NDArray[np.int64]
    vectors: Floats | None = None

    def with_vectors(self, vectors: Floats) -> "Keys":
        """The same keys with their vectors, shape (n_keys, dimension)."""
        if len(vectors) != len(self.texts):
            raise MemreproError(f"{len(vectors)} vectors for {len(self.texts)} keys: must be equal")
        return replace(self, vectors=vectors)

    def doc_scores(self, query_vectors: Floats, which: NDArray[np.bool_] | None = None) -> Floats:
        """Max-sim of each query with each doc, shape (n_queries, n_docs); −inf without a key.

        Args:
            query_vectors: shape (n_queries, dimension).
            which: shape (n_keys,), the keys that count; all of them where it is None.
        """
        if self.vectors is None:
            raise MemreproError("these keys have no vectors: this retriever needs an encoder")
        chosen = slice(None) if which is None else which
        scores = query_vectors @ self.vectors[chosen].T
        return max_by_owner(scores, self.owner[chosen], len(self.doc_ids))

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
    found = [
        (index, field, text)
        for index, doc in enumerate(memory.rounds)
        for field, text in KEYINGS[keying](doc)
    ]
    if not found:
        raise MemreproError(
            f"memory {memory.memory_id!r} has no key under the keying {keying!r}: its docs have "
            f"the fields {sorted({f for doc in memory.rounds for f in doc.fields})}; "
            "choose another keying"
        )
    doc_ids = tuple(doc.round_id for doc in memory.rounds)
    owner, fields, texts = zip(*found, strict=True)
    return Keys(doc_ids, texts, fields, np.array(owner, np.int64), tie_keys(doc_ids))


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

    def doc_scores(self, which: NDArray[np.bool_] | None = None) -> Floats:
        """Max-sim of each query with each doc, shape (n_queries, n_docs); see `Keys.doc_scores`."""
        if self.query_vectors is None:
            raise MemreproError("these queries have no vectors: this retriever needs an encoder")
        return self.keys.doc_scores(self.query_vectors, which)


def best_first(request: Request, scores: Floats, k: int) -> list[Ranking]:
    """The k best docs of each query of a request.

    Args:
        request: whose queries and docs these are.
        scores: shape (n_queries, n_docs).
        k: length of a ranking.
    """
    rankings = []
    for query_id, row in zip(request.query_ids, scores, strict=True):
        best = top_k(row, request.keys.ties, k)
        ids = tuple(request.keys.doc_ids[i] for i in best)
        rankings.append(Ranking(query_id, ids, tuple(float(s) for s in row[best])))
    return rankings
