"""BM25 by the library that LongMemEval's released code uses, `rank_bm25`'s Okapi."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rank_bm25 import BM25Okapi

from memrepro.core.keys import Request, ranked
from memrepro.core.ranking import Ranking, top_k
from memrepro.core.similarity import max_by_owner
from memrepro.errors import MemreproError

TOKENISATIONS: Mapping[str, Callable[[str], list[str]]] = {
    # LongMemEval's released code: a single space splits, case and punctuation stay.
    "official": lambda text: text.split(" "),
    "words": lambda text: re.findall(r"\w+", text.lower()),
}


@dataclass(frozen=True)
class BM25:
    """Okapi BM25 over each memory's own keys.

    Attributes:
        k: length of a ranking.
        tokenisation: 'official' or 'words'.
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

    def search(self, requests: Sequence[Request]) -> list[Ranking]:
        """One ranking a query, in the order of the requests."""
        tokenise = TOKENISATIONS[self.tokenisation]
        found = []
        for request in requests:
            keys = request.keys
            corpus = [tokenise(text) for text in keys.texts]
            if not any(corpus):
                raise MemreproError(
                    f"the memory with doc {keys.doc_ids[0]!r} has no token under the tokenisation "
                    f"{self.tokenisation!r}: BM25 cannot rank it; choose another tokenisation"
                )
            index = BM25Okapi(corpus, k1=self.k1, b=self.b, epsilon=self.epsilon)
            ties = keys.ties if self.ties == "id" else np.arange(len(keys.doc_ids))[::-1]
            for query_id, text in zip(request.query_ids, request.query_texts, strict=True):
                key_scores = np.asarray(index.get_scores(tokenise(text)))
                scores = max_by_owner(key_scores, keys.owner, len(keys.doc_ids))
                best = top_k(scores, ties, self.k)
                found.append(ranked(keys, query_id, best, scores[best]))
        return found


RETRIEVERS = {"bm25": BM25}
