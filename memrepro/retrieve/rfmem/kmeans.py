"""k-means for many small problems at once: arrays only, the labels those of scikit-learn.

What scikit-learn's `KMeans(n_clusters, random_state=seed)` does with float32 points is followed:
each problem starts its own random stream, so all problems of one shape draw the same numbers;
k-means++ with 2 + ⌊ln k⌋ trials a centre runs on the same float32 distances, summed in the same
order; Lloyd's iterations run in double precision on inner products of the points, a centre being a
mean of points. A problem in which one of those iterations is closer than float32's rounding, or
leaves a cluster empty, is given to scikit-learn itself.

Most problems need their inner products alone (`cluster_products`): one in which a draw or a choice
of k-means++ is closer than float32's rounding of the points is done again from the points.
"""

import warnings
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles, Floats
from memrepro.errors import MemreproError

Labels = NDArray[np.int32]
_ITERATIONS = 300  # scikit-learn's max_iter
_TOLERANCE = 1e-4  # scikit-learn's tol
# Squared distances nearer than this times the greatest squared norm may compare otherwise in
# float32: some eight standard deviations of its rounding at 768 dimensions.
_DOUBT = 1e-5
_BLOCK = 1 << 20  # numbers of points worked on at once: few enough for a processor's cache


def cluster(points: Floats, n_clusters: int, seed: int) -> Labels:
    """Labels of one problem by scikit-learn itself; points of shape (n_points, dimension)."""
    # Imported late, for it takes seconds, and each stage loads this module to check params.yaml.
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # Fewer distinct points than clusters is legal here and leaves a cluster empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: Labels = KMeans(n_clusters, random_state=seed).fit_predict(points)
    return labels


