"""RF-Mem: the formulas by hand, a plain per-query loop as peer, the gate's regions, odd inputs."""

import warnings
from math import exp, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.core.ranking import to_frame
from memrepro.core.similarity import normalise
from memrepro.errors import MemreproError
from memrepro.retrieve import make_retriever
from memrepro.retrieve.rfmem.gate import Gate
from memrepro.retrieve.rfmem.retrievers import Familiarity


def request(n_docs, seed=0, dimension=16, n_queries=3, vectors=None):
    generator = np.random.default_rng(seed)
    memory = Memory.of("m", *((f"d{i}", Round.of(f"d{i}", user=f"t{i}")) for i in range(n_docs)))
    if vectors is None:
        vectors = normalise(generator.normal(size=(n_docs, dimension)).astype(np.float32) + 0.4)
    queries = normalise(
        generator.normal(size=(n_queries, vectors.shape[1])).astype(np.float32) + 0.4
    )
    names = [f"q{i}" for i in range(n_queries)]
    return Request(make_keys(memory, "concat").with_vectors(vectors), names, names, queries)


def plain_recollection(x, docs, k, beam_width, fanout, alpha, weight, rounds=10):
    """The released code's behaviour as docs/protocols.md lists it, written as one plain loop."""
    beam, seen = [(x, 0.0)], []
    for depth in range(rounds):
        grown = []
        for query, so_far in beam:
            order = np.argsort(-(docs @ query), kind="stable")[: (beam_width + depth) * fanout]
            new = [int(i) for i in order if docs[i] @ query >= 0 and i not in seen]
            if not new:
                continue
            scores = []
            for i in new:
                others = [float(docs[i] @ docs[j]) for j in new if j != i]
                scores.append(
                    weight * float(docs[i] @ query) - (1 - weight) * max(others, default=0.0)
                )
            n = min(beam_width, len(new))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                labels = KMeans(n, random_state=42).fit_predict(docs[new])
            for label in range(n):
                members = [j for j in range(len(new)) if labels[j] == label]
                if members:
                    centroid = docs[[new[j] for j in members]].mean(axis=0)
                    centroid /= np.linalg.norm(centroid)
                    mixed = alpha * query + (1 - alpha) * centroid + x
                    score = so_far + sum(scores[j] for j in members)
                    grown.append((mixed / np.linalg.norm(mixed), score, [new[j] for j in members]))
        if not grown:
            break
        grown.sort(key=lambda branch: -branch[1])
        for _, _, found in grown[:beam_width]:
            seen += [i for i in found if i not in seen]
        if len(seen) >= k:
            break
        beam = [(query, score) for query, score, _ in grown[:beam_width]]
    return [f"d{i}" for i in seen[:k]]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("k", "fanout", "alpha"), [(5, 1, 0.9), (10, 2, 0.2), (10, 1, 0.5)])
def test_recollection_equals_the_plain_loop(seed, k, fanout, alpha):
    asked = request(60, seed)
    retriever = make_retriever(
        "rfmem", "recollection", {"k": k, "beam_width": 3, "fanout": fanout, "alpha": alpha}
    )
    for index, ranking in enumerate(retriever.search([asked])):
        expected = plain_recollection(
            asked.query_vectors[index], asked.keys.vectors, k, 3, fanout, alpha, 0.9
        )
        assert list(ranking.doc_ids) == expected


def test_familiarity_is_dense_above_the_floor():
    asked = request(30)
    familiar = make_retriever("rfmem", "familiarity", {"k": 30}).search([asked])
    dense = make_retriever("dense", "dense", {"k": 30}).search([asked])
    for a, b in zip(familiar, dense, strict=True):
        kept = [(d, s) for d, s in zip(b.doc_ids, b.scores, strict=True) if s >= 0]
        assert list(zip(a.doc_ids, a.scores, strict=True)) == kept


def gate(**changed):
    return Gate(
        **{
            "sharpness": 30.0,
            "entropy_threshold": 0.2,
            "mean_high": 0.6,
            "mean_low": 0.1,
            **changed,
        }
    )


def test_entropy_by_hand():
    scores = np.array([0.5, 0.4])
    p = 1 / (1 + exp(-30 * 0.1))
    entropy = -p * log(p) - (1 - p) * log(1 - p)
    assert gate(entropy_form="sum").entropy(scores) == pytest.approx(entropy)
    assert gate(entropy_form="mean").entropy(scores) == pytest.approx(entropy / 2)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.1, 60))
