"""RF-Mem's alternatives: other clusters, another mixing, a graph, and no early stop.

Source: RF-Mem Appendix D.8-D.9 (Tables 15 and 16). The released code holds none of them, so that
what the paper leaves open is chosen here, and said where it is; all else is the recollection of
the released code (`rfmem.ReleasedRecollection`), as D.8 keeps 'all other components fixed'.
The loop is plain, a query at a time. RF-Mem's own rows of the tables need no run of their own:
the gate reads the familiarity list alone, and then takes a query from one run or the other.
Libraries are imported where they are used, for they take seconds, and each stage loads this module
to check `params.yaml`.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memrepro.core.keys import Request, ranked
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import Doubles, Floats, normalise, products

if TYPE_CHECKING:
    import networkx as nx

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class _Memory:
    """The docs that a query may find: vectors (n_docs, dimension) and tie keys (n_docs,)."""

    vectors: Floats
    ties: NDArray[np.uint64]

    def similarity(self, query: Floats) -> Doubles:
        """The inner product of each doc with a query, in double precision, shape (n_docs,)."""
        scores: Doubles = products(query[None, :], self.vectors)[0]
        return scores


def _queries(request: Request) -> Iterator[tuple[str, Floats, _Memory]]:
    """Each query's id and vector, with its memory."""
    memory = _Memory(request.keys.doc_vectors(), request.keys.ties)
    for query_id, query in zip(request.query_ids, request.vectors_of_queries(), strict=True):
        yield query_id, query, memory


def by_kmeans(vectors: Floats, most: int, seed: int) -> Labels:
    """Labels of at most `most` clusters by k-means, library defaults otherwise."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # Fewer distinct points than clusters is legal here and leaves a cluster empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        made = KMeans(min(most, len(vectors)), random_state=seed).fit_predict(vectors)
    return np.asarray(made, np.int64)


def alpha_mix(alpha: float, query: Floats, centroid: Floats, original: Floats) -> Floats:
    """norm(α·query + (1−α)·centroid + original), each of shape (dimension,) (Eq. 6)."""
    return normalise(alpha * query + (1 - alpha) * centroid + original)


@dataclass(frozen=True)
class _Branch:
    """One branch of the beam: its query, the score summed along its path, its docs."""

    query: Floats
    score: float
    docs: NDArray[np.intp]
    doc_scores: Doubles


@dataclass(frozen=True, kw_only=True)
class _Loop(ABC):
    """Retrieve → cluster → mix → iterate (§2.3, Algorithm 3), the two steps left to others.

    Attributes:
        k: the paper's K, length of a ranking.
        beam_width: the paper's B, branches kept a round; k-means makes as many clusters a branch.
        fanout: the paper's F; round r retrieves N = (B + r)·F docs.
        rounds: the paper's R.
        relevance_weight: the released code's μ (the paper: 1), see `ReleasedRecollection`.
        floor: candidates scoring less are dropped.
    """

    k: int
    beam_width: int
    fanout: int
    rounds: int = 10
    relevance_weight: float = 0.9
    floor: float = 0.0

    @abstractmethod
    def cluster(self, vectors: Floats) -> Labels:
        """A label for each candidate, shape (n,), of vectors of shape (n, dimension)."""

    @abstractmethod
    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """The next query, of length 1; each of shape (dimension,)."""

    def enough(self, found: int) -> bool:
        """Whether the search stops after a round, so many docs being found (Algorithm 3, 22)."""
        return found >= self.k

    def order(self, found: dict[int, float], query: Floats, memory: _Memory) -> dict[int, float]:
        """The docs found, best first, each with its score; here as they were discovered."""
        return found

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        rankings = []
        for request in requests:
            for query_id, query, memory in _queries(request):
                found = self.order(self.explore(query, memory), query, memory)
                docs = np.array(list(found), np.intp)[: self.k]
                scores = np.array(list(found.values()))[: self.k]
                rankings.append(ranked(request.keys, query_id, docs, scores))
        return rankings

    def explore(self, original: Floats, memory: _Memory) -> dict[int, float]:
        """The docs of every branch kept, in order of discovery, with the score of each."""
        beam = [_Branch(original, 0.0, np.empty(0, np.intp), np.empty(0))]
        found: dict[int, float] = {}
        for depth in range(self.rounds):
            grown = [
                branch
                for parent in beam
                for branch in self._grow(parent, depth, original, memory, found)
            ]
            if not grown:
                break
            # sorted() is stable: equal branches stay in the order in which they grew.
            beam = sorted(grown, key=lambda branch: -branch.score)[: self.beam_width]
            for branch in beam:
                for doc, score in zip(branch.docs, branch.doc_scores, strict=True):
                    found.setdefault(int(doc), float(score))
            if self.enough(len(found)):
                break
        return found

    def _grow(
        self,
        parent: _Branch,
        depth: int,
        original: Floats,
        memory: _Memory,
        found: dict[int, float],
    ) -> Iterator[_Branch]:
        """A branch's children: its unseen candidates, clustered, each centroid mixed in."""
        similarity = memory.similarity(parent.query)
        nearest = top_k(similarity, memory.ties, (self.beam_width + depth) * self.fanout)
        fresh = [similarity[i] >= self.floor and int(i) not in found for i in nearest]
        docs = nearest[np.array(fresh, bool)]
        if not len(docs):
            return
        vectors = memory.vectors[docs]
        scores = similarity[docs] * self.relevance_weight
        if len(docs) > 1:
            between = products(vectors, vectors)
            np.fill_diagonal(between, -np.inf)
            scores -= (1 - self.relevance_weight) * between.max(axis=1)
        labels = self.cluster(vectors)
        for label in np.unique(labels):
            members = labels == label
            centroid = normalise(vectors[members].mean(axis=0))
            query = self.mix(parent.query, centroid, original)
            total = parent.score + float(scores[members].sum())
            yield _Branch(query, total, docs[members], scores[members])


