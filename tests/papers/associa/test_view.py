"""One question's graph: what is drawn is what the retriever saw, and shows no text unasked."""

import numpy as np
import pandas as pd
import pytest

from memrepro.core.extractions import Extraction
from memrepro.core.memory import Dataset, Memory, Piece, Query, Round
from memrepro.core.prepared import load_extractions, save, save_extracted, text_id
from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.associa.view import question_graph
from memrepro.retrieve import make_retriever
from memrepro.retrieve.associa.evidence import Settings, recall
from memrepro.retrieve.associa.key_builder import GraphKeyBuilder, graph_of
from memrepro.study.params import DatasetEntry, Evaluation, Experiment, Plan
from memrepro.study.requests import make_requests, read_vectors

KEY_SCHEME = "user_only+graph:recorded-fact"
FACTS = {
    "r1": "Ann joined a choir in Paris.",
    "r3": "Bob painted the lake near Paris.",
    "r4": "Ann met Bob in a museum.",
}
QUESTIONS = {"q1": "Who joined a choir in Paris?", "q2": "What did Bob paint?"}


def experiment(retriever, **parameters):
    return Experiment(
        "sample", "toy-associa", "toy", "round", KEY_SCHEME, "associa", retriever,
        {"k": 4, **parameters}, "hash-64",
    )  # fmt: skip


EXPERIMENTS = {
    "plain": experiment("associa"),
    "unranked": experiment("without_importance"),
    "none": experiment("without_association"),
    "deliberated": experiment("deliberated"),
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A prepared data set with a memory of four rounds, three of which tell a fact."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    plan = Plan(
        {"toy": DatasetEntry("sample", "personamem", {})}, EXPERIMENTS, {}, {},
        Evaluation((), (), (), (), {}),
    )  # fmt: skip
    monkeypatch.setattr("memrepro.papers.associa.view.load_plan", lambda: plan)
    rounds = {f"r{n}": Round.of(f"r{n}", user=f"We talked of day {n}.") for n in range(1, 5)}
    memory = Memory.of("m", *((f"s{n % 2}", r) for n, r in enumerate(rounds.values())))
    queries = tuple(Query(i, "m", text, "", "kind") for i, text in QUESTIONS.items())
    dataset = Dataset("toy", {"m": memory}, queries)
    list(save([Piece(memory, queries)], paths.prepared("toy")))
    told = [
        Extraction(session.key, r.round_id, "recorded", "fact", FACTS[r.round_id])
        for session in memory.sessions
        for r in session.rounds
        if r.round_id in FACTS
    ]
    save_extracted(told, paths.extracted("toy"))
    builder = GraphKeyBuilder("round", KEY_SCHEME, load_extractions(paths.extracted("toy")))
    builder.make(memory)
    encoder = HashEncoder()
    roles = {"document": builder.texts, "query": list(QUESTIONS.values())}
    tables = [
        pd.DataFrame(
            {
                "role": role,
                "text_id": [text_id(text) for text in texts],
                "vector": list(encoder.encode(texts, role)),
            }
        )
        for role, texts in roles.items()
    ]
    write_table(paths.vectors("sample", "toy", "hash-64"), pd.concat(tables, ignore_index=True))
    return dataset


def request(dataset):
    one = EXPERIMENTS["plain"]
    (made,) = make_requests(dataset, one, read_vectors(one))
    return made


@pytest.mark.parametrize("name", ["plain", "unranked"])
@pytest.mark.parametrize("query_id", sorted(QUESTIONS))
def test_the_ranking_is_the_runs(toy, name, query_id):
    one = EXPERIMENTS[name]
    found = make_retriever("associa", one.retriever, dict(one.parameters)).search([request(toy)])
    (ranking,) = [r for r in found if r.query_id == query_id]
    seen = question_graph("sample", name, query_id)
    assert tuple(seen.ranking["doc_id"]) == ranking.doc_ids
    assert tuple(seen.ranking["score"]) == ranking.scores
    assert seen.ranking["rank"].tolist() == [*range(1, len(ranking.doc_ids) + 1)]


