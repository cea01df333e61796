"""The document's formulas, as numbers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.retrieve.tiered.scoring import (
    additive_recency,
    bucket_recency,
    channel_weight,
    combined,
    half_life,
    hybrid,
    reinforcement,
)


def test_the_decay_halves_at_its_half_life_and_not_where_the_document_says():
    for rate in (0.1, 0.01, 0.001):
        assert additive_recency(half_life(rate), rate) == pytest.approx(0.5)
    assert half_life(0.01) == pytest.approx(68.97, abs=0.01)  # printed: about a week, 168 h
    assert half_life(0.1) == pytest.approx(6.58, abs=0.01)  # printed: about 7 h
    assert half_life(0.001) / 24 == pytest.approx(28.9, abs=0.05)  # printed: about a month
    assert half_life(0.0) == math.inf
    assert additive_recency([-5.0, 0.0], 0.5).tolist() == [1.0, 1.0]


def test_the_combined_score_is_the_listing_of_the_document():
    # similarity 0.8 by telegram, 10 hours ago at 0.01, importance 0.5, 3 accesses
    expected = 0.8 * 1.0 + 0.99**10 + 0.5 * 0.2 + 0.06
    found = combined(0.8, channel_weight("telegram"), additive_recency(10, 0.01), 0.5, 3)
    assert found == pytest.approx(expected)
    assert [channel_weight(c) for c in ("ide", "cli", "mail", "")] == [0.9, 0.9, 0.8, 0.8]
    assert reinforcement([0, 1, 5, 50]).tolist() == pytest.approx([0, 0.02, 0.1, 0.1])
    assert combined(0, 1, 0, 1.0) == pytest.approx(0.2)


def test_hybrid_weighs_the_cosine_and_the_share_of_the_best_bm25():
    found = hybrid([0.5, 0.2, -0.1], [0.0, 4.0, 2.0], 0.7)
    assert found.tolist() == pytest.approx([0.35, 0.14 + 0.3, -0.07 + 0.15])
    assert hybrid([0.5, 0.2], [0.0, 0.0], 0.7).tolist() == pytest.approx([0.35, 0.14])
    assert hybrid(np.zeros((0,)), np.zeros((0,)), 0.7).shape == (0,)


@given(st.floats(0, 1), st.floats(0, 1e6), st.floats(0, 1e6))
def test_recency_never_rises_with_age(rate, one, other):
    younger, older = sorted((one, other))
    assert additive_recency(younger, rate) >= additive_recency(older, rate)
    assert bucket_recency(younger) >= bucket_recency(older)
