"""RF-Mem's recollection, one query and one branch after the other: what `recollection` must find.

Plain code, with scikit-learn's k-means for every branch: the reference of tests and benchmark. It
works in the precision of the vectors that it is given.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrepro.core.ranking import top_k
from memrepro.retrieve.rfmem.kmeans import cluster
from memrepro.retrieve.rfmem.recollection import Printed, Released, Settings

Vectors = NDArray[Any]


@dataclass(frozen=True)
class _Branch:
    """One branch of the beam: its query, the score it is kept by, its docs with their scores."""

    query: Vectors
    score: float
    docs: tuple[int, ...] = ()
    doc_scores: tuple[float, ...] = ()


def recollect_one(
    original: Vectors, docs: Vectors, ties: NDArray[np.uint64], settings: Settings
) -> dict[int, float]:
    """The docs of one query, best first, with the score each was found by."""
    beam = [_Branch(original, 0.0)]
    bag: dict[int, float] = {}
    for depth in range(settings.rounds):
        grown = [
            branch
            for parent in beam
            for branch in _grow(parent, depth, original, docs, ties, bag, settings)
        ]
        if not grown:
            if settings.on_empty == "stop":
                break
            continue  # with the same beam, and the next round's larger N
        # sorted() is stable: equal branches stay in the order in which they grew.
        beam = sorted(grown, key=lambda branch: -branch.score)[: settings.beam_width]
        for branch in beam:
            for doc, score in zip(branch.docs, branch.doc_scores, strict=True):
                bag.setdefault(doc, score)
        if len(bag) >= settings.k:
            break
    found = list(bag.items())
    if isinstance(settings, Printed):
        found.sort(key=lambda item: (-item[1], ties[item[0]]))
    return dict(found[: settings.k])


def _grow(
    parent: _Branch, depth: int, original: Vectors, docs: Vectors, ties: NDArray[np.uint64],
    seen: dict[int, float], settings: Settings,
) -> list[_Branch]:  # fmt: skip
    """A branch's children: its unseen candidates, clustered, each centroid mixed in."""
    similarity = docs @ parent.query
    nearest = top_k(similarity, ties, (settings.beam_width + depth) * settings.fanout)
    floor = settings.floor
    candidates = [int(i) for i in nearest if similarity[i] >= floor and i not in seen]
    if not candidates:
        return []
    vectors = docs[candidates]
    between = vectors @ vectors.T
    np.fill_diagonal(between, -np.inf)
    nearest_other = between.max(axis=1) if len(candidates) > 1 else np.zeros(1, docs.dtype)
    weight = settings.relevance_weight if isinstance(settings, Released) else 1.0
    scores = weight * similarity[candidates] - (1.0 - weight) * nearest_other
    n_clusters = min(settings.beam_width, len(candidates))
    labels = cluster(vectors.astype(np.float32), n_clusters, settings.seed)
    children = []
    for label in range(n_clusters):
        members = np.flatnonzero(labels == label)
        if not len(members):
            continue
        centroid = _unit(vectors[members].mean(axis=0))
        query = _unit(settings.alpha * parent.query + (1 - settings.alpha) * centroid + original)
        found, so_far = scores[members], parent.score
        if isinstance(settings, Printed):
            found, so_far = vectors[members] @ query, 0.0
        children.append(
            _Branch(
                query,
                so_far + float(found.sum()),
                tuple(candidates[i] for i in members),
                tuple(found.tolist()),
            )
        )
    return children


def _unit(vector: Vectors) -> Vectors:
    """A vector of length 1; a zero vector stays zero."""
    unit: Vectors = vector / max(float(np.linalg.norm(vector)), 1e-12)
    return unit
