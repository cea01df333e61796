"""RF-Mem's recollection over arrays, level by level, for all queries of many memories at once.

Source: RF-Mem §2.3 (Equations 5-8), Appendix E (Algorithm 3), and the released code where it
differs (docs/protocols.md, RF-Mem: paper and released code).

Both variants retrieve the N = (B + r)·F docs nearest to each query of the beam, leave out those
found in earlier rounds, cluster them, mix each centroid into the query, keep the best B branches of
a query and stop at K docs. What differs is in `_grow`, in `_select` and at the end of `recollect`.
The authors released two programs, which differ in what follows a round that finds nothing new:
`on_empty` of `Settings`. Where the paper can be read in more than one way, `Printed` reads it so:

1. *Exclusion.* §2.3 excludes memories of earlier rounds from C⁽ʳ⁾, Algorithm 3 asks only before it
   fills the Bag. Both hold if C⁽ʳ⁾ is cleared of Seen before it is clustered; otherwise line 13
   (Next = ∅) could never be true. 'Appeared' means Seen: docs of dropped branches may come back.
2. *N < K.* A remark on the settings, no bound: Appendix B's own (B = 3, F = 2, K = 10) reach 10 in
   round 2.
3. *Centroid.* A plain mean in Eq. 5, normalised in Algorithm 3, line 8: normalised.
4. *Rounds.* r ∈ {0, …, R} in §2.3, 0 to R − 1 in Algorithm 3: R rounds.
5. *Candidate score.* ⟨x, z⟩ in §2.3 with x⁽ʳ⁾ to retrieve; lines 15 and 18 score the branch and the
   doc with its own new query, ⟨x_b⁽ʳ⁺¹⁾, z⟩.
6. *Branch score.* The sum over its own cluster (line 15): nothing comes from the parent.
7. *A doc of two branches.* The kept branch with the higher score comes first (lines 16-18); the doc
   keeps that score. Appendix E's 'scores are aggregated per item' is not in the algorithm.
8. *Top-K of the union* (Eq. 8). By the Bag's scores (line 25), over what kept branches put there.
9. *Ties.* Of docs: the tie keys. Of branches: the order in which they grew.
10. *KMeans.* No settings are printed: those of the released code.
11. *norm(x_t)* (line 1). Queries come with length 1 (§2.2), and are taken as they come.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.retrieve.rfmem.branches import Branches, OfVectors, by_vectors
from memrepro.retrieve.rfmem.kmeans import cluster_all, cluster_products
from memrepro.retrieve.rfmem.nearest import Ints, QueryBatch, corpus_of, within
from memrepro.retrieve.rfmem.products import by_products, pays

ON_EMPTY = ("stop", "grow")
_BLOCK = 1 << 18  # numbers of docs worked on at once: few enough for a processor's cache


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The symbols of Algorithm 3; searched by are its two variants, `Released` and `Printed`.

    Attributes:
        k: the paper's K, docs a query.
        beam_width: the paper's B, branches kept a round and clusters a branch.
        fanout: the paper's F; round r retrieves N = (B + r)·F docs.
        alpha: the paper's α: the next query is α·current + (1−α)·centroid + original, normalised
            (Eq. 6).
        floor: docs less similar than this to the branch's query are no candidates.
        rounds: the paper's R.
        seed: of k-means.
        on_empty: what follows a round in which no branch of the query has a candidate. 'stop': the
            search ends (Algorithm 3, lines 13 and 14; released code for PersonaBench). 'grow': the
            next round searches with the same beam and its own, larger N (released code for
            PersonaMem and LongMemEval).

    Raises:
        MemreproError: for an unknown `on_empty`.
    """

    k: int
    beam_width: int
    fanout: int
    alpha: float
    floor: float
    rounds: int = 10
    seed: int = 42
    on_empty: str = "stop"

    def __post_init__(self) -> None:
        """Refuse an unknown `on_empty`."""
        if self.on_empty not in ON_EMPTY:
            raise MemreproError(
                f"on_empty is {self.on_empty!r}: known are {', '.join(map(repr, ON_EMPTY))}"
            )


