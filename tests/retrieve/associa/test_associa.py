from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.retrieve import make_retriever
from memrepro.retrieve.associa.evidence import Settings, associated, recall
from memrepro.retrieve.associa.keys.key_builder import GraphKeyBuilder, graph_of
from memrepro.retrieve.associa.retrievers import RETRIEVERS, TIES, Associa, WithoutImportance

from .made import memories

ENCODER = HashEncoder()
KEY_SCHEME = "user_only+graph:recorded-fact&recorded-event"
QUESTIONS = ["Who went to Paris with Ann?", "What did Bob paint?", "zzz"]


def request(memory, extractions, questions=QUESTIONS):
    keys = GraphKeyBuilder("round", KEY_SCHEME, extractions).make(memory)
    keys = keys.with_vectors(ENCODER.encode(keys.unique, "document"))
    ids = [f"q{i}" for i in range(len(questions))]
    return Request(keys, ids, questions, ENCODER.encode(questions, "query"))


def travels():
    """A question's evidence that shares no word with it, but an event that does."""
    memory = Memory.from_rounds(
        "m",
        ("s1", Round.from_texts("r1", user="It was wonderful there.")),
        ("s1", Round.from_texts("r2", user="Rain again.")),
        ("s2", Round.from_texts("r3", user="Reach of campaigns.")),
        ("s2", Round.from_texts("r4", user="Ten thousand, she told me.")),
    )
    one, two = memory.sessions
    found = [(one, "r1", "Ann visited Rome with Bob."), (two, "r4", "Bob met the influencer.")]
    facts = [Extraction(s.key, r, "recorded", "fact", text) for s, r, text in found]
    nothing = {"recorded-event": {}}
    return memory, Extractions({**nothing, **Extractions.grouped(facts).texts})


def test_an_utterance_is_found_through_its_event_and_one_more_through_the_entity():
    asked = request(*travels(), ["Ann Rome"])
    few = {"top_nodes": 2, "top_edges": 1}
    (found,) = make_retriever("associa", "associa", {"k": 10, **few}).search([asked])
    assert found.doc_ids[0] == "r1"
    assert list(found.scores) == sorted(found.scores, reverse=True)
    (plain,) = make_retriever("associa", "without_association", {"k": 10}).search([asked])
    assert len(plain.doc_ids) == 4
    assert plain.scores[0] < 0.5  # no utterance has a word of the question


@pytest.mark.parametrize("cosine", [0.0, 0.6, 1.0])
def test_on_the_hybrid_a_doc_gains_a_share_of_its_importance(cosine):
    memory, extractions = travels()
    asked = request(memory, extractions, ["Ann Rome", "rain"])
    keys = make_keys(memory, "user_only")
    keys = keys.with_vectors(ENCODER.encode(keys.unique, "document"))
    plain = replace(asked, keys=keys)
    few = {"k": 10, "top_nodes": 2, "top_edges": 1}
    base = make_retriever("bm25", "hybrid", {"k": 10, "alpha": cosine}).search([plain])
    recalled = make_retriever("associa", "associa", few).search([asked])
    on_hybrid = {**few, "cosine": cosine, "weight": 0.3}
    found = make_retriever("associa", "on_hybrid", on_hybrid).search([asked])
    for before, graph, after in zip(base, recalled, found, strict=True):
        gained = dict(zip(graph.doc_ids, np.array(graph.scores) / graph.scores[0], strict=True))
        wanted = {
            doc: score + 0.3 * gained.get(doc, 0.0)
            for doc, score in zip(before.doc_ids, before.scores, strict=True)
        }
        assert dict(zip(after.doc_ids, after.scores, strict=True)) == pytest.approx(wanted)


def test_without_association_is_dense_retrieval_of_the_utterances():
    memory, extractions = travels()
    asked = request(memory, extractions)
    keys = make_keys(memory, "user_only")
    keys = keys.with_vectors(ENCODER.encode(keys.unique, "document"))
    usual = Request(keys, asked.query_ids, asked.query_texts, asked.query_vectors)
    found = make_retriever("associa", "without_association", {"k": 3}).search([asked])
    assert list(found) == list(make_retriever("dense", "dense", {"k": 3}).search([usual]))


