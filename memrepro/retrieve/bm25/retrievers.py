"""BM25 as the library that LongMemEval's released code uses, `rank_bm25`, scores; and a hybrid."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from memrepro.core.keys import Keys, Request, best_first, score_all
from memrepro.core.ranking import Ranking
from memrepro.core.similarity import Doubles, max_by_owner
from memrepro.errors import MemreproError
from memrepro.retrieve.bm25.postings import Lexicon, Postings
from memrepro.retrieve.bm25.scripts import words_and_pairs

TOKENISATIONS: Mapping[str, Callable[[str], list[str]]] = {
    # LongMemEval's released code: a single space splits, case and punctuation stay.
    "official": lambda text: text.split(" "),
    "words": lambda text: re.findall(r"\w+", text.lower()),
    # The same, where a script that writes no blanks between words is cut into pairs of signs.
    "pairs": words_and_pairs,
}


# Numbers of a lexicon's texts, from which on it is begun anew: some gigabyte.
_HELD = 1 << 28


@lru_cache(maxsize=2)
def _lexicon_of(tokenisation: str) -> Lexicon:
    return Lexicon(TOKENISATIONS[tokenisation])


def lexicon_of(tokenisation: str) -> Lexicon:
    """What reads texts under a tokenisation, each once for all memories and runs."""
    lexicon = _lexicon_of(tokenisation)
    if lexicon.held > _HELD:
        lexicon.clear()
    return lexicon


@dataclass(frozen=True)
class BM25:
    """Okapi BM25 over each memory's own keys.

    Attributes:
        k: length of a ranking.
        tokenisation: 'official', 'words', or 'pairs' for Chinese, Japanese, Korean and Thai too.
        ties: 'id' (this project's rule) or 'reverse_input', the last first: what the official
            argsort()[::-1] gives with a stable sort (its own is not, so ties can differ there).
        k1: term-frequency saturation.
        b: length normalisation.
        epsilon: floor of a negative idf, as a share of the mean idf.
    """

    k: int
    tokenisation: str = "words"
    ties: str = "id"
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25

    def __post_init__(self) -> None:
        """Refuse an unknown tokenisation or tie rule."""
        for value, known in (
            (self.tokenisation, tuple(TOKENISATIONS)),
            (self.ties, ("id", "reverse_input")),
        ):
            if value not in known:
                raise MemreproError(f"bm25: unknown value {value!r}: known are {', '.join(known)}")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        if self.ties == "reverse_input":
            requests = [_last_first(request) for request in requests]
        scored = ((one, self.doc_scores(one.keys, one.query_texts)) for one in requests)
        return best_first(scored, self.k)

    def doc_scores(self, keys: Keys, queries: Sequence[str]) -> Doubles:
        """BM25 of each query with each doc's best key, shape (n_queries, n_docs)."""
        lexicon = lexicon_of(self.tokenisation)
        corpus = list(map(lexicon.read, keys.texts))
        if not any(text.length for text in corpus):
            raise MemreproError(
                f"the memory with doc {keys.doc_ids[0]!r} has no token under the tokenisation "
                f"{self.tokenisation!r}: BM25 cannot rank it; choose another tokenisation"
            )
        index = Postings(corpus, self.k1, self.b, self.epsilon)
        of_keys = np.array([index.scores(lexicon.numbers(text)) for text in queries])
        return max_by_owner(of_keys, keys.owner, len(keys.doc_ids))


def _last_first(request: Request) -> Request:
    """The request with ties that put the last doc of the memory first."""
    ties = np.arange(len(request.keys.doc_ids), dtype=np.uint64)[::-1]
    return replace(request, keys=replace(request.keys, ties=ties))


@dataclass(frozen=True)
class Hybrid:
    """The plain hybrid: alpha of the cosine and 1 − alpha of BM25, over the same keys.

    BM25, words in lower case, has no upper end and is divided by the query's best doc. At an alpha
    of 0 the order is BM25's own, at 1 that of dense similarity.

    Attributes:
        k: length of a ranking.
        alpha: weight of the cosine, in 0..1.
    """

    k: int
    alpha: float

    def __post_init__(self) -> None:
        """Refuse a weight that is none."""
        if not 0 <= self.alpha <= 1:
            raise MemreproError(f"bm25.hybrid: alpha is {self.alpha}, and must lie in 0..1")

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests."""
        scored = score_all(requests)
        return best_first(((one, self._mixed(one, scores)) for one, scores in scored), self.k)

    def _mixed(self, request: Request, key_scores: Doubles) -> Doubles:
        """The mixture of each query with each doc, shape (n_queries, n_docs)."""
        lexical = BM25(self.k).doc_scores(request.keys, request.query_texts)
        best = lexical.max(axis=1, keepdims=True)
        share = np.divide(lexical, best, out=np.zeros_like(lexical), where=best > 0)
        dense = request.keys.best(key_scores)
        with np.errstate(invalid="ignore"):  # 0 · −∞ of a doc without a key: not used below
            mixed = self.alpha * dense + (1 - self.alpha) * share
        return np.where(np.isneginf(dense), dense, mixed)


RETRIEVERS = {"bm25": BM25, "hybrid": Hybrid}