@dataclass(frozen=True, kw_only=True)
class Released(Settings):
    """As the released code has it: docs in order of discovery.

    A cluster without a doc, which only equal vectors leave, is no branch; the released code keeps
    it, with a query that is not a number and finds nothing.

    Attributes:
        relevance_weight: the code's μ, a doc scores μ·⟨x, z⟩ − (1−μ)·its greatest similarity to
            the branch's other candidates; the paper scores ⟨x, z⟩ alone.
        floor: as of `Settings`.
    """

    relevance_weight: float = 0.9
    floor: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Printed(Settings):
    """As Equations 5-8 and Algorithm 3 print it: docs by their scores.

    Attributes:
        floor: as of `Settings`; none is printed.
    """

    floor: float = -math.inf


@dataclass(frozen=True)
class Hits:
    """The docs found, query after query, best first; each array of shape (n_hits,).

    Attributes:
        query: its number among all queries.
        doc: the doc's index in its memory.
        score: that the doc was found by.
        round: that found it, from 0.
        branch: of that round's beam, from 0, whose query found it.
        cluster: of that branch's candidates, that it was in.
    """

    query: Ints
    doc: Ints
    score: Doubles
    round: Ints
    branch: Ints
    cluster: Ints


@dataclass(frozen=True)
class Searches:
    """The searches made, round after round; each array of shape (n_searches,).

    Attributes:
        query: its number among all queries.
        round: from 0.
        branch: place in the round's beam, from 0.
        parent: branch of the round before, whose cluster made this one; −1 in round 0. Where that
            round found nothing new and the search goes on, the branch itself, as it stood there.
        cluster: the parent's cluster; −1 in round 0 and where a branch goes on as it is.
        score: that the branch was kept by; 0 in round 0.
        drift: cosine of the branch's query with the original one.
        n_candidates: docs found, without those of earlier rounds.
        n_clusters: into which they fell.
    """

    query: Ints
    round: Ints
    branch: Ints
    parent: Ints
    cluster: Ints
    score: Doubles
    drift: Doubles
    n_candidates: Ints
    n_clusters: Ints


@dataclass(frozen=True)
class _Beam:
    """The branches of all queries, sorted by query and place in its beam; n_branches each."""

    branches: Branches
    score: Doubles
    parent: Ints
    cluster: Ints

    @property
    def query(self) -> Ints:
        """Of each branch."""
        return self.branches.query

    def staying(self, which: NDArray[np.bool_]) -> "_Beam":
        """Some of its branches, whole beams of queries, as they are searched with once more."""
        own = within(self.query)[which]
        rows = which.nonzero()[0]
        return _Beam(self.branches.taken(rows), self.score[rows], own, np.full(len(own), -1))

    def beside(self, other: "_Beam") -> "_Beam":
        """The beams of both, which are of different queries."""
        order = np.argsort(np.concatenate([self.query, other.query]), kind="stable")
        score, parent, cluster = (
            np.concatenate([getattr(one, name) for one in (self, other)])[order]
            for name in ("score", "parent", "cluster")
        )
        branches = self.branches.joined(other.branches).taken(order)
        return _Beam(branches, score, parent, cluster)


