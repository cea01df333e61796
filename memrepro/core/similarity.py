"""Similarity of vectors, and the maximum over the keys that one doc owns: arrays only."""

from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
F = TypeVar("F", np.float32, np.float64)


def normalise(vectors: Floats) -> Floats:
    """Vectors of length 1 along the last axis; a zero vector stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return cast(Floats, (vectors / np.maximum(norms, 1e-12)).astype(np.float32))


def products(queries: Floats, keys: Floats) -> Doubles:
    """The inner product of each query with each key, in double precision, (n_queries, n_keys)."""
    doubles: Doubles = queries.astype(np.float64) @ keys.astype(np.float64).T
    return doubles


def max_by_owner(scores: NDArray[F], owner: NDArray[np.int64], n_docs: int) -> NDArray[F]:
    """Each doc's best key: the segment maximum by owner, −inf where a doc owns no key.

    Args:
        scores: shape (n_keys,) or (n_queries, n_keys).
        owner: shape (n_keys,), the doc's index, in any order.
        n_docs: how many docs there are.

    Returns:
        Shape (n_docs,) or (n_queries, n_docs).
    """
    if len(owner) == n_docs and (owner == np.arange(n_docs)).all():
        return scores
    if (owner[1:] < owner[:-1]).any():
        order = np.argsort(owner, kind="stable")
        scores, owner = scores[..., order], owner[order]
    best = np.full((*scores.shape[:-1], n_docs), -np.inf, scores.dtype)
    if len(owner):
        starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
        best[..., owner[starts]] = np.maximum.reduceat(scores, starts, axis=-1)
    return best
