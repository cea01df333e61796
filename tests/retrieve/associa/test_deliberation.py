"""Deliberating recall: Algorithm 1, its stops, the union, and the deliberator by rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.retrieve import make_retriever
from memrepro.retrieve.associa.association import value_of
from memrepro.retrieve.associa.deliberation import (
    Coverage,
    Deliberated,
    QueryEvidence,
    deliberate,
    expand,
)
from memrepro.retrieve.associa.evidence import Settings, associated, weighed
from memrepro.retrieve.associa.keys.key_builder import graph_of
from memrepro.retrieve.associa.retrievers import Associa

from .made import memories
from .test_associa import QUESTIONS, request, travels

ENCODER = HashEncoder()
FEW = {"top_nodes": 2, "top_edges": 1}


def embed(texts):
    return ENCODER.encode(texts, "query")


class Script:
    """Clues by question, one round after the other; then nothing is missing."""

    def __init__(self, clues):
        self.clues = {query: list(rounds) for query, rounds in clues.items()}
        self.calls = []

    def missing(self, asked):
        self.calls.append(list(asked))
        return [self.clues[one.query].pop(0) if self.clues.get(one.query) else () for one in asked]


def search(asked, deliberator=None, embedding=embed, **parameters):
    made = make_retriever("associa", "deliberated", {"k": 10, **parameters})
    return made.with_encoder(embedding, deliberator).search(asked)


# The algorithm.


@given(memories(), st.sampled_from(["none", "incremental"]), st.integers(1, 15))
@settings(max_examples=10)
def test_one_round_is_plain_association(made, merging, top):
    asked = request(*made)
    own = {"merging": merging, "merge_threshold": 0.8, "top_nodes": top}
    script = Script({})
    assert search([asked], script, max_iter=1, **own) == Associa(k=10, **own).search([asked])
    assert script.calls == []


def algorithm_1(graph, question, clues, max_iter, own):
    """As printed, recursively, in sets of nodes; `clues` is what the deliberator says in turn."""
    said = iter(clues)
    query = question

    def found(text):
        return set(associated(embed([text])[0], graph, own).subgraph.nodes.tolist())

    def step(nodes, iter_time):
        nonlocal query
        if iter_time == 0:
            iter_time += 1
            nodes = found(query)
        if iter_time >= max_iter:
            return nodes
        missing = next(said, ())
        if not missing:
            return nodes
        before = len(nodes)
        for clue in missing:
            query = f"{query} {clue}"
            nodes = nodes | found(query)
        return nodes if len(nodes) == before else step(nodes, iter_time + 1)

    return step(set(), 0)


CLUES = st.lists(
    st.lists(
        st.sampled_from(["Paris", "Bob painted", "8 May 2023", "choir", "zz"]), max_size=3
    ).map(tuple),
    max_size=4,
)


@given(memories(), st.lists(CLUES, min_size=3, max_size=3), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=20)
def test_it_finds_the_nodes_of_algorithm_1(made, clues, max_iter, top):
    asked = request(*made)
    graph, own = graph_of(asked.keys), Settings(top_nodes=top, top_edges=top)
    questions = [
        Deliberated(graph, text, associated(vector, graph, own))
        for text, vector in zip(asked.query_texts, asked.query_vectors, strict=True)
    ]
    script = Script(dict(zip(QUESTIONS, clues, strict=True)))
    deliberate(questions, script, embed, max_iter, own)
    for one, said in zip(questions, clues, strict=True):
        expected = algorithm_1(graph, one.text, said, max_iter, own)
        assert set(one.found.subgraph.nodes.tolist()) == expected
    assert len(script.calls) < max_iter


# The union, and its ranking.


@given(memories())
@settings(max_examples=10)
def test_the_union_has_the_greatest_prizes_and_the_least_cost(made):
    asked = request(*made)
    graph, own = graph_of(asked.keys), Settings(top_nodes=2, top_edges=2)
    one, two = (associated(vector, graph, own) for vector in asked.query_vectors[:2])
    both = expand(one, two)
    new = set(two.subgraph.nodes.tolist()) - set(one.subgraph.nodes.tolist())
    if not new:
        assert both is one
        return
    assert set(both.subgraph.nodes.tolist()) == {*one.subgraph.nodes, *two.subgraph.nodes}
    assert set(both.subgraph.edges.tolist()) == {*one.subgraph.edges, *two.subgraph.edges}
    assert both.prizes.nodes.tolist() == np.fmax(one.prizes.nodes, two.prizes.nodes).tolist()
    assert (both.prizes.costs <= np.fmin(one.prizes.costs, two.prizes.costs)).all()
    assert both.subgraph.value == value_of(both.subgraph.nodes, both.subgraph.edges, both.prizes)
    assert set(expand(two, one).subgraph.nodes.tolist()) <= set(both.subgraph.nodes.tolist())
    assert set(weighed(both, graph, own).nodes.tolist()) >= set(both.subgraph.nodes.tolist())


# The deliberator by rule.


@pytest.mark.parametrize(
    ("query", "evidence", "clues"),
    [
        ("When did Caroline visit Oslo?", ("Caroline is here.",), ("visit Oslo",)),
        ("When did Caroline visit Oslo?", ("caroline", "a VISIT to oslo"), ()),
        ("Who was it?", (), ()),
        ("Oslo, oslo, OSLO and Rome", ("Bergen",), ("Oslo Rome",)),
        ("Is Oslofjord Oslo?", ("Oslofjord",), ("Oslo",)),
    ],
)
def test_the_clue_is_the_content_words_that_no_evidence_has(query, evidence, clues):
    assert Coverage().missing([QueryEvidence(query, evidence)]) == [clues]


# What is refused.


def test_without_an_encoder_it_searches_nothing_and_says_what_to_do():
    made = make_retriever("associa", "deliberated", {"k": 5})
    assert (made.max_iter, made.top_nodes) == (2, 15)  # §5.2.1
    with pytest.raises(MemreproError, match="has no encoder: .* run it by its study"):
        made.search([request(*travels())])
