"""Deliberating recall: what the evidence lacks is searched for (Associa §4.2.2, Algorithm 1).

Where Algorithm 1 leaves a choice, this is the reading:

- `max_iter` counts rounds of association, so that with 1 nothing is deliberated (lines 2 to 8).
- The deliberator sees the question as it was asked, and the texts of the nodes found so far, in
  the order in which they were first told of (line 9).
- A clue is put behind the query, and stays there for the clues and rounds after it (line 14).
- A subgraph without a new node changes nothing, and a round that brought none is a query's last;
  the paper states no such rule, but §4.2.2 wants nodes that were missed before.
- The union is ranked by the greatest prize that a round gave to each node and edge, and by the
  least cost; the paper does not say whose prizes count.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from memrepro.core.similarity import Floats
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.association import Prizes, Subgraph, value_of
from memrepro.retrieve.associa.evidence import Found, Settings, associated
from memrepro.retrieve.associa.keys.entities import stop_words
from memrepro.retrieve.associa.keys.graph import Graph

# Texts of queries → their vectors, shape (n, dimension), by the encoder of the graph's.
Embed = Callable[[Sequence[str]], Floats]

_WORD = re.compile(r"\w{3,}")
_DO = frozenset(("did", "does", "doing"))  # scikit-learn's stop words have "do" and "done" alone


class QueryEvidence(NamedTuple):
    """A question, and the texts of the evidence found for it so far."""

    query: str
    evidence: tuple[str, ...]


class Deliberator(Protocol):
    """Says what evidence lacks; many questions at once, so that a model is asked in batches."""

    def missing(self, asked: Sequence[QueryEvidence]) -> list[tuple[str, ...]]:
        """The missing clues of each question, in order; none where its evidence is sufficient."""


@dataclass(frozen=True)
class Coverage:
    """A deliberator by rule, ours: it stands in for the paper's fine-tuned Qwen2.5-3B-Instruct.

    The one clue of a question is its content words (three letters or more, no stop words) that no
    text of the evidence has, as they are written, in the question's order, each once. Evidence that
    has them all is sufficient. So it sees that a word is missing, and never that an answer is.
    """

    def missing(self, asked: Sequence[QueryEvidence]) -> list[tuple[str, ...]]:
        """The missing clues of each question, in order; none where its evidence is sufficient."""
        found: list[tuple[str, ...]] = []
        for query, evidence in asked:
            told = {word for text in evidence for word in _WORD.findall(text.lower())}
            lacking: dict[str, str] = {}
            for word in _WORD.findall(query):
                key = word.lower()
                if key not in told and key not in stop_words() and key not in _DO:
                    lacking.setdefault(key, word)
            found.append((" ".join(lacking.values()),) if lacking else ())
        return found


@dataclass
class Deliberated:
    """A question while it is deliberated.

    Attributes:
        graph: the memory graph that it is asked of.
        text: the question.
        found: the union of the subgraphs found so far; at first that of the question.
        query: the question and the clues so far.
    """

    graph: Graph
    text: str
    found: Found
    query: str = ""


def expand(found: Found, more: Found) -> Found:
    """The union of two subgraphs of one graph, or the first where the second has no new node."""
    if np.isin(more.subgraph.nodes, found.subgraph.nodes).all():
        return found
    nodes = np.union1d(found.subgraph.nodes, more.subgraph.nodes)
    edges = np.union1d(found.subgraph.edges, more.subgraph.edges)
    prizes = Prizes(
        np.maximum(found.prizes.nodes, more.prizes.nodes),
        np.maximum(found.prizes.edges, more.prizes.edges),
        min(found.prizes.edge_cost, more.prizes.edge_cost),
    )
    return Found(prizes, Subgraph(nodes, edges, value_of(nodes, edges, prizes)))


def evidence_texts(graph: Graph, subgraph: Subgraph) -> tuple[str, ...]:
    """The texts of a subgraph's nodes, each once, in the order in which they were first told of."""
    return tuple(dict.fromkeys(graph.text(node) for node in subgraph.nodes.tolist()))


def deliberate(
    questions: Sequence[Deliberated], deliberator: Deliberator, embed: Embed, max_iter: int,
    settings: Settings,
) -> None:  # fmt: skip
    """Algorithm 1 for many questions at once; each `found` becomes the union of its subgraphs.

    The deliberator and the encoder are each asked once a round, for all questions that go on.

    Args:
        questions: each with the subgraph of its first round.
        deliberator: says what is missing.
        embed: turns queries with clues into vectors.
        max_iter: rounds of association at most, the first included.
        settings: what association is done by.

    Raises:
        MemreproError: if the deliberator does not answer each question, or gives a blank clue.
    """
    going = list(questions)
    for _ in range(1, max_iter):
        if not going:
            return
        asked = [
            QueryEvidence(one.text, evidence_texts(one.graph, one.found.subgraph)) for one in going
        ]
        clues = deliberator.missing(asked)
        if len(clues) != len(going):
            raise MemreproError(
                f"{type(deliberator).__name__} answered {len(clues)} of {len(going)} questions: "
                "it must answer each"
            )
        augmented: list[tuple[Deliberated, str]] = []
        for one, missing in zip(going, clues, strict=True):
            for clue in missing:
                if not clue.strip():
                    raise MemreproError(
                        f"{type(deliberator).__name__} gave a blank clue for {one.text[:60]!r}: "
                        "leave it out"
                    )
                one.query = f"{one.query or one.text} {clue}"
                augmented.append((one, one.query))
        if not augmented:
            return
        before = {id(one): len(one.found.subgraph.nodes) for one in going}
        vectors = embed([query for _, query in augmented])
        for (one, _), vector in zip(augmented, vectors, strict=True):
            one.found = expand(one.found, associated(vector, one.graph, settings))
        going = [one for one in going if len(one.found.subgraph.nodes) > before[id(one)]]
