"""graphs: how large the memory graphs are, before and after deduplication (Associa §4.1)."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from memrepro.core.prepared import load
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.files.progress import bar
from memrepro.retrieve.associa.graph import EDGE_KINDS, NODE_KINDS, Graph
from memrepro.retrieve.associa.key_builder import GraphKeyBuilder, graph_of
from memrepro.retrieve.associa.merge import GROUPINGS, merge
from memrepro.retrieve.associa.retrievers import Associa
from memrepro.study import retrieval
from memrepro.study.params import Experiment, load_plan
from memrepro.study.result import StageResult

COLUMNS = ["granularity", "keying", "merging", "what", "memories", "total", "least", "most"]


def run(embedding: str) -> StageResult:
    """Count the graphs of an entry of `graph_embeddings`, as they are and merged both ways.

    The table has one row a key scheme, way of merging and kind of node or edge: over how many
    memories, how many in all, and the fewest and most in one.
    """
    plan = load_plan()
    entry = plan.embedding(embedding)
    searched: dict[tuple[str, str], Experiment] = {}
    for one in plan.experiments.values():
        if one.encoder and one.vectors == entry.path:
            searched.setdefault((one.granularity, one.key_scheme), one)
    if not entry.is_graph or not searched:
        raise MemreproError(f"no experiment searches graphs with the vectors of {embedding!r}")
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    first = next(iter(searched.values()))
    vectors = retrieval.read_vectors(first)
    rows = []
    for (granularity, key_scheme), one in searched.items():
        requests = retrieval.make_requests(dataset, one, vectors, GraphKeyBuilder)
        found: dict[tuple[str, str], list[int]] = {}
        with bar(len(requests), f"graphs {key_scheme}", " memories") as progress:
            for request in requests:
                for merging, graph in _merged(graph_of(request.keys)):
                    for what, number in sizes(graph).items():
                        found.setdefault((merging, what), []).append(number)
                progress.update()
        rows += [
            (granularity, key_scheme, merging, what, len(n), sum(n), min(n), max(n))
            for (merging, what), n in found.items()
        ]
    output = paths.graphs(entry.profile, embedding)
    table = pd.DataFrame(rows, columns=COLUMNS)
    write_table(output, table)
    return StageResult(f"graphs {embedding}", table, retrieval.inputs_of(first, plan), [output])


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
        yield grouping, merge(graph, grouping, Associa.merge_threshold).graph