def test_nodes_are_the_tree_and_the_head_of_the_ranking(toy):
    asked = request(toy)
    graph = graph_of(asked.keys)
    evidence = recall(asked.query_vectors[0], graph, Settings())
    seen = question_graph("sample", "plain", "q1", texts=True, top=1)
    tree = {graph.text(node) for node in evidence.subgraph.nodes}
    inside = seen.nodes[seen.nodes["in tree"]]
    assert set(inside["text"]) == tree
    assert len(inside) == len(evidence.subgraph.nodes)
    assert seen.edges["in tree"].sum() == len(evidence.subgraph.edges)
    assert seen.value == evidence.subgraph.value
    outside = seen.nodes[~seen.nodes["in tree"]]
    assert set(outside["rank"]) <= {1}
    held = dict(zip(graph.node_rows.tolist(), evidence.prizes.nodes.tolist(), strict=True))
    rows = {text: row for row, text in enumerate(graph.texts)}
    for text, prize in zip(seen.nodes["text"], seen.nodes["prize"], strict=True):
        assert prize == held[rows[text]]
    names = set(seen.nodes["node"])
    assert set(seen.edges["from"]) | set(seen.edges["to"]) <= names
    assert len(names) == len(seen.nodes)


def test_more_of_the_ranking_is_shown_where_it_is_asked_for(toy):
    few, more = (question_graph("sample", "plain", "q1", top=top).nodes for top in (1, 4))
    assert set(few["node"]) <= set(more["node"])
    ranked = more.loc[more["rank"] > 0, "rank"]
    assert sorted(ranked) == [*range(1, len(ranked) + 1)]


def test_no_text_is_shown_unasked(toy):
    seen = question_graph("sample", "plain", "q1")
    assert "text" not in seen.nodes
    assert "text" not in seen.edges
    words = {w for text in [*FACTS.values(), "We talked"] for w in text.split() if len(w) > 3}
    shown = " ".join(map(str, [*seen.nodes.to_numpy().ravel(), *seen.edges.to_numpy().ravel()]))
    drawn = " ".join(t.get_text() for t in seen.draw().axes[0].texts)
    assert not [word for word in words if word in shown or word in drawn]
    told = question_graph("sample", "plain", "q1", texts=True)
    assert FACTS["r1"] in set(told.nodes["text"])
    assert FACTS["r1"] in " ".join(t.get_text() for t in told.draw().axes[0].texts)


def test_the_drawing_is_the_same_at_every_call(toy):
    one, other = (question_graph("sample", "plain", "q2") for _ in range(2))
    pd.testing.assert_frame_equal(one.nodes, other.nodes)
    pd.testing.assert_frame_equal(one.edges, other.edges)
    assert np.isfinite(one.nodes[["x", "y"]].to_numpy()).all()
    drawn = one.draw().axes[0]
    labels = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert labels[:5] == ["utterance", "event", "entity", "time", "speaker"]
    assert len(drawn.texts) == len(one.nodes)


def test_a_deliberated_question_shows_the_union_of_its_rounds(toy, monkeypatch):
    encoder = HashEncoder()
    embedder = "memrepro.papers.associa.view.embedder"
    monkeypatch.setattr(embedder, lambda _: lambda texts: encoder.encode(texts, "query"))
    for query_id in QUESTIONS:
        seen, plain = (question_graph("sample", n, query_id) for n in ("deliberated", "plain"))
        inside = set(plain.nodes.loc[plain.nodes["in tree"], "node"])
        assert inside <= set(seen.nodes.loc[seen.nodes["in tree"], "node"])
    one = EXPERIMENTS["deliberated"]
    made = make_retriever("associa", one.retriever, dict(one.parameters))
    found = made.with_encoder(lambda texts: encoder.encode(texts, "query")).search([request(toy)])
    ((*_, last),) = [found]
    assert tuple(seen.ranking["doc_id"]) == last.doc_ids


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("sample", "plain", "q9"),
            "unknown question 'q9': the nearest of the 2 of toy are q2, q1",
        ),
        (("sample", "plan", "q1"), "unknown experiment 'plan'.*plain"),
        (("open", "plain", "q1"), "plain is of the profile 'sample', not of 'open'"),
        (("smple", "plain", "q1"), "unknown profile 'smple'"),
        (("sample", "none", "q1"), "without_association, which has no memory graph"),
    ],
)
def test_errors_name_what_was_found(toy, arguments, said):
    with pytest.raises(MemreproError, match=said):
        question_graph(*arguments)


@pytest.mark.parametrize("which", ["prepared", "extracted", "vectors"])
def test_without_data_one_sentence_says_what_to_run(toy, which):
    path = {
        "prepared": paths.prepared("toy") / "queries.parquet",
        "extracted": paths.extracted("toy") / "texts.parquet",
        "vectors": paths.vectors("sample", "toy", "hash-64"),
    }[which]
    path.unlink()
    with pytest.raises(MemreproError, match=r"is not here.*run `dvc repro retrieve@toy-associa`"):
        question_graph("sample", "plain", "q1")
