"""Recollection of many queries against the plain one-query path, its properties, odd inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memrepro.core.ranking import top_k
from memrepro.retrieve.rfmem import recollection
from memrepro.retrieve.rfmem.nearest import QueryBatch
from memrepro.retrieve.rfmem.recollection import ON_EMPTY, Printed, Released, recollect
from memrepro.retrieve.rfmem.reference import recollect_one

VARIANTS = ("released", "printed")


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def ask(n_docs, n_queries=5, dimension=32, seed=0):
    generator = np.random.default_rng(seed)
    return QueryBatch(
        unit(generator.normal(size=(n_queries, dimension)) + 0.4),
        unit(generator.normal(size=(n_docs, dimension)) + 0.4).reshape(-1, dimension),
        generator.permutation(n_docs).astype(np.uint64),
    )


def make(variant="released", **changed):
    kind = {"released": Released, "printed": Printed}[variant]
    return kind(**{"k": 10, "beam_width": 3, "fanout": 2, "alpha": 0.5, **changed})


def by_query(hits, n_queries):
    return [hits.doc[hits.query == number].tolist() for number in range(n_queries)]


def compare_with_plain(asked, settings, **more):
    hits = recollect(asked, settings, **more)
    number = 0
    for one in asked:
        docs = one.docs.astype(np.float64)
        for query in one.queries.astype(np.float64):
            expected = recollect_one(query, docs, one.ties, settings)
            mine = hits.query == number
            assert hits.doc[mine].tolist() == list(expected)
            np.testing.assert_allclose(hits.score[mine], list(expected.values()), atol=1e-9)
            number += 1
    return hits


@pytest.mark.parametrize("by_products", [True, False])
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=3), k=st.integers(1, 60),
    beam=st.integers(1, 4), fanout=st.integers(1, 2), alpha=st.floats(0, 1),
    floor=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 9), variant=st.sampled_from(VARIANTS),
    on_empty=st.sampled_from(ON_EMPTY), rounds=st.sampled_from([1, 3, 9]),
)  # fmt: skip
@hypothesis_settings(max_examples=25, deadline=None)
def test_either_program_equals_its_description(
    by_products, sizes, k, beam, fanout, alpha, floor, seed, variant, on_empty, rounds
):
    asked = [ask(n, n_queries=3, dimension=8, seed=seed + n) for n in sizes]
    settings = make(
        variant, k=k, beam_width=beam, fanout=fanout, alpha=alpha, floor=floor, on_empty=on_empty,
        rounds=rounds,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recollection, "pays", lambda corpus: by_products)
        compare_with_plain(asked, settings)


def test_a_search_that_goes_on_fills_its_list():
    # As LongMemEval's program is called: N grows by one a round, and reaches the whole memory.
    asked = [ask(n, n_queries=20, seed=n) for n in (12, 30)]
    own = {"k": 10, "beam_width": 4, "fanout": 1, "alpha": 0.8, "rounds": 50, "floor": -np.inf}
    found = {name: recollect(asked, make(**own, on_empty=name)) for name in ON_EMPTY}
    assert len(found["grow"].doc) == 40 * 10 > len(found["stop"].doc)
    # It goes on from where the other ends: what that found comes first.
    for stopped, went_on in zip(*(by_query(found[name], 40) for name in ON_EMPTY), strict=True):
        assert went_on[: len(stopped)] == stopped


@pytest.mark.parametrize("by_products", [True, False])
def test_a_trace_has_the_rounds_that_found_nothing(by_products, monkeypatch):
    monkeypatch.setattr(recollection, "pays", lambda corpus: by_products)
    angles = np.radians([[0.0], [40.0], [80.0]])
    docs = np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    asked = QueryBatch(docs[:1], docs, np.arange(3).astype(np.uint64))
    own = {"k": 3, "beam_width": 1, "fanout": 1, "rounds": 4, "floor": 0.9}
    recollect([asked], make(**own, on_empty="stop"), stopped := [])
    assert len(stopped) == 2  # the second finds nothing above the floor
    recollect([asked], make(**own, on_empty="grow"), went_on := [])
    # What goes on is the branch itself: no cluster made it, and its query and score stay.
    assert [one.parent.tolist() for one in went_on] == [[-1], [0], [0], [0]]
    assert [one.cluster.tolist() for one in went_on] == [[-1], [0], [-1], [-1]]
    assert [one.n_candidates.tolist() for one in went_on] == [[1], [0], [0], [0]]
    assert went_on[1].score == went_on[2].score == went_on[3].score
    assert went_on[1].drift == went_on[2].drift == went_on[3].drift


@pytest.mark.parametrize("n_docs", [12, 80])
def test_alpha_of_one_and_one_round_is_familiarity(n_docs):
    asked = ask(n_docs, n_queries=8)
    scores = asked.queries.astype(np.float64) @ asked.docs.astype(np.float64).T
    direct = [top_k(row, asked.ties, 12).tolist() for row in scores]
    same = {"alpha": 1.0, "rounds": 1, "k": 12, "fanout": 4, "floor": -np.inf}
    assert by_query(recollect([asked], make("printed", **same)), 8) == direct
    # As released, docs come in the order of their branches: with one branch it is familiarity's.
    single = same | {"beam_width": 1, "fanout": 12}
    assert by_query(recollect([asked], make(**single)), 8) == direct
    found = by_query(recollect([asked], make(**same)), 8)
    assert [sorted(docs) for docs in found] == [sorted(docs) for docs in direct]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_the_memory_changes_nothing(variant):
    asked = ask(70)
    order = np.random.default_rng(5).permutation(70)
    moved = QueryBatch(asked.queries, asked.docs[order], asked.ties[order])
    expected = by_query(recollect([asked], make(variant)), 5)
    assert [order[docs].tolist() for docs in by_query(recollect([moved], make(variant)), 5)] == (
        expected
    )


@pytest.mark.parametrize(
    "changed",
    [{}, {"alpha": 0.0}, {"k": 5, "fanout": 1, "alpha": 0.9}, {"alpha": 1.0}, {"beam_width": 1}],
)
def test_products_alone_find_what_vectors_find(changed, monkeypatch):
    asked = [ask(n, n_queries=20, seed=n) for n in (60, 9, 1)]
    asked[0].docs[:20] = asked[0].docs[40:]  # equal docs, by whose ties alone they differ
    found, traces = [], []
    for small in (True, False):
        monkeypatch.setattr(recollection, "pays", lambda corpus, small=small: small)
        traces.append([])
        found.append(recollect(asked, make(**changed), traces[-1]))
    for name in ("query", "doc", "round", "branch", "cluster"):
        assert np.array_equal(*(getattr(hits, name) for hits in found)), name
    assert np.array_equal(*(hits.score.astype(np.float32) for hits in found))
    for mine, other in zip(*traces, strict=True):
        np.testing.assert_allclose(mine.drift, other.drift, atol=1e-12)
        assert np.array_equal(mine.n_clusters, other.n_clusters)
