"""Which of two sessions of evidence is first, and how well scores tell that there is no answer."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from memrepro.papers.longmemeval.unanswered import auc


def test_the_area_is_scikit_learns_with_an_interval_around_it():
    generator = np.random.default_rng(3)
    answerable = np.arange(200) < 150
    values = generator.normal(size=200) + answerable
    area, low, high = auc(values, answerable)
    assert area == pytest.approx(roc_auc_score(answerable, values))
    assert low < area < high
    assert auc(answerable.astype(float), answerable) == (1.0, 1.0, 1.0)