@given(memories())
@settings(max_examples=10)
def test_both_rank_the_same_docs_and_importance_is_what_recall_says(made):
    asked = request(*made)
    graph = graph_of(asked.keys)
    for (full, bare), vector in zip(
        zip(*(RETRIEVERS[n](k=99).search([asked]) for n in ("associa", "without_importance")),
            strict=True),
        asked.query_vectors, strict=True,
    ):  # fmt: skip
        assert set(full.doc_ids) == set(bare.doc_ids)
        assert set(bare.scores) <= {0.0, 1.0}
        evidence = recall(vector, graph, Settings())
        by_doc = {
            graph.doc_id(node): rank
            for node, rank in zip(evidence.nodes, evidence.importance, strict=True)
            if graph.kinds[node] == 0
        }
        assert by_doc == dict(zip(full.doc_ids, full.scores, strict=True))
        assert evidence.importance.sum() == pytest.approx(1)
        assert set(evidence.subgraph.nodes) <= set(evidence.nodes)


@given(memories())
@settings(max_examples=10)
def test_an_order_moves_docs_within_a_score_and_by_what_it_says(made):
    asked = request(*made)
    graph = graph_of(asked.keys)
    said = {graph.doc_id(node): node for node in graph.utterances.tolist()}
    place = {doc: number for number, doc in enumerate(asked.keys.doc_ids)}
    plain = WithoutImportance(k=99).search([asked])
    found = {rule: WithoutImportance(k=99, ties=rule).search([asked]) for rule in TIES}
    assert found["id"] == plain
    for number, vector in enumerate(asked.query_vectors):
        cosines = graph.similarities(vector)[graph.node_rows]
        prizes = associated(vector, graph, Settings()).prizes.nodes
        prize = {
            doc: max(
                prizes[node]
                for node, utterance in graph.origins.tolist()
                if utterance == mine and graph.kinds[node] in (0, 1)
            )
            for doc, mine in said.items()
        }
        bare = plain[number]
        by = {
            "similarity": [-cosines[said[doc]] for doc in bare.doc_ids],
            "prize": [-prize[doc] for doc in bare.doc_ids],
            "input": [place[doc] for doc in bare.doc_ids],
            "reverse_input": [-place[doc] for doc in bare.doc_ids],
        }
        for rule, keys in by.items():
            scored = sorted(
                zip(bare.scores, keys, range(99), bare.doc_ids, strict=False),
                key=lambda one: (-one[0], one[1], one[2]),
            )
            assert found[rule][number].doc_ids == tuple(doc for *_, doc in scored), rule
            assert found[rule][number].scores == bare.scores


def test_other_keys_and_missing_vectors_are_refused():
    memory, extractions = travels()
    keys = make_keys(memory, "user_only")
    with pytest.raises(MemreproError, match="of no memory graph"):
        Associa(k=4).search([Request(keys, ["q"], ["x"])])
    keys = GraphKeyBuilder("round", KEY_SCHEME, extractions).make(memory)
    with pytest.raises(MemreproError, match="have no vectors"):
        Associa(k=4).search([Request(keys, ["q"], ["x"])])
    with pytest.raises(MemreproError, match="has no vectors"):
        Associa(k=4).search([Request(keys, ["q"], ["x"], np.ones((1, 64), np.float32))])


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"k": 5, "top_nodes": 0}, "top_nodes is 0"),
        ({"k": 5, "edge_cost": 0.0}, "edge_cost is 0.0: it must be above 0 and finite"),
        ({"k": 5, "damping": 1.0}, "damping is 1.0"),
        ({"k": 5, "degree": "many"}, "unknown degree 'many': known are weighted, counted"),
        ({"k": 5, "merge_threshold": 1.1}, "merge_threshold is 1.1: it must be above 0"),
    ],
)
def test_parameters_are_checked(parameters, said):
    with pytest.raises(MemreproError, match=said):
        make_retriever("associa", "associa", parameters)
