"""Branches of small memories, by inner products alone: no vector is read after the first ones.

A branch's query is a weighted sum of its original and docs (Eq. 6), so that its products with all
docs are the same sum of theirs. Those of the docs with each other and with the originals are made
once, in double precision; equal docs have equal products, to the last bit.
"""

from dataclasses import dataclass, field

import numpy as np

from memrepro.core.similarity import Doubles, Floats
from memrepro.retrieve.rfmem.branches import Branches
from memrepro.retrieve.rfmem.nearest import Corpus, Ints, within

# All products of a memory of n docs take as long as the vectors of some n²/4096 queries' branches.
_PRODUCTS_A_QUERY, _PRODUCTS_AT_LEAST = 1 << 12, 1 << 14
_HELD = 1 << 26  # products at most
_SAME = 1e-9  # squared distance below which docs may be equal


def pays(corpus: Corpus) -> bool:
    """Whether all products of the docs take less time than their vectors would."""
    n_docs = corpus.width
    n_memories, n_queries = len(corpus.first) - 1, len(corpus.originals)
    most = max(_PRODUCTS_AT_LEAST, _PRODUCTS_A_QUERY * n_queries // n_memories)
    return n_docs**2 <= most and n_memories * n_docs**2 <= _HELD and n_docs * n_queries <= _HELD


@dataclass(frozen=True)
class _Shared:
    """What all branches share; n is the number of docs of the largest memory.

    Attributes:
        docs: products of each memory's docs with each other, (n_memories, n, n), 0 beyond them.
        originals: of each query with its memory's docs, (n_queries, n), likewise.
        ties: of the docs, (n_memories, n).
        squared: ‖x_t‖² of each query, (n_queries,).
    """

    docs: Doubles
    originals: Doubles
    ties: np.ndarray
    squared: Doubles


@dataclass(frozen=True)
class OfProducts(Branches):
    """Branches by the products of their queries x.

    Attributes:
        shared: of the docs and originals.
        products: ⟨x, z⟩ with the docs z of its memory, (n_branches, n); −∞ where there is none.
        squared: ‖x‖², (n_branches,).
        along: ⟨x, x_t⟩, (n_branches,).
    """

    of_branches = ("query", "products", "squared", "along")
    shared: _Shared = field(repr=False)
    products: Doubles
    squared: Doubles
    along: Doubles

    def nearest(self, n: int) -> tuple[Ints, Ints, Doubles]:
        """As `Branches`."""
        products, memory = self.products, self.corpus.memory[self.query]
        width = products.shape[1]
        if n < width:
            least = np.partition(products, width - n, axis=1)[:, width - n]
            branch, doc = ((products >= least[:, None]) & (products > -np.inf)).nonzero()
        else:
            branch, doc = (products > -np.inf).nonzero()
        similarity = products[branch, doc]
        order = np.lexsort((self.shared.ties[memory[branch], doc], -similarity, branch))
        order = order[within(branch) < n]
        branch = branch[order]
        return branch, doc[order] + self.corpus.first[memory[branch]], similarity[order]

    def between(self, place: Ints) -> Doubles:
        """As `Branches`."""
        memory, own = self._own(place)
        found: Doubles = self.shared.docs[memory[:, :, None], own[:, :, None], own[:, None, :]]
        return found

    def mix(self, alpha: float, parent: Ints, branch: Ints, place: Ints) -> "OfProducts":
        """As `Branches`."""
        query = self.query[parent]
        memory, own = self.corpus.memory[query], self._own(place)[1]
        held = np.zeros((len(parent), self.products.shape[1]))
        held[branch, own] = 1
        sums = np.empty_like(held)
        ends = np.searchsorted(memory, np.arange(len(self.shared.docs) + 1))
        for one in np.flatnonzero(np.diff(ends)):
            rows = slice(ends[one], ends[one + 1])
            sums[rows] = held[rows] @ self.shared.docs[one]
        length = np.maximum(np.sqrt(np.einsum("bn,bn->b", held, sums)), 1e-12)
        # Of the centroid with the parent's query, the original, and itself.
        of_parent, of_original = self.products[parent], self.shared.originals[query]
        padded = of_parent == -np.inf  # beyond the memory's last doc; an alpha of 0 makes it NaN
        of_parent[padded] = 0
        beside = np.einsum("bn,bn->b", held, of_parent) / length
        first = np.einsum("bn,bn->b", held, of_original) / length
        centred = np.einsum("bn,bn->b", held, sums) / length**2
        squared = (
            alpha**2 * self.squared[parent] + (1 - alpha) ** 2 * centred
            + self.shared.squared[query]
            + 2 * alpha * self.along[parent] + 2 * (1 - alpha) * (alpha * beside + first)
        )  # fmt: skip
        norm = np.maximum(np.sqrt(np.maximum(squared, 0)), 1e-12)
        mixed = alpha * of_parent + ((1 - alpha) / length)[:, None] * sums + of_original
        mixed /= norm[:, None]
        mixed[padded] = -np.inf
        own_squared = self.shared.squared[query]
        along = (alpha * self.along[parent] + (1 - alpha) * first + own_squared) / norm
        return OfProducts(self.corpus, query, self.shared, mixed, squared / norm**2, along)

    def drift(self) -> Doubles:
        """As `Branches`."""
        lengths = np.sqrt(self.squared * self.shared.squared[self.query])
        cosines: Doubles = self.along / np.maximum(lengths, 1e-24)
        return cosines

    def _own(self, place: Ints) -> tuple[Ints, Ints]:
        """The memories of places in the corpus, and the docs' numbers in them."""
        memory = np.searchsorted(self.corpus.first, place, "right") - 1
        return memory, place - self.corpus.first[memory]


def by_products(corpus: Corpus) -> OfProducts:
    """A branch for each query: the query itself."""
    counts = np.diff(corpus.first)
    n_memories, width = len(counts), corpus.width
    docs = np.zeros((n_memories, width, width))
    originals = np.zeros((len(corpus.originals), width))
    products = np.full_like(originals, -np.inf)
    ties = np.zeros((n_memories, width), corpus.ties.dtype)
    ends = np.searchsorted(corpus.memory, np.arange(n_memories + 1))
    for one, n in enumerate(counts.tolist()):
        rows, places = slice(*ends[one : one + 2]), slice(*corpus.first[one : one + 2])
        vectors = corpus.docs[places].astype(np.float64)
        own, asked = vectors @ vectors.T, corpus.originals[rows] @ vectors.T
        if (same := _same(own, corpus.docs[places])) is not None:
            own, asked = own[same][:, same], asked[:, same]
        docs[one, :n, :n] = own
        originals[rows, :n] = products[rows, :n] = asked
        ties[one, :n] = corpus.ties[places]
    squared = np.einsum("qd,qd->q", corpus.originals, corpus.originals)
    shared = _Shared(docs, originals, ties, squared)
    everyone = np.arange(len(corpus.originals))
    return OfProducts(corpus, everyone, shared, products, squared, squared)


def _same(products: Doubles, docs: Floats) -> Ints | None:
    """The first doc that has the vector of each doc, shape (n_docs,); None where all differ."""
    norms = np.diagonal(products)
    near = norms[:, None] + norms - 2 * products <= _SAME
    if np.count_nonzero(near) == len(docs):
        return None
    first = np.arange(len(docs))
    for one, other in np.argwhere(np.triu(near, 1)).tolist():
        if first[other] == other and np.array_equal(docs[one], docs[other]):
            first[other] = first[one]
    return first
