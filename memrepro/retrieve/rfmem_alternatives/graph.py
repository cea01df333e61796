"""A nearest-neighbour graph in place of RF-Mem's loop (RF-Mem Appendix D.8.4 and D.9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from memrepro.core.keys import Request, ranked
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import products
from memrepro.retrieve.rfmem_alternatives.loop import DocVectors, queries_of, reranked

if TYPE_CHECKING:
    import networkx as nx


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
        exhaustive: whether docs are ranked by similarity, and not as they were visited.
    """

    exhaustive: ClassVar[bool] = False
    k: int
    beam_width: int
    fanout: int
    neighbours: int = 3
    rounds: int = 10

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        rankings = []
        for request in requests:
            graph = self.graph(DocVectors(request.keys.doc_vectors(), request.keys.ties))
            for query_id, query, memory in queries_of(request):
                similarity = memory.similarity(query)
                entry = top_k(similarity, memory.ties, self.beam_width * self.fanout)
                found = self.visit(graph, entry)
                if self.exhaustive:
                    found = np.array(list(reranked(found.tolist(), query, memory)), np.intp)
                found = found[: self.k]
                rankings.append(ranked(request.keys, query_id, found, similarity[found]))
        return rankings

    def graph(self, memory: DocVectors) -> "nx.DiGraph":
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


@dataclass(frozen=True, kw_only=True)
class FullGraphSearch(GraphSearch):
    """The graph's search without a stop at K, ranked by similarity to the query (D.9, Table 16)."""

    exhaustive: ClassVar[bool] = True