@dataclass(frozen=True, kw_only=True)
class KMeansRecollection(_Loop):
    """The loop with the paper's own two steps: the same rankings as `rfmem.recollection`.

    Attributes (beside those of `_Loop`):
        alpha: the paper's α.
        seed: of k-means (released: 42).
    """

    alpha: float
    seed: int = 42

    def cluster(self, vectors: Floats) -> Labels:
        """By k-means."""
        return by_kmeans(vectors, self.beam_width, self.seed)

    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """By Eq. 6."""
        return alpha_mix(self.alpha, query, centroid, original)


@dataclass(frozen=True, kw_only=True)
class DBSCANRecollection(_Loop):
    """Density-based clusters in place of k-means (D.8.1).

    The paper names neither ε, nor the least number of docs, nor the distance, nor what becomes of
    noise. Here the distance is the paper's own, cosine; and a noise doc is a cluster of its own,
    for were it dropped, lists would come out short. All noise is then what k-means makes of no
    more docs than clusters: every doc a branch.

    Attributes (beside those of `_Loop`):
        alpha: the paper's α.
        eps: DBSCAN's ε, a cosine distance; the library's default.
        min_samples: docs that make a neighbourhood dense, the doc itself counted; 2, the least
            that can leave noise: the library's 5 exceeds round 0's N = B·F = 3.
    """

    alpha: float
    eps: float = 0.5
    min_samples: int = 2

    def cluster(self, vectors: Floats) -> Labels:
        """By DBSCAN; each noise doc gets a label of its own, after those of the clusters."""
        from sklearn.cluster import DBSCAN

        # Rounding can make the distance of a doc from itself negative, which DBSCAN refuses.
        distance = np.clip(1.0 - products(vectors, vectors), 0.0, 2.0)
        labels = DBSCAN(
            eps=self.eps, min_samples=self.min_samples, metric="precomputed"
        ).fit_predict(distance)
        noise = np.flatnonzero(labels < 0)
        labels[noise] = labels.max(initial=-1) + 1 + np.arange(len(noise))
        return np.asarray(labels, np.int64)

    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """By Eq. 6."""
        return alpha_mix(self.alpha, query, centroid, original)


@dataclass(frozen=True, kw_only=True)
class SpectralRecollection(_Loop):
    """Spectral clusters in place of k-means (D.8.2).

    The paper names no affinity: the library's default is Ng et al.'s (whom it cites), exp(−γ·d²)
    with γ = 1, then k-means on the eigenvectors. No more docs than clusters: each is a cluster,
    as k-means has it too.

    Attributes (beside those of `_Loop`):
        alpha: the paper's α.
        gamma: the affinity's γ; the library's default.
        seed: of the eigensolver and of k-means (that of the released code's k-means).
    """

    alpha: float
    gamma: float = 1.0
    seed: int = 42

    def cluster(self, vectors: Floats) -> Labels:
        """By spectral clustering into B clusters."""
        from sklearn.cluster import SpectralClustering
        from sklearn.exceptions import ConvergenceWarning

        if len(vectors) <= self.beam_width:
            return np.arange(len(vectors))
        with warnings.catch_warnings():
            # Fewer distinct points than clusters is legal here and leaves a cluster empty.
            warnings.simplefilter("ignore", ConvergenceWarning)
            made = SpectralClustering(
                self.beam_width, gamma=self.gamma, random_state=self.seed
            ).fit_predict(vectors.astype(np.float64))
        return np.asarray(made, np.int64)

    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """By Eq. 6."""
        return alpha_mix(self.alpha, query, centroid, original)


