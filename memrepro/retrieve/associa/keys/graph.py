"""The memory graph: utterances, events, entities, event times and speakers (Associa §4.1).

Nodes are known by kind and text, letters' case apart, and utterances by their doc, so that what is
told twice is one node; `merge` joins what is told alike. A graph grows by appending, and grown it
equals the graph built at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memrepro.core.ranking import tie_keys
from memrepro.core.similarity import Doubles, Floats
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.keys.clues import SPEAKER, UtteranceClues

NODE_KINDS = ("utterance", "event", "entity", "time", "speaker")
UTTERANCE, EVENT, ENTITY, TIME, SPEAKING = range(5)
# The six typed edges; the last has a text of its own, and joins entities and the speaker (§4.1:
# user, browsing, yoga information).
EDGE_KINDS = ("event occur at", "event fact", "event include", "include", "ask", "relation")
OCCUR_AT, FACT, EVENT_INCLUDE, INCLUDE, ASK, RELATION = range(6)


@dataclass(frozen=True)
class Graph:
    """A memory graph as arrays, nodes and edges in the order in which they were first told of.

    Attributes:
        node_ids: kind and text in small letters, of an utterance its doc's id; shape (n_nodes,).
        kinds: of the nodes, indices of `NODE_KINDS`, shape (n_nodes,).
        categories: of an entity, '' for other nodes, shape (n_nodes,).
        edges: from and to, as indices of nodes, shape (n_edges, 2).
        edge_kinds: indices of `EDGE_KINDS`, shape (n_edges,).
        texts: the texts of all nodes and edges, each once, shape (n_texts,).
        node_rows: each node's place in `texts`, shape (n_nodes,).
        edge_rows: each edge's place in `texts`, shape (n_edges,).
        origins: (node, utterance it comes from), as indices of nodes, ascending, shape (n, 2); an
            utterance comes from itself.
        vectors: of the texts, shape (n_texts, dimension), or None.
    """

    node_ids: tuple[str, ...]
    kinds: NDArray[np.int64]
    categories: tuple[str, ...]
    edges: NDArray[np.int64]
    edge_kinds: NDArray[np.int64]
    texts: tuple[str, ...]
    node_rows: NDArray[np.int64]
    edge_rows: NDArray[np.int64]
    origins: NDArray[np.int64]
    vectors: Floats | None = None

    @property
    def utterances(self) -> NDArray[np.intp]:
        """The nodes that are utterances."""
        return np.flatnonzero(self.kinds == UTTERANCE)

    def doc_id(self, utterance: int) -> str:
        """The doc's id of an utterance's node."""
        return self.node_ids[utterance].removeprefix("utterance:")

    def text(self, node: int) -> str:
        """A node's text."""
        return self.texts[int(self.node_rows[node])]

    def with_vectors(self, vectors: Floats) -> "Graph":
        """The same graph with the vectors of its texts, shape (n_texts, dimension).

        Raises:
            MemreproError: if one is not finite.
        """
        if not np.isfinite(vectors).all():
            row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
            raise MemreproError(
                f"the vector of text {self.texts[row][:60]!r} has NaN or infinity: embed it again"
            )
        return replace(self, vectors=vectors)

    @cached_property
    def ties(self) -> NDArray[np.uint64]:
        """What decides between nodes of one similarity, the least first, shape (n_nodes,)."""
        return tie_keys(self.node_ids)

    @cached_property
    def _unit(self) -> Doubles:
        """The vectors at length 1 and in double precision; a zero vector stays zero."""
        if self.vectors is None:
            raise MemreproError("this memory graph has no vectors: its search needs an encoder")
        doubles = self.vectors.astype(np.float64)
        lengths = np.linalg.norm(doubles, axis=1, keepdims=True)
        doubles /= np.where(lengths > 0, lengths, 1)
        return doubles

    def similarities(self, query_vector: Floats) -> Doubles:
        """The cosine of a query with each text, shape (n_texts,); with a zero vector it is 0.

        Raises:
            MemreproError: if the graph has no vectors, or the query's is not finite.
        """
        if not np.isfinite(query_vector).all():
            raise MemreproError("a query's vector has NaN or infinity: embed it again")
        query = query_vector.astype(np.float64)
        cosines: Doubles = self._unit @ (query / (np.linalg.norm(query) or 1))
        return cosines


