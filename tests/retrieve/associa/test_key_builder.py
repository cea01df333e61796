from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from memrepro.core.extractions import Extractions
from memrepro.core.key_builder import make_keys
from memrepro.core.memory import Memory, Round
from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.retrieve.associa.keys.clues import Recipe, read_memory
from memrepro.retrieve.associa.keys.graph import build_from
from memrepro.retrieve.associa.keys.key_builder import GraphKeyBuilder, clues_of, graph_of

from .made import memories, same

KEY_SCHEME = "user_only+graph:recorded-fact&recorded-event"
RECIPE = Recipe.parse("round", KEY_SCHEME)
NOTHING = Extractions({"recorded-fact": {}})


@given(memories())
@settings(max_examples=25)
def test_keys_carry_the_whole_graph(made):
    memory, extractions = made
    keys = GraphKeyBuilder("round", KEY_SCHEME, extractions).make(memory)
    assert clues_of(keys) == read_memory(memory, extractions, RECIPE)
    vectors = HashEncoder().encode(keys.unique, "document")
    graph = graph_of(keys.with_vectors(vectors))
    assert np.array_equal(graph.vectors, HashEncoder().encode(graph.texts, "document"))
    assert same(graph, build_from(read_memory(memory, extractions, RECIPE)))


def test_the_docs_are_those_of_other_key_schemes_also_without_words():
    memory = Memory.from_rounds(
        "m",
        ("s1", Round.from_texts("r1", assistant="Hello.")),
        ("s2", Round.from_texts("r2", user="Hi.")),
        ("s2", Round.from_texts("r3", assistant="Bye.")),
    )
    builder = GraphKeyBuilder("round", "user_only+graph:recorded-fact", NOTHING)
    keys, usual = builder.make(memory), make_keys(memory, "user_only")
    assert keys.doc_ids == usual.doc_ids == ("r1", "r2", "r3")
    assert np.array_equal(keys.ties, usual.ties)
    assert [c.doc_id for c in clues_of(keys)] == ["r2"]
    assert builder.sessions_of_docs(memory).tolist() == [0, 1, 1]


def test_a_memory_without_utterances_is_refused():
    memory = Memory.from_rounds("m", ("s1", Round.from_texts("r1", assistant="Hello.")))
    builder = GraphKeyBuilder("round", "user_only+graph:recorded-fact", NOTHING)
    with pytest.raises(MemreproError, match="memory 'm' has no utterance under the key scheme"):
        builder.make(memory)


@pytest.mark.parametrize("field", ["entity:Place", "relation:0:1", "relation:a:b", "relation:1"])
def test_keys_out_of_order_are_refused(field):
    builder = GraphKeyBuilder("round", "user_only+graph:recorded-fact", NOTHING)
    keys = builder.make(Memory.from_rounds("m", ("s1", Round.from_texts("r1", user="Hello."))))
    with pytest.raises(MemreproError, match="of no memory graph"):
        graph_of(replace(keys, fields=(*keys.fields[:-1], field)))
