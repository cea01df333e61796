"""Dense retrieval against the formula, and the factory's errors."""

from dataclasses import replace

import numpy as np
import pytest

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.key_builder import PlainKeyBuilder, make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round, Session
from memrepro.core.ranking import to_frame
from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.retrieve import make_retriever


def request(key_scheme="concat"):
    docs = [("d0", "red car", "blue sky"), ("d1", "green tea", "hot"), ("d2", "red wine", "cold")]
    memory = Memory.from_rounds(
        "m", *((i, Round.from_texts(i, user=u, assistant=a)) for i, u, a in docs)
    )
    keys = make_keys(memory, key_scheme)
    encoder = HashEncoder()
    texts = ["a red car", "hot green tea"]
    return Request(
        keys.with_vectors(encoder.encode(keys.unique, "document")),
        ["q0", "q1"], texts, encoder.encode(texts, "query"),
    )  # fmt: skip


@pytest.mark.parametrize(("key_scheme", "n_keys"), [("concat", 1), ("fielded", 2)])
def test_equals_the_sorted_inner_products_of_the_better_key(key_scheme, n_keys):
    asked = request(key_scheme)
    for index, ranking in enumerate(make_retriever("dense", "dense", {"k": 2}).search([asked])):
        by_key = asked.keys.vectors[asked.keys.rows] @ asked.query_vectors[index]
        scores = by_key.reshape(3, n_keys).max(axis=1)
        best = np.argsort(-scores)[:2]
        assert ranking.doc_ids == tuple(asked.keys.doc_ids[i] for i in best)
        assert ranking.scores == pytest.approx(scores[best])
        assert ranking.doc_ids[0] == f"d{index}"


def test_where_each_key_takes_a_place_a_doc_has_the_rank_of_its_best_key():
    # LongMemEval's released code: items of keys, an id each, of which the first k are looked at.
    generator = np.random.default_rng(4)
    words = [f"w{i}" for i in range(30)]
    docs = [
        (f"d{i}", [" ".join(generator.choice(words, 4)) for _ in range(i % 4)]) for i in range(9)
    ]
    memory = Memory.from_rounds(
        "m",
        *(
            (i, Round.from_texts(i, **{f"f{n}": text for n, text in enumerate(texts)}))
            for i, texts in docs
        ),
    )
    encoder = HashEncoder()
    keys = make_keys(memory, "fielded")
    keys = keys.with_vectors(encoder.encode(keys.unique, "document"))
    asked = Request(keys, ["q0", "q1"], words[:2], encoder.encode(words[:2], "query"))
    for k in (1, 5, 12, 40):
        found = make_retriever("dense", "each_key", {"k": k}).search([asked])
        for ranking, scores in zip(found, asked.keys.key_scores(asked.query_vectors), strict=True):
            # A list of items by score; of equal ones, a doc's stand together, docs by their ties.
            items = sorted(
                range(len(scores)), key=lambda i: (-scores[i], keys.ties[keys.owner[i]], i)
            )
            listed = [keys.doc_ids[keys.owner[i]] for i in items[:k]]
            first = {doc: listed.index(doc) + 1 for doc in listed}
            assert ranking.doc_ids == tuple(first)
            assert ranking.ranks == tuple(first.values())
    run = to_frame(found)
    assert run.loc[run["query_id"] == "q1", "rank"].tolist() == list(found[1].ranks)
    # With one key a doc it is dense retrieval.
    one = replace(asked, keys=request().keys, query_vectors=request().query_vectors)
    each, plain = (
        make_retriever("dense", name, {"k": 3}).search([one]) for name in ("each_key", "dense")
    )
    assert to_frame(each).equals(to_frame(plain))


