"""How large memory graphs are, before and after deduplication (Associa §4.1)."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from memrepro.core.keys import Request
from memrepro.files.progress import bar
from memrepro.retrieve.associa.keys.graph import EDGE_KINDS, NODE_KINDS, Graph
from memrepro.retrieve.associa.keys.key_builder import graph_of
from memrepro.retrieve.associa.merge import GROUPINGS, merge
from memrepro.retrieve.associa.retrievers import Associa

COLUMNS = ["merging", "what", "memories", "total", "least", "most"]


def graph_sizes(requests: Sequence[Request]) -> pd.DataFrame:
    """How many nodes and edges of each kind graphs have, one a request, also merged both ways.

    The table is `COLUMNS`: how many in all, and the fewest and most in one memory.
    """
    found: dict[tuple[str, str], list[int]] = {}
    with bar(len(requests), "graphs", " memories") as progress:
        for request in requests:
            for merging, graph in _merged(graph_of(request.keys)):
                for what, number in sizes(graph).items():
                    found.setdefault((merging, what), []).append(number)
            progress.update()
    rows = [(merging, what, len(n), sum(n), min(n), max(n)) for (merging, what), n in found.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def sizes(graph: Graph) -> dict[str, int]:
    """How many nodes and edges of each kind a graph has."""
    nodes = np.bincount(graph.kinds, minlength=len(NODE_KINDS)).tolist()
    edges = np.bincount(graph.edge_kinds, minlength=len(EDGE_KINDS)).tolist()
    return {
        **{f"nodes: {kind}": number for kind, number in zip(NODE_KINDS, nodes, strict=True)},
        **{f"edges: {kind}": number for kind, number in zip(EDGE_KINDS, edges, strict=True)},
    }


def _merged(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """The graph as it is, and merged in each way at the retriever's own threshold."""
    yield "none", graph
    for grouping in GROUPINGS:
        yield grouping, merge(graph, grouping, Associa.merge_threshold)


MEASURE = graph_sizes