def recollect(
    asked: Sequence[QueryBatch], settings: Settings, watched: list[Searches] | None = None
) -> Hits:
    """What recollection finds for each query, at most k docs, each once.

    Asked is of at least one memory, all of one dimension; to `watched`, if given, the searches of
    each round are appended.
    """
    corpus = corpus_of(asked)
    everyone = np.arange(len(corpus.originals))
    none = np.full(len(everyone), -1)
    quick = isinstance(settings, Released) and pays(corpus)
    started = by_products(corpus) if quick else by_vectors(corpus)
    beam = _Beam(started, np.zeros(len(everyone)), none, none)
    seen = np.zeros((len(everyone), corpus.width), np.bool_)
    count = np.zeros(len(everyone), np.int64)
    rounds = []
    for depth in range(settings.rounds):
        n_nearest = (settings.beam_width + depth) * settings.fanout
        branch, place, similarity = beam.branches.nearest(n_nearest)
        query = beam.query[branch]
        doc = place - corpus.first[corpus.memory[query]]
        new = (similarity >= settings.floor) & ~seen[query, doc]
        branch, place, similarity = branch[new], place[new], similarity[new]
        query, doc = query[new], doc[new]
        label, score = _grow(beam.branches, settings, branch, place, similarity)
        if watched is not None:
            watched.append(_searches(beam, depth, branch, label))
        kept, parent, cluster, total = _select(beam, settings, branch, label, score)
        # The docs of kept branches, branch after branch.
        rank = kept[branch, label]
        held = (rank >= 0).nonzero()[0]
        held = held[rank[held].argsort(kind="stable")]
        # A doc that two kept branches of a query found belongs to the first.
        ids = query[held] * seen.shape[1] + doc[held]
        order = ids.argsort(kind="stable")
        found = held[np.sort(order[within(ids[order]) == 0])]
        seen[query[found], doc[found]] = True
        count += np.bincount(query[found], minlength=len(count))
        position = within(beam.query)
        rounds.append(
            Hits(
                query[found], doc[found], score[found], np.full(len(found), depth),
                position[branch[found]], label[found],
            )
        )  # fmt: skip
        going = count[beam.query[parent]] < settings.k
        stays = np.zeros(len(position), np.bool_)
        if settings.on_empty == "grow":
            stays = ~np.isin(beam.query, query)
        if not (going.any() or stays.any()):
            break
        held = held[going[rank[held]]]
        number = going.cumsum() - 1
        grown = _Beam(
            beam.branches.mix(settings.alpha, parent[going], number[rank[held]], place[held]),
            total[going],
            position[parent[going]],
            cluster[going],
        )
        beam = grown.beside(beam.staying(stays)) if stays.any() else grown
    hits = Hits(*(np.concatenate([getattr(r, f.name) for r in rounds]) for f in fields(Hits)))
    if isinstance(settings, Released):
        order = np.argsort(hits.query, kind="stable")
    else:
        ties = corpus.ties[corpus.first[corpus.memory[hits.query]] + hits.doc]
        order = np.lexsort((ties, -hits.score, hits.query))
    order = order[within(hits.query[order]) < settings.k]
    return Hits(*(getattr(hits, f.name)[order] for f in fields(Hits)))


