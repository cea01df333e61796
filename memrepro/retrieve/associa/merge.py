"""Deduplication of a memory graph: what is told alike becomes one (Associa §4.1).

Events, entities and relations are merged, each among its like; utterances, times and speakers are
never. The first told stands for all that are merged into it, and takes over their edges and their
utterances, so that no utterance is lost. An edge between two nodes that became one is dropped.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles, Floats, normalise, products
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.keys.graph import ENTITY, EVENT, RELATION, Graph

# Vectors of length 1, shape (n, dimension), and a threshold → the place of what stands for each.
Grouping = Callable[[Floats, float], NDArray[np.int64]]


def incremental(vectors: Floats, threshold: float) -> NDArray[np.int64]:
    """One after the other: to the most similar that stands by then, if above the threshold.

    By FAISS, so that what is added later moves nothing that was merged before.
    """
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    standing: list[int] = []
    found = np.empty(len(vectors), np.int64)
    for number, vector in enumerate(vectors):
        similar, nearest = index.search(vector[None], 1)
        if standing and similar[0, 0] > threshold:
            found[number] = standing[nearest[0, 0]]
        else:
            index.add(vector[None])
            standing.append(number)
            found[number] = number
    return found


def clustered(vectors: Floats, threshold: float) -> NDArray[np.int64]:
    """All at once: agglomerative clustering over the similarity matrix, with average linkage.

    Clusters are joined while their average similarity is above the threshold; the paper names no
    linkage. The matrix holds n² numbers.
    """
    if len(vectors) < 2:
        return np.arange(len(vectors))
    distances: Doubles = np.clip(1 - products(vectors, vectors), 0, 2)
    np.fill_diagonal(distances, 0)
    from sklearn.cluster import AgglomerativeClustering  # seconds

    model = AgglomerativeClustering(
        n_clusters=None,
        metric="precomputed",
        linkage="average",
        distance_threshold=1 - threshold,
    )
    labels = model.fit_predict((distances + distances.T) / 2)
    _, first, cluster = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[cluster], np.int64)


GROUPINGS: dict[str, Grouping] = {"incremental": incremental, "clustering": clustered}


def merge(graph: Graph, grouping: str, threshold: float) -> Graph:
    """Merge the events, entities and relations of a graph that are more similar than a threshold.

    Relations are merged where, after the nodes, they join the same two in the same direction.

    Args:
        graph: with vectors.
        grouping: one of `GROUPINGS`.
        threshold: a cosine, within 0 and 1; the paper names none.
    """
    if graph.vectors is None:
        raise MemreproError("this memory graph has no vectors: merging needs an encoder")
    group, unit = GROUPINGS[grouping], normalise(graph.vectors)
    stands = np.arange(len(graph.kinds))
    for kind in (EVENT, ENTITY):
        members = np.flatnonzero(graph.kinds == kind)
        if len(members):
            stands[members] = members[group(unit[graph.node_rows[members]], threshold)]
    kept = np.unique(stands)
    place = np.searchsorted(kept, stands)
    edges = place[graph.edges]
    rows = _merge_relations(graph, edges, group, unit, threshold)
    told = np.column_stack([edges, graph.edge_kinds, rows])
    # Of equal edges the first stays; none leads from a node to itself.
    _, first = np.unique(told, axis=0, return_index=True)
    first = np.sort(first)
    first = first[edges[first, 0] != edges[first, 1]]
    return replace(
        graph,
        node_ids=tuple(graph.node_ids[i] for i in kept),
        kinds=graph.kinds[kept],
        categories=tuple(graph.categories[i] for i in kept),
        node_rows=graph.node_rows[kept],
        edges=edges[first],
        edge_kinds=graph.edge_kinds[first],
        edge_rows=rows[first],
        origins=np.unique(place[graph.origins], axis=0),
    )


def _merge_relations(
    graph: Graph, edges: NDArray[np.int64], group: Grouping, unit: Floats, threshold: float
) -> NDArray[np.int64]:
    """Each edge's text after merging relations between the same two nodes, shape (n_edges,)."""
    rows = graph.edge_rows.copy()
    between: dict[tuple[int, ...], list[int]] = {}
    for number in np.flatnonzero(graph.edge_kinds == RELATION).tolist():
        between.setdefault(tuple(edges[number].tolist()), []).append(number)
    for numbers in between.values():
        if len(numbers) > 1:
            parallel = np.array(numbers)
            rows[parallel] = rows[parallel[group(unit[rows[parallel]], threshold)]]
    return rows
