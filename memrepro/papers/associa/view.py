"""One question's memory graph as Associa sees it: prizes, the Steiner tree and the ranking, drawn.

For a reader's own notebook: it reads `data/`, which is not in git, and no report calls it. Without
`texts` it shows kinds, ids and prizes alone, so that what it draws may be passed on.
"""

import difflib
from dataclasses import dataclass, replace
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
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.retrieve import make_retriever
from memrepro.retrieve.associa.deliberation import Deliberated, deliberate
from memrepro.retrieve.associa.evidence import Evidence, associated
from memrepro.retrieve.associa.keys.graph import EDGE_KINDS, NODE_KINDS, UTTERANCE, Graph
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
_SHOWN = 40  # characters of a text
_NODE_COLUMNS = [
    "node", "kind", "category", "prize", "in tree", "importance", "rank", "x", "y", "text",
]  # fmt: skip
_EDGE_COLUMNS = ["from", "to", "kind", "prize", "cost", "in tree", "text"]


@dataclass(frozen=True)
class QuestionGraph:
    """What a question recalls of its memory's graph.

    Attributes:
        query_id: of the question.
        experiment: by name.
        nodes: the tree's nodes, and the utterances at the head of the ranking: `node` (a doc's id,
            or the kind and a number), `kind`, `category`, `prize`, `in tree`, `importance`, `rank`
            (0 for what is no ranked utterance), the place `x, y`; `text` if it was asked for.
        edges: between those nodes: `from, to, kind, prize, cost, in tree`, and `text` likewise.
        ranking: `rank, doc_id, score`, the whole of it.
        value: Equation 10's.
    """

    query_id: str
    experiment: str
    nodes: pd.DataFrame
    edges: pd.DataFrame
    ranking: pd.DataFrame
    value: float

    def draw(self) -> Figure:
        """The nodes by kind, as large as their prizes; the tree's edges solid, others dashed."""
        figure = Figure(figsize=(12, 9), layout="constrained")
        axis = figure.subplots()
        axis.axis("off")
        axis.set_title(
            f"{self.experiment}, question {self.query_id}: {len(self.nodes)} nodes, "
            f"{int(self.nodes['in tree'].sum())} of the tree (value {self.value:.2f})"
        )
        at = self.nodes.set_index("node")
        for start, end, tree in self.edges[["from", "to", "in tree"]].itertuples(index=False):
            line = at.loc[[start, end]]
            axis.plot(line["x"], line["y"], **(_TREE if tree else _OTHER), zorder=1)
        _draw_nodes(axis, self.nodes)
        return figure


def question_graph(
    profile: str, experiment: str, query_id: str, texts: bool = False, top: int = 10
) -> QuestionGraph:
    """Recall one question again, and keep what it saw.

    Args:
        profile: of the experiment.
        experiment: one of Associa's on memory graphs.
        query_id: a question of its data set.
        texts: whether to show what nodes and edges say; a data set's texts must not be passed on.
        top: how many of the ranking's utterances are shown with the tree.

    Raises:
        MemreproError: if the experiment or the question is unknown, the experiment is of another
            profile or has no graph, or `data/` lacks what it needs.
    """
    plan = load_plan()
    plan.check_profile(profile)
    entry = plan.experiment(experiment)
    if entry.profile != profile:
        raise MemreproError(f"{experiment} is of the profile {entry.profile!r}, not of {profile!r}")
    made = make_retriever(entry.method, entry.retriever, dict(entry.parameters))
    if not isinstance(made, Associa):
        raise MemreproError(
            f"{experiment} runs {entry.method}.{entry.retriever}, which has no memory graph: "
            "choose an experiment of associa.associa, deliberated or without_importance"
        )
    request = _request(entry, query_id)
    graph = made.graph(request)
    evidence = _evidence(made, entry, request, graph)
    order = made.order(graph, request.vectors_of_queries()[0], evidence)
    ranking = made.ranking(request, graph, query_id, evidence, order)
    nodes, edges = _tables(graph, evidence, ranking, top)
    if not texts:
        nodes, edges = nodes.drop(columns="text"), edges.drop(columns="text")
    listed = pd.DataFrame({"doc_id": ranking.doc_ids, "score": ranking.scores})
    listed.insert(0, "rank", range(1, len(listed) + 1))
    return QuestionGraph(query_id, experiment, nodes, edges, listed, evidence.subgraph.value)


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
    if lacking := absent(entry):
        raise MemreproError(
            f"{lacking[0]} is not here: a question's graph is made of texts and vectors, which are "
            f"not in git; run `dvc repro retrieve@{entry.study}` first"
        )
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    asked = tuple(query for query in dataset.queries if query.query_id == query_id)
    if not asked:
        known = [query.query_id for query in dataset.queries]
        near = difflib.get_close_matches(query_id, known, n=3, cutoff=0.3) or known[:3]
        raise MemreproError(
            f"unknown question {query_id!r}: the nearest of the {len(known)} of {entry.dataset} "
            f"are {', '.join(near)}"
        )
    one = replace(dataset, queries=asked)
    (request,) = make_requests(one, entry, read_vectors(entry))
    return request


