"""MMR against its definition, and how many are given."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.similarity import normalise
from memrepro.retrieve.tiered.selection import adaptive, mmr


def by_definition(relevance, vectors, weight, k):
    taken = []
    while len(taken) < min(k, len(relevance)):
        values = {}
        for i in range(len(relevance)):
            if i not in taken:
                close = max((float(vectors[i] @ vectors[j]) for j in taken), default=0.0)
                values[i] = weight * relevance[i] - (1 - weight) * close
        taken.append(max(values, key=lambda i: (values[i], -i)))
    return taken


@given(st.integers(1, 8), st.floats(0, 1), st.integers(1, 10), st.integers(0, 10**6))
@settings(max_examples=40)
def test_mmr_is_its_definition(n, weight, k, seed):
    rng = np.random.default_rng(seed)
    vectors = normalise(rng.normal(size=(n, 3)).astype(np.float32)).astype(np.float64)
    relevance = rng.random(n)
    assert mmr(relevance, vectors, weight, k).tolist() == by_definition(
        relevance, vectors, weight, k
    )


@pytest.mark.parametrize(
    ("similarities", "many"),
    [
        ([], 0), ([0.9], 1), ([0.9, 0.86, 0.86], 2), ([0.9, 0.8, 0.7], 1),
        ([0.8, 0.79, 0.75, 0.72, 0.70], 5), ([0.8, 0.79, 0.75, 0.72, 0.69], 3),
        ([0.85, 0.8, 0.7, 0.6], 3), ([0.4, 0.3], 2),
    ],
)  # fmt: skip
def test_how_many(similarities, many):
    assert adaptive(similarities) == many
