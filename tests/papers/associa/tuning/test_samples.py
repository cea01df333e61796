"""Samples: nodes of a story, the cues T, and what positive and negative samples hold."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from memrepro.encode.encoder import HashEncoder
from memrepro.papers.associa.tuning.samples import (
    Node,
    Recipe,
    draw,
    nearest,
    story_nodes,
    telling,
)
from memrepro.retrieve.associa.keys.graph import ENTITY, EVENT, UTTERANCE
from tests.papers.associa.tuning.made import LIBRARY

QUERY, CUE = "Who founded the Harbour Library?", "Ida Marlow founded it in 1891"


def located(nodes, cue, count):
    vectors = HashEncoder(256).encode([*(node.text for node in nodes), cue], "document")
    return nearest(vectors[:-1], vectors[-1], count).tolist()


@given(st.integers(1, 8), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_the_nearest_nodes_are_of_highest_cosine(count, n, seed):
    random = np.random.default_rng(seed)
    vectors = random.integers(-3, 4, (n, 4)).astype(np.float32)
    cue = np.array([1, 2, 0, 1], np.float32)
    found = nearest(vectors, cue, count)
    peer = cosine_similarity(cue[None], vectors)[0]
    assert len(found) == min(count, n) == len(set(found.tolist()))
    np.testing.assert_allclose(peer[found], np.sort(peer)[::-1][: len(found)], atol=1e-6)


def test_what_tells_the_cue_is_more_than_the_nearest_nodes():
    nodes = [
        Node(UTTERANCE, "Ida came. Ida Marlow founded it in 1891. Ida left."),
        Node(EVENT, "Ida came."),
        Node(EVENT, "Ida Marlow founded it in 1891."),
        Node(ENTITY, "Ida Marlow"),
        Node(EVENT, "founded it in 1891"),
        Node(UTTERANCE, "Nobody knows Ida Marlow, who founded it in 1891."),
        Node(UTTERANCE, "Rain fell."),
    ]
    # The chunk holds the rationale, the event is T, its part is held by T; the entity tells
    # only where it is the rationale.
    assert telling(nodes, [2], CUE) == {0, 2, 4}
    assert telling(nodes, [2], "Ida Marlow") == {0, 2, 3, 4, 5}
    # Of a chunk of T no event stays.
    assert telling(nodes, [0], "Ida left") == {0, 1, 2, 4}
    # By whole words.
    assert telling([Node(EVENT, "The carpet is red")], [], "car") == frozenset()


def test_a_positive_sample_holds_all_cues_and_a_negative_one_none_of_what_tells_them():
    nodes = story_nodes(LIBRARY, 3)
    texts = [node.text for node in nodes]
    recipe = Recipe(nodes=8)
    cues = located(nodes, CUE, recipe.cues)
    sufficient, missing = draw("s-001", QUERY, CUE, nodes, cues, recipe)
    assert (sufficient.sample_id, missing.sample_id) == ("s-001-sufficient", "s-001-missing")
    assert sufficient.query_id == missing.query_id == "s-001"
    assert sufficient.cues == missing.cues == tuple(texts[i] for i in cues)
    assert set(sufficient.cues) <= set(sufficient.evidence)
    assert sufficient.missing == ()
    hidden = {texts[i] for i in telling(nodes, cues, CUE)}
    assert not hidden & set(missing.evidence)
    assert not any("1891" in text for text in missing.evidence)
    for sample in (sufficient, missing):
        assert len(sample.evidence) == len(set(sample.evidence)) == 8
        # In the story's order, so that a place tells nothing.
        assert list(sample.evidence) == sorted(sample.evidence, key=texts.index)
    assert "Ida Marlow" in missing.missing