def test_a_pooled_key_is_the_direction_of_the_mean_of_a_docs_keys():
    memory = Memory.from_rounds(
        "m",
        ("s", Round.from_texts("two", user="red car", assistant="hot tea")),
        ("s", Round.from_texts("one", user="red car")),
        ("s", Round.from_texts("none", other="red car")),
    )
    encoder = HashEncoder()
    keys = make_keys(memory, "fielded")
    kept = [field != "other" for field in keys.fields]
    keys = replace(
        keys, rows=keys.rows[kept], owner=keys.owner[kept],
        fields=tuple(f for f in keys.fields if f != "other"),
    ).with_vectors(encoder.encode(keys.unique, "document"))  # fmt: skip
    asked = Request(keys, ["q"], ["tea"], encoder.encode(["tea"], "query"))
    (found,) = make_retriever("dense", "pooled", {"k": 3}).search([asked])
    mean = encoder.encode(["red car", "hot tea"], "document").mean(axis=0)
    scores = dict(zip(found.doc_ids, found.scores, strict=True))
    expected = float(mean @ asked.query_vectors[0] / np.linalg.norm(mean))
    assert scores["two"] == pytest.approx(expected)
    assert scores["one"] == pytest.approx(
        float(encoder.encode(["red car"], "document")[0] @ asked.query_vectors[0])
    )
    assert "none" not in found.doc_ids
    # With one key a doc it is the plain search.
    plain, pooled = (make_retriever("dense", name, {"k": 3}) for name in ("dense", "pooled"))
    for a, b in zip(plain.search([request()]), pooled.search([request()]), strict=True):
        assert a.doc_ids == b.doc_ids
        assert a.scores == pytest.approx(b.scores)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.7, 1.0])
def test_a_mixture_is_the_weighted_sum_of_both_fields(alpha):
    asked = request("fielded")
    parameters = {"k": 3, "field": "user", "alpha": alpha}
    (first, _) = make_retriever("dense", "mixture", parameters).search([asked])
    user, assistant = (asked.keys.vectors[asked.keys.rows] @ asked.query_vectors[0]).reshape(3, 2).T
    expected = alpha * user + (1 - alpha) * assistant
    assert dict(zip(first.doc_ids, first.scores, strict=True)) == pytest.approx(
        dict(zip(asked.keys.doc_ids, expected, strict=True)), abs=1e-6
    )


def test_rank_merging_takes_the_better_of_two_ranks():
    session = Session("s", tuple(Round.from_texts(f"d{i}", user=f"own {i}") for i in range(4)))
    memory = Memory("m", (session,), ("",))
    # The pool of extracted keys ranks d3, d2; that of the docs' own keys d0, d1, d2, d3.
    extracted = [Extraction(session.key, f"d{i}", "gold", "fact", f"fact {i}") for i in (2, 3)]
    builder = PlainKeyBuilder(
        "round", "user_only+separate:gold-fact", Extractions.grouped(extracted)
    )
    keys = builder.make(memory)
    score = {"own 0": 0.9, "own 1": 0.8, "own 2": 0.7, "own 3": 0.1, "fact 2": 0.2, "fact 3": 0.3}
    vectors = np.array([[score[text]] for text in builder.texts], np.float32)
    asked = Request(keys.with_vectors(vectors), ["q"], ["?"], np.ones((1, 1), np.float32))
    (ranking,) = make_retriever("dense", "rank_merged", {"k": 3}).search([asked])
    assert ranking.doc_ids == ("d0", "d3", "d1")  # ranks 1, 1 and 2: own keys before extracted
    assert ranking.scores == (-1.0, -1.0, -2.0)


@pytest.mark.parametrize(
    ("family", "name", "parameters", "sentence"),
    [
        ("sparse", "dense", {}, "unknown method 'sparse'"),
        ("dense", "densest", {}, "unknown retriever 'densest' of dense"),
        ("dense", "dense", {"k": 5, "topk": 5}, "unknown parameter 'topk' of dense.dense"),
        ("dense", "dense", {}, "missing 1 required positional argument: 'k'"),
    ],
)
def test_errors(family, name, parameters, sentence):
    with pytest.raises(MemreproError, match=sentence):
        make_retriever(family, name, parameters)
