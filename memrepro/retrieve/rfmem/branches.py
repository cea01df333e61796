"""What recollection asks of its branches' queries, and the answers from their vectors."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from memrepro.core.similarity import Doubles
from memrepro.retrieve.rfmem.nearest import Corpus, Ints, nearest

_BLOCK = 1 << 17  # numbers of docs worked on at once: few enough for a processor's cache


@dataclass(frozen=True)
class Branches(ABC):
    """The branches of all queries, sorted by query and place in its beam.

    Attributes:
        corpus: the docs of all memories.
        query: the number of each branch's query, shape (n_branches,).
        of_branches: the names of the arrays that have a row a branch.
    """

    of_branches: ClassVar[tuple[str, ...]]
    corpus: Corpus
    query: Ints

    @abstractmethod
    def nearest(self, n: int) -> tuple[Ints, Ints, Doubles]:
        """Branch, place in the corpus and similarity of the n nearest docs, the nearest first."""

    @abstractmethod
    def between(self, place: Ints) -> Doubles:
        """The products of docs with each other, (n_some, n, n), by their places, (n_some, n)."""

    @abstractmethod
    def mix(self, alpha: float, parent: Ints, branch: Ints, place: Ints) -> "Branches":
        """New branches by Eq. 6.

        Of each its parent is given; of each of their docs its new branch, from 0 and ascending,
        and its place. Each new branch has a doc.
        """

    @abstractmethod
    def drift(self) -> Doubles:
        """The cosine of each branch's query with its original, shape (n_branches,)."""

    def taken(self, which: Ints) -> Self:
        """Some of the branches, in the order in which they are named."""
        arrays = {name: getattr(self, name)[which] for name in self.of_branches}
        return replace(self, **arrays)

    def joined(self, others: Self) -> Self:
        """These branches, then others of the same corpus."""
        pairs = {name: (getattr(self, name), getattr(others, name)) for name in self.of_branches}
        return replace(self, **{name: np.concatenate(pair) for name, pair in pairs.items()})


@dataclass(frozen=True)
class OfVectors(Branches):
    """Branches by their queries' vectors, shape (n_branches, dimension)."""

    of_branches = ("query", "vectors")
    vectors: Doubles

    def nearest(self, n: int) -> tuple[Ints, Ints, Doubles]:
        """As `Branches`."""
        return nearest(self.vectors, self.corpus.memory[self.query], self.corpus, n)

    def between(self, place: Ints) -> Doubles:
        """As `Branches`."""
        doubles = self.corpus.docs[place].astype(np.float64)
        products: Doubles = doubles @ doubles.transpose(0, 2, 1)
        return products

    def with_original(self, alpha: float, some: Ints, place: Ints) -> tuple[Doubles, Doubles]:
        """⟨x_t, z⟩ of docs as in `between`, and ‖α·x + x_t‖² of some branches, (n_some,)."""
        originals = self.corpus.originals[self.query[some]]
        rest = alpha * self.vectors[some] + originals
        first = (self.corpus.docs[place].astype(np.float64) @ originals[:, :, None])[:, :, 0]
        return first, np.einsum("bd,bd->b", rest, rest)

    def mix(self, alpha: float, parent: Ints, branch: Ints, place: Ints) -> "OfVectors":
        """As `Branches`."""
        docs = self.corpus.docs
        sizes = np.bincount(branch)
        starts = np.cumsum(sizes) - sizes
        vectors = np.empty((len(parent), docs.shape[1]))
        step = max(1, _BLOCK // docs.shape[1])
        for at in range(0, len(parent), step):
            some = slice(at, at + step)
            sums = docs[place[starts[some]]].astype(np.float64)
            for number in range(1, sizes[some].max()):
                more = np.flatnonzero(sizes[some] > number)
                sums[more] += docs[place[starts[some][more] + number]]
            parents = parent[some]
            originals = self.corpus.originals[self.query[parents]]
            # Eq. 6; the mean of a cluster's docs and their sum have one direction.
            mixed = alpha * self.vectors[parents] + (1 - alpha) * _unit(sums) + originals
            vectors[some] = _unit(mixed)
        return OfVectors(self.corpus, self.query[parent], vectors)

    def drift(self) -> Doubles:
        """As `Branches`."""
        originals = _unit(self.corpus.originals[self.query])
        cosines: Doubles = np.einsum("pd,pd->p", _unit(self.vectors), originals)
        return cosines


def by_vectors(corpus: Corpus) -> OfVectors:
    """A branch for each query: the query itself."""
    return OfVectors(corpus, np.arange(len(corpus.originals)), corpus.originals)


def _unit(vectors: Doubles) -> Doubles:
    """Vectors of length 1; a zero vector stays zero."""
    lengths = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))
    unit: Doubles = vectors / np.maximum(lengths, 1e-12)[..., None]
    return unit