def build_from(clues: Iterable[UtteranceClues], graph: Graph | None = None) -> Graph:
    """The graph of clues, without vectors, or a graph with their utterances behind its own.

    Raises:
        MemreproError: if an utterance is there already, or a relation is to a speaker where an
            utterance has not just one.
    """
    growing = _Growing(graph or _EMPTY)
    for one in clues:
        growing.add(one)
    return growing.frozen()


class _Growing:
    """A graph while it grows: dictionaries, so that nothing stands twice."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = {name: number for number, name in enumerate(graph.node_ids)}
        self.kinds: list[int] = graph.kinds.tolist()
        self.categories = list(graph.categories)
        self.node_rows: list[int] = graph.node_rows.tolist()
        self.rows = {text: row for row, text in enumerate(graph.texts)}
        kinds, rows = graph.edge_kinds.tolist(), graph.edge_rows.tolist()
        self.edges = dict.fromkeys(
            (head, tail, kind, row)
            for (head, tail), kind, row in zip(graph.edges.tolist(), kinds, rows, strict=True)
        )
        self.origins = dict.fromkeys(map(tuple, graph.origins.tolist()))

    def row(self, text: str) -> int:
        return self.rows.setdefault(text, len(self.rows))

    def node(self, kind: int, text: str, utterance: int, name: str = "", category: str = "") -> int:
        name = f"{NODE_KINDS[kind]}:{name or text.casefold()}"
        number = self.nodes.setdefault(name, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
            self.categories.append(category)
            self.node_rows.append(self.row(text))
        self.origins[number, number if kind == UTTERANCE else utterance] = None
        return number

    def edge(self, head: int, tail: int, kind: int, text: str = "") -> None:
        self.edges[head, tail, kind, self.row(text or EDGE_KINDS[kind])] = None

    def add(self, said: UtteranceClues) -> None:
        if f"utterance:{said.doc_id}" in self.nodes:
            raise MemreproError(f"the memory graph holds utterance {said.doc_id!r} already")
        utterance = self.node(UTTERANCE, said.text, -1, said.doc_id)
        speakers = [self.node(SPEAKING, name, utterance) for name in said.speakers]
        for speaker in speakers:
            self.edge(speaker, utterance, ASK)
        for told in said.events:
            event = self.node(EVENT, told.text, utterance)
            self.edge(event, utterance, FACT)
            if said.time:
                self.edge(event, self.node(TIME, said.time, utterance), OCCUR_AT)
            entities = [
                self.node(ENTITY, text, utterance, category=category)
                for text, category in told.entities
            ]
            for entity in entities:
                self.edge(event, entity, EVENT_INCLUDE)
                self.edge(utterance, entity, INCLUDE)
            for head, text, tail in told.relations:
                if SPEAKER in (head, tail) and len(speakers) != 1:
                    raise MemreproError(
                        f"relation {text!r} of utterance {said.doc_id!r} is the speaker's, and it "
                        f"has {len(speakers)} speakers: it must have one"
                    )
                # SPEAKER is −1, the number of the one that stands behind the entities.
                ends = [*entities, *speakers]
                if ends[head] != ends[tail]:  # two spellings of one entity
                    self.edge(ends[head], ends[tail], RELATION, text)

    def frozen(self) -> Graph:
        edges = _pairs([(head, tail) for head, tail, _, _ in self.edges])
        kinds, rows = (np.array([edge[i] for edge in self.edges], np.int64) for i in (2, 3))
        return Graph(
            tuple(self.nodes), np.array(self.kinds, np.int64), tuple(self.categories), edges, kinds,
            tuple(self.rows), np.array(self.node_rows, np.int64), rows,
            _pairs(sorted(self.origins)),
        )  # fmt: skip


def _pairs(pairs: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)


_NONE = np.zeros(0, np.int64)
_EMPTY = Graph((), _NONE, (), _NONE.reshape(0, 2), _NONE, (), _NONE, _NONE, _NONE.reshape(0, 2))