def test_entropy_lies_between_zero_and_log_k(scores, sharpness):
    entropy = gate(sharpness=sharpness, entropy_form="sum").entropy(np.array(scores))
    assert -1e-9 <= entropy <= log(len(scores)) + 1e-9


@pytest.mark.parametrize(
    ("scores", "familiar"),
    [
        ([0.7, 0.6], True),  # mean above the upper threshold, whatever the entropy
        ([0.1, 0.0], False),  # mean below the lower one
        ([0.9, 0.1], True),  # between, entropy near 0
        ([0.5, 0.5], False),  # between, entropy log 2 / 2 > 0.2
        ([], False),  # no hits
    ],
)
def test_the_gates_regions(scores, familiar):
    assert gate().is_familiar(np.array(scores)) is familiar


def test_the_gated_run_takes_each_query_from_its_path():
    asked = request(60, n_queries=8)
    own = {"k": 5, "beam_width": 3, "fanout": 1, "alpha": 0.5}
    familiar = make_retriever("rfmem", "familiarity", {"k": 5}).search([asked])
    entropies = [gate().entropy(np.array(f.scores)) for f in familiar]
    middle = float(np.median(entropies))
    g = gate(mean_high=2.0, mean_low=-2.0, entropy_threshold=middle)
    gated = make_retriever("rfmem", "gated", {**own, **vars(g)}).search([asked])
    recollected = make_retriever("rfmem", "recollection", own).search([asked])
    paths = [g.is_familiar(np.array(f.scores)) for f in familiar]
    assert set(paths) == {True, False}
    assert gated == [f if p else r for p, f, r in zip(paths, familiar, recollected, strict=True)]


def test_the_gate_may_probe_under_another_floor_than_it_returns():
    asked = request(60, n_queries=8)
    scores = np.array([r.scores for r in Familiarity(5, -1).search([asked])])
    floor = float(np.median(scores))
    assert (scores < floor).any(axis=1).any()
    entropies = [gate().entropy(s) for s in scores]
    own = {**GATED, "mean_high": 2.0, "mean_low": -2.0, "floor": floor,
           "entropy_threshold": float(np.median(entropies))}  # fmt: skip
    trace = make_retriever("rfmem", "gated", {**own, "probe_floor": -1}).trace([asked])
    assert trace.queries["entropy"].tolist() == entropies
    assert trace.queries["mean"].tolist() == [s.mean() for s in scores]
    direct = trace.hits[trace.hits["round"] == -1]
    assert len(direct)
    assert direct["score"].min() >= floor
    other = make_retriever("rfmem", "gated", own).trace([asked])
    assert other.queries["entropy"].tolist() != entropies
    same = make_retriever("rfmem", "gated", {**own, "probe_floor": floor}).trace([asked])
    pd.testing.assert_frame_equal(same.queries, other.queries)
    with pytest.raises(MemreproError, match="probe_floor is 'x', and must be of type float"):
        make_retriever("rfmem", "gated", {**own, "probe_floor": "x"})


