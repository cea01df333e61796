"""Search through faiss: the rankings of the product to the last bit, however close docs lie."""

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.keys import Keys, Request, best_first
from memrepro.core.ranking import tie_keys, to_frame
from memrepro.core.similarity import normalise
from memrepro.retrieve.dense import index
from memrepro.retrieve.dense.retrievers import Dense


def memory(vectors, rows, owner, queries, n_docs):
    """A memory of n docs whose keys are these rows of the vectors."""
    ids = tuple(f"d{i}" for i in range(n_docs))
    texts, fields = [f"text {i}" for i in range(len(vectors))], ("all",) * len(rows)
    keys = Keys(ids, rows, texts, fields, owner, tie_keys(ids), vectors)
    names = [f"q{i}" for i in range(len(queries))]
    return Request(keys, names, names, queries)


def drawn(n_docs, n_keys, n_texts, seed=0, n_queries=5, dimension=24):
    """Keys that share texts, docs with several keys and with none."""
    generator = np.random.default_rng(seed)
    vectors, queries = (
        normalise(generator.normal(size=(n, dimension)).astype(np.float32) + 0.4)
        for n in (n_texts, n_queries)
    )
    owner = np.sort(generator.integers(0, n_docs, n_keys))
    return memory(vectors, generator.integers(0, n_texts, n_keys), owner, queries, n_docs)


def by_product(request, k):
    return to_frame(best_first([(request, request.doc_scores())], k))


@pytest.fixture
def asked_product(monkeypatch):
    """How many queries were left to the product, in the order of the searches."""
    asked, product = [], index._Memory.product

    def counted(self, numbers):
        asked.append(len(numbers))
        return product(self, numbers)

    monkeypatch.setattr(index._Memory, "product", counted)
    return asked


