"""BM25 by postings: the scores of `rank_bm25`, from texts that are read once for all memories."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles

Numbers = NDArray[np.int32]
# Of texts that hold a token: from this share on, adding to all texts is faster than to these alone.
_COMMON = 1 / 16


class Counted(NamedTuple):
    """A text's distinct tokens, by number and in order, how often each stands there, and all."""

    tokens: Numbers
    often: Numbers
    length: int


class Lexicon(dict[str, int]):
    """The number of each token, and texts by these numbers; each text is read once.

    Attributes:
        held: numbers in memory, of all texts.
    """

    def __init__(self, tokenise: Callable[[str], Sequence[str]]) -> None:
        """Nothing is read yet."""
        super().__init__()
        self._tokenise = tokenise
        self._texts: dict[str, Counted] = {}
        self.held = 0

    def __missing__(self, token: str) -> int:
        """The next number."""
        number = self[token] = len(self)
        return number

    def clear(self) -> None:
        """Forget the tokens and the texts."""
        super().clear()
        self._texts.clear()
        self.held = 0

    def read(self, text: str) -> Counted:
        """A text by the numbers of its tokens."""
        if (known := self._texts.get(text)) is None:
            known = self._texts[text] = self.count(self._tokenise(text))
            self.held += 2 * len(known.tokens)
        return known

    def count(self, tokens: Sequence[str]) -> Counted:
        """Tokens by their numbers."""
        counts = Counter(tokens)
        numbers = np.fromiter(map(self.__getitem__, counts), np.int32, len(counts))
        return Counted(numbers, np.fromiter(counts.values(), np.int32, len(counts)), len(tokens))

    def numbers(self, text: str) -> list[int]:
        """The numbers of a query's tokens that any text has, in order."""
        found = (self.get(token) for token in self._tokenise(text))
        return [number for number in found if number is not None]


class Postings:
    """Which texts hold a token; scores are `rank_bm25.BM25Okapi`'s, to the last bit.

    The library looks at every text for every token: what it adds there is 0. Each step here rounds
    as it does there, sums included.
    """

    def __init__(
        self, texts: Sequence[Counted], k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25
    ) -> None:
        """Index texts of one lexicon, at least one of which has a token."""
        n, self._k1 = len(texts), k1
        lengths = np.array([text.length for text in texts])
        self._norms = k1 * (1 - b + b * lengths / (int(lengths.sum()) / n))
        tokens = np.concatenate([text.tokens for text in texts])
        # Sorted by token, and of one token by text.
        order = np.sort((tokens.astype(np.int64) << 32) | np.arange(len(tokens)))
        sorted_, order = order >> 32, order & 0xFFFFFFFF
        starts = np.flatnonzero(np.r_[True, sorted_[1:] != sorted_[:-1]])
        self._tokens, self._starts = sorted_[starts], np.r_[starts, len(order)]
        self._places = np.repeat(np.arange(n), [len(text.tokens) for text in texts])[order]
        self._often = np.concatenate([text.often for text in texts])[order]
        self._idf = self._weigh(np.diff(self._starts), order[starts], n, epsilon)
        self._weighed: dict[int, tuple[NDArray[np.int64] | None, Doubles]] = {}

    @staticmethod
    def _weigh(holding: NDArray[np.int64], first: NDArray[np.int64], n: int, epsilon: float
               ) -> Doubles:  # fmt: skip
        """The idf of tokens, by how many of n texts hold each, and where each comes first."""
        different, place = np.unique(holding, return_inverse=True)
        # NumPy's logarithm may round otherwise.
        table = [log(n - held + 0.5) - log(held + 0.5) for held in different.tolist()]
        idf = np.array(table)[place]
        # One after the other, in the library's order.
        total = np.add.accumulate(idf[np.argsort(first)])[-1]
        idf[idf < 0] = epsilon * (total / len(idf))
        return idf

    def scores(self, query: Sequence[int]) -> Doubles:
        """The score of each text for the numbers of a query's tokens, shape (n_texts,)."""
        scores = np.zeros(len(self._norms))
        for token in query:
            places, weights = self._weights(token)
            if places is None:
                scores += weights
            elif len(places):
                scores[places] += weights
        return scores

    def _weights(self, token: int) -> tuple[NDArray[np.int64] | None, Doubles]:
        """The texts that have a token, None for all, and what it adds to each one's score."""
        if (known := self._weighed.get(token)) is None:
            at = int(np.searchsorted(self._tokens, token))
            there = at < len(self._tokens) and self._tokens[at] == token
            held = slice(*self._starts[at : at + 2]) if there else slice(0)
            places, often = self._places[held], self._often[held].astype(np.int64)
            saturated = often * (self._k1 + 1) / (often + self._norms[places])
            known = places, (self._idf[at] if there else 0.0) * saturated
            if len(places) > _COMMON * len(self._norms):
                everywhere = np.zeros(len(self._norms))
                everywhere[places] = known[1]
                known = None, everywhere
            self._weighed[token] = known
        return known