@given(
    n_docs=st.integers(1, 25), k=st.integers(1, 12), beam=st.integers(1, 4),
    fanout=st.integers(1, 3), alpha=st.floats(0, 1), seed=st.integers(0, 5),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_never_twice_never_more_than_k(n_docs, k, beam, fanout, alpha, seed):
    retriever = make_retriever(
        "rfmem", "recollection", {"k": k, "beam_width": beam, "fanout": fanout, "alpha": alpha}
    )
    for ranking in retriever.search([request(n_docs, seed)]):
        assert len(set(ranking.doc_ids)) == len(ranking.doc_ids) <= min(k, n_docs)


def test_identical_vectors_and_a_single_doc():
    same = np.tile(request(1, n_queries=1).query_vectors, (7, 1))
    retriever = make_retriever(
        "rfmem", "recollection", {"k": 5, "beam_width": 3, "fanout": 2, "alpha": 0.5}
    )
    for ranking in retriever.search([request(7, vectors=same, n_queries=1)]):
        assert len(ranking.doc_ids) == 5
    for ranking in retriever.search([request(1, vectors=same[:1], n_queries=1)]):
        assert ranking.doc_ids == ("d0",)


GATED = {"k": 5, "beam_width": 3, "fanout": 1, "alpha": 0.5, "sharpness": 30.0}


@pytest.mark.parametrize("name", ["recollection", "recollection_printed"])
def test_many_memories_at_once_are_each_by_itself(name):
    asked = [request(n, seed=n) for n in (60, 2, 25)]
    retriever = make_retriever("rfmem", name, {"k": 8, "beam_width": 3, "fanout": 2, "alpha": 0.3})
    together = retriever.search(asked)
    assert together == [one for r in asked for one in retriever.search([r])]
    assert retriever.search([]) == []


def test_printed_rankings_fall_and_released_ones_need_not():
    own = {"k": 10, "beam_width": 3, "fanout": 2, "alpha": 0.5}
    asked = [request(60, n_queries=8)]
    for ranking in make_retriever("rfmem", "recollection_printed", own).search(asked):
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    released = make_retriever("rfmem", "recollection", own).search(asked)
    assert any(list(r.scores) != sorted(r.scores, reverse=True) for r in released)


def test_the_printed_gate_lets_an_entropy_of_tau_pass():
    asked = request(60, n_queries=8)
    familiar = make_retriever("rfmem", "familiarity", {"k": 5}).search([asked])
    middle = gate(entropy_form="sum").entropy(np.array(familiar[3].scores))
    between = {**GATED, "mean_high": 2.0, "mean_low": -2.0, "entropy_threshold": middle}
    printed = make_retriever("rfmem", "gated_printed", between).trace([asked])
    released = make_retriever("rfmem", "gated", {**between, "entropy_form": "sum"}).trace([asked])
    assert printed.queries["path"][3] == "familiarity"
    assert released.queries["path"][3] == "recollection"


@pytest.mark.parametrize(
    ("high", "low", "paths"),
    [(-1.0, -2.0, {"familiarity"}), (2.0, 1.5, {"recollection"}), (2.0, -2.0, None)],
)
@pytest.mark.parametrize("name", ["gated", "gated_printed"])
def test_the_trace_tells_where_each_hit_was_found(name, high, low, paths):
    asked = [request(60, n_queries=8), request(30, seed=2, n_queries=1)]
    asked[1].query_ids[:] = ["other"]
    form = "mean" if name == "gated" else "sum"
    familiar = make_retriever("rfmem", "familiarity", {"k": 5}).search(asked)
    entropies = [gate(entropy_form=form).entropy(np.array(f.scores)) for f in familiar]
    own = {**GATED, "mean_high": high, "mean_low": low}
    retriever = make_retriever(
        "rfmem", name, {**own, "entropy_threshold": float(np.median(entropies))}
    )
    rankings = retriever.search(asked)
    trace = retriever.trace(asked)
    assert trace.queries["query_id"].tolist() == [*asked[0].query_ids, "other"]
    assert trace.queries["entropy"].tolist() == entropies
    assert set(trace.queries["path"]) == (paths or {"familiarity", "recollection"})
    deep = set(trace.queries.loc[trace.queries["path"] == "recollection", "query_id"])
    assert set(trace.branches["query_id"]) == deep
    pd.testing.assert_frame_equal(
        trace.hits[["query_id", "doc_id", "rank", "score"]],
        to_frame(rankings),
        check_dtype=False,
    )
    assert set(trace.hits.loc[~trace.hits["query_id"].isin(deep), "round"]) <= {-1}
    places = ["query_id", "round", "branch"]
    found = trace.hits[trace.hits["query_id"].isin(deep)]
    assert len(found.merge(trace.branches, on=places)) == len(found)
    rounds = trace.branches.groupby("query_id")["round"].max() + 1
    told = trace.queries.set_index("query_id")["rounds"]
    assert told[list(deep)].to_dict() == rounds.to_dict()
    assert (told.drop(list(deep)) == 0).all()


def test_errors():
    asked = request(3)
    fielded = Memory.of("m", ("d", Round.of("d", user="u", assistant="a")))
    keys = make_keys(fielded, "fielded").with_vectors(np.ones((2, 16), np.float32))
    retriever = make_retriever(
        "rfmem", "recollection", {"k": 5, "beam_width": 3, "fanout": 1, "alpha": 0.5}
    )
    with pytest.raises(
        MemreproError, match="doc 'd' has 2 vectors: this retriever needs one a doc"
    ):
        retriever.search([Request(keys, asked.query_ids, asked.query_texts, asked.query_vectors)])
    with pytest.raises(MemreproError, match="unknown entropy_form 'max'"):
        gate(entropy_form="max")