@dataclass(frozen=True, kw_only=True)
class GatedMixing(_Loop):
    """A gate g = σ(query·centroid) in place of α (D.8.3, Eqs. 9-10).

    Of unit vectors the product lies in [−1, 1], and so g in [0.269, 0.731].

    Attributes (beside those of `_Loop`):
        seed: of k-means (released: 42).
    """

    seed: int = 42

    def cluster(self, vectors: Floats) -> Labels:
        """By k-means."""
        return by_kmeans(vectors, self.beam_width, self.seed)

    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """By Eqs. 9-10."""
        from scipy.special import expit

        return alpha_mix(float(expit(query @ centroid)), query, centroid, original)


def _reranked(docs: NDArray[np.intp], query: Floats, memory: _Memory) -> dict[int, float]:
    """Docs by similarity to the query itself, best first."""
    scores = np.full(len(memory.ties), -np.inf)
    scores[docs] = memory.similarity(query)[docs]
    return {int(i): float(scores[i]) for i in top_k(scores, memory.ties, len(scores))}


@dataclass(frozen=True, kw_only=True)
class FullExploration(KMeansRecollection):
    """No early stop: all rounds are run, and what they found is ranked anew (D.9, Table 16).

    'Final dense re-ranking' is read as similarity to the query, ⟨x_t, z⟩, and 'the complete
    expanded set' as the docs of every branch that the beam kept. A ranking is then familiarity's
    order over the docs explored: it differs from familiarity only where a doc of familiarity's
    top K was never found. 'A predefined maximum depth' is `rounds`; 10 as with the early stop. As
    ever the loop ends with a round that finds nothing new, though a later N might have.
    """

    def enough(self, found: int) -> bool:
        """Never: only the rounds end, or the docs."""
        return False

    def order(self, found: dict[int, float], query: Floats, memory: _Memory) -> dict[int, float]:
        """By similarity to the query."""
        return _reranked(np.array(list(found), np.intp), query, memory)


@dataclass(frozen=True, kw_only=True)
class GraphSearch:
    """Breadth-first search over a nearest-neighbour graph, in place of the loop (D.8.4).

    The paper names nothing but the graph and the search. Here the graph is directed, each doc to
    its nearest by cosine; the search enters by the docs of the loop's round 0, N = B·F, best
    first, visits a doc's neighbours nearest first, and lists docs as it comes upon them, as the
    released recollection does. It stops with K docs.

    Attributes:
        k: the paper's K, length of a ranking.
        beam_width: the paper's B.
        fanout: the paper's F; the search enters by B·F docs.
        neighbours: edges that leave a doc; 3, as many as the loop's branches (B).
        rounds: steps that the search goes away from where it entered, at most.
    """

    k: int
    beam_width: int
    fanout: int
    neighbours: int = 3
    rounds: int = 10

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        rankings = []
        for request in requests:
            graph = self.graph(_Memory(request.keys.doc_vectors(), request.keys.ties))
            for query_id, query, memory in _queries(request):
                similarity = memory.similarity(query)
                entry = top_k(similarity, memory.ties, self.beam_width * self.fanout)
                found = self.order(self.visit(graph, entry), query, memory)[: self.k]
                rankings.append(ranked(request.keys, query_id, found, similarity[found]))
        return rankings

    def graph(self, memory: _Memory) -> "nx.DiGraph":
        """Each doc to its nearest others, the nearest first; a doc alone has no edge."""
        import networkx as nx

        graph = nx.DiGraph()
        between = products(memory.vectors, memory.vectors)
        np.fill_diagonal(between, -np.inf)
        for doc, row in enumerate(between):
            graph.add_node(doc)
            graph.add_edges_from((doc, int(i)) for i in top_k(row, memory.ties, self.neighbours))
        return graph

    def visit(self, graph: "nx.DiGraph", entry: NDArray[np.intp]) -> NDArray[np.intp]:
        """The docs within reach, in the order of a breadth-first search from several docs."""
        import networkx as nx

        # A node before all others, with an edge to each doc of entry, makes them one search.
        rooted = nx.DiGraph(graph)
        rooted.add_edges_from((-1, int(doc)) for doc in entry)
        edges = nx.bfs_edges(rooted, -1, depth_limit=self.rounds + 1)
        return np.array([doc for _, doc in edges], np.intp)

    def order(self, docs: NDArray[np.intp], query: Floats, memory: _Memory) -> NDArray[np.intp]:
        """The docs visited, best first; here as they were visited."""
        return docs


@dataclass(frozen=True, kw_only=True)
class FullGraphSearch(GraphSearch):
    """The graph's search without a stop at K, ranked by similarity to the query (D.9, Table 16)."""

    def order(self, docs: NDArray[np.intp], query: Floats, memory: _Memory) -> NDArray[np.intp]:
        """By similarity to the query."""
        return np.array(list(_reranked(docs, query, memory)), np.intp)


RETRIEVERS = {
    "dbscan": DBSCANRecollection,
    "spectral": SpectralRecollection,
    "gated-mix": GatedMixing,
    "graph": GraphSearch,
    "full": FullExploration,
    "full-graph": FullGraphSearch,
}
