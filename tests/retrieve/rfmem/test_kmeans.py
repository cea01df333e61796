"""k-means of many problems against scikit-learn's, label by label."""

import numpy as np
import pytest

from memrepro.errors import MemreproError
from memrepro.retrieve.rfmem.kmeans import cluster, cluster_all, cluster_products


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def problems(kind, generator, n_points, dimension, n_clusters, count=4):
    """Problems of one shape; those that are degenerate hold equal points."""
    drawn = generator.normal(size=(count, n_points, dimension))
    if kind == "grouped":
        groups = generator.normal(size=(count, 4, dimension))
        drawn = 0.3 * drawn + groups[:, generator.integers(0, 4, n_points)]
    elif kind == "alike":
        drawn = drawn + 2 * generator.normal(size=dimension)
    elif kind == "repeated":
        drawn = drawn[:, generator.integers(0, n_points, n_points)]
    elif kind == "identical":
        drawn = np.repeat(drawn[:, :1], n_points, axis=1)
    elif kind == "few":  # fewer distinct points than clusters
        drawn = drawn[:, generator.integers(0, max(1, n_clusters - 1), n_points)]
    return unit(drawn)


@pytest.mark.parametrize("kind", ["free", "grouped", "alike", "repeated", "identical", "few"])
def test_equals_scikit_learn(kind):
    generator = np.random.default_rng(0)
    for trial in range(6):
        n_points = int(generator.integers(1, 61 if trial == 0 else 13))
        n_clusters = int(generator.integers(1, min(5, n_points) + 1))
        dimension = int(generator.choice([8, 16, 64, 384, 768]))
        points = problems(kind, generator, n_points, dimension, n_clusters)
        found, _ = cluster_all(points, n_clusters, seed=42)
        for labels, one in zip(found, points, strict=True):
            np.testing.assert_array_equal(labels, cluster(one, n_clusters, 42), (trial, kind))


@pytest.mark.parametrize("kind", ["free", "grouped", "alike", "repeated"])
def test_products_of_problems_of_many_sizes_give_the_same_labels_or_say_that_they_do_not(kind):
    generator, n_clusters, sure = np.random.default_rng(2), 3, 0
    for trial in range(40):
        sizes = np.sort(generator.integers(3, 12, 5))
        drawn = [problems(kind, generator, n, 64, n_clusters, 1)[0] for n in sizes.tolist()]
        products = np.zeros((5, sizes[-1], sizes[-1]))
        for one, points in zip(products, drawn, strict=True):
            doubles = points.astype(np.float64)
            one[: len(points), : len(points)] = doubles @ doubles.T
        labels, unsure = cluster_products(products, sizes, n_clusters, 42, 64)
        for mine, points, doubt in zip(labels, drawn, unsure, strict=True):
            if not doubt:
                sure += 1
                found = mine[: len(points)]
                np.testing.assert_array_equal(found, cluster(points, n_clusters, 42), (trial, kind))
    assert sure > (20 if kind == "repeated" else 100)


def test_refuses_more_clusters_than_points():
    with pytest.raises(MemreproError, match="4 clusters of 3 points"):
        cluster_all(np.ones((1, 3, 8), np.float32), 4, 0)
