"""One question's memory graph as Associa sees it: prizes, the Steiner tree and the ranking, drawn.

It reads `data/`, which is not in git. It shows kinds, ids and prizes and no text, so that what is
drawn may be passed on.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from memrepro.core.keys import Request
from memrepro.core.prepared import load
from memrepro.core.ranking import Ranking
from memrepro.files import paths
from memrepro.retrieve import make_retriever
from memrepro.retrieve.associa.deliberation import Deliberated, deliberate
from memrepro.retrieve.associa.evidence import Evidence, associated
from memrepro.retrieve.associa.keys.graph import NODE_KINDS, UTTERANCE, Graph
from memrepro.retrieve.associa.retrievers import Associa, DeliberatedAssocia
from memrepro.study.params import Experiment, load_plan
from memrepro.study.search.requests import make_requests, read_vectors
from memrepro.study.search.retrieval import embedder

_SEED = 0
# Kind of node → its marker and its colour, light to dark so that greyscale tells them too.
_MARKS = {
    "utterance": ("s", "#c6dbef"),
    "event": ("o", "#fdae6b"),
    "entity": ("^", "#9e9ac8"),
    "time": ("D", "#e0e0e0"),
    "speaker": ("p", "#636363"),
}
_TREE: dict[str, Any] = {"linestyle": "-", "color": "0.15", "linewidth": 1.8}
_OTHER: dict[str, Any] = {"linestyle": "--", "color": "0.65", "linewidth": 0.8}
_TOP = 10  # utterances at the head of the ranking that are shown with the tree


def draw_question(experiment: str, query_id: str) -> Figure:
    """Recall one question again, and draw what it saw.

    The tree and the first utterances of the ranking, nodes as large as their prizes; the tree's
    edges are solid, others between them dashed.

    Args:
        experiment: one of Associa's on memory graphs, of which no file is `absent`.
        query_id: a question of its data set.
    """
    entry = load_plan().experiment(experiment)
    made = make_retriever(entry.method, entry.retriever, dict(entry.parameters))
    assert isinstance(made, Associa)
    request = _request(entry, query_id)
    graph = made.graph(request)
    evidence = _evidence(made, entry, request, graph)
    order = made.order(graph, request.vectors_of_queries()[0], evidence)
    ranking = made.ranking(request, graph, query_id, evidence, order)
    nodes, edges = seen(graph, evidence, ranking)
    figure = Figure(figsize=(12, 9), layout="constrained")
    axis = figure.subplots()
    axis.axis("off")
    axis.set_title(
        f"{experiment}, question {query_id}: {len(nodes)} nodes, "
        f"{int(nodes['in tree'].sum())} of the tree (value {evidence.subgraph.value:.2f})"
    )
    for start, end, tree in edges.itertuples(index=False):
        line = nodes.loc[[start, end]]
        axis.plot(line["x"], line["y"], **(_TREE if tree else _OTHER), zorder=1)
    _draw_nodes(axis, nodes)
    return figure


def absent(entry: Experiment) -> list[Path]:
    """Of the files that an experiment's graphs are made of, those that are not here."""
    needed = (
        paths.prepared(entry.dataset) / "queries.parquet",
        paths.extracted(entry.dataset) / "texts.parquet",
        entry.vectors,
    )
    return [path for path in needed if not path.is_file()]


def _request(entry: Experiment, query_id: str) -> Request:
    """The request of one question alone."""
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    asked = tuple(query for query in dataset.queries if query.query_id == query_id)
    (request,) = make_requests(replace(dataset, queries=asked), entry, read_vectors(entry))
    return request


def _evidence(made: Associa, entry: Experiment, request: Request, graph: Graph) -> Evidence:
    """What the question recalls; under deliberation the union of its rounds."""
    (vector,), (text,) = request.vectors_of_queries(), request.query_texts
    one = Deliberated(graph, text, associated(vector, graph, made))
    if isinstance(made, DeliberatedAssocia):
        ready = made.with_encoder(embedder(entry.encoder))
        deliberate([one], ready.deliberator, ready.embed, made.max_iter, made)
    return made.weigh(one.found, graph)


def seen(graph: Graph, evidence: Evidence, ranking: Ranking) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tree and the first utterances of the ranking, and all edges between them.

    Returns:
        By node `name` (a doc's id, or the kind and a number), `kind`, `prize`, `in tree`, `rank` (0
        for what is no ranked utterance) and the place `x, y`; and `from, to, in tree`, a row an
        edge.
    """
    place = {doc_id: number for number, doc_id in enumerate(ranking.doc_ids, start=1)}
    rank = {
        node: place.get(graph.doc_id(node), 0) if graph.kinds[node] == UTTERANCE else 0
        for node in evidence.nodes.tolist()
    }
    tree = set(evidence.subgraph.nodes.tolist())
    shown = sorted(tree | {node for node, number in rank.items() if 0 < number <= _TOP})
    chosen = np.flatnonzero(np.isin(graph.edges, shown).all(axis=1)).tolist()
    drawn: nx.Graph[int] = nx.Graph()
    drawn.add_nodes_from(shown)
    drawn.add_edges_from(graph.edges[chosen].tolist())
    places = nx.spring_layout(drawn, seed=_SEED, k=2.2 / max(len(shown), 1) ** 0.5, iterations=200)
    kinds = {node: NODE_KINDS[graph.kinds[node]] for node in shown}
    nodes = pd.DataFrame(
        {
            "name": [
                graph.doc_id(node) if graph.kinds[node] == UTTERANCE else f"{kinds[node]} {node}"
                for node in shown
            ],
            "kind": list(kinds.values()),
            "prize": evidence.prizes.nodes[shown],
            "in tree": [node in tree for node in shown],
            "rank": [rank[node] for node in shown],
            "x": [round(float(places[node][0]), 6) for node in shown],
            "y": [round(float(places[node][1]), 6) for node in shown],
        },
        index=shown,
    )
    edges = pd.DataFrame(graph.edges[chosen], columns=["from", "to"])
    return nodes, edges.assign(**{"in tree": np.isin(chosen, evidence.subgraph.edges)})


def _draw_nodes(axis: Axes, nodes: pd.DataFrame) -> None:
    """Each kind by its marker, with a thick rim where it is the tree's; its label below it."""
    areas = 110 + 28 * nodes["prize"]  # of the markers, in square points
    style: dict[str, Any] = {"edgecolors": "black", "zorder": 3}
    for kind, (marker, colour) in _MARKS.items():
        part = nodes[nodes["kind"] == kind]
        rims = np.where(part["in tree"], 2.2, 0.7).tolist()
        sizes = areas[part.index].tolist()
        axis.scatter(
            part["x"], part["y"], sizes, color=colour, marker=marker, linewidths=rims, **style
        )
    columns = (nodes[c] for c in ("name", "prize", "rank", "x", "y"))
    for name, prize, rank, x, y, area in zip(*columns, areas, strict=True):
        worth = [f"prize {prize:g}"] * (prize > 0) + [f"rank {rank}"] * (rank > 0)
        axis.annotate(
            "\n".join(filter(None, (name, ", ".join(worth)))), (x, y),
            (0, -(area**0.5 / 2 + 3)), textcoords="offset points", ha="center", va="top",
            fontsize=7, zorder=4,
        )  # fmt: skip
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, mec="black", label=kind)
        for kind, (marker, colour) in _MARKS.items()
    ]
    handles.append(Line2D([], [], **_TREE, label="edge of the tree"))
    handles.append(Line2D([], [], **_OTHER, label="other edge"))
    axis.legend(handles=handles, fontsize=8, title="larger: higher prize")
