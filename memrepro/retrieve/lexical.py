"""BM25 of the docs of a request, and the plain hybrid: what several method families score by."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from memrepro.core.keys import Keys, Request
from memrepro.core.similarity import Doubles, max_by_owner
from memrepro.errors import MemreproError
from memrepro.text.okapi import Lexicon, Postings
from memrepro.text.scripts import words_and_pairs

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


def bm25_scores(
    keys: Keys, queries: Sequence[str], tokenisation: str = "words",
    k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25,
) -> Doubles:  # fmt: skip
    """BM25 of each query with each doc's best key, shape (n_queries, n_docs).

    Raises:
        MemreproError: if no key has a token.
    """
    lexicon = lexicon_of(tokenisation)
    corpus = list(map(lexicon.read, keys.texts))
    if not any(text.length for text in corpus):
        raise MemreproError(
            f"the memory with doc {keys.doc_ids[0]!r} has no token under the tokenisation "
            f"{tokenisation!r}: BM25 cannot rank it; choose another tokenisation"
        )
    index = Postings(corpus, k1, b, epsilon)
    of_keys = np.array([index.scores(lexicon.numbers(text)) for text in queries])
    return max_by_owner(of_keys, keys.owner, len(keys.doc_ids))


def share_of_best(scores: Doubles) -> Doubles:
    """Each score as a share of its row's greatest; 0 in a row that has none above 0."""
    best = scores.max(axis=1, keepdims=True)
    return np.divide(scores, best, out=np.zeros_like(scores), where=best > 0)


# A sweep over the weight of the cosine asks for the same BM25 again and again.
_shares: WeakKeyDictionary[Request, Doubles] = WeakKeyDictionary()


def hybrid_scores(request: Request, key_scores: Doubles, alpha: float) -> Doubles:
    """The plain hybrid of each query with each doc: alpha of the cosine and 1 − alpha of BM25.

    BM25, words in lower case, has no upper end and is divided by the query's best doc. At an alpha
    of 0 the order is BM25's own, at 1 that of dense similarity.

    Args:
        request: the keys and queries.
        key_scores: the cosine of each query with each key, shape (n_queries, n_keys).
        alpha: in 0..1.

    Returns:
        Shape (n_queries, n_docs); −inf of a doc without a key.
    """
    dense = request.keys.best(key_scores)
    if alpha == 1:
        return dense
    if (lexical := _shares.get(request)) is None:
        lexical = share_of_best(bm25_scores(request.keys, request.query_texts))
        _shares[request] = lexical
    with np.errstate(invalid="ignore"):  # 0 · −∞ of a doc without a key: not used below
        mixed = alpha * dense + (1 - alpha) * lexical
    return np.where(np.isneginf(dense), dense, mixed)


def check_alpha(alpha: float, who: str) -> None:
    """Refuse a weight of the cosine that is none.

    Raises:
        MemreproError: naming the retriever.
    """
    if not 0 <= alpha <= 1:
        raise MemreproError(f"{who}: alpha is {alpha}, and must lie in 0..1")
