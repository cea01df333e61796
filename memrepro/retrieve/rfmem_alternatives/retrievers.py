"""RF-Mem's alternatives: other clusters, another mixing, a graph, and no early stop.

Source: RF-Mem Appendix D.8-D.9 (Tables 15 and 16). The released code holds none of them, so that
what the paper leaves open is chosen here, and said where it is. Its own rows of the two tables need
no run of their own: the gate reads the familiarity list alone, and then takes a query from one run
or the other. Libraries are imported where they are used, for they take seconds, and each stage
loads this module to check `params.yaml`.
"""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Floats, normalise, products
from memrepro.retrieve.rfmem_alternatives.graph import FullGraphSearch, GraphSearch
from memrepro.retrieve.rfmem_alternatives.loop import Labels, Loop


def _labels(model: Any, vectors: NDArray[np.floating]) -> Labels:
    """The labels of a clustering; fewer distinct points than clusters leave a cluster empty."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(vectors), np.int64)


@dataclass(frozen=True, kw_only=True)
class KMeansClusters(Loop):
    """Clusters by k-means, library defaults otherwise.

    Attributes (beside those of `Loop`):
        seed: of k-means (released: 42).
    """

    seed: int = 42

    def cluster(self, vectors: Floats) -> Labels:
        """At most B clusters."""
        from sklearn.cluster import KMeans

        most = min(self.beam_width, len(vectors))
        return _labels(KMeans(most, random_state=self.seed), vectors)


def alpha_mix(alpha: float, query: Floats, centroid: Floats, original: Floats) -> Floats:
    """norm(α·query + (1−α)·centroid + original), each of shape (dimension,) (Eq. 6)."""
    return normalise(alpha * query + (1 - alpha) * centroid + original)


@dataclass(frozen=True, kw_only=True)
class AlphaMixing(Loop):
    """The next query by Eq. 6.

    Attributes (beside those of `Loop`):
        alpha: the paper's α.
    """

    alpha: float

    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """By Eq. 6."""
        return alpha_mix(self.alpha, query, centroid, original)


@dataclass(frozen=True, kw_only=True)
class DBSCANRecollection(AlphaMixing):
    """Density-based clusters in place of k-means (D.8.1).

    The paper names neither ε, nor the least number of docs, nor the distance, nor what becomes of
    noise. Here the distance is the paper's own, cosine; and a noise doc is a cluster of its own,
    for were it dropped, lists would come out short. All noise is then what k-means makes of no
    more docs than clusters: every doc a branch.

    Attributes (beside those of `AlphaMixing`):
        eps: DBSCAN's ε, a cosine distance; the library's default.
        min_samples: docs that make a neighbourhood dense, the doc itself counted; 2, the least
            that can leave noise: the library's 5 exceeds round 0's N = B·F = 3.
    """

    eps: float = 0.5
    min_samples: int = 2

    def cluster(self, vectors: Floats) -> Labels:
        """By DBSCAN; each noise doc gets a label of its own, after those of the clusters."""
        from sklearn.cluster import DBSCAN

        # Rounding can make the distance of a doc from itself negative, which DBSCAN refuses.
        distance = np.clip(1.0 - products(vectors, vectors), 0.0, 2.0)
        model = DBSCAN(eps=self.eps, min_samples=self.min_samples, metric="precomputed")
        labels = _labels(model, distance)
        noise = np.flatnonzero(labels < 0)
        labels[noise] = labels.max(initial=-1) + 1 + np.arange(len(noise))
        return labels


@dataclass(frozen=True, kw_only=True)
class SpectralRecollection(AlphaMixing):
    """Spectral clusters in place of k-means (D.8.2).

    The paper names no affinity: the library's default is Ng et al.'s (whom it cites), exp(−γ·d²)
    with γ = 1, then k-means on the eigenvectors. No more docs than clusters: each is a cluster,
    as k-means has it too.

    Attributes (beside those of `AlphaMixing`):
        gamma: the affinity's γ; the library's default.
        seed: of the eigensolver and of k-means (that of the released code's k-means).
    """

    gamma: float = 1.0
    seed: int = 42

    def cluster(self, vectors: Floats) -> Labels:
        """By spectral clustering into B clusters."""
        from sklearn.cluster import SpectralClustering

        if len(vectors) <= self.beam_width:
            return np.arange(len(vectors))
        model = SpectralClustering(self.beam_width, gamma=self.gamma, random_state=self.seed)
        return _labels(model, vectors.astype(np.float64))


@dataclass(frozen=True, kw_only=True)
class GatedMixing(KMeansClusters):
    """A gate g = σ(query·centroid) in place of α (D.8.3, Eqs. 9-10).

    Of unit vectors the product lies in [−1, 1], and so g in [0.269, 0.731].
    """

    def mix(self, query: Floats, centroid: Floats, original: Floats) -> Floats:
        """By Eqs. 9-10."""
        from scipy.special import expit

        return alpha_mix(float(expit(query @ centroid)), query, centroid, original)


@dataclass(frozen=True, kw_only=True)
class FullExploration(KMeansClusters, AlphaMixing):
    """No early stop: all rounds are run, and what they found is ranked anew (D.9, Table 16).

    'Final dense re-ranking' is read as similarity to the query, ⟨x_t, z⟩, and 'the complete
    expanded set' as the docs of every branch that the beam kept. A ranking is then familiarity's
    order over the docs explored: it differs from familiarity only where a doc of familiarity's
    top K was never found. 'A predefined maximum depth' is `rounds`; 10 as with the early stop. The
    loop ends with a round that finds nothing new, as PersonaBench's program does, though a later N
    might have.
    """

    exhaustive: ClassVar[bool] = True


RETRIEVERS = {
    "dbscan": DBSCANRecollection,
    "spectral": SpectralRecollection,
    "gated-mix": GatedMixing,
    "graph": GraphSearch,
    "full": FullExploration,
    "full-graph": FullGraphSearch,
}