def _grow(
    branches: Branches, settings: Settings, branch: Ints, place: Ints, similarity: Doubles
) -> tuple[Ints, Doubles]:
    """Each candidate's cluster among its branch's candidates, and its score, (n_candidates,).

    Of each candidate are given its branch, ascending, its place in the corpus and its similarity to
    the branch's query.
    """
    labels = np.zeros(len(branch), np.int64)
    scores = np.zeros(len(branch))
    docs = branches.corpus.docs
    counts = np.bincount(branch, minlength=len(branches.query))
    starts = counts.cumsum() - counts
    clusters = np.minimum(counts, settings.beam_width)
    # A sum of more places may round otherwise, and printed scores of equal docs depend on that.
    groups = clusters if isinstance(settings, Released) else counts
    for group in set(groups.tolist()) - {0}:
        alike = (groups == group).nonzero()[0]
        alike = alike[counts[alike].argsort(kind="stable")]
        n_clusters = int(clusters[alike[0]])
        step = max(1, _BLOCK // (int(counts[alike[-1]]) * docs.shape[1]))
        for at in range(0, len(alike), step):
            some = alike[at : at + step]
            sizes = counts[some]
            # In places beyond the branch's last candidate its first one stands.
            real = np.arange(sizes[-1]) < sizes[:, None]
            which = starts[some][:, None] + np.arange(sizes[-1]) * real
            both = real[:, :, None] & real[:, None, :]
            between = branches.between(place[which]) * both
            label, unsure = cluster_products(
                between, sizes, n_clusters, settings.seed, docs.shape[1]
            )
            for n in set(sizes[unsure].tolist()):
                again = np.flatnonzero(unsure & (sizes == n))
                points = docs[place[which[again, :n]]]
                label[again, :n] = cluster_all(points, n_clusters, settings.seed)[0]
            at_real = which[real]
            labels[at_real] = label[real]
            if isinstance(settings, Released):
                score = _relevance(between, both, similarity[which], settings.relevance_weight)
            else:
                assert isinstance(branches, OfVectors)
                first, squared = branches.with_original(settings.alpha, some, place[which])
                together = (label[:, :, None] == label[:, None, :]) & both
                score = _by_new_query(
                    between, first, squared, together, similarity[which], settings.alpha
                )
            scores[at_real] = score[real]
    return labels, scores


def _relevance(
    between: Doubles, both: NDArray[np.bool_], similarity: Doubles, weight: float
) -> Doubles:
    """The released code's score, as `_by_new_query` has its arrays.

    Both are whether two places are of candidates; where there is but one, no other is similar.
    """
    others = both & ~np.eye(both.shape[1], dtype=np.bool_)
    closest = between.max(axis=2, where=others, initial=-np.inf)
    closest[closest == -np.inf] = 0
    scores: Doubles = weight * similarity - (1 - weight) * closest
    return scores


def _by_new_query(
    between: Doubles, first: Doubles, squared: Doubles, together: NDArray[np.bool_],
    similarity: Doubles, alpha: float,
) -> Doubles:  # fmt: skip
    """The printed score, ⟨x_b⁽ʳ⁺¹⁾, z⟩ of each doc z with its own cluster's new query.

    Eq. 6 is a weighted sum of three vectors, and its products are the sums of theirs: the new
    queries themselves, most of which are dropped, are not needed.

    Args:
        between: products of the candidates, shape (n_branches, n_candidates, n_candidates).
        first: ⟨x_t, z⟩ of each candidate, (n_branches, n_candidates).
        squared: ‖α·x⁽ʳ⁾ + x_t‖² of each branch, (n_branches,).
        together: whether two candidates are of one cluster, as `between`.
        similarity: ⟨x⁽ʳ⁾, z⟩ of each candidate, (n_branches, n_candidates).
        alpha: the paper's α.
    """
    of_cluster = together.astype(np.float64)
    # Of each candidate's cluster: products of the sum of its docs, and the length of that sum.
    sum_doc = (of_cluster * between).sum(axis=2)
    length = np.maximum(np.sqrt((of_cluster @ sum_doc[:, :, None])[:, :, 0]), 1e-12)
    sum_query, sum_original = ((of_cluster @ p[:, :, None])[:, :, 0] for p in (similarity, first))
    along = (alpha * sum_query + sum_original) / length
    norm = np.sqrt(np.maximum(squared[:, None] + 2 * (1 - alpha) * along + (1 - alpha) ** 2, 1e-24))
    scores: Doubles = (alpha * similarity + (1 - alpha) * sum_doc / length + first) / norm
    return scores


def _select(
    beam: _Beam, settings: Settings, branch: Ints, label: Ints, score: Doubles
) -> tuple[Ints, Ints, Ints, Doubles]:
    """The best B clusters of each query, which are its next branches; of equals the first grown.

    Returns:
        The rank of each (branch, cluster) among all that are kept, by query and then by score, −1
        for one that is not, shape (n_branches, B); and of the kept ones parent, cluster and score.
    """
    width = settings.beam_width
    place = branch * width + label
    grown = np.bincount(place).nonzero()[0]
    parent, cluster = np.divmod(grown, width)
    total = np.bincount(place, score)[grown].astype(np.float64)
    if isinstance(settings, Released):
        total = total + beam.score[parent]
    order = np.lexsort((grown, -total, beam.query[parent]))
    order = order[within(beam.query[parent[order]]) < width]
    kept = np.full((len(beam.query), width), -1)
    kept[parent[order], cluster[order]] = np.arange(len(order))
    return kept, parent[order], cluster[order], total[order]


def _searches(beam: _Beam, depth: int, branch: Ints, label: Ints) -> Searches:
    """What a round's branches did, for a trace."""
    n = len(beam.query)
    clusters = np.unique(np.stack([branch, label]), axis=1)[0]
    return Searches(
        beam.query,
        np.full(n, depth),
        within(beam.query),
        beam.parent,
        beam.cluster,
        beam.score,
        beam.branches.drift(),
        np.bincount(branch, minlength=n),
        np.bincount(clusters, minlength=n),
    )