@given(
    n_docs=st.integers(1, 60), n_keys=st.integers(1, 200), n_texts=st.integers(1, 200),
    k=st.integers(1, 70), n_queries=st.integers(1, 6), seed=st.integers(0, 99),
    near=st.sampled_from([0.0, 1e-17, 1e-12, 3e-8, 1e-6]), spare=st.sampled_from([0, 16]),
)  # fmt: skip
def test_the_rankings_are_the_products(n_docs, n_keys, n_texts, k, n_queries, seed, near, spare):
    """Also where all texts but one lie within rounding of each other, and blocks are small."""
    request = drawn(n_docs, n_keys, n_texts, seed, n_queries)
    if near < 1e-6:  # one vector, moved by less than single precision can tell in a sum, or not
        vectors = request.keys.vectors
        moved = (vectors[:1] * (1 + near * np.arange(len(vectors))[:, None])).astype(np.float32)
        vectors[1:] = moved[1:]
        generator = np.random.default_rng(seed)  # a last bit of some numbers
        places = generator.random(vectors.shape) < 0.1
        vectors[places] = np.nextafter(vectors[places], np.float32(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_BLOCK", 7)
        patch.setattr(index, "_SPARE", spare)
        found = index.search_memory(request, k)
    assert found.recall is None
    assert to_frame(found).equals(by_product(request, k))


def exact(request, k):
    """Plain numpy: sums of exact products in extended precision, docs by their best key."""
    keys, found = request.keys, []
    for query in request.query_vectors.astype(np.longdouble):
        scores = np.full(len(keys.doc_ids), -np.inf, np.longdouble)
        np.maximum.at(scores, keys.owner, (keys.vectors.astype(np.longdouble) @ query)[keys.rows])
        order = sorted(np.flatnonzero(scores > -np.inf), key=lambda i: (-scores[i], keys.ties[i]))
        found.append([keys.doc_ids[i] for i in order[:k]])
    return found


@pytest.mark.parametrize("n_queries", [1, 40])
def test_candidates_that_single_precision_swaps_are_put_right(n_queries, asked_product):
    """A long common part drowns in single precision what sets the docs apart in double."""
    generator = np.random.default_rng(1)
    common = np.full((1, 64), 100, np.float32)
    vectors = common + generator.normal(size=(500, 64)).astype(np.float32) * np.float32(1e-4)
    queries = common + generator.normal(size=(n_queries, 64)).astype(np.float32)
    order = generator.permutation(500)
    request = memory(vectors, order, np.arange(500), queries, 500)
    single = faiss.IndexFlatIP(64)
    single.add(vectors[order])
    alone = [[f"d{i}" for i in row] for row in single.search(queries, 10)[1]]
    found = [list(ranking.doc_ids) for ranking in Dense(10).search([request])]
    assert found == exact(request, 10)
    assert alone != found  # what faiss alone would have said
    assert [list(r.doc_ids) for r in index.search_memory(request, 10)] == found
    assert asked_product[-1] == n_queries  # no bound of single precision can show it


def test_the_rule_says_which_memories_go_through_faiss_and_the_order_stays(monkeypatch):
    assert [index.through_faiss(n) for n in (9_999, 10_000)] == [False, True]
    requests = [drawn(30, n, 40, seed=n) for n in (60, 20, 61, 21)]
    searched, search = [], index.search_memory
    monkeypatch.setattr(index, "_LARGE", 60)
    monkeypatch.setattr(
        index, "search_memory", lambda r, k: searched.append(len(r.keys.rows)) or search(r, k)
    )
    found = Dense(5).search(requests)
    assert searched == [60, 61]
    expected = best_first([(r, r.doc_scores()) for r in requests], 5)
    assert to_frame(found).equals(to_frame(expected))


def test_a_corpus_too_large_to_scan_is_looked_up_and_its_recall_is_measured(monkeypatch):
    # A scan is longer than to make the lists from so many queries on, and a long one.
    assert index.lists_of(1000, 1_000_000) == 0
    assert index.lists_of(70_000, 1_000_000) == 4000
    assert index.lists_of(10**9, 70) == 33
    monkeypatch.setattr(index, "lists_of", lambda n_queries, n_keys: 32)
    request = drawn(4000, 4000, 4000, n_queries=128)
    scan = best_first([(request, request.doc_scores())], 20)
    found = index.search_memory(request, 20)
    shares = [len({*a.doc_ids} & {*b.doc_ids}) / 20 for a, b in zip(scan, found, strict=True)]
    assert found.recall == pytest.approx(np.mean(shares[::2]))  # of 64 of the queries
    assert 0.1 < found.recall < 1
    monkeypatch.setattr(index, "_LARGE", 1)
    monkeypatch.setattr(index, "_PROBED", 1.0)
    assert Dense(20).search([request]).recall == 1.0
    assert to_frame(index.search_memory(request, 20)).equals(to_frame(scan))


@pytest.mark.parametrize("gpus", [1, 3])
def test_gpus_hold_the_vectors_where_there_are_some(gpus, monkeypatch):
    """A device that answers as the CPU does, a share of the vectors each: no GPU runs here."""
    placed, alive = [], []

    class Options:
        shard = False

    def to_gpus(resources, flat, options):
        placed.append((len(resources), options.shard, flat.ntotal))
        shards = faiss.IndexShards(flat.d, True, True)
        parts = [faiss.IndexFlatIP(flat.d) for _ in resources]
        for part in parts:
            shards.add_shard(part)
        shards.add(flat.reconstruct_n(0, flat.ntotal))
        alive.append(parts)
        return shards

    monkeypatch.setattr(faiss, "get_num_gpus", lambda: gpus)
    monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
    monkeypatch.setattr(faiss, "GpuMultipleClonerOptions", Options, raising=False)
    monkeypatch.setattr(faiss, "index_cpu_to_gpu_multiple_py", to_gpus)
    monkeypatch.setattr(index, "_GPU_BLOCK", 1000)
    index._resources.cache_clear()
    request = drawn(2500, 2500, 9999)
    assert to_frame(index.search_memory(request, 10)).equals(by_product(request, 10))
    assert {one[:2] for one in placed} == {(gpus, True)}
    assert [one[2] for one in placed[:2]] == [1000, 1000]
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 0)
    flat = faiss.IndexFlatIP(4)
    assert index.placed(flat) is flat
    index._resources.cache_clear()