def _evidence(made: Associa, entry: Experiment, request: Request, graph: Graph) -> Evidence:
    """What the question recalls; under deliberation the union of its rounds."""
    (vector,), (text,) = request.vectors_of_queries(), request.query_texts
    one = Deliberated(graph, text, associated(vector, graph, made))
    if isinstance(made, DeliberatedAssocia):
        ready = made.with_encoder(embedder(entry.encoder))
        deliberate([one], ready.deliberator, ready.embed, made.max_iter, made)
    return made.weigh(one.found, graph)


def _tables(
    graph: Graph, evidence: Evidence, ranking: Ranking, top: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tree and the first utterances of the ranking, and all edges between them."""
    place = {doc_id: number for number, doc_id in enumerate(ranking.doc_ids, start=1)}
    importance = dict(zip(evidence.nodes.tolist(), evidence.importance.tolist(), strict=True))
    rank = {
        node: place.get(graph.doc_id(node), 0) if graph.kinds[node] == UTTERANCE else 0
        for node in importance
    }
    tree = set(evidence.subgraph.nodes.tolist())
    shown = sorted(tree | {node for node, number in rank.items() if 0 < number <= top})
    chosen = np.flatnonzero(np.isin(graph.edges, shown).all(axis=1)).tolist()
    drawn: nx.Graph[int] = nx.Graph()
    drawn.add_nodes_from(shown)
    drawn.add_edges_from(graph.edges[chosen].tolist())
    places = nx.spring_layout(drawn, seed=_SEED, k=2.2 / max(len(shown), 1) ** 0.5, iterations=200)
    # A node's name without its text: an utterance's doc, or the kind and a number.
    name = {
        node: graph.doc_id(node)
        if graph.kinds[node] == UTTERANCE
        else f"{NODE_KINDS[graph.kinds[node]]} {node}"
        for node in shown
    }
    prizes, in_tree = evidence.prizes, set(evidence.subgraph.edges.tolist())
    nodes = [
        (
            name[i], NODE_KINDS[graph.kinds[i]], graph.categories[i], prizes.nodes[i], i in tree,
            importance[i], rank[i], *np.round(places[i], 6).tolist(), graph.text(i),
        )
        for i in shown
    ]  # fmt: skip
    edges = [
        (
            *(name[end] for end in graph.edges[e].tolist()), EDGE_KINDS[graph.edge_kinds[e]],
            prizes.edges[e], prizes.costs[e], e in in_tree, graph.texts[graph.edge_rows[e]],
        )
        for e in chosen
    ]  # fmt: skip
    return pd.DataFrame(nodes, columns=_NODE_COLUMNS), pd.DataFrame(edges, columns=_EDGE_COLUMNS)


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
    texts = nodes["text"] if "text" in nodes else [""] * len(nodes)
    columns = (nodes[c] for c in ("node", "prize", "rank", "x", "y"))
    for node, prize, rank, x, y, said, area in zip(*columns, texts, areas, strict=True):
        worth = [f"prize {prize:g}"] * (prize > 0) + [f"rank {rank}"] * (rank > 0)
        short = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
        axis.annotate(
            "\n".join(filter(None, (node, ", ".join(worth), short))), (x, y),
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