def cluster_all(points: Floats, n_clusters: int, seed: int) -> tuple[Labels, NDArray[np.bool_]]:
    """Labels of many problems of one shape, those that `cluster` gives for each.

    Points have shape (n_problems, n_points, dimension), labels (n_problems, n_points).

    Returns:
        Labels, and which problems scikit-learn was asked about, shape (n_problems,).
    """
    n_problems, n_points, dimension = points.shape
    if not 1 <= n_clusters <= n_points:
        raise MemreproError(
            f"{n_clusters} clusters of {n_points} points: a cluster needs at least one point"
        )
    labels = np.zeros((n_problems, n_points), np.int32)
    asked = np.zeros(n_problems, np.bool_)
    if n_clusters == 1:
        return labels, asked
    step = max(1, _BLOCK // (n_points * dimension))
    for start in range(0, n_problems, step):
        block = slice(start, start + step)
        centred = points[block] - points[block].mean(axis=1, keepdims=True)
        doubles = centred.astype(np.float64)
        products = doubles @ doubles.transpose(0, 2, 1)
        sizes = np.full(len(centred), n_points)
        centres, _ = _plus_plus(_distances(products), n_clusters, seed, sizes)
        labels[block], asked[block] = _lloyd(products, centres, dimension, sizes)
    for problem in np.flatnonzero(asked):
        labels[problem] = cluster(points[problem], n_clusters, seed)
    return labels, asked


def cluster_products(
    products: Doubles, sizes: NDArray[np.int64], n_clusters: int, seed: int, dimension: int
) -> tuple[Labels, NDArray[np.bool_]]:
    """Labels of many problems by the points' inner products, (n_problems, n_points, n_points).

    A problem has the first `sizes` of its points, shape (n_problems,); the products of the others
    are 0, and their labels mean nothing.

    Returns:
        Labels, (n_problems, n_points), and which problems are to be given to `cluster_all` with
        their points, as there the rounding of points decides, shape (n_problems,).
    """
    n_problems, n_points, _ = products.shape
    if n_clusters == 1:
        return np.zeros((n_problems, n_points), np.int32), np.zeros(n_problems, np.bool_)
    real = np.arange(n_points) < sizes[:, None]
    doubt = _DOUBT * _diagonals(products).max(axis=1)
    means = products.sum(axis=2) / sizes[:, None]
    offset = means - (means.sum(axis=1) / (2 * sizes))[:, None]
    centred = products - offset[:, :, None] - offset[:, None, :]
    distances = _distances(centred)
    if not real.all():
        both = real[:, :, None] & real[:, None, :]
        centred, distances = centred * both, distances * both
    centres, unsure = _plus_plus(distances, n_clusters, seed, sizes, doubt)
    labels, doubtful = _lloyd(centred, centres, dimension, sizes)
    return labels, unsure | doubtful


def _diagonals(products: Doubles) -> Doubles:
    """Squared lengths of points, shape (n_problems, n_points)."""
    return products.diagonal(axis1=1, axis2=2)


def _distances(products: Doubles) -> Floats:
    """Squared distances of points, shape (n_problems, n_points, n_points), rounded to float32."""
    norms = _diagonals(products)
    distances = -2 * products + norms[:, :, None] + norms[:, None, :]
    rounded: Floats = np.maximum(distances, 0).astype(np.float32)
    return rounded


@lru_cache(maxsize=1024)
def _draws(n_points: int, n_clusters: int, seed: int) -> tuple[int, Doubles]:
    """The first centre, and the uniform numbers of the others, (n_clusters − 1, n_trials)."""
    random = np.random.RandomState(seed)
    weights = np.ones(n_points, np.float32)
    first = int(random.choice(n_points, p=weights / weights.sum()))
    return first, random.uniform(size=(n_clusters - 1, 2 + int(np.log(n_clusters))))


def _plus_plus(
    distances: Floats, n_clusters: int, seed: int, sizes: NDArray[np.int64],
    doubt: Doubles | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:  # fmt: skip
    """Greedy k-means++: the points that are the first centres, shape (n_problems, n_clusters).

    And the problems in which a draw or a choice is no further than `doubt`, shape (n_problems,),
    from another; without it none. Sums of at most two distances are equal whatever they round to.
    Sizes are as of `cluster_products`.
    """
    n_problems, n_points, _ = distances.shape
    drawn = {n: _draws(n, n_clusters, seed) for n in set(sizes.tolist())}
    first = np.array([drawn[n][0] for n in sizes.tolist()])
    draws = np.array([drawn[n][1] for n in sizes.tolist()]).transpose(1, 0, 2)
    problems = np.arange(n_problems)
    ones = np.ones((n_points, 1), np.float32)
    centres = np.empty((n_problems, n_clusters), np.intp)
    centres[:, 0] = first
    unsure = np.zeros(n_problems, np.bool_)
    closest = distances[problems, first]
    # As matrix products, which add in scikit-learn's order: potentials often tie by construction.
    potential = (closest[:, None, :] @ ones)[:, 0]
    for number, uniform in enumerate(draws, start=1):
        wanted = uniform * potential
        reached = closest.cumsum(axis=1)
        beyond = reached[:, None, :] - wanted[:, :, None]
        tried = np.minimum((beyond < 0).sum(axis=2), sizes[:, None] - 1)
        left = np.minimum(closest[:, None, :], distances[problems[:, None], tried])
        potentials = (left @ ones)[:, :, 0]
        best = potentials.argmin(axis=1)
        centre = tried[problems, best]
        potential = potentials[problems, best][:, None]
        if doubt is not None:
            close = potentials - potential
            # Before it, `number` points are centres; what is left of the others adds up.
            other = (tried != centre[:, None]) & ((close != 0) | (sizes[:, None] - number > 3))
            unsure |= (other & (close <= doubt[:, None])).any(axis=1)
            unsure |= (np.abs(beyond) <= doubt[:, None, None]).any(axis=(1, 2))
        closest = left[problems, best]
        centres[:, number] = centre
    return centres, unsure


def _lloyd(
    products: Doubles, centres: NDArray[np.intp], dimension: int, sizes: NDArray[np.int64]
) -> tuple[Labels, NDArray[np.bool_]]:
    """Lloyd's iterations, until the labels stay: labels, and which problems are in doubt.

    Given are the centred points' inner products, (n_problems, n_points, n_points), the points that
    are the first centres, (n_problems, n_clusters), and sizes as of `cluster_products`.
    """
    n_problems, n_points, _ = products.shape
    n_clusters = centres.shape[1]
    clusters = np.arange(n_clusters)[:, None]
    padded = np.arange(n_points) >= sizes[:, None]
    norms = _diagonals(products)
    greatest = norms.max(axis=1)
    # scikit-learn's tolerance is by the mean variance of a dimension; 1.01: rounding.
    still = 1.01 * _TOLERANCE * norms.sum(axis=1) / (sizes * dimension)
    labels = np.full((n_problems, n_points), -1, np.int32)
    doubtful = np.zeros(n_problems, np.bool_)
    # Of the problems whose labels may still change; a centre as weights of the points.
    open_, last = np.arange(n_problems), labels
    weights = (centres[:, :, None] == np.arange(n_points)).astype(np.float64)
    for _ in range(_ITERATIONS):
        within = weights @ products
        distances = (within * weights).sum(axis=2, keepdims=True) - 2 * within
        new = distances.argmin(axis=1).astype(np.int32)
        new[padded] = n_clusters  # of no cluster
        nearest = np.partition(distances, 1, axis=1)
        apart = nearest[:, 1] - nearest[:, 0]
        apart[padded] = np.inf
        members = new[:, None, :] == clusters
        held = members.sum(axis=2, keepdims=True)
        means = members / np.maximum(held, 1)
        moved = means - weights
        shift = ((moved @ products) * moved).sum(axis=(1, 2))
        # Centres that are points alone do not move, and the labels stay.
        settled = (new == last).all(axis=1) | (shift <= 1e-12 * greatest)
        unsure = apart.min(axis=1) <= _DOUBT * greatest
        unsure |= (held == 0).any(axis=(1, 2)) | (~settled & (shift <= still))
        labels[open_], doubtful[open_] = new, unsure
        go_on = ~(settled | unsure)
        if not go_on.any():
            return labels, doubtful
        open_, last, weights, products, padded, greatest, still = (
            one[go_on] for one in (open_, new, means, products, padded, greatest, still)
        )
    doubtful[open_] = True
    return labels, doubtful
