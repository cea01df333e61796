"""Top-k by max-sim through faiss: candidates in single precision, then scored in double.

A query's ranking is certified against the matrix product of `core.keys`: that it holds the same
docs, in the same order, with the same scores in single precision, as a run has them. A query that
cannot be certified is left to the product. Memories are indexed one at a time; those for which the
product is faster share it (`core.keys.score_all`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrepro.core.keys import Request, best_first, ranked, score_all
from memrepro.core.ranking import Ranking, Rankings, top_k
from memrepro.core.similarity import Doubles, Floats, products

Places = NDArray[np.intp]

# By turns on one thread, 384 dimensions, 1 to 1,000 queries (`benchmarks/search.py`): 0.8 to 1.1
# times as fast as the product at 4,000 keys, 1.0 to 2.2 times at 10,000, 1.3 to 5.9 at 100,000.
_LARGE = 10_000
_SCANNED = 1 << 36  # pairs of a query and a key: about a quarter of an hour of one thread
_PROBED = 1 / 16  # share of an approximate index's lists that a query looks into
_TRAINED = 40  # vectors a list that the lists are made from
_SAMPLE = 64  # queries, about, that the recall of an approximate search is measured by
_SPARE = 16  # candidates beyond k
_WIDER = 8  # times as many candidates, where so many do not suffice
_MATRIX = 4  # queries from which a product of matrices is faster than pairs
_BLOCK, _GPU_BLOCK = 1 << 13, 1 << 20  # vectors in an index at once
_GPU_MOST = 2048  # candidates that faiss returns from a GPU


def through_faiss(n_keys: int) -> bool:
    """Whether faiss is faster than the product on a memory of so many keys."""
    return n_keys >= _LARGE


def lists_of(n_queries: int, n_keys: int) -> int:
    """How many lists the approximate index (IVF) of a memory has; 0 where all keys are scanned.

    It is made where a scan is long, and longer than ten rounds of k-means and one assignment.
    """
    lists = int(4 * np.sqrt(n_keys))
    to_make = 10 * _TRAINED * lists**2 + lists * n_keys  # pairs, as those of a scan
    return lists if n_queries * n_keys > max(_SCANNED, to_make) else 0


def search(requests: Sequence[Request], k: int) -> Rankings:
    """The k best docs of each query, in the order of the requests."""
    large = [r.keys.vectors is not None and through_faiss(len(r.keys.rows)) for r in requests]
    scored = score_all([r for r, one in zip(requests, large, strict=True) if not one])
    small = best_first(((request, request.keys.best(one)) for request, one in scored), k)
    if not any(large):
        return small
    found, recalls, others = list[Ranking](), list[float](), iter(small)
    for request, one in zip(requests, large, strict=True):
        if one:
            rankings = search_memory(request, k)
            found += rankings
            recalls += [] if rankings.recall is None else [rankings.recall]
        else:
            found += islice(others, len(request.query_ids))
    return replace(Rankings.from_rankings(found), recall=min(recalls, default=None))


def search_memory(request: Request, k: int) -> Rankings:
    """The k best docs of each query of one memory that has vectors, through an index of them."""
    memory = _Memory(request, k)
    everyone = np.arange(len(request.query_ids))
    if lists := lists_of(len(everyone), len(memory.rows)):
        found = [one for one, _ in memory.looked_up(lists)]
        sample = everyone[:: -(-len(everyone) // _SAMPLE)]
        exact = [set(one.doc_ids) for one in memory.product(sample)]
        held = [docs & set(found[i].doc_ids) for docs, i in zip(exact, sample, strict=True)]
        recall = sum(map(len, held)) / max(1, sum(map(len, exact)))
        return replace(Rankings.from_rankings(found), recall=recall)
    rankings: dict[int, Ranking] = {}
    waiting = everyone
    for wanted in (memory.first, _WIDER * memory.first):
        tried = zip(waiting.tolist(), memory.scanned(waiting, wanted), strict=True)
        rankings |= {number: ranking for number, (ranking, certain) in tried if certain}
        waiting = np.array([i for i in everyone.tolist() if i not in rankings], np.intp)
    rankings |= zip(waiting.tolist(), memory.product(waiting), strict=True)
    return Rankings.from_rankings(rankings[number] for number in everyone.tolist())


class _Memory:
    """The distinct texts of a memory, and which docs own each."""

    def __init__(self, request: Request, k: int) -> None:
        keys = request.keys
        assert keys.vectors is not None
        self.request, self.k, self.vectors = request, k, keys.vectors
        self.queries = np.ascontiguousarray(request.vectors_of_queries())
        self.rows, self.place = np.unique(keys.rows, return_inverse=True)
        order = np.argsort(self.place, kind="stable")
        self.owners = keys.owner[order]
        self.starts = np.searchsorted(self.place[order], np.arange(len(self.rows) + 1))
        self.first = int((k + _SPARE) * max(1, len(self.rows) / len(keys.doc_ids)))
        self.longest = 0.0

    def scanned(self, numbers: Places, wanted: int) -> list[tuple[Ranking, bool]]:
        """Rank by the best of all vectors, for each of these queries; and whether it is certain.

        On a CPU the vectors pass in blocks, which its cache holds and no memory is needed for.
        """
        import faiss

        if not len(numbers):
            return []
        gpus, size = faiss.get_num_gpus(), len(self.rows)
        wanted = min(wanted, size, _GPU_MOST if gpus else size)
        best = faiss.ResultHeap(len(numbers), wanted, keep_max=True)
        flat = faiss.IndexFlatIP(self.vectors.shape[1])
        step = _GPU_BLOCK if gpus else _BLOCK
        with _products_from(len(numbers)):
            for start in range(0, size, step):
                block = self.vectors[self.rows[start : start + step]]
                self.longest = np.maximum(self.longest, np.sqrt(np.vecdot(block, block).max()))
                flat.reset()
                flat.add(block)
                scores, places = placed(flat).search(self.queries[numbers], min(wanted, len(block)))
                best.add_result(scores, places + start)
        best.finalize()
        return self._rank_all(numbers, best.D, best.I)

    def looked_up(self, lists: int) -> list[tuple[Ranking, bool]]:
        """Rank by the best vectors in those of so many lists that are nearest to each query."""
        import faiss

        dimension = self.vectors.shape[1]
        flat = faiss.IndexFlatIP(dimension)
        index = faiss.IndexIVFFlat(flat, dimension, lists, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = max(1, int(lists * _PROBED))
        index.train(self.vectors[self.rows[:: max(1, len(self.rows) // (_TRAINED * lists))]])
        for start in range(0, len(self.rows), _GPU_BLOCK):
            index.add(self.vectors[self.rows[start : start + _GPU_BLOCK]])
        scores, places = placed(index).search(self.queries, min(self.first, len(self.rows)))
        return self._rank_all(np.arange(len(self.queries)), scores, places)

    def _rank_all(
        self, numbers: Places, scores: Floats, places: Places
    ) -> list[tuple[Ranking, bool]]:
        return [
            self._rank(number, places[i][places[i] >= 0], float(scores[i, -1]))
            for i, number in enumerate(numbers.tolist())
        ]

    def _rank(self, number: int, places: Places, least: float) -> tuple[Ranking, bool]:
        """Rank the docs that own these texts; no other text has more than `least`, in single."""
        query = self.queries[number].astype(np.float64)
        # Summed in an order that depends on no shape; a text is scored once, whoever owns it.
        scores = np.vecdot(self.vectors[self.rows[places]].astype(np.float64), query)
        order = np.argsort(-scores, kind="stable")
        places, scores = places[order], scores[order]
        counts = self.starts[places + 1] - self.starts[places]
        text = np.repeat(np.arange(len(places)), counts)
        skipped = np.repeat(np.cumsum(counts) - counts, counts)
        owners = self.owners[self.starts[places][text] + np.arange(len(text)) - skipped]
        docs, first = np.unique(owners, return_index=True)  # the first is the doc's best key
        text = text[first]
        best = top_k(scores[text], self.request.keys.ties[docs], self.k + 1)
        docs, text = docs[best], text[best]
        certain = self._certain(number, scores[text], text, least, len(places) == len(self.rows))
        docs, scores = docs[: self.k], scores[text[: self.k]]
        return ranked(self.request.keys, self.request.query_ids[number], docs, scores), certain

    def _certain(
        self, number: int, scores: Doubles, text: Places, least: float, complete: bool
    ) -> bool:
        """Whether the product must rank these docs, best first, the same, and no other above them.

        An inner product of n terms, summed in any order, is off by at most n·u/(1 − n·u) times the
        lengths of both vectors, where u is the precision (Higham 2002, §3.1).
        """
        n, k = self.vectors.shape[1], self.k
        # A thousandth more, since the lengths are rounded themselves.
        length = 1.001 * float(np.linalg.norm(self.queries[number])) * float(self.longest)
        single, double = (n * u / (1 - n * u) * length for u in (2.0**-24, 2.0**-53))
        apart = 2 * double  # what lies between two sums of the same terms
        if not complete and (len(scores) < k or scores[k - 1] - 2 * apart <= least + single):
            return False
        close = (scores[:-1] - scores[1:] <= 2 * apart) & (text[:-1] != text[1:])
        low, high = (np.float32(scores[:k] + way) for way in (-apart, apart))
        return bool(np.isfinite(length) and not close.any() and (low == high).all())

    def product(self, numbers: Places) -> list[Ranking]:
        """The rankings of these queries by the product."""
        keys = self.request.keys
        if not len(numbers):
            return []
        # One query by itself would be summed in another order than it is among others.
        asked = np.resize(np.r_[numbers, 0], max(2, len(numbers)))[: len(self.queries)]
        blocks = np.array_split(self.rows, -(-len(self.rows) // (16 * _BLOCK)))
        parts = [products(self.queries[asked], self.vectors[block]) for block in blocks]
        scores = keys.best(np.concatenate(parts, axis=1)[: len(numbers), self.place])
        rows = zip(numbers.tolist(), scores, strict=True)
        chosen = [(number, row, top_k(row, keys.ties, self.k)) for number, row in rows]
        return [
            ranked(keys, self.request.query_ids[number], docs, row[docs])
            for number, row, docs in chosen
        ]


@contextmanager
def _products_from(n_queries: int) -> Iterator[None]:
    """Let faiss multiply matrices where it would take pairs one by one; 10 times as fast here."""
    import faiss

    kept = faiss.cvar.distance_compute_blas_threshold
    if n_queries >= _MATRIX:
        faiss.cvar.distance_compute_blas_threshold = 1
    try:
        yield
    finally:
        faiss.cvar.distance_compute_blas_threshold = kept


def placed(index: Any) -> Any:
    """The index, on all GPUs that faiss has, a share of the vectors on each; or as it is."""
    import faiss

    if not (gpus := faiss.get_num_gpus()):
        return index
    options = faiss.GpuMultipleClonerOptions()
    options.shard = True
    return faiss.index_cpu_to_gpu_multiple_py(_resources(gpus), index, options)


@cache
def _resources(gpus: int) -> list[Any]:
    """What faiss holds on each GPU, kept between memories."""
    import faiss

    return [faiss.StandardGpuResources() for _ in range(gpus)]
